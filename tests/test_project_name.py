"""Nobody is sent to an index for the project, whose name may be another's there."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FROM_AN_INDEX = re.compile(
    r"""(?:pip3?|uv|pipx)\s+(?:install|add|run|tool\s+install)\b[^\n#`]*?(?<![/\w.-])['"]?shopwindow(?![\w./-])(?!\s*@)"""
)
"""An installation by the bare name, with or without extras: not by a path, a wheel file or a URL."""
COPY_OF_A_CHECKOUT = re.compile(
    r"""(?<!/opt/shopwindow/bin/)pip3? install(?![^\n|`]* -e )[^\n|`#]*? ['"]?\.(?:\[|['"]?\s)"""
)
"""It replaces an editable installation in the same environment. /opt/shopwindow is one that outlives the checkout."""


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode != 0:
        pytest.skip("not a git checkout: no list of the project's files")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


def texts() -> dict[str, str]:
    found = {}
    for path in tracked():
        data = path.read_bytes() if path.is_file() else b"\0"
        if b"\0" not in data:
            found[path.relative_to(ROOT).as_posix()] = data.decode("utf-8", "replace")
    return found


def test_no_file_installs_from_an_index() -> None:
    sent = {name: FROM_AN_INDEX.findall(text) for name, text in texts().items()}
    assert {name: commands for name, commands in sent.items() if commands} == {}


def test_no_file_replaces_the_editable_installation_of_a_checkout_by_a_copy() -> None:
    sent = {name: COPY_OF_A_CHECKOUT.findall(text) for name, text in texts().items()}
    assert {name: commands for name, commands in sent.items() if commands} == {}


@pytest.mark.parametrize(
    ("command", "is_copy"),
    [
        ("pip " + "install '.[serve]'", True),
        ("pip " + "install --quiet --no-deps .\n", True),
        ("pip install -e '.[serve]'", False),
        ("pip install --quiet -e .\n", False),
        ("/opt/shopwindow/bin/pip install --no-deps '.[serve,postgresql]'", False),
        ("pip install ./clients/python", False),
    ],
)
def test_a_copy_of_a_checkout_is_recognized(command: str, is_copy: bool) -> None:
    assert bool(COPY_OF_A_CHECKOUT.search(command)) == is_copy


@pytest.mark.parametrize(
    ("command", "from_an_index"),
    [
        ("pip " + "install shopwindow", True),
        ("pip " + "install --quiet 'shopwindow[delivery]'", True),
        ("uv " + "add shopwindow", True),
        ("pip install -e .", False),
        ("pip install ./shopwindow-0.3.0-py3-none-any.whl", False),
        ("pip install 'shopwindow @ https://files.example/shopwindow-0.3.0-py3-none-any.whl'", False),
        ("pip install https://files.example/shopwindow-0.3.0-py3-none-any.whl", False),
    ],
)
def test_an_installation_from_an_index_is_recognized(command: str, from_an_index: bool) -> None:
    assert bool(FROM_AN_INDEX.search(command)) == from_an_index
