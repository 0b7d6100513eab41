"""Which contracts read what differs between two releases.

A contract is a document of its release. Each of its requests is answered from both
releases, and the values that its fields lead to are compared. What differs broke no
contract, or the release would not have been built; it is worth a look on such a phone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answer_paths import reached, text_of
from shopwindow.interface.contracts import CONTRACT, as_request, steps_of, title_of
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
    """Return what differs that the contracts of the newer release read. Raises Failure."""
    before, after = opened(old, interface), opened(new, interface)
    if CONTRACT not in after.interface.kind:
        return []
    found = []
    for contract in after.content.documents(CONTRACT):
        for read in contract["reads"]:
            answers = [
                _answer(release, read["request"], contract["app"])
                for release in (before, after)
            ]
            paths = _differing(after.interface, read, answers)
            if paths:
                reader = title_of(contract)
                found.append(TouchedContract(reader, read["request"], paths))
    return found


def _differing(
    interface: Interface, read: Json, answers: Sequence[Json]
) -> tuple[str, ...]:
    """Return the paths of a request to values that differ in two answers; none where
    this program lacks an operation that the program of the release had.
    """
    try:
        operation, _ = interface.routes.route(as_request(read["request"]))
    except Refusal:
        return ()
    paths = [steps_of(operation, field["path"]) for field in read["fields"]]
    return tuple(
        text_of(path)
        for path in paths
        if len({orjson.dumps(reached(answer, path)) for answer in answers}) > 1
    )


def _answer(release: OpenedRelease, request: str, application: str) -> Json:
    """Return the answer of a release; null where it refuses the request."""
    try:
        return answer_of(release.interface, request, application, release.content)
    except Refusal:
        return None
