"""From what breaks a contract to the file and the line that an editor mends.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`value_origins`), and `Locator` finds the line. A value
of a streamed document is at that document's line. Where nothing can be traced, such as
a document that is gone, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import cache

from shopwindow.content.check.locating import Locator
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.contracts import title_of
from shopwindow.interface.interface import Interface
from shopwindow.problems import Place, Pointer, Problem
from shopwindow.release.answer_origins import (
    AnswerOrigins,
    Asking,
    answer_origins,
)
from shopwindow.release.breaches import Breach
from shopwindow.release.documents_read import Named
from shopwindow.release.value_origins import (
    ValueOrigin,
    on_the_way,
    origin_around,
    origin_of,
)


def problems(
    breaches: Sequence[Breach],
    asking: Asking,
    locator: Locator,
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` is of the content folder. What several contracts say about one place is
    one problem.
    """
    tracer = _Tracer(asking)
    groups: dict[tuple[str, Problem], list[Breach]] = defaultdict(list)
    users: dict[tuple[str, Problem], set[str]] = defaultdict(set)
    for breach in breaches:
        source, subject = tracer.source(breach), ""
        if isinstance(source, tuple) and not isinstance(source, ValueOrigin):
            subject = f"{' '.join(source)}: "
            located = [_in_feed(breach.finding, source, asking.interface, locator)]
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
    finding: Finding, source: Named, interface: Interface, locator: Locator
) -> Problem:
    """Return the problem in a document of an index, at its line."""
    kind, id = source
    path, line = locator.files.streamed(interface.kind[kind], id)
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


class _Tracer:
    """Finds out which document a value of an answer was taken from.

    Each request is answered once more, from documents that know their origins.
    """

    def __init__(self, asking: Asking) -> None:
        self._streamed = {k.name for k in asking.interface.kinds if k.streamed}

        @cache
        def origins(request: str, application: str) -> AnswerOrigins:
            return answer_origins(asking, request, application)

        self._origins = origins

    def source(self, breach: Breach) -> ValueOrigin | Named | None:
        """Return where the value that breaks a contract comes from: a place of a
        document, a document of an index, or None where nothing says it.
        """
        if not breach.answered:
            return None
        asked, pointer = breach.asked, breach.finding.pointer
        origins = self._origins(asked.request.text, asked.contract.value["app"])
        handed_out = [named for named in origins.read if named[0] in self._streamed]
        return (
            origin_of(origins.traced, pointer)
            or _among(handed_out, origins.traced, pointer)
            or origin_around(origins.traced, pointer)
        )


def _among(
    handed_out: Collection[Named], answer: Json, pointer: Pointer
) -> Named | None:
    """Return the one of an index's documents that a place of an answer is about.

    It is the one whose identity stands in the innermost object around the place; or the
    only one there is.
    """
    for part in reversed(list(on_the_way(answer, pointer))):
        values = part.values() if isinstance(part, dict) else ()
        ids = {str(value) for value in values if isinstance(value, str | int)}
        named = [one for one in handed_out if one[1] in ids]
        if len(named) == 1:
            return named[0]
    return next(iter(handed_out)) if len(handed_out) == 1 else None
