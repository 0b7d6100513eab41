"""The release before the one that is built: which bytes, manifest entries and recorded reads
exist already.

This is the one seam between a cold build and a changed one. A build without a previous release
gets an empty value here, answers everything and writes everything; nothing else of it differs.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import orjson

from shopwindow.content import documents
from shopwindow.content.documents import Content
from shopwindow.interface.collections import without_collections
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import manifest, reads
from shopwindow.release.indexes import PreviousIndex
from shopwindow.release.prerender import PreviousFiles
from shopwindow.release.publish import Releases, index_note
from shopwindow.release.reads import ReadRecord
from shopwindow.release.stored import interface_of


@dataclass(frozen=True)
class Previous:
    """What of the previous release a build may take over.

    ``lines``: the lines of its manifest, by path. ``edge``: the digest of its edge
    configuration. ``content``: its documents; None where its content.json is not here or cannot
    be read. ``files``: where its files are; None where only its manifest is here, or nothing
    may be taken. ``same``: this very program made it with these schemas, so the same JSON means
    the same answer in every format. ``indexes``: its indexes, by name. ``recorded``: the file
    with what its answers have read.
    """

    id: str = ""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    edge: str | None = None
    content: Content | None = None
    files: Path | None = None
    same: bool = False
    indexes: Mapping[str, PreviousIndex] = field(default_factory=dict)
    recorded: Path | None = None

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Digest → a path with these bytes, of the files that are here."""
        return (
            {manifest.digest_of(line): path for path, line in self.lines.items()}
            if self.files
            else {}
        )

    def answers(self, paths: Iterable[str]) -> PreviousFiles:
        """Digest and size of some files, where the same JSON means that the other formats are
        the same as well.
        """
        return {
            path: (manifest.digest_of(line), manifest.size_of(line))
            for path in paths
            if self.same and (line := self.lines.get(path))
        }

    def records(self, state: Sequence[str]) -> list[ReadRecord]:
        """What its answers have read. Empty where nobody can tell.

        ``state``: digests of all else that an answer depends on: program, schemas, which
        questions there are.
        """
        return (
            reads.load(self.recorded, (self.id, *state)) if self.same and self.recorded else []
        )


def previous_release(
    releases: Releases, interface: Interface, program: str, schemas: str, *, fresh: bool = False
) -> Previous:
    """The current release, or the newest where none is current.

    ``program`` and ``schemas`` are the digests of those that build now. Of a release of which
    only the manifest is here nothing is taken, nor where the build shall be ``fresh``: they are
    only compared with.
    """
    id = releases.current() or next(iter(releases.ids()), None)
    if id is None or not (releases.path(id) / "manifest.json").is_file():
        return Previous()
    try:
        folder, listed, note = releases.path(id), releases.lines(id), releases.note(id)
    except (
        Failure
    ):  # `shopwindow verify` says what is wrong with it; this build takes nothing from it
        return Previous()
    content = _content(folder, interface)
    if fresh or not releases.complete(id):
        return Previous(id, listed.files, listed.edge, content)
    same = (note.get("program"), note.get("schemas")) == (program, schemas)
    indexes = {
        index.name: PreviousIndex(
            folder / index.file, listed.private[index.file], index_note(note, index.name)
        )
        for index in interface.indexes
        if index.file in listed.private
    }
    recorded = record_path(releases)
    return Previous(
        id, listed.files, listed.edge, content, folder / "files", same, indexes, recorded
    )


def _content(folder: Path, interface: Interface) -> Content | None:
    """The documents of a release, by the collections that it had; ``interface`` has those of
    this build.
    """
    try:
        value = orjson.loads((folder / manifest.CONTENT_FILE).read_bytes())
        return documents.decode(
            value, interface_of(folder, without_collections(interface)).kinds, interface.clocks
        )
    except (
        Failure,
        OSError,
        ValueError,
        KeyError,
        TypeError,
    ):  # what differs from it cannot be listed; nothing else needs it
        return None


def record_path(releases: Releases) -> Path:
    """The file with what the answers of the release that was built last have read."""
    return releases.out / ".cache" / "reads"
