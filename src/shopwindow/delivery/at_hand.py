"""What a host that pulls has already: the release that is current there."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from shopwindow.delivery.chunks import chunks, stretches
from shopwindow.delivery.outgoing import LINES
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.releases import Releases


@dataclass(frozen=True)
class AtHand:
    """The current release of a host: its folder, and the lines of its manifest.

    ``folder`` None: there is none to take anything from.
    """

    folder: Path | None = None
    lines: Mapping[str, bytes] = field(default_factory=dict)

    def paths(self) -> dict[str, Path]:
        """Return digest → a file below files/ that was built with it."""
        if self.folder is None:
            return {}
        return {
            manifest.digest_of(line): self.folder / "files" / path
            for path, line in self.lines.items()
        }

    def chunks(self, name: str) -> dict[str, tuple[int, int]]:
        """Return digest → where a chunk of the part ``name`` begins, and its size."""
        placed: dict[str, tuple[int, int]] = {}
        if self.folder is None:
            return placed
        path = self.folder / name
        try:
            if name in LINES:
                offset = 0
                for chunk in chunks(path.read_bytes()):
                    placed[sha256(chunk).hexdigest()] = offset, len(chunk)
                    offset += len(chunk)
                return placed
            with open(path, "rb") as file:
                for offset, size in stretches(path.stat().st_size):
                    placed[sha256(file.read(size)).hexdigest()] = offset, size
        except OSError:  # it has none, or the disk lost it
            return placed
        return placed


def at_hand(releases: Releases, id: str) -> AtHand:
    """Return what a release may be made from; nothing where that is the same one,
    which is fetched again because it is damaged.
    """
    current = releases.current()
    if current is None or current == id or not releases.complete(current):
        return AtHand()
    try:
        return AtHand(releases.path(current), releases.lines(current).files)
    except Failure:  # a damaged manifest
        return AtHand()
