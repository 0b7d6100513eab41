"""Content is held to the contracts of shipped versions.

`check` and `build` answer the requests of these contracts from the content that they
would publish (`breaches`), and refuse it with the place of every value that breaks one
(`contract_places`).

A check that is repeated answers again only what would read something else. Each answer
is recorded with what it has read (`reads`), so the state of what was asked, the program
and the schemas, and the digests of what the content returns now say which answers would
be the same. The memory of the folder has the records, of content that breaks nothing alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

import orjson

from shopwindow.content.check.locating import Locator
from shopwindow.content.check.memory import Memory
from shopwindow.content.documents.documents import Content, Documents
from shopwindow.content.reading import listing
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.contracts import CONTRACT, read_requests
from shopwindow.interface.interface import Interface
from shopwindow.problems import Problem, number_of
from shopwindow.release import contract_places, reads
from shopwindow.release.answer_origins import Asking
from shopwindow.release.breaches import Asked, Breach, breaches
from shopwindow.release.order import OpenIndexes
from shopwindow.release.reads import Digests, ReadRecord, Recorded

RECORDS = "contracts"
"""The file of the memory with what answers have read."""


@dataclass(frozen=True)
class Examined:
    """The content that contracts are held to.

    ``folder``: the content folder, whose ``unread`` folders are passed over.
    ``documents``: what its check returned. ``content``: those that are live at
    ``moment``, with their indexes; ``digests``: the indexes' digests, by name; ``open``
    opens them once more. ``memory``: that of the folder, with what the answers have read
    in an earlier check. ``most``: how many breaches are traced to their places.
    """

    interface: Interface
    schemas: Schemas
    folder: Path
    unread: Sequence[str]
    documents: Documents
    moment: datetime
    content: Content
    digests: Mapping[str, str]
    open: OpenIndexes
    memory: Memory
    most: int


class ContractsBroken(Exception):
    """A content breaks contracts. ``more``: how many problems are not listed."""

    def __init__(self, problems: list[Problem], more: int) -> None:
        super().__init__(number_of(len(problems) + more, "broken contract"))
        self.problems, self.more = problems, more


def hold(examined: Examined) -> None:
    """Raise ContractsBroken where a content breaks a contract, with every place."""
    found = _breaches(examined)
    if not found:
        return
    interface, folder = examined.interface, examined.folder
    asking = Asking(
        interface,
        examined.documents,
        examined.content,
        examined.moment,
        examined.open,
    )
    sources, _ = listing.scan(folder, interface.kinds, examined.unread)
    problems = contract_places.problems(
        found[: examined.most],
        asking,
        Locator(folder, sources, examined.schemas),
    )
    raise ContractsBroken(problems, max(0, len(found) - examined.most))


def _breaches(examined: Examined) -> list[Breach]:
    """Return what breaks the contracts.

    A request that would read what it read in a check that found nothing is not answered
    again.
    """
    interface, schemas = examined.interface, examined.schemas
    documents = examined.documents.of(CONTRACT)
    asked = [
        Asked(contract, request)
        for contract in documents
        for request in read_requests(interface, schemas, contract.value)
    ]
    values = [contract.value for contract in documents]
    contracts = sha256(orjson.dumps(values)).hexdigest()
    memory = examined.memory
    state = memory.program, schemas.digest, contracts
    stored = memory.file(RECORDS)
    digests = Digests(examined.content, examined.digests)
    record, new_record = ReadRecord(), ReadRecord()
    for loaded in reads.load(stored, state) if stored else ():
        loaded.forget(digests)
        record.merge(loaded)
    held = {number for numbers in record.readers.values() for number in numbers}

    recorded = Recorded(examined.content)
    found: list[Breach] = []
    for number, one in enumerate(asked):
        if number in held:
            continue
        recorded.seen = set()
        found += breaches(interface, one, recorded)
        new_record.note(number, recorded.seen, digests)
    if stored and not found:
        record.merge(new_record)
        reads.save(stored, state, [record.encode()])
    return found
