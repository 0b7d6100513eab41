"""What no schema can state about documents of any kind: windows, unique identities,
references.

Each rule yields pairs of a document and a finding in it. A rule looks at sound parts
only: where the schema has found something, what would follow from it is not reported a
second time. What is particular to one kind stands in that kind's ``rules``, beside
everything else about it.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import PurePosixPath
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content import groups, schedule, zones
from shopwindow.content.case import Case
from shopwindow.content.documents import Document, at
from shopwindow.content.expressions import RESERVED_WORDS
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import (
    EACH,
    KEY,
    Kind,
    Reference,
    Selection,
    values_at,
)
from shopwindow.content.resolving import groupable, zones_of
from shopwindow.content.schedule import ALWAYS, BEGINNING, Window
from shopwindow.content.site import RESERVED_NAMES
from shopwindow.content.zones import Zones
from shopwindow.problems import Pointer, nearest

RuleFindings = Iterator[tuple[Document, Finding]]
"""What a rule yields: a document, and what is wrong in it."""

LISTED_VALUES = 40
"""Values that a message lists: three lines of a terminal hold them."""

ZONE = "a zone of the IANA database, such as America/New_York"
"""What may stand where a time zone is meant."""

FEW_COPIES = 3
"""Documents that stand in two files, of which each is reported. More of them are one
mistake: the file was copied.
"""

DocumentUse = tuple[Document, Pointer, Any]
"""One use of a value that must be unique: the document, where in it, the value."""


def findings(
    case: Case, across: Iterable[Callable[[Case], RuleFindings]] = ()
) -> RuleFindings:
    """Yield what all rules find: the engine's, each kind's own, and those ``across``
    kinds.
    """
    engine = (_site, _windows, _file_names, _unique, _groups, _selections, _references)
    for rule in (*engine, *across):
        yield from rule(case)
    for kind in case.kinds:
        for own in kind.rules:
            for document in case.having(kind.name):
                for finding in own(case, document):
                    yield document, finding


def warnings(
    case: Case,
    moment: datetime | None,
    across: Iterable[Callable[[Case], RuleFindings]] = (),
) -> RuleFindings:
    """Yield what is probably a mistake, as of an instant: what the engine finds in
    documents of any kind, and the rules ``across`` kinds.

    ``moment``: None where the content has no time zone, so that no window is past.
    """
    if moment is not None:
        yield from _past(case, moment)
    for rule in across:
        yield from rule(case)


def revised(case: Case, released: Mapping[str, Mapping[Any, Any]]) -> RuleFindings:
    """Yield what the kinds' revisions find between a release and this content.

    ``released``: the documents of the release, by kind and identity.
    """
    for kind in case.kinds:
        before, identity = released.get(kind.name, {}), str(kind.identity)
        for document in case.having(kind.name, (identity,)) if kind.revisions else ():
            value = before.get(document.value[identity])
            for rule in kind.revisions if value is not None else ():
                for finding in rule(case, document, value):
                    yield document, finding


def noticed(case: Case) -> RuleFindings:
    """Yield what the kinds' notices point at, which are no problems."""
    for kind in case.kinds:
        for rule in kind.notices:
            for document in case.documents.of(kind.name):
                for finding in rule(case, document):
                    yield document, finding


# -- site.yaml -------------------------------------------------------------------------


def _site(case: Case) -> RuleFindings:
    """Check that the site's time zone exists, and that its names are free to be used."""
    for site in case.having("site", ("time_zone",)):
        finding = unknown_zone(("time_zone",), site.value["time_zone"])
        if finding:
            yield site, finding
    taken = (*RESERVED_NAMES, *RESERVED_WORDS)
    for site in case.having("site"):
        for name in case.keys(site, ("names",)) or ():
            if name in taken:
                found = f"the name {name!r} is taken"
                yield (
                    site,
                    Finding(
                        "site.name", ("names", name), found, "another name", on_key=True
                    ),
                )


def lifetimes(case: Case, operations: Collection[str]) -> RuleFindings:
    """Yield the lifetimes in site.yaml of what is no operation.

    ``operations``: the names of those that may have one.
    """
    allowed = ("default", *operations)
    for site in case.having("site"):
        for name in case.keys(site, ("lifetimes",)) or ():
            if name not in allowed:
                found = f"{name!r} is no operation that caches keep responses of"
                close = nearest(name, allowed)
                listed = ", ".join(allowed)
                yield (
                    site,
                    Finding(
                        "site.lifetime",
                        ("lifetimes", name),
                        found,
                        listed,
                        nearest=close,
                        on_key=True,
                    ),
                )


