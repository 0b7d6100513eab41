"""How values are written in their file, such as 5.10, which is the number 5.1 to
everyone else.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shopwindow.content import yaml
from shopwindow.content.files import text_of
from shopwindow.content.listing import Source
from shopwindow.content.syntax import LINE_END
from shopwindow.content.yaml import JSON_NUMBER, Malformed, Spot
from shopwindow.problems import Pointer


@dataclass(frozen=True)
class WrittenLines:
    """Some lines of a file.

    ``spots``: where every value stands. ``first``: the number of the first line in the
    file.
    """

    lines: Sequence[str]
    spots: Mapping[Pointer, Spot]
    first: int = 1

    def text(self, pointer: Pointer) -> str:
        """Return the text at a place; empty where the place is not in these lines."""
        if (spot := self.spots.get(pointer)) is None:
            return ""
        place = spot.value
        lines = list(
            self.lines[place.line - self.first : place.end_line - self.first + 1]
        )
        lines[-1:] = [line[: place.end_column - 1] for line in lines[-1:]]
        return "\n".join(lines)[place.column - 1 :]

    def number(self, pointer: Pointer) -> str | None:
        """Return the number as it is written at a place; None where an alias stands
        there.
        """
        *_, found = ["", *self.text(pointer).split()]  # behind an anchor
        return found if JSON_NUMBER.fullmatch(found) else None


def of_file(
    folder: Path, source: Source, spots: Mapping[Pointer, Spot]
) -> WrittenLines:
    """Return the lines of a file. ``spots``: where every value stands in it."""
    try:
        if source.path.endswith(".jsonl"):
            return WrittenLines(
                (folder / source.path)
                .read_bytes()
                .decode("utf-8-sig", "replace")
                .split("\n"),
                spots,
            )
        return WrittenLines(LINE_END.split(text_of(folder, source)), spots)
    except (Malformed, OSError):  # changed since it was read
        return WrittenLines((), {})


def of_line(line: bytes, number: int) -> WrittenLines:
    """Return one line of a feed. ``number``: its number in the feed."""
    from shopwindow.content import feed

    return WrittenLines([yaml.decode(line)], feed.locate(line, number), number)
