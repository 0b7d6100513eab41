"""From what breaks a contract to the file and the line that an editor mends.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`value_origins`), and `Locator` finds the line. A value
of a streamed document is at that document's line. Where nothing can be traced, such as
a document that is gone, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from shopwindow.content.check.locating import Locator
from shopwindow.content.check.places import Files
from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.layers import origin as layer_of
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.contracts import title_of
from shopwindow.interface.index import HandedOut
from shopwindow.interface.interface import Interface
from shopwindow.problems import Place, Pointer, Problem
from shopwindow.release.breaches import VALUE_GONE, Asked, Breach, answer_of
from shopwindow.release.value_origins import (
    ValueOrigin,
    on_the_way,
    origin_around,
    origin_of,
)

ContentWithOrigins = Callable[[HandedOut], Content]
"""Returns the content that was answered from, whose values know their `value_origins`."""


def problems(
    breaches: Sequence[Breach],
    interface: Interface,
    with_origins: ContentWithOrigins,
    locator: Locator,
    files: Files,
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` and ``files`` are of the content folder.
    """
    tracer = _Tracer(interface, with_origins)
    places = _ProblemPlaces(interface.kind, locator, files)
    in_documents: list[tuple[Breach, ValueOrigin | None]] = []
    in_feeds: list[tuple[Breach, _Streamed]] = []
    for breach in breaches:
        source = tracer.source(breach)
        if isinstance(source, _Streamed):
            in_feeds.append((breach, source))
        else:
            in_documents.append((breach, source))
    located = [*places.in_documents(in_documents), *places.in_feeds(in_feeds)]
    return sorted(located, key=Problem.order)


class _Streamed(NamedTuple):
    """A document that an index handed out: its kind and its identity."""

    kind: str
    id: str


class _Tracer:
    """Finds out which document a value of an answer was taken from.

    Each request is answered once more, from documents that know their origins.
    """

    def __init__(self, interface: Interface, with_origins: ContentWithOrigins) -> None:
        self._interface = interface
        self._handed_out: set[_Streamed] = set()
        self._content = with_origins(self._note)
        self._answers: dict[tuple[str, str], tuple[Any, frozenset[_Streamed]]] = {}

    def _note(self, kind: str, id: str) -> None:
        self._handed_out.add(_Streamed(kind, id))

    def source(self, breach: Breach) -> ValueOrigin | _Streamed | None:
        """Return where the value that breaks a contract comes from; None where nothing
        says it.
        """
        if breach.pointer is None:
            return None
        answer, handed_out = self._answer(breach.asked)
        return (
            origin_of(answer, breach.pointer)
            or _among(handed_out, answer, breach.pointer)
            or origin_around(answer, breach.pointer)
        )

    def _answer(self, asked: Asked) -> tuple[Any, frozenset[_Streamed]]:
        application, request = asked.contract.value["app"], asked.request
        key = application, request.text
        if key not in self._answers:
            self._handed_out.clear()
            try:
                answer = answer_of(self._interface, request, application, self._content)
            except Exception:
                # The plain values were answered. A view that minds the subclasses is
                # no fault of the content; then the problem stands in the contract.
                answer = None
            self._answers[key] = answer, frozenset(self._handed_out)
        return self._answers[key]


def _among(
    handed_out: frozenset[_Streamed], answer: Json, pointer: Pointer
) -> _Streamed | None:
    """Return the one of an index's documents that a place of an answer is about.

    It is the one whose identity stands in the innermost object around the place; or the
    only one there is.
    """
    by_id: dict[str, set[_Streamed]] = defaultdict(set)
    for one in handed_out:
        by_id[one.id].add(one)
    for part in reversed(list(on_the_way(answer, pointer))):
        values = part.values() if isinstance(part, dict) else ()
        named = {
            one
            for value in values
            if isinstance(value, str | int)
            for one in by_id.get(str(value), ())
        }
        if len(named) == 1:
            return named.pop()
    return next(iter(handed_out)) if len(handed_out) == 1 else None


@dataclass(frozen=True)
class _ProblemPlaces:
    """Turns what breaks contracts into problems at places of files.

    What several contracts say about one place is one problem.
    """

    kinds: Mapping[str, Kind]
    locator: Locator
    files: Files

    def in_documents(
        self, traced: Iterable[tuple[Breach, ValueOrigin | None]]
    ) -> list[Problem]:
        """Return the problems in documents; without an origin, in the contract."""
        groups: dict[Any, list[tuple[Breach, ValueOrigin]]] = defaultdict(list)
        for breach, traced_origin in traced:
            origin = traced_origin or ValueOrigin(breach.asked.contract, breach.place)
            at_value = Finding(breach.rule, origin.pointer, "")
            layer, pointer = layer_of(origin.document, at_value)
            key = layer.path, layer.index, pointer, breach.rule, breach.what
            groups[(*key, breach.allowed)].append((breach, origin))
        findings = [
            (origin.document, self._finding(group, breach, origin))
            for group in groups.values()
            for breach, origin in group
        ]
        located = self.locator.problems(findings)
        return [self.locator.described(problem) for problem in located]

    def _finding(
        self,
        group: Sequence[tuple[Breach, ValueOrigin]],
        breach: Breach,
        origin: ValueOrigin,
    ) -> Finding:
        found = self._found([one for one, _ in group], origin.document)
        return Finding(
            breach.rule,
            origin.pointer,
            found,
            breach.allowed,
            nearest=breach.nearest,
            on_key=breach.rule == VALUE_GONE,
        )

    def in_feeds(self, traced: Iterable[tuple[Breach, _Streamed]]) -> list[Problem]:
        """Return the problems in documents of indexes, each at its line."""
        groups: dict[Any, list[Breach]] = defaultdict(list)
        for breach, source in traced:
            key = source, breach.rule, breach.what, breach.allowed, breach.nearest
            groups[key].append(breach)
        located = []
        for (source, rule, _, allowed, near), group in groups.items():
            path, line = self.files.streamed(self.kinds[source.kind], source.id)
            place = Place(line, 1, line, 2) if line else None
            found = f"{source.kind} {source.id}: {self._found(group)}"
            located.append(
                Problem(rule, path, found, place, allowed=allowed, nearest=near)
            )
        return located

    def _found(self, group: Iterable[Breach], document: Document | None = None) -> str:
        """Return whom something breaks and how, with the places in their contracts.

        ``document``: the one that has the problem, whose place is not repeated.
        """
        breaches = list(group)
        names = list(
            dict.fromkeys(title_of(one.asked.contract.value) for one in breaches)
        )
        places = dict.fromkeys(
            self._place(one) for one in breaches if one.asked.contract is not document
        )
        where = f" ({', '.join(places)})" if places else ""
        return f"this breaks {_listed(names)}: {breaches[0].what}{where}"

    def _place(self, breach: Breach) -> str:
        layer = breach.asked.contract.layers[-1]
        spot = self.files.spot(layer, breach.place)
        return f"{layer.path}:{spot.value.line}" if spot else layer.path


def _listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them."""
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
