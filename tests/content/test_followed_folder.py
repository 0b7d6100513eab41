"""A folder that is followed: when its follower looks again."""

import threading
from pathlib import Path

from shopwindow.content.reading.listing import below
from shopwindow.library.following import follow


def test_each_reason_why_a_folder_cannot_be_read_is_reported(tmp_path: Path) -> None:
    folder, ended = tmp_path / "content", threading.Event()
    looks: list[str] = []

    def changed() -> None:
        looks.append("a file" if folder.is_file() else "nothing")
        if folder.is_file():
            ended.set()
        else:
            folder.write_text("a file where the folder was")

    patience = threading.Timer(20, ended.set)
    patience.start()
    follow(folder, changed, lambda: False, ended)
    patience.cancel()
    assert looks == ["nothing", "a file"]


def test_files_below_a_folder_are_in_the_order_of_their_paths(tmp_path: Path) -> None:
    names = [f"{number * 7 % 40:02}.yaml" for number in range(40)]
    for name in names:
        (tmp_path / name).write_text("")
    assert below(tmp_path) == sorted(names)
