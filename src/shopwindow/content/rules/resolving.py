"""Puts what is meant into the place of what stands for it, once all files are read.

Three forms mean something only beside other documents: a group of stores, a zone that
is that of a store, and an instant on the clocks of the site. Here each becomes what it
means: ids, the name of a zone, an instant with its offset. Rules, answers, releases and
differences see only that.

What cannot be resolved stays as it is written, and rules say why
(`group_rules.selections`, `window_rules.windows`).
"""

from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from shopwindow.content.documents import groups, schedule, zones
from shopwindow.content.documents.documents import Document
from shopwindow.content.documents.zones import Zones
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.yaml import Json, part
from shopwindow.content.rules.case import Case
from shopwindow.problems import Pointer


def resolved(case: Case) -> Case:
    """Return the documents of a check with every group and every zone by its kind
    resolved.
    """
    work = _Resolving(case)
    documents = replace(
        case.documents,
        by_kind={
            name: [work.document(document) for document in listed]
            for name, listed in case.documents.by_kind.items()
        },
    )
    broken = [(work.document(document), findings) for document, findings in case.broken]
    return Case(documents, case.kinds, broken, case.unknown)


def members_of(case: Case, kind: Kind, name: str | None) -> list[Any]:
    """Return what identifies the documents of a group that is sound, or of all groups.

    Nothing, where site.yaml has no such group or is not read.
    """
    for site in case.having("site"):
        entries = dict(case.entries(site, (groups.grouping_of(kind).setting,)))
        if name is None or name in entries:
            documents = case.having(kind.name, *grouped_by(kind))
            return groups.members(kind, documents, entries.get(name))
    return []


def grouped_by(kind: Kind) -> list[Pointer]:
    """Return the parts of a kind's documents that say what groups they are in."""
    parts = {pointer[:1] for _, pointer in groups.grouping_of(kind).properties}
    return [(str(kind.identity),), *sorted(parts)]


class _Resolving:
    """The groups and zones of a case, each looked up when a document needs it."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self._kinds = case.by_name
        self._words = zones.words(case.kinds)
        self._members = cache(
            lambda kind, name: members_of(case, self._kinds[kind], name)
        )
        self._zones = cache(lambda name: zones_of(case, self._kinds[name]))

    def document(self, document: Document) -> Document:
        """Return a document with what it stands for; itself where that is the same."""
        kind = self._kinds.get(document.kind)
        if kind is None or not isinstance(document.value, dict):
            return document
        value = document.value
        for selection in kind.selections:
            stated = part(value, selection.pointer)
            if (
                selection.kind in self._kinds
                and groups.names_group(stated)
                and self._case.sound(document, selection.pointer)
            ):
                ids = self._members(selection.kind, groups.name_of(stated))
                named = self._kinds[selection.kind]
                value = groups.selected(value, selection, named, ids)
        if (
            kind.scheduled
            and zones.has_word(value, self._words)
            and self._case.sound(document, ("publish",))
        ):
            value = zones.named(value, self._zones(kind.name))
        for pointer, ends in kind.instants:
            value = self._with_offset(document, value, pointer, ends=ends)
        return document if value is document.value else document._replace(value=value)

    def _with_offset(
        self, document: Document, value: Json, pointer: Pointer, *, ends: bool
    ) -> Json:
        """Return a document's value with the offset of the instant at ``pointer``.

        It is the value itself where an offset stands there, or no instant.
        """
        text, where = self._case.at(document, pointer), self._case.zone
        is_sound = text and self._case.sound(document, pointer)
        written = schedule.WRITTEN.fullmatch(text) if is_sound else None
        if written and where:
            with suppress(ValueError):  # a rule says why it is no instant
                moment = schedule.instant(text, where, ends=ends)
                zone = schedule.zone(written["zone"]) if written["zone"] else where
                text = moment.astimezone(zone).isoformat()
                return groups.with_part(value, pointer, text)
        return value


def zones_of(case: Case, kind: Kind) -> Zones:
    """Return the zones of a kind's documents, as far as they are sound."""
    return Zones(
        kind, case.kinds, lambda name: case.having(name, (case.by_name[name].zone,))
    )
