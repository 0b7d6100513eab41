"""The mobile log (interface 2.3, 4.6): entries that an application's loggingInfo admits become lines."""

from collections.abc import Sequence
from datetime import UTC, datetime

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface import logline
from vitrine.interface.call import Call
from vitrine.interface.kinds import Instant, Verbatim, Word
from vitrine.interface.operation import AnyOf, FromRunning, Moment, Operation, Outcome, Parameter
from vitrine.interface.ports import LogKeeping, Running
from vitrine.problems import Fault, Refusal

LEVELS = ("ERROR", "INFO", "DEBUG", "WARN")
MAX_ID, MAX_PLATFORM, MAX_MESSAGE = 200, 40, 4000


def write_one(running: Running, content: Content, call: Call, moment: Moment) -> Outcome:
    """Log the entry that the query holds."""
    return _log(running, content, call, moment, [{name: call[name] for name in call.operation.named}])


def write_batch(running: Running, content: Content, call: Call, moment: Moment) -> Outcome:
    """Log the entries of the body."""
    return _log(running, content, call, moment, call.body["entry"])


def _log(running: Running, content: Content, call: Call, moment: Moment, entries: Sequence[Json]) -> Outcome:
    """All of the entries, or none: success tells of each of them."""
    name = str(call.application)
    if name not in content.applications():
        raise Refusal("no_key")
    settings = content.setting("mobile_log") or {}
    lines = _lines(name, entries, moment, believed=settings.get("clientTimestamps", False))
    reason = _not_admitted(content.application(name)["config"]["loggingInfo"], entries)
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


def _lines(application: str, entries: Sequence[Json], moment: Moment, *, believed: bool) -> list[str]:
    """The lines. ``believed``: an entry's own timestamp counts, where it has one. Raises Refusal for no instant."""
    arrival, lines, faults = _arrived(moment.now), [], []
    for number, entry in enumerate(entries):
        try:
            own = Instant().parse(entry["timestamp"]) if entry.get("timestamp") else None
        except ValueError as error:
            faults.append(Fault(f"entry/{number}/timestamp", str(error)))
            continue
        values = entry["platform"], entry["deviceId"], entry.get("svcUid", ""), entry["logLevel"], entry["logMessage"]
        timestamp = own if own and believed else arrival
        lines.append(logline.write(logline.Entry(timestamp, application, *values)))
    if faults:
        raise Refusal("invalid", tuple(faults))
    return lines


def _arrived(moment: datetime) -> str:
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


_REQUIRED = ("deviceId", "platform", "logLevel", "logMessage")

OPERATIONS = (
    Operation(
        "mobilelog",
        "v2/utility/mobilelog",
        FromRunning(write_one),
        "mobilelog",
        "Write one entry to the mobile log.",
        (
            Parameter("deviceId", Verbatim(MAX_ID), "Identifier of the phone."),
            Parameter("platform", Verbatim(MAX_PLATFORM), "What the phone runs, such as iPhone or Android."),
            Parameter("svcUid", Verbatim(MAX_ID, 0), "The retailer's user id; empty or absent without a user.", ""),
            Parameter("logLevel", Word(LEVELS), "How grave it is."),
            Parameter("logMessage", Verbatim(MAX_MESSAGE), "What happened, as free text."),
            Parameter("timestamp", Instant(), "When it happened; counts only where the site believes phones' clocks."),
        ),
        tuple(AnyOf((name,)) for name in _REQUIRED),
        by_application=True,
        safe=False,
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
    ),
)
