"""What a release holds beside files/, and nobody can ask for.

`stage_content` comes before the answers are rendered: content.json and
collections.json, which the service answers from, and which the manifest lists as
private. `stage_notes` comes last: manifest.json itself, and what only operators and
later builds read (build.json).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import orjson

from shopwindow.content.declared import collection as collections
from shopwindow.content.documents import documents, schedule
from shopwindow.content.documents.documents import Content
from shopwindow.release import manifest, stored
from shopwindow.release.indexes import IndexFiles
from shopwindow.release.order import BuildOrder
from shopwindow.release.previous import Previous
from shopwindow.release.stage import Stage
from shopwindow.release.waiting import NOTE


@dataclass(frozen=True)
class Unserved:
    """What the manifest says beside the answers.

    ``private``: the entries of files that are not served. ``next_change``: when the
    same documents would give another release (RFC 3339). ``edge``: the digest of the
    edge's configuration.
    """

    private: Mapping[str, Mapping[str, Any]]
    next_change: str
    edge: str

    def manifest(self, lines: Mapping[str, bytes]) -> bytes:
        """Return the bytes of manifest.json. ``lines``: the entry of each answer, by
        path.
        """
        return manifest.encode(lines, self.private, self.next_change, self.edge)


def stage_content(
    order: BuildOrder,
    content: Content,
    indexes: IndexFiles,
    previous: Previous,
    stage: Stage,
) -> Unserved:
    """Stage content.json and collections.json, and return what the manifest says of
    them.

    Call it before rendering: then no process has the bytes of content.json in memory
    while it renders.
    """
    private = {
        manifest.CONTENT_FILE: _staged(stage, manifest.CONTENT_FILE, content.encode()),
        **{index.path.name: index.private for index in indexes.values()},
    }
    interface, checked = order.inputs.interface, order.inputs.documents
    declared = interface.collections
    if declared:
        private[stored.COLLECTIONS_FILE] = _staged(
            stage, stored.COLLECTIONS_FILE, collections.encode(declared)
        )
    boundaries = documents.boundaries(checked, interface.kinds)
    next_change = schedule.next_change(
        boundaries, interface.clocks, checked.zone, order.moment
    )
    is_same = previous.same_program and previous.has_content(private)
    edge = previous.edge if is_same else order.edge(content)
    return Unserved(private, next_change.isoformat(timespec="seconds"), edge)


def _staged(stage: Stage, name: str, data: bytes) -> Mapping[str, Any]:
    """Stage a private file, and return its entry of the manifest."""
    return {"size": len(data), "sha256": stage.add(name, data)}


def stage_notes(
    order: BuildOrder,
    indexes: IndexFiles,
    listed: bytes,
    hidden: Mapping[str, Mapping[str, str]],
    stage: Stage,
) -> None:
    """Stage manifest.json and build.json.

    ``listed``: the manifest's bytes. ``hidden``: the documents that no file shows, as
    `waiting.noted` returns them.
    """
    stage.add("manifest.json", listed)
    note = {
        **order.note,
        **{name: index.note for name, index in indexes.items()},
        "at": order.moment.isoformat(),
        "program": order.inputs.program,
        "ended": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "schemas": order.inputs.schemas.digest,
        NOTE: hidden,
    }
    stage.add("build.json", orjson.dumps(note))
