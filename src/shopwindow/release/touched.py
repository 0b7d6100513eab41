"""Which contracts read what differs between two releases.

A contract is a document of its release. Each of its requests is answered from both
releases, and the values that its fields lead to are compared. What differs broke no
contract, or the release would not have been built; it is worth a look on such a phone.
"""

from dataclasses import dataclass

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answering.contracts import (
    CONTRACT,
    answer_of,
    reached,
    read_requests,
    text_of,
    title_of,
)
from shopwindow.problems import Refusal
from shopwindow.release.changes import OpenedRelease


@dataclass(frozen=True)
class TouchedContract:
    """What of one answer differs that a contract reads.

    ``reader``: the application and its version. ``request``: as the contract has it.
    ``paths``: of the fields whose values differ.
    """

    reader: str
    request: str
    paths: tuple[str, ...]


def touched(before: OpenedRelease, after: OpenedRelease) -> list[TouchedContract]:
    """Return what differs that the contracts of the newer release read. Raises Failure."""
    if CONTRACT not in after.interface.kind:
        return []
    found = []
    for contract in after.content.documents(CONTRACT):
        for request in read_requests(after.interface, contract):
            answers = [
                _answer(release, request.text, contract["app"])
                for release in (before, after)
            ]
            paths = tuple(
                text_of(steps)
                for steps in request.fields
                if len({orjson.dumps(reached(answer, steps)) for answer in answers}) > 1
            )
            if paths:
                found.append(TouchedContract(title_of(contract), request.text, paths))
    return found


def _answer(release: OpenedRelease, request: str, application: str) -> Json:
    """Return the answer of a release; null where it refuses the request."""
    try:
        return answer_of(release.interface, request, application, release.content)
    except Refusal:
        return None
