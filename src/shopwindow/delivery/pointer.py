"""current.json at a target: which release is current, and what else must move with it.

It is the one object that publishers replace, each time on condition that nobody else
has since they read it. So whatever has to be decided together, stands in it: the
release, its pin, the last activations, releases whose URLs are still to be purged, and
that somebody is pruning. The format is that of current.json in an output directory,
with more entries.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import orjson

from shopwindow.delivery import layout
from shopwindow.delivery.bucket import Bucket, Headers, Version
from shopwindow.problems import Failure
from shopwindow.release import history
from shopwindow.release.current import POINTER_FORMAT
from shopwindow.release.history import Activation
from shopwindow.release.manifest import NewerFormat

HISTORY = 20
"""Activations that the pointer lists: enough to roll back from, and few enough that a
host which asks for the pointer every second reads 7 KB at most.
"""

OBJECTS, SITE = "", "site"
"""Layouts of a target: objects under their digests, or files under their paths."""

POINTER_HEADERS = Headers("application/json", "no-cache")


@dataclass(frozen=True)
class TargetPointer:
    """What current.json says.

    ``switched``: when it last moved. ``built``: the latest build that was current. Both
    are RFC 3339. ``unpurged``: ids of the releases that caches may still hold, the
    oldest first. ``pruning``: since when somebody is pruning; empty: nobody is.
    ``history``: the last activations, the oldest first, as in history.jsonl.

    ``layout``: SITE or OBJECTS. Of a site ``begun`` has the ids of releases of which
    files may lie there beside the current one's, since ``sending``; ``id`` is empty
    until the first is whole.
    """

    id: str
    switched: str
    built: str
    pinned: bool = False
    unpurged: tuple[str, ...] = ()
    pruning: str = ""
    history: tuple[Activation, ...] = ()
    layout: str = OBJECTS
    begun: tuple[str, ...] = ()
    sending: str = ""

    def moved(
        self, id: str, built: str, activation: Activation, *, pin: bool
    ) -> "TargetPointer":
        """Return the pointer after an activation, which goes into the history.

        ``built`` is a build's instant; the latest of all is kept, so that after a
        rollback no build returns that is older than what was rolled back.
        """
        return replace(
            self,
            id=id,
            switched=str(activation["when"]),
            built=max(self.built, built),
            pinned=pin,
            history=(*self.history, activation)[-HISTORY:],
        )

    def to_roll_back_to(self) -> str | None:
        """Return the newest release of the history that was never rolled back from."""
        return history.to_roll_back_to(self.history, self.id)


@dataclass(frozen=True)
class ReadPointer:
    """The pointer as it was read; both are None where there is none."""

    pointer: TargetPointer | None
    version: Version | None


def read(bucket: Bucket, wanted: str = OBJECTS) -> ReadPointer:
    """Read the pointer of a target. ``wanted``: the layout that it must have.

    Raises Failure where it is of a later program, or none; where the target has the
    other layout; and where there is no pointer, but something else.
    """
    stored = bucket.read(layout.POINTER)
    if stored is None:
        _require_ours(bucket, wanted)
        return ReadPointer(None, None)
    present = _decode(stored.data, bucket.where)
    if present.layout != wanted:
        remedy = "leave --layout site out" if wanted == SITE else "say --layout site"
        raise Failure(
            f"{bucket.where}: was published in another layout; {remedy}, or publish to "
            "another prefix"
        )
    return ReadPointer(present, stored.version)


def _require_ours(bucket: Bucket, wanted: str) -> None:
    """Raise Failure where a target without a pointer holds what no publisher wrote."""
    ours = {
        OBJECTS: [
            folder.rstrip("/")
            for folder in (layout.OBJECTS, layout.RELEASES, layout.METADATA)
        ],
        SITE: ["manifests"],
    }
    others = [name for name in bucket.folders("") if name not in ours[wanted]]
    if others:
        raise Failure(
            f"{bucket.where}: holds something else ({', '.join(others[:3])}); "
            "publish to a prefix of its own"
        )


def _decode(data: bytes, where: str) -> TargetPointer:
    try:
        value = orjson.loads(data)
        if value["format"] > POINTER_FORMAT:
            raise NewerFormat(
                f"{where}: {layout.POINTER} has format {value['format']}; "
                f"this program reads up to {POINTER_FORMAT}: update it"
            )
        is_begun = value.get("layout") == SITE and value["id"] == ""
        return TargetPointer(
            id="" if is_begun else layout.digest(value["id"]),
            switched="" if is_begun else layout.instant(value["switched"]),
            built="" if is_begun else layout.instant(value["built"]),
            pinned=_flag(value.get("pinned", False)),
            unpurged=tuple(map(layout.digest, value.get("unpurged", ()))),
            pruning=layout.instant(value["pruning"]) if "pruning" in value else "",
            history=tuple(map(_activation, value["history"])),
            layout=str(value.get("layout", OBJECTS)),
            begun=tuple(map(layout.digest, value.get("begun", ()))),
            sending=layout.instant(value["sending"]) if "sending" in value else "",
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise Failure(
            f"{where}: {layout.POINTER} is not what a publisher writes ({layout.lacking(error)}); "
            "publish to a prefix of its own"
        ) from None


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{str(value)[:80]} is neither true nor false")
    return value


def _activation(value: Any) -> Activation:
    """Return an entry of the history. Raises ValueError, KeyError or TypeError."""
    layout.instant(value["when"])
    layout.digest(value["id"])
    if value["from"] is not None:
        layout.digest(value["from"])
    if not isinstance(value["who"], str):
        raise ValueError("its history has an entry of nobody")
    return dict(value)


def _encode(pointer: TargetPointer) -> bytes:
    value: dict[str, Any] = {
        "format": POINTER_FORMAT,
        "id": pointer.id,
        "switched": pointer.switched,
        "built": pointer.built,
    }
    more = {
        "pinned": pointer.pinned,
        "unpurged": pointer.unpurged,
        "pruning": pointer.pruning,
        "layout": pointer.layout,
        "begun": pointer.begun,
        "sending": pointer.sending,
    }
    value |= {name: entry for name, entry in more.items() if entry}
    value["history"] = pointer.history
    return orjson.dumps(value) + b"\n"


def move(bucket: Bucket, version: Version | None, pointer: TargetPointer) -> bool:
    """Replace the pointer, if it is still the version that was read.

    Returns False where somebody else was faster. A request that the network lost may
    have arrived: then the pointer is ours already.
    """
    data = _encode(pointer)
    if bucket.replace(layout.POINTER, data, POINTER_HEADERS, version):
        return True
    present = bucket.read(layout.POINTER)
    return present is not None and present.data == data


def activation(
    moment: datetime, id: str, previous: str | None, why: str, action: str
) -> Activation:
    """Return an entry of the history.

    Its instant has microseconds, so that no two publishers write the same pointer.
    """
    return history.activation(
        moment, id, previous, why, action, precision="microseconds"
    )
