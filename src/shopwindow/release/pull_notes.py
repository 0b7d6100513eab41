"""The note of a host that pulls its releases: how the last attempt went.

`pulled.json` stands in the output directory. Whoever pulls writes it after every
attempt; the service's admin address shows it. It also holds what must outlast a
restart: which pointer of the source this host has followed, and how many attempts have
failed, by the kind of fault.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shopwindow.release import notes

PULLED = "pulled.json"

PULL_NOTE_FORMAT = 1
"""The format of the note, which it states."""


FAULT_KINDS = {
    "source": "the source is away, or refuses",
    "stale": "the source says what it said before",
    "newer": "a later program wrote what is there",
    "unsigned": "what is there is not signed by the keys of the shop",
    "expired": "what is signed there has expired, or a clock is wrong",
    "damaged": "bytes are missing, or not what they must be",
    "host": "this host cannot take it: its disk, or another command at work",
    "program": "this program fails at what is there, and should not",
}
"""What may keep a host from a release: as metrics name it, and what it means."""


@dataclass(frozen=True)
class PullNote:
    """What pulled.json says.

    ``source``: the source's address. ``release``: the id that the source last named.
    ``succeeded``: when an attempt last went well (RFC 3339); empty: never. ``kind``,
    ``fault`` and ``since``: what is wrong since when; empty: nothing. ``faults``: how
    many attempts failed, by kind. ``memory``: what the source is to remember.
    """

    source: str = ""
    release: str = ""
    succeeded: str = ""
    kind: str = ""
    fault: str = ""
    since: str = ""
    faults: Mapping[str, int] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)


def read(out: Path) -> PullNote | None:
    """Return the note of an output directory; None where there is none to be read."""
    value = notes.read(out / PULLED)
    try:
        texts = ("source", "release", "succeeded", "kind", "fault", "since")
        faults = {str(kind): int(count) for kind, count in value["faults"].items()}
        return PullNote(
            **{name: str(value[name]) for name in texts},
            faults=faults,
            memory=dict(value["memory"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def write(out: Path, note: PullNote) -> None:
    """Write the note. Raises OSError."""
    notes.write(out / PULLED, {"format": PULL_NOTE_FORMAT, **vars(note)})
