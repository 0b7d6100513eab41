"""From an empty folder to a release and its preview: with the wheel, what requirements.txt pins, and nothing else."""

import os
import subprocess
import sys
import time
import venv
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from harness.content import SAMPLE
from harness.program import current
from harness.servers import free_port
from harness.waits import PATIENCE, awaited

ROOT = SAMPLE.parent
MINUTE = 60


def clean() -> dict[str, str]:
    """Return the environment without what leads to this checkout."""
    return {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "SHOPWINDOW"))}


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command, which must succeed; return what it printed."""
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=clean(), check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The wheel of this checkout, by its URL and its hash."""
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", folder, ROOT, cwd=folder)
    (wheel,) = folder.glob("*.whl")
    return f"{wheel.as_uri()}#sha256={sha256(wheel.read_bytes()).hexdigest()}"


@pytest.fixture(scope="module")
def environment(address: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment, installed by the requirements.txt that `init` writes."""
    folder = tmp_path_factory.mktemp("fresh")
    started = subprocess.run(
        [sys.executable, "-m", "shopwindow", "init", "pinned", "--wheel", address],
        cwd=folder,
        env=clean() | {"PYTHONPATH": str(ROOT / "src")},
        check=False,
    )
    assert started.returncode == 0
    venv.create(folder / "venv", symlinks=True, with_pip=True)
    options = ["--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
    run(folder / "venv/bin/pip", "install", *options, "-r", "pinned/requirements.txt", cwd=folder)
    return folder / "venv/bin"


def page(port: int, process: "subprocess.Popen[bytes]") -> int:
    """Return the status of the preview's first page, once it is there."""

    def status() -> int:
        assert process.poll() is None, f"the preview ended with {process.poll()}"
        with suppress(URLError, OSError), urlopen(f"http://127.0.0.1:{port}/", timeout=PATIENCE) as answer:
            return int(answer.status)
        return 0

    return awaited(status)


@pytest.mark.alone
@pytest.mark.parametrize("start", ["minimal", "sample"])
def test_an_empty_folder_becomes_a_shop_in_under_a_minute(environment: Path, tmp_path: Path, start: str) -> None:
    command = environment / "shopwindow"
    began = time.monotonic()
    run(command, "init", "shop", "--from", start, "--ci", "github", "--editor", "vscode", cwd=tmp_path)
    shop = tmp_path / "shop"
    assert "nothing wrong" in run(command, "check", "--at", "2026-11-22", cwd=shop)
    run(command, "build", cwd=shop)
    port = free_port()
    process = subprocess.Popen([command, "preview", "--bind", f"127.0.0.1:{port}"], cwd=shop, env=clean())
    try:
        assert page(port, process) == 200
        assert time.monotonic() - began < MINUTE
    finally:
        process.terminate()
        process.wait(PATIENCE)
    assert len(current(shop / "dist")) == 64


def test_new_and_schemas_need_no_more(environment: Path, tmp_path: Path) -> None:
    command = environment / "shopwindow"
    run(command, "init", "shop", cwd=tmp_path)
    run(command, "new", "event", "Tree Lighting", cwd=tmp_path / "shop")
    run(command, "schemas", "--editor", "vscode", cwd=tmp_path / "shop")
    # the warning of a document that is as `new` wrote it
    assert "no problems, 1 warning" in run(command, "check", "--at", "2026-11-22", cwd=tmp_path / "shop")
