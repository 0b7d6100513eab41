"""Content is held to the contracts of shipped versions.

`check` and `build` answer the requests of these contracts from the content that they
would publish and refuse it with the place of every value that breaks one (`breaches`).

A check that is repeated answers again only what would read something else. Each answer
is recorded with what it has read (`reads`), so the state of what was asked, the program
and the schemas, and the digests of what the content returns now say which answers would
be the same. The memory of the folder has the records, of content that breaks nothing alone.
"""

from collections.abc import Mapping
from pathlib import Path

import orjson

from shopwindow.content.check.locating import Locator
from shopwindow.content.check.memory import Memory
from shopwindow.content.reading import listing
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.contracts import CONTRACT, read_requests
from shopwindow.interface.declaring.collections import Declared
from shopwindow.problems import Problem, number_of
from shopwindow.release import reads
from shopwindow.release.breaches import Breach, breaches, problems
from shopwindow.release.order import Asking
from shopwindow.release.reads import Digests, ReadRecord, Recorded

RECORDS = "contracts"
"""The file of the memory with what answers have read."""


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
    listed = problems(traced, asking, locator)
    raise ContractsBroken(listed, len(found) - len(traced))


def _breaches(
    asking: Asking, schemas: Schemas, digests: Mapping[str, str], memory: Memory
) -> list[Breach]:
    """Return what breaks the contracts.

    A request that would read what it read in a check that found nothing is not answered
    again.
    """
    content = asking.indexed()
    documents = asking.documents.of(CONTRACT)
    contracts = orjson.dumps([contract.value for contract in documents]).decode()
    state = memory.program, schemas.digest, contracts
    stored = memory.file(RECORDS)
    records = reads.load(stored, state) if stored else []
    record = records[0] if records else ReadRecord()
    current = Digests(content, digests)
    record.forget(current)
    held = {number for numbers in record.readers.values() for number in numbers}

    asked = (
        (contract, request)
        for contract in documents
        for request in read_requests(asking.interface, contract.value)
    )
    found: list[Breach] = []
    for number, (contract, request) in enumerate(asked):
        if number not in held:
            recorded = Recorded(content)
            found += breaches(asking.interface, schemas, contract, request, recorded)
            record.note(number, recorded.seen, current)
    if stored and not found:
        reads.save(stored, state, [record.encode()])
    return found
