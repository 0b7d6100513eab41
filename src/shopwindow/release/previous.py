"""The release before the one that is built: which bytes, manifest entries and recorded
reads exist already.

This is the one seam between a cold build and a changed one. A build without a previous
release gets an empty value here, renders everything and writes everything; nothing else
of it differs.
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
    configuration. ``content``: its documents; None where its content.json is not here
    or cannot be read. ``files``: the folder with its files; None where only its
    manifest is here, or nothing may be taken over. ``same_program``: this very program
    built it with these schemas, so equal JSON means an equal answer in every format.
    ``indexes``: its indexes, by name. ``record``: the file with what its answers have
    read.
    """

    id: str = ""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    edge: str | None = None
    content: Content | None = None
    files: Path | None = None
    same_program: bool = False
    indexes: Mapping[str, PreviousIndex] = field(default_factory=dict)
    record: Path | None = None

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Digest → the path of a file with these bytes, where the files are here."""
        if not self.files:
            return {}
        return {manifest.digest_of(line): path for path, line in self.lines.items()}

    def answers(self, paths: Iterable[str]) -> PreviousFiles:
        """Return digest and size of those of the paths whose JSON decides their other
        formats.
        """
        if not self.same_program:
            return {}
        return {
            path: (manifest.digest_of(line), manifest.size_of(line))
            for path in paths
            if (line := self.lines.get(path))
        }

    def records(self, state: Sequence[str]) -> list[ReadRecord]:
        """Return what its answers have read; empty where that is not recorded for this
        state.

        ``state``: digests of all else that an answer depends on: the program, the
        schemas, and which answers there are.
        """
        if not self.same_program or not self.record:
            return []
        return reads.load(self.record, (self.id, *state))


def previous_release(
    releases: Releases,
    interface: Interface,
    built_by: tuple[str, str],
    *,
    fresh: bool = False,
) -> Previous:
    """Return the current release, or the newest where none is current.

    ``built_by``: the digests of the program and of the schemas that build now. A
    ``fresh`` build takes nothing over from it, and nobody can from a release of which
    only the manifest is here; both only compare documents and count files.
    """
    id = releases.current() or next(iter(releases.ids()), None)
    if id is None or not (releases.path(id) / "manifest.json").is_file():
        return Previous()
    folder, note = releases.path(id), releases.note(id)
    try:
        listed = releases.lines(id)
    except Failure:  # a damaged manifest, which `shopwindow verify` explains
        return Previous()
    content = _content(folder, interface)
    if fresh or not releases.complete(id):
        return Previous(id, listed.files, listed.edge, content)

    indexes = {
        index.name: PreviousIndex(
            folder / index.file,
            listed.private[index.file],
            index_note(note, index.name),
        )
        for index in interface.indexes
        if index.file in listed.private
    }
    return Previous(
        id,
        listed.files,
        listed.edge,
        content,
        folder / "files",
        (note.get("program"), note.get("schemas")) == built_by,
        indexes,
        record_path(releases),
    )


def _content(folder: Path, interface: Interface) -> Content | None:
    """Return the documents of a release; None where they cannot be read.

    Nothing but the list of changed documents needs them, so a build goes on without.
    The release's own collections say how to read it; ``interface`` has those of this
    build.
    """
    try:
        value = orjson.loads((folder / manifest.CONTENT_FILE).read_bytes())
        its_interface = interface_of(folder, without_collections(interface))
        return documents.decode(value, its_interface.kinds, interface.clocks)
    except (Failure, OSError, ValueError, KeyError, TypeError):
        return None


def record_path(releases: Releases) -> Path:
    """Return the file with what the answers of the release that was built last have
    read.
    """
    return releases.out / ".cache" / "reads"
