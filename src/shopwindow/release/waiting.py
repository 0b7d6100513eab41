"""Documents that a release does not show, for the instant lies outside their window.

No file says that such a document was edited. So build.json has a digest of each of
them, and a build names those whose digest the previous release lacks.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any

import orjson

from shopwindow.content.documents.documents import Documents
from shopwindow.content.documents.schedule import window
from shopwindow.content.kinds import Kind

NOTE = "waiting"
"""The entry of build.json: kind → digest of a document → its name."""


@dataclass(frozen=True)
class Waiting:
    """A document that no file shows.

    ``live``: "from" where it is live from ``moment`` on, or "until" where it was live
    until then.
    """

    kind: str
    name: str
    digest: str
    live: str
    moment: datetime


def waiting(
    documents: Documents, kinds: Iterable[Kind], moment: datetime
) -> Iterator[Waiting]:
    """Yield the documents that are not live at an instant, in the order of the files."""
    for kind in kinds:
        if kind.streamed or not kind.scheduled:
            continue
        for document in documents.of(kind.name):
            value = document.value
            shown = window(value, documents.zone)
            if moment in shown:
                continue
            is_ahead = moment < shown.start
            data = orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
            yield Waiting(
                kind=kind.name,
                name=str(kind.named(value)),
                digest=sha256(data).hexdigest(),
                live="from" if is_ahead else "until",
                moment=shown.start if is_ahead else shown.end,
            )


def noted(all_waiting: Iterable[Waiting]) -> dict[str, dict[str, str]]:
    """Return what build.json says of the documents that its release does not show."""
    note: dict[str, dict[str, str]] = {}
    for one in all_waiting:
        note.setdefault(one.kind, {})[one.digest] = one.name
    return note


def edited(
    all_waiting: Iterable[Waiting], previous: Mapping[str, Any]
) -> tuple[Waiting, ...]:
    """Return those that the previous release had otherwise, or not at all.

    ``previous``: its build.json. Nothing can be said where that has no such entry.
    """
    before = previous.get(NOTE)
    if not isinstance(before, dict):
        return ()
    return tuple(
        one for one in all_waiting if one.digest not in before.get(one.kind, ())
    )