def unknown_zone(pointer: Pointer, name: str) -> Finding | None:
    """Return what is wrong with the name of a time zone at ``pointer``, or None."""
    try:
        schedule.zone(name)
    except ValueError as error:
        close = schedule.nearest_zone(name)
        return Finding("time.zone", pointer, str(error), ZONE, nearest=close)
    return None


# -- names of files --------------------------------------------------------------------


def _file_names(case: Case) -> RuleFindings:
    """Check that each document of a kind that is named by its file has that name, and the
    file for itself.
    """
    for kind in case.kinds:
        identity = kind.identity
        if not kind.named_by_file or identity is None:
            continue
        for document in case.having(kind.name, (identity,)):
            layer, name = document.layers[-1], str(document.value[identity])
            file = PurePosixPath(layer.path)
            if layer.index is not None:
                found = f"{name!r} stands in a file with other documents"
            elif file.stem != name:
                found = f"{name!r} stands in the file {file.name}"
            else:
                continue
            allowed = f"a file of its own that is named {name}.yaml"
            yield document, Finding("file.name", (identity,), found, allowed)


# -- publish windows -------------------------------------------------------------------


def _windows(case: Case) -> RuleFindings:
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
                    finding = _zone_of_word(document, end, word, own)
                elif word:
                    finding = _unknown_zone_of_end(end, word, words)
                else:
                    continue
                if finding:
                    yield document, finding
                if finding or word in words:
                    del publish[end]
            for finding in _window(publish, case.zone):
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
        return Finding("time.zone", pointer, found, ZONE)
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


def _unknown_zone_of_end(end: str, name: str, words: Collection[str]) -> Finding | None:
    """Return what is wrong with the zone that an end of a window names, or None."""
    finding = unknown_zone(("publish", end), name)
    if finding is None:
        return None
    choices = " or ".join(("a zone of the IANA database", *map(repr, words)))
    close = schedule.nearest_zone(name, words)
    return replace(
        finding, allowed=f"{choices}, such as America/New_York", nearest=close
    )


def _past(case: Case, moment: datetime) -> RuleFindings:
    """Yield the documents that are live no more, and never again."""
    for kind in case.kinds:
        for document in case.having(kind.name) if kind.scheduled else ():
            window = case.window(document)
            if window is not None and window.end <= moment:
                until = document.value["publish"]["until"]
                yield (
                    document,
                    Finding(
                        "window.past",
                        ("publish", "until"),
                        f"{until} is past, so the {kind.name} is not live any more",
                        "a later end; a document that is over may be deleted",
                    ),
                )


def _window(publish: Mapping[str, str], zone: ZoneInfo) -> Iterator[Finding]:
    """Yield what is wrong with the ends of a window, of which some may be left out."""
    moments: dict[str, datetime] = {}
    for end, text in publish.items():
        try:
            moments[end] = schedule.instant(text, zone, ends=end == "until")
        except schedule.OccursTwice as error:
            allowed = f"{error.first} or {error.second}"
            yield Finding("time.exists", ("publish", end), str(error), allowed)
        except ValueError as error:
            found = (
                str(error)
                if "clock" in str(error)
                else f"{text!r} does not exist in the calendar"
            )
            yield Finding("time.exists", ("publish", end), found, "a time that exists")
    if len(moments) == 2 and moments["from"] >= moments["until"]:
        found = f"from {publish['from']} is not before until {publish['until']}"
        yield Finding("window.order", ("publish", "from"), found, "from before until")


# -- identities ------------------------------------------------------------------------


def _unique(case: Case) -> RuleFindings:
    """Check that no two documents of a kind have the same id at the same time."""
    for kind in case.kinds:
        for name in kind.ids:
            documents = case.having(kind.name, (name,))
            values = {document.value[name] for document in documents}
            if len(values) < len(documents):
                uses = (
                    (document, (name,), document.value[name]) for document in documents
                )
                yield from _copied(once(case, kind, name, uses))


