"""The project's name: every file says shopwindow, nobody is sent to an index for it, and what the former name made is
read on."""

import re
import sqlite3
import subprocess
import tarfile
from pathlib import Path

import pytest

from releases import shopwindow
from shopwindow.problems import Failure
from shopwindow.release.releases import Releases
from shopwindow.release.verify import verify
from shopwindow.renamed import refuse_former_variables
from shopwindow.retail.bags.table import BAGS
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.database import lacking
from shopwindow.service.database.opening import open_database
from shopwindow.service.wsgi import make
from shopwindow.shop import INTERFACE

ROOT = Path(__file__).resolve().parents[1]
FORMER_NAME = "vit" + "rine"
MAY_NAME_IT = {"src/shopwindow/renamed.py", "CHANGELOG.md"}
"""The one list of old names, and what tells users what is called otherwise now."""

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


def test_no_file_says_the_former_name() -> None:
    naming = [name for name, text in texts().items() if FORMER_NAME in (name + text).lower()]
    assert set(naming) <= MAY_NAME_IT


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
        ("pip " + "install --quiet 'shopwindow[serve]'", True),
        ("uv " + "add shopwindow", True),
        ("pip install -e .", False),
        ("pip install ./shopwindow-0.2.0-py3-none-any.whl", False),
        ("pip install 'shopwindow @ https://files.example/shopwindow-0.2.0-py3-none-any.whl'", False),
        ("pip install https://files.example/shopwindow-0.2.0-py3-none-any.whl", False),
    ],
)
def test_an_installation_from_an_index_is_recognized(command: str, from_an_index: bool) -> None:
    assert bool(FROM_AN_INDEX.search(command)) == from_an_index


def test_variables_of_the_former_name_are_refused_in_one_sentence() -> None:
    former = FORMER_NAME.upper()
    with pytest.raises(Failure) as refused:
        refuse_former_variables({f"{former}_OUT": "dist", "SHOPWINDOW_OUT": "dist", "PATH": "/bin"})
    assert str(refused.value) == (
        f"the project has a new name, and so have its variables: {former}_OUT is now SHOPWINDOW_OUT; rename them"
    )
    refuse_former_variables({"SHOPWINDOW_OUT": "dist"})


@pytest.mark.parametrize("command", [["releases"], ["check"], ["serve"], ["optins", "export"]], ids=" ".join)
def test_a_command_refuses_variables_of_the_former_name(tmp_path: Path, command: list[str]) -> None:
    former = f"{FORMER_NAME.upper()}_OUT"
    ran = shopwindow(*command, cwd=tmp_path, env={former: "elsewhere"})
    renamed = f"{former} is now SHOPWINDOW_OUT; rename them"
    said = f"shopwindow: the project has a new name, and so have its variables: {renamed}\n"
    assert (ran.status, ran.out, ran.err) == (4, "", said)
    assert list(tmp_path.iterdir()) == []


def test_the_application_for_a_server_refuses_variables_of_the_former_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(f"{FORMER_NAME.upper()}_DATABASE", "sqlite:///elsewhere.sqlite")
    with pytest.raises(Failure, match=r"_DATABASE is now SHOPWINDOW_DATABASE; rename them$"):
        make()
    assert list(tmp_path.iterdir()) == []


def test_a_release_made_under_the_former_name_is_read_on(tmp_path: Path) -> None:
    with tarfile.open(ROOT / "tests/former_name/release.tar.xz") as archive:
        archive.extractall(tmp_path, filter="fully_trusted")
    releases = Releases(tmp_path)
    id = releases.current()
    assert id is not None
    assert [(each.id, each.damaged) for each in releases.listing()] == [(id, False)]
    assert verify(releases, id) == []


def test_a_database_made_under_the_former_name_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "database.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript((ROOT / "tests/former_name/database.sql").read_text())
    connection.close()
    database = open_database(f"sqlite:///{path}", INTERFACE.tables)
    try:
        database.migrate()
        assert lacking(database) == ""
        assert database.read(lambda shop: shop[CONSENTS].current("one", "device-1")) == "IN"
        bag = database.read(lambda shop: shop[BAGS].find("one", "bagId", 11))
        assert bag is not None
        assert [(line.sequence, line.upc, line.quantity) for line in bag.lines] == [(1, 1001, 2)]
    finally:
        database.close()
