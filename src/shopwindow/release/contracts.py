"""Content is held to the contracts of shipped versions.

`check` and `build` answer the requests of these contracts from the content that they
would publish and refuse it with the place of every value that breaks one.

The requests take the way that they take in the service: they are bound to Calls, and
their views answer. An answer breaks a contract where the contract's schema refuses it,
or where it is no success. What the contract does not name may change as it likes.

An editor mends a value of a document, not an answer. So the answer is traced to the
document that it took the value from (`show.answer_origins`), and `Locator` finds the
line. Where nothing can be traced, such as a document that is gone or a product, which an
index answers from a file of its own, the problem stands in the contract.

One value may break several contracts. That is one problem, which names all of them.

A check that is repeated answers again only what would read something else. Each answer
is recorded with what it has read (`reads`), so the state of what was asked, the program
and the schemas, and the digests of what the content returns now say which answers would
be the same. The memory of the folder has the records, of content that breaks nothing alone.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import orjson

from shopwindow.content.check.locating import Locator
from shopwindow.content.check.memory import Memory
from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading import listing
from shopwindow.content.schemas.schema import Schemas, schemas_of
from shopwindow.interface.answering.answer import refused
from shopwindow.interface.answering.contracts import (
    CONTRACT,
    ReadRequest,
    answer_of,
    read_requests,
    text_of,
    title_of,
)
from shopwindow.interface.declaring.collections import Declared
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Pointer, Problem, Refusal, number_of
from shopwindow.release import reads
from shopwindow.release.order import Asking
from shopwindow.release.reads import Digests, ReadRecord, Recorded
from shopwindow.release.show import answer_origins

RECORDS = "contracts"
"""The file of the memory with what answers have read."""

_SCHEMA = "contract"
"""The name of the schema by which an answer is judged."""

NO_ANSWER = "contract.refused"


class _Breach(NamedTuple):
    """What breaks a contract: the answer to one of its requests.

    ``place``: in the contract. ``finding``: at the place in the answer, in the words of
    an editor; of the rule NO_ANSWER where there is none.
    """

    contract: Document
    request: ReadRequest
    place: Pointer
    finding: Finding


class ContractsBroken(Exception):
    """A content breaks contracts. ``more``: how many problems are not listed."""

    def __init__(self, problems: list[Problem], more: int) -> None:
        super().__init__(number_of(len(problems) + more, "broken contract"))
        self.problems, self.more = problems, more


def hold(
    asking: Asking,
    digests: Mapping[str, str],
    declared: Declared,
    folder: Path,
    memory: Memory,
    *,
    most: int,
) -> None:
    """Raise ContractsBroken where a content breaks a contract, with every place.

    ``asking``: what the requests are answered from, and ``digests`` those of its
    indexes, by name. ``folder``: the content folder, with what it has ``declared``.
    ``memory`` has what the answers have read in an earlier check, and ``most`` breaches
    are traced to their places.
    """
    found = _breaches(asking, declared.schemas, digests, memory)
    if not found:
        return
    sources, _ = listing.scan(folder, declared.interface.kinds, declared.unread)
    by_path = {source.path: source for source in sources}
    locator = Locator(folder, by_path, declared.schemas)
    traced = found[:most]
    listed = _problems(traced, asking, locator)
    raise ContractsBroken(listed, len(found) - len(traced))


def _breaches(
    asking: Asking, schemas: Schemas, digests: Mapping[str, str], memory: Memory
) -> list[_Breach]:
    """Return what breaks the contracts.

    A request that would read what it read in a check that found nothing is not answered
    again.
    """
    content = asking.indexed()
    documents = asking.documents.of(CONTRACT)
    contracts = orjson.dumps([contract.value for contract in documents]).decode()
    state = memory.program, schemas.digest, contracts
    stored = memory.file(RECORDS)
    record = (stored and reads.load(stored, state)) or ReadRecord()
    current = Digests(content, digests)
    record.forget(current)
    held = {number for numbers in record.readers.values() for number in numbers}

    asked = (
        (contract, request)
        for contract in documents
        for request in read_requests(asking.interface, contract.value)
    )
    found: list[_Breach] = []
    for number, (contract, request) in enumerate(asked):
        if number not in held:
            recorded = Recorded(content)
            found += _of_answer(asking.interface, schemas, contract, request, recorded)
            record.note(number, recorded.seen, current)
    if stored and not found:
        reads.save(stored, state, record)
    return found


# -- what breaks one -------------------------------------------------------------------


def _of_answer(
    interface: Interface,
    schemas: Schemas,
    contract: Document,
    request: ReadRequest,
    content: Content,
) -> Iterator[_Breach]:
    """Yield what of one answer breaks a contract."""
    try:
        answer = answer_of(interface, request.text, contract.value["app"], content)
    except Refusal as refusal:
        found = f"{request.text} {refused(refusal)}"
        allowed = "an answer; without the request, if the app sends it no more"
        finding = Finding(NO_ANSWER, (), found, allowed)
        place = (*request.place, "request")
        yield _Breach(contract, request, place, finding)
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
            yield _Breach(contract, request, (*request.place, "fields", number), broken)


def _problems(
    breaches: Sequence[_Breach], asking: Asking, locator: Locator
) -> list[Problem]:
    """Return what breaks contracts as problems at their places, in order.

    ``locator`` is of the content folder. What several contracts say about one place is
    one problem.
    """
    traced = cache(partial(answer_origins, asking))
    groups: dict[Problem, list[_Breach]] = defaultdict(list)
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


def _found(problem: Problem, group: Iterable[_Breach], locator: Locator) -> str:
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