def once(
    case: Case, kind: Kind, name: str, uses: Iterable[DocumentUse]
) -> RuleFindings:
    """Yield each use of a value that another document of the kind uses at the same
    time.

    ``name`` is what the value is called in the message. Two documents of a scheduled
    kind may share a value where their publish windows do not overlap.
    """
    allowed = "each once"
    if kind.scheduled:
        allowed += (
            "; two documents may share one if their publish windows do not overlap"
        )
    users: dict[Any, list[tuple[Document, Pointer]]] = defaultdict(list)
    for document, pointer, value in uses:
        for other, there in users[value]:
            if _at_the_same_time(case, document, other):
                twins = id(document), id(other)
                if document is not other and twins in case.twins:
                    break
                if _without_window(document) == _without_window(other):
                    case.twins.add(twins)
                layer = other.layers[-1]
                found = f"the {name} {value} is also that of the {kind.name} in {layer.path}"
                beside = (layer.path, layer.index, there)
                yield (
                    document,
                    Finding("unique", pointer, found, allowed, beside=beside),
                )
                break
        users[value].append((document, pointer))


def _without_window(document: Document) -> Any:
    value = document.value
    if not isinstance(value, dict):
        return value
    return {key: part for key, part in value.items() if key != "publish"}


def _copied(findings: RuleFindings) -> RuleFindings:
    """Yield findings about ids that documents of one file share with those of another.

    Of many that are shared with one file only the first is yielded, which names them:
    the file was copied.
    """
    shared: dict[tuple[str, str], list[tuple[Document, Finding]]] = defaultdict(list)
    for document, finding in findings:
        path = document.layers[-1].path
        if finding.beside and finding.beside[0] != path:
            shared[path, finding.beside[0]].append((document, finding))
        else:
            yield document, finding
    for (_, path), pairs in shared.items():
        if len(pairs) <= FEW_COPIES:
            yield from pairs
            continue
        document, first = pairs[0]
        values = ", ".join(
            str(at(one.value, finding.pointer)) for one, finding in pairs[:FEW_COPIES]
        )
        found = f"{len(pairs):,} {document.kind}s of this file are also in {path}, such as {values}"
        yield document, replace(first, found=found, beside=None)


def _at_the_same_time(case: Case, document: Document, other: Document) -> bool:
    mine, theirs = case.window(document), case.window(other)
    return mine is not None and theirs is not None and mine.overlaps(theirs)


# -- groups ----------------------------------------------------------------------------


def _groups(case: Case) -> RuleFindings:
    """Check that every group in site.yaml has a member, and every value in it a
    document.
    """
    for kind in case.kinds:
        for site in case.having("site") if kind.groups else ():
            entries = case.entries(site, (groups.grouping_of(kind).setting,))
            if entries and _is_complete(case, kind):
                members = _MembersByKey(kind, case.having(kind.name))
                for name, group in entries:
                    for finding in members.findings(name, group):
                        yield site, finding


def _is_complete(case: Case, kind: Kind) -> bool:
    """Return whether it is certain of every document of a kind in which groups it is."""
    every = len(groupable(case, kind)) == len(case.having(kind.name))
    return every and kind.name not in case.unknown


class _MembersByKey:
    """The documents of which groups of one kind may consist."""

    def __init__(self, kind: Kind, documents: Iterable[Document]) -> None:
        self._kind, self._grouping = kind, groups.grouping_of(kind)
        self._values = [document.value for document in documents]
        self._there: dict[str, dict[Any, str]] = {}

    def _having(self, property: str, pointer: Pointer) -> Mapping[Any, str]:
        """Return the values that documents have of a property, each with its text."""
        if property not in self._there:
            self._there[property] = {
                stated: str(stated)
                for value in self._values
                for _, stated in values_at(value, pointer)
            }
        return self._there[property]

    def findings(
        self, name: str, group: Mapping[str, Sequence[Any]]
    ) -> Iterator[Finding]:
        """Yield the values of a group that no document has; or that it is empty."""
        place: Pointer = (self._grouping.setting, name)
        all_there = True
        for property, pointer in self._grouping.properties:
            there = self._having(property, pointer) if property in group else {}
            for index, value in enumerate(group.get(property, ())):
                if value not in there:
                    all_there = False
                    yield self._absent((*place, property, index), value, there)

        listed = {property: frozenset(values) for property, values in group.items()}
        if all_there and not any(
            groups.contains(self._grouping, listed, value) for value in self._values
        ):
            found = f"no {self._kind.name} has one of these values of every property"
            allowed = f"values that one {self._kind.name} has together"
            yield Finding("group.empty", place, found, allowed)

    def _absent(
        self, pointer: Pointer, value: Any, there: Mapping[Any, str]
    ) -> Finding:
        """Return the finding about a value in a group that no document has."""
        kind, property = self._kind.name, str(pointer[-2])
        found = f"no {kind} has the {property} {value}"
        close = nearest(str(value), there.values())
        if property in self._kind.ids:
            absent = (kind, property, str(value))
            allowed = f"a {kind}'s number"
            return Finding(
                "reference", pointer, found, allowed, nearest=close, absent=absent
            )
        allowed = ", ".join(sorted(there.values())[:LISTED_VALUES])
        return Finding("group.value", pointer, found, allowed, nearest=close)


