"""Facts about a release that was copied without its times: `verify --repair` mends it, and changes no byte."""

import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

from harness.content import SAMPLE
from harness.program import Ran, built, current, shopwindow, tree


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("origin") / "dist"
    built(SAMPLE, out)
    return out


def states(out: Path) -> dict[str, tuple[int, int]]:
    """Time and mode of each file of the current release, by its path."""
    release = (out / "current").resolve()
    found = {}
    for path in release.rglob("*"):
        if path.is_file():
            kept = path.stat()
            found[path.relative_to(release).as_posix()] = int(kept.st_mtime), stat.S_IMODE(kept.st_mode)
    return found


def verify(out: Path, *more: str) -> Ran:
    return shopwindow("verify", "--out", out, *more)


COPIES = {
    "cp": ["cp", "-r"],
    "rsync": ["rsync", "-rl", "--chmod=F644"],
    "tar": ["sh", "-c", 'mkdir "$2" && tar -C "$1" -c . | tar -C "$2" -xm --no-same-permissions', "sh"],
}


@pytest.mark.parametrize("tool", COPIES)
def test_a_copy_without_times_is_mended(origin: Path, tmp_path: Path, tool: str) -> None:
    command = COPIES[tool]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{tool} is not here")
    copy = tmp_path / "dist"
    source = f"{origin}/" if tool == "rsync" else str(origin)
    subprocess.run([*command, source, str(copy)], check=True)
    damaged = verify(copy)
    assert damaged.status == 1
    assert "another modification time than its bytes give" in damaged.out
    before = tree((copy / "current").resolve())
    mended = verify(copy, "--repair")
    assert mended.status == 0, mended
    number = int(mended.out.split()[0].replace(",", ""))
    files = {path.stat().st_ino for path in (copy / "current").resolve().rglob("*") if path.is_file()}
    assert number >= len(files) - 1  # build.json says nothing of its time; equal files are links to one
    assert states(copy) == states(origin)
    assert tree((copy / "current").resolve()) == before == tree((origin / "current").resolve())
    again = verify(copy, "--repair")
    assert (again.status, again.out.split()[0]) == (0, "0")


def test_wrong_bytes_stay_a_fault(origin: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(origin, tmp_path / "dist", symlinks=True))
    file = (copy / "current/files/v2/promotions.json").resolve()
    file.chmod(0o644)
    file.write_bytes(file.read_bytes() + b" ")
    ran = verify(copy, "--repair")
    assert ran.status == 1
    assert "files/v2/promotions.json: not the bytes that were built" in ran.out


def test_what_a_link_leads_to_is_left_alone(origin: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(origin, tmp_path / "dist", symlinks=True))
    outside = tmp_path / "outside"
    outside.write_text("of somebody else")
    outside.chmod(0o640)
    os.utime(outside, (1, 1))
    file = (copy / "current/files/v2/promotions.json").resolve()
    file.unlink()
    file.symlink_to(outside)
    ran = verify(copy, "--repair")
    assert ran.status == 1
    assert "files/v2/promotions.json: not a regular file" in ran.out
    assert (int(outside.stat().st_mtime), stat.S_IMODE(outside.stat().st_mode)) == (1, 0o640)


def test_a_build_after_it_links_the_files(origin: Path, tmp_path: Path) -> None:
    """A build refuses to link what was changed, by its time: a mended copy is as good as the original."""
    copy = tmp_path / "dist"
    subprocess.run(["cp", "-r", str(origin), str(copy)], check=True)
    assert verify(copy, "--repair").status == 0
    content = Path(shutil.copytree(SAMPLE, tmp_path / "content"))
    store = next((content / "stores").glob("*.yaml"))
    store.write_text(store.read_text().replace("name: ", "name: New ", 1))
    first = current(copy)
    assert built(content, copy) != first
    assert verify(copy).status == 0
