"""What breaks a contract in the answers to its requests, and the line that an editor mends.

The requests take the way that they take in the service: they are bound to Calls, and
their views answer. An answer breaks a contract where the contract's schema refuses it,
or where it is no success. What the contract does not name may change as it likes.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`answer_origins`), and `Locator` finds the line. Where
nothing can be traced, such as a document that is gone or a product, which an index
answers from a file of its own, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import NamedTuple

from shopwindow.content.check.locating import Locator
from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.schemas.schema import Schemas, schemas_of
from shopwindow.interface.answering.answer import refused
from shopwindow.interface.answering.contracts import (
    ReadRequest,
    answer_of,
    text_of,
    title_of,
)
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Pointer, Problem, Refusal
from shopwindow.release.answer_origins import answer_origins
from shopwindow.release.order import Asking

_SCHEMA = "contract"
"""The name of the schema by which an answer is judged."""

NO_ANSWER = "contract.refused"


class Breach(NamedTuple):
    """What breaks a contract: the answer to one of its requests.

    ``place``: in the contract. ``finding``: at the place in the answer, in the words of
    an editor; of the rule NO_ANSWER where there is none.
    """

    contract: Document
    request: ReadRequest
    place: Pointer
    finding: Finding


def breaches(
    interface: Interface,
    schemas: Schemas,
    contract: Document,
    request: ReadRequest,
    content: Content,
) -> Iterator[Breach]:
    """Yield what of one answer breaks a contract."""
    try:
        answer = answer_of(interface, request.text, contract.value["app"], content)
    except Refusal as refusal:
        found = f"{request.text} {refused(refusal)}"
        allowed = "an answer; without the request, if the app sends it no more"
        finding = Finding(NO_ANSWER, (), found, allowed)
        place = (*request.place, "request")
        yield Breach(contract, request, place, finding)
        return
    described = zip(request.fields, request.schemas(schemas), strict=True)
    for number, (steps, schema) in enumerate(described):
        for finding in schemas_of({_SCHEMA: schema}).findings(_SCHEMA, answer):
            found = f"{text_of(steps)} of {request.text}: {finding.found}"
            broken = Finding(
                "contract.broken",
                finding.pointer,
                found,
                "a value" if finding.missing else finding.allowed,
                nearest=finding.nearest,
                on_key=finding.on_key,
            )
            yield Breach(contract, request, (*request.place, "fields", number), broken)


def problems(
    breaches: Sequence[Breach], asking: Asking, locator: Locator
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` is of the content folder. What several contracts say about one place is
    one problem.
    """
    traced = cache(partial(answer_origins, asking))
    groups: dict[Problem, list[Breach]] = defaultdict(list)
    for breach in breaches:
        origin = breach.contract, breach.place
        if breach.finding.rule != NO_ANSWER:
            answer = traced(breach.request.text, breach.contract.value["app"])
            origin = next(answer.origins(breach.finding.pointer), origin)
        document, pointer = origin
        finding = replace(breach.finding, pointer=pointer)
        for problem in locator.problems([(document, finding)]):
            groups[replace(problem, used_by=())].append(breach)
    found = [
        replace(locator.described(problem), found=_found(problem, group, locator))
        for problem, group in groups.items()
    ]
    return sorted(found, key=Problem.order)


def _found(problem: Problem, group: Iterable[Breach], locator: Locator) -> str:
    """Return whom a problem breaks and how, with the other places in their contracts."""
    names, places = [], []
    for breach in group:
        layer = breach.contract.own
        names.append(title_of(breach.contract.value))
        if layer.path != problem.path:
            spot = locator.files.spot(layer, breach.place)
            places.append(f"{layer.path}:{spot.value.line}" if spot else layer.path)
    readers = ", ".join(dict.fromkeys(names))
    where = f" ({', '.join(dict.fromkeys(places))})" if places else ""
    return f"this breaks {readers}: {problem.found}{where}"
