"""A folder that is followed: when its follower looks again."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.content import event, small, write
from shopwindow import library
from shopwindow.content.check.folder import Checked
from shopwindow.content.reading.listing import below
from shopwindow.shop import INTERFACE

PATIENCE_SECONDS = 20


@contextmanager
def ended_in_time() -> Iterator[threading.Event]:
    """What ends a follower, which is also ended where it never looks."""
    ended = threading.Event()
    patience = threading.Timer(PATIENCE_SECONDS, ended.set)
    patience.start()
    yield ended
    patience.cancel()


def followed(folder: Path, changed: Callable[[], object], checked: Checked, ended: threading.Event) -> None:
    library.follow(INTERFACE, folder, changed, lambda: checked, ended)


def test_each_reason_why_a_folder_cannot_be_read_is_reported(tmp_path: Path) -> None:
    folder, looks = tmp_path / "content", list[str]()

    def changed() -> None:
        looks.append("a file" if folder.is_file() else "nothing")
        if folder.is_file():
            ended.set()
        else:
            folder.write_text("a file where the folder was")

    with ended_in_time() as ended:
        followed(folder, changed, Checked(None, []), ended)
    assert looks == ["nothing", "a file"]


def test_what_was_saved_between_the_check_and_the_watch_is_looked_at(tmp_path: Path) -> None:
    folder, looks = write(tmp_path / "content", small()), list[str]()
    checked = library.check(INTERFACE, folder, jobs=1)
    write(folder, {"events/more.yaml": event(77, [1], "2026-12-01 10:00", "2026-12-01 12:00")})

    def changed() -> None:
        looks.append("saved")
        ended.set()

    with ended_in_time() as ended:
        followed(folder, changed, checked, ended)
    assert looks == ["saved"]


def test_files_below_a_folder_are_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = [f"{number * 7 % 40:02}.yaml" for number in range(40)]
    for name in names:
        (tmp_path / name).write_text("")
    assert below(tmp_path) == sorted(names)
