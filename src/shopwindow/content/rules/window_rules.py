"""Rules about publish windows: their ends exist, their zones too, and one opens before
it closes.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule, zones
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.zones import Zones
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.content.rules.resolving import zones_of
from shopwindow.problems import Pointer

ZONE = "a zone of the IANA database"
"""What may stand where a time zone is meant."""

SUCH_AS = ", such as America/New_York"


def unknown_zone(
    pointer: Pointer, name: str, words: Collection[str] = ()
) -> Finding | None:
    """Return what is wrong with the name of a time zone at ``pointer``, or None.

    ``words``: those that may stand there in place of a zone.
    """
    try:
        schedule.zone(name)
    except ValueError as error:
        return Finding(
            "time.zone",
            pointer,
            str(error),
            " or ".join((ZONE, *map(repr, words))) + SUCH_AS,
            nearest=schedule.nearest_zone(name, words),
        )
    return None


def instant_at(
    pointer: Pointer,
    text: str,
    where: ZoneInfo,
    *,
    ends: bool,
    words: Collection[str] = (),
) -> datetime | Finding:
    """Return the instant that stands at ``pointer``, or why there is none.

    ``words`` are as for `unknown_zone`, the other arguments those of
    `schedule.instant`.
    """
    name = schedule.zone_name(text)
    if name and (unknown := unknown_zone(pointer, name, words)):
        return unknown
    try:
        return schedule.instant(text, where, ends=ends)
    except schedule.OccursTwice as error:
        allowed = f"{error.first} or {error.second}"
        return Finding("time.exists", pointer, str(error), allowed)
    except ValueError as error:
        return Finding("time.exists", pointer, str(error), "a time that exists")


def windows(case: Case) -> RuleFindings:
    """Check that both ends of a publish window exist, and that it opens before it
    closes.
    """
    if case.zone is None:
        return
    words = zones.words(case.kinds)
    for kind in case.kinds:
        own: Zones | None = None  # of few kinds some document has such a word
        for document in case.having(kind.name) if kind.scheduled else ():
            if not isinstance(document.value, dict) or "publish" not in document.value:
                continue
            publish = dict(case.entries(document, ("publish",)))
            for end, text in list(publish.items()):
                word = schedule.zone_name(text)
                if word in words:
                    own = own or zones_of(case, kind)
                    if unclear := _zone_of_word(document, end, word, own):
                        yield document, unclear
                    del publish[end]
            for finding in _window(publish, case.zone, words):
                yield document, finding


def _zone_of_word(
    document: Document, end: str, word: str, own: Zones
) -> Finding | None:
    """Return why the name of a kind in place of a zone means no zone, or None.

    Where the document names nothing that has a zone, that is a problem already.
    """
    pointer = ("publish", end)
    if word not in own.words:
        found = f"a {document.kind} names no {word}, so {word!r} is no time zone here"
        return Finding("time.zone", pointer, found, ZONE + SUCH_AS)
    counted = own.counted(document.value, word)
    if len(counted) < 2:
        return None
    listed = ", ".join(
        f"{name} ({number} {word}{'s' * (number != 1)})"
        for name, number in sorted(counted.items())
    )
    found = f"the {word}s of this {document.kind} lie in {len(counted)} zones: {listed}"
    allowed = f"one document a zone, or one zone's name in place of {word!r}"
    return Finding("time.zone", pointer, found, allowed)


def past(case: Case) -> RuleFindings:
    """Yield the documents that are live no more, and never again."""
    moment = case.moment
    if moment is None:
        return
    for kind in case.kinds:
        for document in case.having(kind.name) if kind.scheduled else ():
            window = case.window(document)
            if window is not None and window.end <= moment:
                until = document.value["publish"]["until"]
                finding = Finding(
                    "window.past",
                    ("publish", "until"),
                    f"{until} is past, so the {kind.name} is not live any more",
                    "a later end; a document that is over may be deleted",
                )
                yield document, finding


def _window(
    publish: Mapping[str, str], zone: ZoneInfo, words: Collection[str]
) -> Iterator[Finding]:
    """Yield what is wrong with the ends of a window, of which some may be left out."""
    moments: dict[str, datetime] = {}
    for end, text in publish.items():
        place, ends = ("publish", end), end == "until"
        moment = instant_at(place, text, zone, ends=ends, words=words)
        if isinstance(moment, Finding):
            yield moment
        else:
            moments[end] = moment
    if len(moments) == 2 and moments["from"] >= moments["until"]:
        found = f"from {publish['from']} is not before until {publish['until']}"
        yield Finding("window.order", ("publish", "from"), found, "from before until")
