"""How numbers are written in their file: 5.10, of which everyone else only knows that it is 5.1."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vitrine.content import feed, tree, yaml
from vitrine.content.listing import Source
from vitrine.content.plain import NUMBER
from vitrine.content.yaml import Malformed, Spot
from vitrine.problems import Pointer

_LINE_END = re.compile("\r\n|\r|\n")


@dataclass(frozen=True)
class Numbers:
    """The numbers of some lines by their places; ``first`` is the number of the first line in its file."""

    lines: Sequence[str]
    spots: Mapping[Pointer, Spot]
    first: int = 1

    def at(self, pointer: Pointer) -> str | None:
        """What is written there; None where that is no number, as an alias is none."""
        spot = self.spots.get(pointer)
        if spot is None:
            return None
        start, end = spot.value.column - 1, spot.value.end_column - 1
        line = "".join(self.lines[spot.value.line - self.first :][:1])
        (*_, found) = line[start:end].split() or [""]  # behind an anchor
        return found if NUMBER.fullmatch(found) else None


def of_file(folder: Path, source: Source, spots: Mapping[Pointer, Spot]) -> Numbers:
    """Those of a file, of which it is known where everything stands."""
    try:
        if source.path.endswith(".jsonl"):
            return Numbers((folder / source.path).read_bytes().decode("utf-8-sig", "replace").split("\n"), spots)
        return Numbers(_LINE_END.split(tree.text_of(folder, source)), spots)
    except (Malformed, OSError):  # changed since it was read
        return Numbers((), {})


def of_line(line: bytes, number: int) -> Numbers:
    """Those of a line of a feed."""
    return Numbers([yaml.decode(line)], feed.locate(line, number), number)
