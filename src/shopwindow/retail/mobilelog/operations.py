"""The mobile log (interface 2.3, 4.6): entries that an application's loggingInfo admits become
lines.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from shopwindow.content.documents import Content
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.kinds import Instant, Verbatim, Word
from shopwindow.interface.operation import (
    Allowance,
    AnyOf,
    FromRunning,
    Moment,
    Operation,
    Outcome,
    Parameter,
    Rate,
)
from shopwindow.interface.running import LogKeeping, Running
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.mobilelog import line as logline

LEVELS = ("ERROR", "INFO", "DEBUG", "WARN")
MAX_ID, MAX_PLATFORM, MAX_MESSAGE = 200, 40, 4000


def write_one(running: Running, content: Content, call: Call, moment: Moment) -> Outcome:
    """Log the entry that the query holds."""
    return _log(
        running, content, call, moment, [{name: call[name] for name in call.operation.named}]
    )


def write_batch(running: Running, content: Content, call: Call, moment: Moment) -> Outcome:
    """Log the entries of the body."""
    return _log(running, content, call, moment, call.body["entry"])


def _log(
    running: Running, content: Content, call: Call, moment: Moment, entries: Sequence[Json]
) -> Outcome:
    """All of the entries, or none: success tells of each of them."""
    name = str(call.application)
    application = content.document("app", "name", name)
    if application is None:
        raise Refusal("no_key")
    settings = content.setting("mobile_log") or {}
    lines = _lines(name, entries, moment, believed=settings.get("clientTimestamps", False))
    reason = _not_admitted(application["config"]["loggingInfo"], entries)
    if reason:
        running.log.count_refused(name, reason, len(entries))
    else:
        running.log.write(lines, keeping(content))
    return Outcome({"logPostResponse": {"success": not reason}})


def _not_admitted(info: Json, entries: Sequence[Json]) -> str:
    """Why the application's loggingInfo does not admit the entries, or nothing."""
    if info["remoteEnabled"] != "TRUE":
        return "disabled"
    if len(entries) > int(info["maxLogCount"]):
        return "count"
    levels = info["logLevel"].split("|")
    return "" if all(entry["logLevel"] in levels for entry in entries) else "level"


def keeping(content: Content) -> LogKeeping:
    """What site.yaml says of the file."""
    settings, usual = content.setting("mobile_log") or {}, LogKeeping()
    megabytes, hours = settings.get("maxMegabytes"), settings.get("maxHours")
    return LogKeeping(
        settings.get("flush", "disk") == "disk",
        megabytes << 20 if megabytes else usual.max_bytes,
        hours * 3600 if hours else usual.max_seconds,
    )


def _lines(
    application: str, entries: Sequence[Json], moment: Moment, *, believed: bool
) -> list[str]:
    """The lines. ``believed``: an entry's own timestamp counts, where it has one. Raises
    Refusal for no instant.
    """
    arrival, lines, faults = _arrived(moment.now), [], []
    for number, entry in enumerate(entries):
        try:
            own = Instant().parse(entry["timestamp"]) if entry.get("timestamp") else None
        except ValueError as error:
            faults.append(Fault(f"entry/{number}/timestamp", str(error)))
            continue
        values = (
            entry["platform"],
            entry["deviceId"],
            entry.get("svcUid", ""),
            entry["logLevel"],
            entry["logMessage"],
        )
        timestamp = own if own and believed else arrival
        lines.append(logline.write(logline.LogEntry(timestamp, application, *values)))
    if faults:
        raise Refusal("invalid", tuple(faults))
    return lines


def _arrived(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


KIBIBYTE = 1024


def _cost(call: Call, keeps_answer: bool) -> int:
    """One for each line, and one more for each KiB of its message beyond the first: what is
    limited fills a disk.
    """
    messages = (
        [entry["logMessage"] for entry in call.body["entry"]]
        if call.body
        else [call["logMessage"]]
    )
    return sum(
        1 + len(message.encode("utf-8", "surrogatepass")) // KIBIBYTE for message in messages
    )


LOG_LINE_ALLOWANCE = Allowance(
    "logLines",
    "log lines",
    # one address may be a mobile carrier's: 80 lines from each of 120 customers, or five phones
    # that were offline for long and send 2,000 lines each
    Rate(10_000, 10),
    # of 200 bytes, as they are usual, 40 MB an hour; of the longest kind at most 250 MB
    Rate(200_000, 60),
    _cost,
)
"""How many lines are written, where site.yaml says nothing else."""

_REQUIRED = ("deviceId", "platform", "logLevel", "logMessage")

OPERATIONS = (
    Operation(
        "mobilelog",
        "v2/utility/mobilelog",
        FromRunning(write_one),
        "mobilelog",
        "Write one entry to the mobile log.",
        (
            Parameter(
                "deviceId",
                Verbatim(MAX_ID),
                "Identifier of the phone.",
                example="7c1e0b52-phone",
            ),
            Parameter(
                "platform",
                Verbatim(MAX_PLATFORM),
                "What the phone runs, such as iPhone or Android.",
                example="iPhone",
            ),
            Parameter(
                "svcUid",
                Verbatim(MAX_ID, 0),
                "The retailer's user id; empty or absent without a user.",
                "",
            ),
            Parameter("logLevel", Word(LEVELS), "How grave it is."),
            Parameter(
                "logMessage",
                Verbatim(MAX_MESSAGE),
                "What happened, as free text.",
                example="The bag could not be loaded",
            ),
            Parameter(
                "timestamp",
                Instant(),
                "When it happened; counts only where the site believes phones' clocks.",
                example="2013-06-21T10:00:00.000Z",
            ),
        ),
        tuple(AnyOf((name,)) for name in _REQUIRED),
        by_application=True,
        safe=False,
        limited=True,
        allowance=LOG_LINE_ALLOWANCE,
    ),
    Operation(
        "mobilelog_batch",
        "v2/utility/mobilelog",
        FromRunning(write_batch),
        "mobilelog",
        "Write entries to the mobile log: all of them, or none.",
        by_application=True,
        method="POST",
        body="mobilelog",
        limited=True,
        allowance=LOG_LINE_ALLOWANCE,
    ),
)