def _selections(case: Case) -> RuleFindings:
    """Check that documents name groups that site.yaml has, and `all` of what exists."""
    kinds = {kind.name: kind for kind in case.kinds}
    for kind in case.kinds:
        for selection in kind.selections:
            target = kinds.get(selection.kind)
            if target is None:
                continue
            setting = groups.grouping_of(target).setting
            sites = case.having("site")
            names = case.keys(sites[0], (setting,)) or () if sites else None
            is_none = not case.having(target.name) and target.name not in case.unknown
            for document in case.having(kind.name, selection.pointer):
                stated = groups.stated_at(document.value, selection)
                if stated == groups.ALL and is_none:
                    found = f"there is no {target.name} at all"
                    yield document, Finding("reference", selection.pointer, found)
                name = groups.name_of(stated)
                if name is not None and names is not None and name not in names:
                    pointer = (*selection.pointer, groups.GROUP)
                    yield document, _unknown_group(pointer, name, target, names)


def _unknown_group(
    pointer: Pointer, name: str, target: Kind, names: Collection[str]
) -> Finding:
    setting = groups.grouping_of(target).setting
    listed = ", ".join(list(names)[:LISTED_VALUES])
    return Finding(
        "reference",
        pointer,
        f"site.yaml has no group {name!r} in {setting}",
        listed or f"a group of {target.name}s, once site.yaml has one in {setting}",
        nearest=nearest(name, names),
    )


# -- references ------------------------------------------------------------------------


