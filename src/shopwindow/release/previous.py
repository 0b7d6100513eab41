"""The release before the one that is built, and what a build may take over from it.

A build takes over bytes, lines of the manifest and recorded reads. This module is the
only place that decides whether it may. A first build, or one that may take over
nothing, gets a `Previous` with empty fields; it then renders and writes everything by
the same steps as any other build.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure
from shopwindow.release import manifest, reads
from shopwindow.release.chain import Chain
from shopwindow.release.changes import documents_of
from shopwindow.release.indexes import IndexFile, IndexFiles
from shopwindow.release.order import BuildInputs
from shopwindow.release.reads import ReadRecord
from shopwindow.release.releases import Releases, index_note
from shopwindow.release.stored import interface_of

_RECORD = "reads"
"""What the names of these files begin with."""


@dataclass(frozen=True)
class Previous:
    """What a build compares with, and what it may take over.

    To compare with: ``id``; ``lines``: path below files/ → line of its manifest;
    ``private``: entries of its manifest for what nobody can ask for; ``folder``, None
    where there is no such release.

    To take over: ``files``: the folder with its files, None where only its manifest is
    here or nothing may be taken over; ``same_program``: this very program built it with
    these schemas, so equal JSON means an equal answer in every format; ``indexes``: its
    indexes, by name; ``record``: the file with what its answers have read; ``edge``: the
    digest of the edge's configuration.
    """

    id: str = ""
    lines: Mapping[str, bytes] = field(default_factory=dict)
    private: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    folder: Path | None = None
    files: Path | None = None
    same_program: bool = False
    indexes: IndexFiles = field(default_factory=dict)
    record: Path | None = None
    edge: str = ""

    def has_content(self, private: Mapping[str, Mapping[str, Any]]) -> bool:
        """Return whether it is of this very content.

        ``private``: entries of the new manifest for content.json, collections.json and
        the indexes. All that an answer can read follows from these files.
        """
        return self.private == private

    def read_content(self, interface: Interface) -> Content | None:
        """Return its documents; None where they cannot be read.

        They serve only to list what has changed, so a build goes on without them. A
        release is read by the collections that it was built with, and ``interface`` has
        those of the present build instead.
        """
        if self.folder is None:
            return None
        try:
            return documents_of(self.folder, interface_of(self.folder, interface))
        except Failure:
            return None

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """Digest → path of a file with these bytes; empty where files are not here."""
        if not self.files:
            return {}
        return {manifest.digest_of(line): path for path, line in self.lines.items()}

    @property
    def encoded(self) -> Mapping[str, bytes]:
        """Path → line of the files that this program would encode as they are.

        An answer whose JSON file has an equal digest need not be encoded in the other
        formats. That holds only for the same program, so it is empty for another one.
        """
        return self.lines if self.same_program else {}

    def read_record(self, state: Sequence[str]) -> ReadRecord | None:
        """Return what its answers have read; None where no usable record exists.

        ``state``: digests of what an answer depends on besides its reads: the program,
        the schemas, and which answers there are. A record of another state is void.
        One of this state says that this program has rendered the release, even where
        another one wrote it first.
        """
        return reads.load(self.record, (self.id, *state)) if self.record else None


def previous_release(
    releases: Releases,
    inputs: BuildInputs,
    *,
    after: str | None = None,
    fresh: bool = False,
) -> Previous:
    """Return the release ``after``, or else the current one, or else the newest.

    ``inputs``: what is built from now. Nothing may be taken over by a ``fresh`` build, or
    from a release of which only the manifest is here; then the result serves only to
    compare documents and to count files.
    """
    interface = inputs.interface
    release_id = after or releases.current() or next(iter(releases.ids()), None)
    if release_id is None:
        return Previous()
    folder = releases.path(release_id)
    note = releases.note(release_id)
    try:
        listed = releases.lines(release_id)
    except Failure:  # none, or a damaged one, which `shopwindow verify` explains
        return Previous()
    compared = Previous(release_id, listed.files, listed.private, folder)
    if fresh or not releases.complete(release_id):
        return compared

    indexes = {
        index.name: IndexFile(folder / index.file, listed.private[index.file], its_note)
        for index in interface.indexes
        if index.file in listed.private and (its_note := index_note(note, index.name))
    }
    return replace(
        compared,
        files=folder / "files",
        same_program=(note.get("program"), note.get("schemas")) == inputs.built_by,
        indexes=indexes,
        record=record_path(releases, release_id),
        edge=listed.edge,
    )


def record_path(releases: Releases, id: str) -> Path:
    """Return the file with what the answers of a release have read.

    It names the release that it belongs to: see `reads.save`.
    """
    return releases.out / ".cache" / f"{_RECORD}{id[:12]}"


def keep_records(releases: Releases, chain: Chain) -> None:
    """Delete all records but those of a chain: one of its releases is current when the
    next build begins.
    """
    kept = [record_path(releases, link.id) for link in chain.links]
    for path in (releases.out / ".cache").glob(f"{_RECORD}*"):
        if path not in kept:
            path.unlink(missing_ok=True)
