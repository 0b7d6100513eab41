"""How values are written in their file: 5.10, of which everyone else only knows that it is 5.1."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from shopwindow.content import tree, yaml
from shopwindow.content.listing import Source
from shopwindow.content.syntax import LINE_END
from shopwindow.content.yaml import JSON_NUMBER, Malformed, Spot
from shopwindow.problems import Pointer


@dataclass(frozen=True)
class WrittenLines:
    """Some lines, and where every value stands in them; ``first`` is the number of the first
    line in its file.
    """

    lines: Sequence[str]
    spots: Mapping[Pointer, Spot]
    first: int = 1

    def text(self, pointer: Pointer) -> str:
        """All that is written there; nothing where that is not known."""
        if (spot := self.spots.get(pointer)) is None:
            return ""
        place = spot.value
        lines = list(self.lines[place.line - self.first : place.end_line - self.first + 1])
        lines[-1:] = [line[: place.end_column - 1] for line in lines[-1:]]
        return "\n".join(lines)[place.column - 1 :]

    def number(self, pointer: Pointer) -> str | None:
        """The number that is written there; None where there is none, but an alias."""
        *_, found = ["", *self.text(pointer).split()]  # behind an anchor
        return found if JSON_NUMBER.fullmatch(found) else None


def of_file(folder: Path, source: Source, spots: Mapping[Pointer, Spot]) -> WrittenLines:
    """The values of a file, of which it is known where everything stands."""
    try:
        if source.path.endswith(".jsonl"):
            return WrittenLines(
                (folder / source.path).read_bytes().decode("utf-8-sig", "replace").split("\n"),
                spots,
            )
        return WrittenLines(LINE_END.split(tree.text_of(folder, source)), spots)
    except (Malformed, OSError):  # changed since it was read
        return WrittenLines((), {})


def of_line(line: bytes, number: int) -> WrittenLines:
    """The values of a line of a feed."""
    from shopwindow.content import feed

    return WrittenLines([yaml.decode(line)], feed.locate(line, number), number)