class _Targets:
    """When the documents are live that references may name, by kind, property and
    value.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._windows: dict[tuple[str, str], dict[Any, list[Window]]] = {}
        self._unknown: set[tuple[str, str]] = set()

    def windows(self, kind: str, name: str) -> dict[Any, list[Window]]:
        """Return the windows of the documents of a kind, by the value of one property."""
        key = kind, name
        if key not in self._windows:
            self._windows[key] = self._collect(kind, name)
        return self._windows[key]

    def complete(self, kind: str, name: str) -> bool:
        """Return whether every document of the kind could be read.

        Otherwise a value that no document has may be that of one that could not.
        """
        self.windows(kind, name)
        return (kind, name) not in self._unknown

    def _collect(self, kind: str, name: str) -> dict[Any, list[Window]]:
        windows: dict[Any, list[Window]] = defaultdict(list)
        if kind in self._case.unknown:
            self._unknown.add((kind, name))
        for document in self._case.having(kind):
            if self._case.sound(document, (name,)):
                window = self._case.window(document) or ALWAYS
                windows[document.value[name]].append(window)
            else:  # any value may be that of this document
                self._unknown.add((kind, name))
        return windows


def _references(case: Case) -> RuleFindings:
    """Check that references name documents that exist, and are live as long as the
    referrer.

    For a document with several references to one kind, one of them must be live at any
    time. A document that names a group is for whichever members are live: it must only
    meet one of them at some time.
    """
    targets = _Targets(case)
    kinds = {kind.name: kind for kind in case.kinds if not kind.streamed}
    for kind in kinds.values():
        by_target: dict[str, list[Reference]] = defaultdict(list)
        for reference in kind.references:
            if reference.kind in kinds and KEY not in reference.pointer:
                by_target[reference.kind].append(reference)
        for target, references in by_target.items():
            for document in case.having(kind.name):
                yield from _of_document(
                    case,
                    document,
                    kinds[target],
                    references,
                    kind.selections,
                    targets,
                )


def _of_document(
    case: Case,
    document: Document,
    target: Kind,
    references: list[Reference],
    selections: Sequence[Selection],
    targets: _Targets,
) -> RuleFindings:
    """Check all references of one document to one kind."""
    windows: list[Window] = []
    intact, has_findings = True, id(document) in case.findings
    for reference in references:
        name = reference.property or str(target.identity)
        at = targets.windows(target.name, name)
        if has_findings and not case.sound(document, _fixed(reference.pointer)):
            intact = False
        for pointer, value in _values(case, document, reference.pointer):
            if value in at:
                windows += at[value]
                continue
            intact = False
            if targets.complete(target.name, name):
                found = f"no {target.name} has the {name} {value}"
                close = nearest(str(value), map(str, at))
                yield (
                    document,
                    Finding(
                        "reference",
                        pointer,
                        found,
                        _identities(target, at),
                        nearest=close,
                        absent=(target.name, name, str(value)),
                    ),
                )
    live = case.window(document)
    if groups.by_group(document, selections, target.name):
        if live and windows and not any(live.overlaps(window) for window in windows):
            found = (
                f"while the {document.kind} is live, none of its {target.name}s ever is"
            )
            pointer = _fixed(references[0].pointer)[:1]
            allowed = f"a publish window that meets one of its {target.name}s'"
            yield document, Finding("reference.live", pointer, found, allowed)
        return
    if live and intact and windows and (gap := _uncovered(live, windows)):
        since = (
            "the beginning"
            if gap == BEGINNING
            else gap.astimezone(case.zone).strftime("%Y-%m-%d %H:%M")
        )
        found = f"from {since} the {document.kind} is live while none of its {target.name}s is"
        pointer = _fixed(references[0].pointer)[:1]
        allowed = f"a publish window within those of its {target.name}s"
        yield document, Finding("reference.live", pointer, found, allowed)


def _identities(kind: Kind, there: Collection[Any]) -> str:
    """Return what may name a document: the names that there are, or its number."""
    if there and all(isinstance(value, str) for value in there):
        return ", ".join(sorted(there)[:LISTED_VALUES])
    return f"a {kind.name}'s number"


def _fixed(pointer: Pointer) -> Pointer:
    """Return the part of a reference's pointer before its first EACH."""
    return pointer[: pointer.index(EACH)] if EACH in pointer else pointer


def _values(
    case: Case, document: Document, pointer: Pointer
) -> Iterator[tuple[Pointer, Any]]:
    """Yield the sound values that a reference's pointer leads to, each with its own
    pointer.
    """
    if id(document) not in case.findings:  # nearly all: every part of it is sound
        yield from _all_values(document.value, pointer)
        return
    ways: list[Pointer] = [()]
    for step in pointer:
        if step == EACH:
            ways = [
                (*way, name) for way in ways for name, _ in case.entries(document, way)
            ]
        else:
            ways = [
                (*way, step) for way in ways if step in (case.keys(document, way) or ())
            ]
    for way in ways:
        if case.sound(document, way):
            yield way, case.at(document, way)


def _all_values(value: Any, pointer: Pointer) -> Iterator[tuple[Pointer, Any]]:
    """Yield what `_values` does of a document without findings.

    A check looks here for all references of all documents, so it walks each value once
    instead of asking the case for every part of every pointer.
    """
    reached: list[tuple[Pointer, Any]] = [((), value)]
    for step in pointer:
        below: list[tuple[Pointer, Any]] = []
        for place, part in reached:
            if step != EACH:
                if isinstance(part, dict) and step in part:
                    below.append(((*place, step), part[step]))
            elif isinstance(part, dict):
                below += [((*place, name), item) for name, item in part.items()]
            elif isinstance(part, list):
                below += [((*place, name), item) for name, item in enumerate(part)]
        reached = below
    yield from reached


def _uncovered(whole: Window, parts: list[Window]) -> datetime | None:
    """Return the first instant of ``whole`` that none of the parts covers, or None."""
    reached = whole.start
    for part in sorted(parts, key=lambda part: part.start):
        if part.start > reached:
            break
        reached = max(reached, part.end)
    return reached if reached < whole.end else None
