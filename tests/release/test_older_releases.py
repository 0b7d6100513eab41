"""Facts about releases of older programs, which hold a .gz file beside each file that it makes smaller."""

import gzip
import json
import os
from hashlib import sha256
from pathlib import Path

import pytest

from releases import aged, built, promotion, shopwindow, small, write

NAME = "v2/utility/mobileapp/phone.json"


def compressed(release: Path) -> list[str]:
    """Make a release look as an older program left it; the .gz files' paths below files/."""
    note_path = release / "build.json"
    note = json.loads(note_path.read_bytes())
    note["gzip"] = {}
    for path in sorted((release / "files").rglob("*.*")):
        if path.is_file() and path.stat().st_size >= 1024:
            data = gzip.compress(path.read_bytes(), 1, mtime=0)
            digest = sha256(data).hexdigest()
            beside = path.with_name(f"{path.name}.gz")
            put(beside, data, int(digest[:8], 16) >> 1)
            note["gzip"][beside.relative_to(release / "files").as_posix()] = [digest, len(data)]
    put(note_path, json.dumps(note).encode(), None)
    return list(note["gzip"])


def put(path: Path, data: bytes, moment: int | None) -> None:
    """A file as a build leaves one, in the place of another."""
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    if moment is not None:
        os.utime(path, (moment, moment))
    path.chmod(0o444)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return aged(write(tmp_path / "content", small()))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


@pytest.fixture
def older(content: Path, out: Path) -> Path:
    """The current release, of an older program."""
    release = out / "releases" / built(content, out)
    assert f"{NAME}.gz" in compressed(release)
    return release


def test_an_older_release_is_listed_and_intact(older: Path, out: Path) -> None:
    listed = shopwindow("releases", "--out", out)
    assert (listed.status, older.name[:12] in listed.out, "damaged" in listed.out) == (0, True, False)
    assert shopwindow("verify", "--out", out).status == 0


@pytest.mark.parametrize(
    ("harm", "words"),
    [
        (lambda path: put(path, b"x", None), "not the bytes that were built"),
        (lambda path: path.unlink(), "No such file or directory"),
        (
            lambda path: os.utime(path, (1, 1)),
            "another modification time than its bytes give; its ETag would differ",
        ),
    ],
)
def test_its_compressed_files_are_verified(older: Path, out: Path, harm, words: str) -> None:  # type: ignore[no-untyped-def]
    harm(older / "files" / f"{NAME}.gz")
    ran = shopwindow("verify", "--out", out)
    assert (ran.status, ran.out) == (1, f"files/{NAME}.gz: {words}\n")


@pytest.mark.parametrize("told", [[], {"a.gz": 5}, {"a.gz": ["x", 5]}])
def test_a_list_of_compressed_files_that_says_nothing_counts_as_none(older: Path, out: Path, told: object) -> None:
    note = json.loads((older / "build.json").read_bytes())
    put(older / "build.json", json.dumps({**note, "gzip": told}).encode(), None)
    ran = shopwindow("verify", "--out", out)
    assert (ran.status, f"files/{NAME}.gz: not in the manifest" in ran.out.splitlines()) == (1, True)


def test_the_next_build_takes_its_files_and_leaves_the_compressed_ones(older: Path, content: Path, out: Path) -> None:
    write(content, {"promotions/plain.yaml": promotion(7, description="Another")})
    release = out / "releases" / built(content, out)
    assert list((release / "files").rglob("*.gz")) == []
    assert (release / "files" / NAME).stat().st_ino == (older / "files" / NAME).stat().st_ino
    assert shopwindow("verify", "--out", out).status == 0


def test_it_is_rolled_back_to_and_switched_to(older: Path, content: Path, out: Path) -> None:
    write(content, {"promotions/plain.yaml": promotion(7, description="Another")})
    second = built(content, out)
    for command, id in (("rollback", older.name), ("activate", second), ("activate", older.name)):
        assert shopwindow(command, id[:12], "--out", out).status == 0
        assert os.readlink(out / "current") == f"releases/{id}"


@pytest.mark.parametrize("more", [(), ("--no-cache",)])
def test_the_same_content_gives_the_same_release(older: Path, content: Path, out: Path, more: tuple[str, ...]) -> None:
    assert built(content, out, *more) == older.name
    assert shopwindow("verify", "--out", out).status == 0
