"""Facts about whose a database's files are, where root restores or migrates what the service's user has to open."""

import os
import pwd
import stat
from pathlib import Path

import pytest

from harness.databases import backed_up
from harness.program import shopwindow

NOBODY = 65534


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of another user, as the service's is; only root can make one."""
    if os.geteuid() != 0:
        pytest.skip("only root gives files away")
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    os.chown(store, NOBODY, NOBODY)
    return store


def run(*arguments: str | Path) -> None:
    ran = shopwindow(*arguments)
    assert ran.status == 0, ran


def owners(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {
        path.name: (s.st_uid, s.st_gid, stat.S_IMODE(s.st_mode)) for path in folder.iterdir() if (s := path.lstat())
    }


def test_a_database_that_root_makes_belongs_to_the_folders_owner(folder: Path) -> None:
    run("migrate", "--database", f"sqlite:///{folder}/shopwindow.sqlite")
    found = owners(folder)
    assert "shopwindow.sqlite" in found
    assert set(found.values()) == {(NOBODY, NOBODY, 0o600)}, found


def test_restore_gives_the_file_to_whom_it_belonged(folder: Path, tmp_path: Path) -> None:
    database = folder / "shopwindow.sqlite"
    run("migrate", "--database", f"sqlite:///{database}")
    copy = backed_up(f"sqlite:///{database}", tmp_path / "copies")
    games = pwd.getpwnam("games")  # it may be another than the folder's owner
    os.chown(database, games.pw_uid, games.pw_gid)
    run("restore", "--database", f"sqlite:///{database}", "--from", copy)
    kept = database.stat()
    assert (kept.st_uid, kept.st_gid, stat.S_IMODE(kept.st_mode)) == (games.pw_uid, games.pw_gid, 0o600)
    (before,) = folder.glob("*.before-restore-*")
    assert before.stat().st_uid == games.pw_uid
    assert 0 not in {uid for uid, _, _ in owners(folder).values()}


def test_restore_into_an_empty_folder_gives_the_file_to_its_owner(folder: Path, tmp_path: Path) -> None:
    first = tmp_path / "first.sqlite"
    run("migrate", "--database", f"sqlite:///{first}")
    copy = backed_up(f"sqlite:///{first}", tmp_path / "copies")
    assert copy.stat().st_uid == 0  # root's own copy stays root's
    run("restore", "--database", f"sqlite:///{folder}/shopwindow.sqlite", "--from", copy)
    assert set(owners(folder).values()) == {(NOBODY, NOBODY, 0o600)}


@pytest.mark.parametrize("link", ["symbolic", "hard"])
def test_no_link_in_the_folder_makes_root_give_another_file_away(folder: Path, tmp_path: Path, link: str) -> None:
    secret = tmp_path / "of-root"
    secret.touch(mode=0o600)
    if link == "symbolic":
        (folder / "shopwindow.sqlite.held").symlink_to(secret)
    else:
        (folder / "shopwindow.sqlite.held").hardlink_to(secret)
    shopwindow("migrate", "--database", f"sqlite:///{folder}/shopwindow.sqlite")
    assert secret.stat().st_uid == 0
