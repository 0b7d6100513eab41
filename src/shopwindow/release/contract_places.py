"""From what breaks a contract to the file and the line that an editor mends.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`value_origins`), and `Locator` finds the line. A value
of a streamed document is at that document's line. Where nothing can be traced, such as
a document that is gone, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from shopwindow.content.check.locating import Locator
from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.contracts import title_of
from shopwindow.interface.index import HandedOut
from shopwindow.interface.interface import Interface
from shopwindow.problems import Place, Pointer, Problem
from shopwindow.release.breaches import Asked, Breach, answer_of
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
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` is of the content folder. What several contracts say about one place is
    one problem.
    """
    tracer = _Tracer(interface, with_origins)
    groups: dict[tuple[str, Problem], list[Breach]] = defaultdict(list)
    users: dict[tuple[str, Problem], set[str]] = defaultdict(set)
    for breach in breaches:
        source, subject = tracer.source(breach), ""
        if isinstance(source, _Streamed):
            subject = f"{source.kind} {source.id}: "
            located = [_in_feed(breach.finding, source, interface, locator)]
        else:
            document, pointer = source or (breach.asked.contract, breach.place)
            finding = replace(breach.finding, pointer=pointer)
            located = locator.problems([(document, finding)])
        for problem in located:
            group = subject, replace(problem, used_by=())
            groups[group].append(breach)
            users[group].update(problem.used_by)
    found = [
        replace(
            locator.described(problem),
            found=subject + _found(problem, group, locator),
            used_by=tuple(sorted(users[subject, problem])),
        )
        for (subject, problem), group in groups.items()
    ]
    return sorted(found, key=Problem.order)


def _in_feed(
    finding: Finding, source: "_Streamed", interface: Interface, locator: Locator
) -> Problem:
    """Return the problem in a document of an index, at its line."""
    path, line = locator.files.streamed(interface.kind[source.kind], source.id)
    place = Place(line, 1, line, 2) if line else None
    return finding.problem(path, (), place)


def _found(problem: Problem, group: Iterable[Breach], locator: Locator) -> str:
    """Return whom a problem breaks and how, with the other places in their contracts."""
    names, places = [], []
    for breach in group:
        contract = breach.asked.contract
        layer = contract.layers[-1]
        names.append(title_of(contract.value))
        if layer.path != problem.path:
            spot = locator.files.spot(layer, breach.place)
            places.append(f"{layer.path}:{spot.value.line}" if spot else layer.path)
    *first, last = dict.fromkeys(names)
    listed = f"{', '.join(first)} and {last}" if first else last
    where = f" ({', '.join(dict.fromkeys(places))})" if places else ""
    return f"this breaks {listed}: {problem.found}{where}"


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
        if not breach.answered:
            return None
        answer, handed_out = self._answer(breach.asked)
        pointer = breach.finding.pointer
        return (
            origin_of(answer, pointer)
            or _among(handed_out, answer, pointer)
            or origin_around(answer, pointer)
        )

    def _answer(self, asked: Asked) -> tuple[Any, frozenset[_Streamed]]:
        application, request = asked.contract.value["app"], asked.request
        key = application, request.text
        if key not in self._answers:
            self._handed_out.clear()
            try:
                answer = answer_of(
                    self._interface, request.text, application, self._content
                )
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
    for part in reversed(list(on_the_way(answer, pointer))):
        values = part.values() if isinstance(part, dict) else ()
        ids = {str(value) for value in values if isinstance(value, str | int)}
        named = [one for one in handed_out if one.id in ids]
        if len(named) == 1:
            return named[0]
    return next(iter(handed_out)) if len(handed_out) == 1 else None
