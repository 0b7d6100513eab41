"""The mobile log: entries that an application's loggingInfo admits become lines.

Both operations have one view, which writes all entries of a request or none.
Timestamps are parsed first, because a malformed one is the client's fault whether or
not the log is enabled. An entry that loggingInfo does not admit is no fault: it is
counted, and the response says success false (interface 2.3, 4.6).
"""

from collections.abc import Sequence

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.kinds import Instant, Text, Word
from shopwindow.interface.declaring.operation import (
    LOG_HOURS,
    LOG_MEGABYTES,
    Allowance,
    AnyOf,
    Call,
    FromRunning,
    LogKeeping,
    Moment,
    Operation,
    Outcome,
    Parameter,
    Rate,
    Sender,
)
from shopwindow.interface.declaring.table import written
from shopwindow.problems import Fault, Refusal
from shopwindow.retail.mobilelog.line import log_line

LEVELS = ("ERROR", "INFO", "DEBUG", "WARN")

MAX_LOG_ID, MAX_LOG_PLATFORM, MAX_LOG_MESSAGE = 200, 40, 4000
"""Characters of an entry's texts in a query; for bodies schemas/requests/mobilelog.json
has the same limits. They bound the longest line, by which the log's allowance is
reckoned.
"""


def write(content: Content, call: Call, moment: Moment) -> Outcome:
    """Log all entries of a Call, or none, so that one `success` is true of each of them."""
    name, entries = str(call.application), _entries(call)
    application = content.document("app", "name", name)
    if application is None:
        raise Refusal("no_key")
    lines = _lines(content, name, entries, moment)
    refused_for = _not_admitted(application["config"]["loggingInfo"], entries)
    if refused_for:
        moment.log().count_refused(name, refused_for, len(entries))
    else:
        moment.log().write(lines, keeping(content))
    return Outcome({"logPostResponse": {"success": not refused_for}})


def _entries(call: Call) -> Sequence[Json]:
    """Return the entries of a Call's body, or the one that its query holds."""
    if call.body:
        entries: Sequence[Json] = call.body["entry"]
        return entries
    return [{name: call[name] for name in call.operation.named}]


def _not_admitted(info: Json, entries: Sequence[Json]) -> str:
    """Return why loggingInfo does not admit the entries, as a label of a metric; or
    empty text.
    """
    if info["remoteEnabled"] != "TRUE":
        return "disabled"
    if len(entries) > int(info["maxLogCount"]):
        return "count"
    levels = info["logLevel"].split("|")
    return "" if all(entry["logLevel"] in levels for entry in entries) else "level"


def keeping(content: Content) -> LogKeeping:
    """Return how the log's file is written, from `mobile_log` of site.yaml."""
    settings = content.setting("mobile_log") or {}
    megabytes = settings.get("maxMegabytes", LOG_MEGABYTES)
    return LogKeeping(
        durable=settings.get("flush", "disk") == "disk",
        max_bytes=megabytes << 20,
        max_seconds=settings.get("maxHours", LOG_HOURS) * 3600,
    )


def _lines(
    content: Content, application: str, entries: Sequence[Json], moment: Moment
) -> list[str]:
    """Return the lines of entries. Raises Refusal for a timestamp that is no instant.

    Where site.yaml trusts phones, an entry's own timestamp counts, if it has one; else
    its arrival does.
    """
    settings = content.setting("mobile_log") or {}
    trusts_phones = settings.get("clientTimestamps", False)
    arrival = written(moment.now)
    lines, faults = [], []
    for number, entry in enumerate(entries):
        timestamp = arrival
        try:
            if entry.get("timestamp"):
                own = Instant().parse(entry["timestamp"])
                timestamp = own if trusts_phones else arrival
        except ValueError as error:
            faults.append(Fault(f"entry/{number}/timestamp", str(error)))
            continue
        lines.append(log_line(timestamp, application, entry))
    if faults:
        raise Refusal("invalid", *faults)
    return lines


# -- how much may be written -----------------------------------------------------------

KIBIBYTE = 1024


def _cost(call: Call, keeps_answer: bool) -> int:
    """Return 1 for each line, and 1 more for each KiB of its message beyond the first.

    The allowance protects a disk, so long lines count for more.
    """
    sizes = [
        len(entry["logMessage"].encode("utf-8", "surrogatepass"))
        for entry in _entries(call)
    ]
    return sum(1 + size // KIBIBYTE for size in sizes)


LOG_LINE_ALLOWANCE = Allowance(
    "logLines",
    "log lines",
    # One address may be a mobile carrier's. This is 80 lines from each of 120
    # customers, or five phones that were offline for long and send 2,000 lines each.
    address=Rate(10_000, 10),
    # At the usual 200 bytes a line, this is 40 MB an hour; at the longest lines, 250
    # MB.
    application=Rate(200_000, 60),
    cost=_cost,
)
"""How many lines may be written, unless site.yaml sets other rates."""

# -- operations ------------------------------------------------------------------------

_REQUIRED = ("deviceId", "platform", "logLevel", "logMessage")


def logging_device(call: Call) -> Sender:
    """Return the device that all entries name, if it is one device."""
    devices = {entry["deviceId"] for entry in _entries(call)}
    return Sender(device=devices.pop()) if len(devices) == 1 else Sender()


OPERATIONS = (
    Operation(
        "mobilelog",
        "v2/utility/mobilelog",
        FromRunning(write),
        "mobilelog",
        "Write one entry to the mobile log.",
        (
            Parameter(
                "deviceId",
                Text(MAX_LOG_ID, verbatim=True),
                "Identifier of the phone.",
                example="7c1e0b52-phone",
            ),
            Parameter(
                "platform",
                Text(MAX_LOG_PLATFORM, verbatim=True),
                "What the phone runs, such as iPhone or Android.",
                example="iPhone",
            ),
            Parameter(
                "svcUid",
                Text(MAX_LOG_ID, 0, verbatim=True),
                "The retailer's user id; empty or absent without a user.",
                "",
                example="1200456",
            ),
            Parameter("logLevel", Word(LEVELS), "How grave it is."),
            Parameter(
                "logMessage",
                Text(MAX_LOG_MESSAGE, verbatim=True),
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
        allowance=LOG_LINE_ALLOWANCE,
    ),
    Operation(
        "mobilelog_batch",
        "v2/utility/mobilelog",
        FromRunning(write),
        "mobilelog",
        "Write entries to the mobile log: all of them, or none.",
        by_application=True,
        method="POST",
        body="mobilelog",
        allowance=LOG_LINE_ALLOWANCE,
        sender=logging_device,
    ),
)
