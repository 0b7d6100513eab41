"""How the last build ended, as the refresh status tells it: from what builds note in the
release and beside it.
"""

from datetime import UTC, datetime
from typing import Any

from shopwindow.release.build_notes import CONTENT_AT_FAULT, killed_build, last_build
from shopwindow.release.publish import Releases

JOB = "shopwindow build"
OUTSIDE = "the build failed for a reason outside the content, which its output tells"
"""What clients are told of a full disk and the like: the words that operators get name paths of
the host.
"""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def refresh_status(releases: Releases, id: str) -> dict[str, Any]:
    """Of the build of release ``id``; of the last build where that failed, or was killed (wire
    shapes §2).

    Read anew each time: a build that fails switches no release.
    """
    last, cut = last_build(releases.out), killed_build(releases.out)
    if cut:
        return _failed(
            id, cut.get("started"), cut.get("started"), "the build ended before it was done"
        )
    if last.get("status") == "FAILED":
        description = OUTSIDE
        if last.get("cause") == CONTENT_AT_FAULT and last.get("description"):
            description = str(last["description"])
        return _failed(id, last.get("started"), last.get("ended"), description)
    note = releases.note(id)
    built = note.get("built")
    return _times(note.get("started", built), note.get("ended", built), "SUCCESS")


def _failed(id: str, started: Any, ended: Any, description: str) -> dict[str, Any]:
    return {
        **_times(started, ended, "FAILED"),
        "instanceId": id,
        "executionId": str(started),
        "exitCode": "FAILED",
        "exitDescription": description,
        "clusterName": JOB,
    }


def _times(started: Any, ended: Any, status: str) -> dict[str, Any]:
    return {
        "jobName": JOB,
        "startTime": _instant(started),
        "endTime": _instant(ended),
        "status": status,
    }


def _instant(text: Any) -> str:
    """ISO 8601 with milliseconds and offset; the beginning of time for what nobody noted."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        moment = EPOCH
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
