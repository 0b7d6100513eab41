"""A content folder as a git revision has it."""

import subprocess
from pathlib import Path

import pytest

from shopwindow.content.reading.revision import commit_of, exported
from shopwindow.problems import Failure


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """A content folder within a repository, with a file beside it."""
    folder = tmp_path / "shop" / "content"
    (folder / "events").mkdir(parents=True)
    git(tmp_path, "init", "-b", "main", "shop")
    (folder.parent / "README.md").write_text("Not content.")
    (folder / "events" / "one.yaml").write_text("id: 1\n")
    git(folder.parent, "add", ".")
    git(folder.parent, "commit", "-m", "First")
    return folder


def test_a_revision_holds_the_folder_alone_as_it_was(content: Path) -> None:
    (content / "events" / "one.yaml").write_text("id: 2\n")
    with exported(content, commit_of(content, "HEAD")) as folder:
        files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert files == {"events/one.yaml": "id: 1\n"}
    assert not folder.exists()


@pytest.mark.parametrize("revision", ["nowhere", "main~7", "main:content", "$(touch x)", "main; ls"])
def test_a_revision_that_git_does_not_have_is_one_sentence(content: Path, revision: str) -> None:
    with pytest.raises(Failure) as raised:
        commit_of(content, revision)
    assert str(raised.value) == f"git has no revision {revision} of {content}"


@pytest.mark.parametrize("revision", ["--help", "-h", "ma\nin"])
def test_an_option_is_no_revision(content: Path, revision: str) -> None:
    with pytest.raises(Failure, match="is no git revision"):
        commit_of(content, revision)


def test_a_folder_that_a_commit_lacks_is_one_sentence(content: Path) -> None:
    later = content.parent / "later"
    later.mkdir()
    commit = commit_of(later, "main")
    with pytest.raises(Failure, match=f"commit {commit[:12]} has no folder later"), exported(later, commit):
        pass


def test_a_folder_outside_git_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(Failure) as raised:
        commit_of(tmp_path, "main")
    assert str(raised.value) == f"{tmp_path} lies in no git repository"


def test_a_machine_without_git_is_one_sentence(content: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(Failure, match="git is not installed"):
        commit_of(content, "main")
