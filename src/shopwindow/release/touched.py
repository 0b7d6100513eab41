"""Which contracts read what differs between two releases.

A contract is a document of its release. Each of its requests is answered from both
releases, and the values that its fields lead to are compared. What differs broke no
contract, or the release would not have been built; it is worth a look on such a phone.
"""

from dataclasses import dataclass
from pathlib import Path

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answer_paths import PathSteps, text_of, walk
from shopwindow.interface.contracts import (
    CONTRACT,
    ReadRequest,
    is_supported,
    read_requests,
    title_of,
)
from shopwindow.interface.interface import Interface
from shopwindow.problems import Refusal
from shopwindow.release.breaches import answer_of
from shopwindow.release.changes import OpenedRelease, opened


@dataclass(frozen=True)
class TouchedContract:
    """What of one answer differs that a contract reads.

    ``reader``: the application and its version. ``request``: as the contract has it.
    ``paths``: of the fields whose values differ.
    """

    reader: str
    request: str
    paths: tuple[str, ...]


def touched(old: Path, new: Path, interface: Interface) -> list[TouchedContract]:
    """Return what differs that the contracts of the newer release read, of versions
    that it supports. Raises Failure.
    """
    before, after = opened(old, interface), opened(new, interface)
    if CONTRACT not in after.interface.kind:
        return []
    found = []
    for contract in _held(after.interface, after.content):
        for request in _requests(after.interface, contract):
            answers = [
                _answer(release, request, contract["app"])
                for release in (before, after)
            ]
            paths = [
                text_of(field.steps)
                for field in request.fields
                if len({_reached(answer, field.steps) for answer in answers}) > 1
            ]
            if paths:
                reader = title_of(contract)
                found.append(TouchedContract(reader, request.text, tuple(paths)))
    return found


def _held(interface: Interface, content: Content) -> list[Json]:
    """Return the contracts of a content whose versions it supports."""
    named = interface.applications
    applications = content.documents(named) if named else ()
    return [
        contract
        for contract in content.documents(CONTRACT)
        if is_supported(interface, contract, applications)
    ]


def _requests(interface: Interface, contract: Json) -> list[ReadRequest]:
    """Return the requests of a contract; none where this program lacks an operation
    that the program of the release had.
    """
    try:
        return read_requests(interface, contract)
    except (Refusal, ValueError):
        return []


def _answer(release: OpenedRelease, request: ReadRequest, application: str) -> Json:
    """Return the answer of a release; null where it refuses the request."""
    try:
        return answer_of(release.interface, request, application, release.content)
    except Refusal:
        return None


def _reached(answer: Json, steps: PathSteps) -> bytes:
    """Return everything that a path leads to, as bytes that can be compared.

    Where it leads no further, only how far it goes counts, not what is there.
    """
    ends = [
        [len(end.left), None if end.left else end.value] for end in walk(answer, steps)
    ]
    return orjson.dumps(ends)
