"""Facts about what operators are told: of folders that are another user's, and of a service without a release."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.content import SAMPLE
from harness.program import Ran, Watch, built
from harness.run import apart
from harness.waits import awaited
from shopwindow.shop import INTERFACE

NOBODY = 65534


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases that are another user's, in a folder that is for nobody else."""
    if os.geteuid() != 0 or shutil.which("setpriv") is None:
        pytest.skip("only root makes a folder of another user")
    out = tmp_path_factory.mktemp("foreign") / "dist"
    built(SAMPLE, out)
    out.chmod(0o700)
    os.chown(out, NOBODY, NOBODY)
    return out


def as_stranger(*arguments: str | Path) -> Ran:
    """Run a command as a user who may do no more than the modes of files say, which hold for root too then."""
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner", sys.executable, "-m", "shopwindow"]
    done = subprocess.run([*drop, *map(str, arguments)], capture_output=True, text=True)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    "command", [["releases"], ["verify"], ["diff", "current", "current"], ["schemas", "--openapi"]]
)
def test_a_foreign_users_releases_are_a_sentence(foreign: Path, command: list[str]) -> None:
    ran = as_stranger(*command, "--out", foreign)
    assert (ran.status, ran.out) == (4, "")
    (line,) = ran.err.splitlines()
    assert line == (
        f"shopwindow: {foreign}/current: the user root may not read or change it; "
        f"{foreign} belongs to nobody: run this as that user"
    )


@apart
def test_a_service_without_a_release_says_so_and_follows_the_first(tmp_path: Path) -> None:
    lines: list[str] = []
    out = tmp_path / "dist"
    watch = Watch(out, INTERFACE, report=lines.append)
    assert watch() is None
    assert lines == [
        f"there is no release yet in {out}: reads are answered 503 until `shopwindow build --out {out}` makes one"
    ]
    id = built(SAMPLE, out)
    assert awaited(watch).id == id
    assert len(lines) == 1
