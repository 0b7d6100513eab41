"""The time zones that documents have: their own, or those of what they refer to.

A kind may say which property holds a document's zone (Kind.zone). Who refers to such
documents has their zones, too: an event goes by the clocks of its stores.

In a publish window the name of such a kind may stand in place of a zone:
`2026-11-27 09:00 store`. That word means the one zone that the document has by way of
that kind. `named` puts the zone's name in the place of the word, so nothing behind it
needs to know of such words.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Document
from shopwindow.content.kinds import Kind, Reference, values_at

DocumentsOf = Callable[[str], Iterable[Document]]
"""Returns the documents of a kind, by its name."""

Zoned = tuple[str, str]
"""The name of a zone, and what identifies a document that has it."""

ENDS = ("from", "until")
"""The two ends of a publish window."""


def words(kinds: Iterable[Kind]) -> tuple[str, ...]:
    """Return the words that may stand in place of a zone in some publish window."""
    return tuple(kind.name for kind in kinds if kind.zone)


class Zones:
    """The zones that the documents of one kind have.

    ``documents_of`` returns the documents whose zones count.
    """

    def __init__(
        self, kind: Kind, kinds: Iterable[Kind], documents_of: DocumentsOf
    ) -> None:
        by_name = {other.name: other for other in kinds if other.zone}
        self._kind = kind
        self._named: list[tuple[Reference, dict[Any, Zoned]]] = []
        for reference in kind.references:
            target = by_name.get(reference.kind)
            if target is None:
                continue
            id = reference.compared_with(target)
            zoned = {
                document.value[id]: _zoned(target, document.value)
                for document in documents_of(target.name)
                if target.zone in document.value
                and isinstance(document.value.get(id), str | int)
            }
            self._named.append((reference, zoned))

    @property
    def words(self) -> tuple[str, ...]:
        """The words that may stand in place of a zone in windows of this kind."""
        own = (self._kind.name,) if self._kind.zone else ()
        others = (reference.kind for reference, _ in self._named)
        return tuple(dict.fromkeys((*own, *others)))

    def counted(self, value: Mapping[str, Any], word: str = "") -> Counter[str]:
        """Return the names of a document's zones, and how many documents each is of.

        With a ``word``, only zones by way of that kind count.
        """
        zoned: set[Zoned] = set()
        has_own = bool(self._kind.zone) and self._kind.zone in value
        if has_own and word in ("", self._kind.name):
            zoned.add(_zoned(self._kind, value))
        for reference, by_id in self._named:
            if word in ("", reference.kind):
                for _, id in values_at(value, reference.pointer):
                    if isinstance(id, str | int) and id in by_id:
                        zoned.add(by_id[id])
        return Counter(name for name, _ in zoned)

    def of(self, value: Mapping[str, Any], site: ZoneInfo) -> list[ZoneInfo]:
        """Return the zones of a document, in order of their names; mostly one.

        Without a zone of its own it is the ``site``'s.
        """
        names = sorted(self.counted(value))
        return [schedule.zone(name) for name in names] or [site]


def _zoned(kind: Kind, value: Mapping[str, Any]) -> Zoned:
    return str(value[kind.zone]), str(value.get(str(kind.identity)))


def has_word(value: Mapping[str, Any], words: tuple[str, ...]) -> bool:
    """Return whether a publish window has a word in place of a zone."""
    return any(text.endswith(words) for _, text in _texts(value))


def named(value: dict[str, Any], zones: Zones) -> dict[str, Any]:
    """Return a document with the name of its zone in the place of each word.

    A word that does not mean one zone that exists stays, and a rule reports it.
    """
    publish = dict(value["publish"])
    for end, text in _texts(value):
        word = schedule.zone_name(text)
        names = list(zones.counted(value, word)) if word in zones.words else []
        if len(names) == 1 and names[0] in schedule.zone_names():
            publish[end] = text.removesuffix(word) + names[0]
    return {**value, "publish": publish}


def _texts(value: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    publish = value.get("publish")
    if isinstance(publish, dict):
        for end in ENDS:
            if isinstance(text := publish.get(end), str):
                yield end, text
