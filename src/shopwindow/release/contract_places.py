"""From what breaks a contract to the file and the line that an editor mends.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`value_origins`), and `Locator` finds the line. Where
nothing can be traced, such as a document that is gone or a product, which an index
answers from a file of its own, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

from shopwindow.content.check.locating import Locator
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.contracts import title_of
from shopwindow.problems import Problem
from shopwindow.release.answer_origins import answer_origins
from shopwindow.release.breaches import Breach
from shopwindow.release.order import Asking
from shopwindow.release.value_origins import origins_of


def problems(
    breaches: Sequence[Breach],
    asking: Asking,
    locator: Locator,
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` is of the content folder. What several contracts say about one place is
    one problem.
    """

    @cache
    def traced(request: str, application: str) -> Json:
        return answer_origins(asking, request, application).traced

    groups: dict[Problem, list[Breach]] = defaultdict(list)
    users: dict[Problem, set[str]] = defaultdict(set)
    for breach in breaches:
        origin = breach.contract, breach.place
        if breach.answered:
            answer = traced(breach.request.text, breach.contract.value["app"])
            origin = next(origins_of(answer, breach.finding.pointer), origin)
        document, pointer = origin
        finding = replace(breach.finding, pointer=pointer)
        for problem in locator.problems([(document, finding)]):
            group = replace(problem, used_by=())
            groups[group].append(breach)
            users[group].update(problem.used_by)
    found = [
        replace(
            locator.described(problem),
            found=_found(problem, group, locator),
            used_by=tuple(sorted(users[problem])),
        )
        for problem, group in groups.items()
    ]
    return sorted(found, key=Problem.order)


def _found(problem: Problem, group: Iterable[Breach], locator: Locator) -> str:
    """Return whom a problem breaks and how, with the other places in their contracts."""
    names, places = [], []
    for breach in group:
        contract = breach.contract
        layer = contract.layers[-1]
        names.append(title_of(contract.value))
        if layer.path != problem.path:
            spot = locator.files.spot(layer, breach.place)
            places.append(f"{layer.path}:{spot.value.line}" if spot else layer.path)
    *first, last = dict.fromkeys(names)
    listed = f"{', '.join(first)} and {last}" if first else last
    where = f" ({', '.join(dict.fromkeys(places))})" if places else ""
    return f"this breaks {listed}: {problem.found}{where}"
