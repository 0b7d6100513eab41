"""How the last build ended, for the refresh status (interface W2.13).

Builds write notes into their release and beside it; this module turns the notes into
the operation's fields.
"""

from datetime import UTC, datetime
from typing import Any

from shopwindow.release.build_notes import CONTENT_AT_FAULT, killed_build, last_build
from shopwindow.release.releases import Releases

JOB = "shopwindow build"
OUTSIDE_CONTENT = (
    "the build failed for a reason outside the content, which its output tells"
)
"""The description of a full disk and the like. Clients do not get the operator's
message, which names paths of the host.
"""

UNKNOWN_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""In place of a time that no note has."""


def refresh_status(releases: Releases, id: str) -> dict[str, Any]:
    """Return the status of the build of release ``id``, or of the last one if that
    failed.

    A build that was killed counts as failed. The notes are read for each request,
    because a build that fails activates no release.
    """
    last, cut = last_build(releases.out), killed_build(releases.out)
    fault = ""
    if cut:
        started = ended = cut.get("started")
        fault = "the build ended before it was done"
    elif last.get("status") == "FAILED":
        started, ended = last.get("started"), last.get("ended")
        fault = OUTSIDE_CONTENT
        if last.get("cause") == CONTENT_AT_FAULT and last.get("description"):
            fault = str(last["description"])
    else:
        note = releases.note(id)
        built = note.get("built")
        started, ended = note.get("started", built), note.get("ended", built)

    status = {
        "jobName": JOB,
        "startTime": _instant(started),
        "endTime": _instant(ended),
        "status": "FAILED" if fault else "SUCCESS",
    }
    if fault:
        status |= {
            "instanceId": id,
            "executionId": str(started),
            "exitCode": "FAILED",
            "exitDescription": fault,
            "clusterName": JOB,
        }
    return status


def _instant(text: Any) -> str:
    """Return a recorded time by ISO 8601, with milliseconds, or UNKNOWN_TIME."""
    try:
        moment = datetime.fromisoformat(str(text))
    except ValueError:
        moment = UNKNOWN_TIME
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
