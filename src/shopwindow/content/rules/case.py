"""What the rules look at: the sound parts of all documents, and when each is live.

A check reports every problem at once, so its rules run although some documents do not
satisfy their schema. A Case shows a rule only those parts about which the schema finds
nothing: a rule then needs no care about types, and no mistake is reported twice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document, Documents
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.schedule import ALWAYS, Window
from shopwindow.content.kinds import Kind
from shopwindow.content.reading import yaml
from shopwindow.problems import Pointer


@dataclass
class Case:
    """The documents of a check, with the parts that rules may look at.

    ``documents`` are the valid ones. ``broken`` are those that their schema refuses,
    each with the schema's findings. ``unknown`` names the kinds of which some file
    could not be read: a reference to one of those is no problem, since its target may
    be in that file.

    ``zone`` is the time zone of site.yaml; None where site.yaml names none that exists.
    ``twins`` are pairs of documents, by id(), of which one is a copy of the other, and
    a rule has reported that: what else they share has the same cause. ``moment`` is the
    instant of the check, as of which rules warn; None where there is no time zone to
    read it in.
    ``released``: documents of a release, by kind and identity, with which they compare.
    """

    documents: Documents
    kinds: Sequence[Kind]
    broken: list[tuple[Document, list[Finding]]] = field(default_factory=list)
    unknown: frozenset[str] = frozenset()
    twins: set[tuple[int, int]] = field(default_factory=set)
    moment: datetime | None = None
    released: Mapping[str, Mapping[Any, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.kinds = [kind for kind in self.kinds if not kind.streamed]
        self.by_name = {kind.name: kind for kind in self.kinds}
        self.findings = {id(document): findings for document, findings in self.broken}
        self._unsound: dict[int, _Unsound] = {}
        self._windows: dict[int, Window | None] = {}

    @cached_property
    def zone(self) -> ZoneInfo | None:
        sites = self.having("site", ("time_zone",))
        try:
            return schedule.zone(sites[0].value["time_zone"]) if sites else None
        except (ValueError, KeyError):
            return None

    def window(self, document: Document) -> Window | None:
        """Return when a document is live; None where its window or zone is wrong."""
        if not self.by_name[document.kind].scheduled:
            return ALWAYS
        if not self.sound(document, ("publish",)):
            return None
        if "publish" not in document.value:
            return ALWAYS
        if id(document) not in self._windows:
            self._windows[id(document)] = self._window(document)
        return self._windows[id(document)]

    def _window(self, document: Document) -> Window | None:
        if self.zone is None:
            return None
        try:
            window = schedule.window(document.value, self.zone)
        except ValueError:
            return None
        return window if window.start < window.end else None

    def having(self, kind: str, *parts: Pointer) -> list[Document]:
        """Return the documents of a kind in which all ``parts`` are sound.

        They come in the order of their files.
        """
        valid = [self.documents.site] if kind == "site" else self.documents.of(kind)
        others = [document for document, _ in self.broken if document.kind == kind]
        if kind == "site" and (others or not self.documents.site.value):
            valid = []
        sound = [
            other for other in others if all(self.sound(other, part) for part in parts)
        ]
        return sorted(valid + sound, key=_position) if sound else valid

    def sound(self, document: Document, part: Pointer) -> bool:
        """Return whether the schema finds nothing wrong with a part of a document.

        Findings count that are about the part itself, about anything inside it, or
        about an object or list that contains it.
        """
        findings = self.findings.get(id(document))
        if not findings:
            return True
        if id(document) not in self._unsound:
            self._unsound[id(document)] = _Unsound(findings)
        return self._unsound[id(document)].allows(part)

    def is_complete(self, kind: str, *parts: Pointer) -> bool:
        """Return whether every document of a kind could be read, with sound ``parts``.

        Otherwise a value that no document has may be that of one that could not.
        """
        are_sound = len(self.having(kind, *parts)) == len(self.having(kind))
        return are_sound and kind not in self.unknown

    def ids(self, kind: str, name: str) -> frozenset[int] | None:
        """Return the values of a property among all documents of a kind.

        Returns None where some file or some document's property could not be read: a
        reference may then name a value that is there all the same.
        """
        if not self.is_complete(kind, (name,)):
            return None
        return frozenset(one.value[name] for one in self.having(kind, (name,)))

    def at(self, document: Document, part: Pointer) -> Any:
        """Return a part of a document, or None where there is none."""
        return yaml.part(document.value, part)

    def entries(self, document: Document, part: Pointer) -> list[tuple[Any, Any]]:
        """Return the sound items of a list by index, or values of an object by key.

        Returns [] where the part is neither a list nor an object, or is missing.
        """
        value = self.at(document, part)
        if isinstance(value, list):
            value = dict(enumerate(value))
        if not isinstance(value, dict):
            return []
        return [
            (name, entry)
            for name, entry in value.items()
            if self.sound(document, (*part, name))
        ]

    def keys(self, document: Document, part: Pointer) -> list[str] | None:
        """Return the keys that an object has and may have, then those that it lacks.

        Returns None where the part is no object.
        """
        value = self.at(document, part)
        if not isinstance(value, dict):
            return None
        findings = self.findings.get(id(document), ())
        missing = [
            finding.missing
            for finding in findings
            if finding.missing and finding.pointer == part
        ]
        refused = {
            finding.pointer
            for finding in findings
            if finding.on_key and not finding.missing
        }
        return [key for key in value if (*part, key) not in refused] + missing


def sound(findings: Iterable[Finding], part: Pointer) -> bool:
    """Return whether none of a document's findings is about a part, as `Case.sound`
    says it.
    """
    return _Unsound(findings).allows(part)


class _Unsound:
    """Where a document is at fault, so that a part of it is looked up in no more steps
    than lead to it.
    """

    def __init__(self, findings: Iterable[Finding]) -> None:
        self._faulty: set[Pointer] = set()
        self._around: set[Pointer] = set()
        for finding in findings:
            place = finding.pointer
            if finding.missing is not None:
                place = (*place, finding.missing)
            self._faulty.add(place)
            if finding.stands_for:
                self._faulty.add((*place[:-1], finding.stands_for))
            self._around.update(place[:length] for length in range(len(place)))

    def allows(self, part: Pointer) -> bool:
        """Return whether a part is sound, as `Case.sound` says it."""
        ways = (part[:length] for length in range(len(part) + 1))
        return part not in self._around and self._faulty.isdisjoint(ways)


def _position(document: Document) -> tuple[str, int]:
    layer = document.own
    return layer.path, layer.index or 0


RuleFindings = Iterator[tuple[Document, Finding]]
"""What a rule yields: a document, and what is wrong in it."""
