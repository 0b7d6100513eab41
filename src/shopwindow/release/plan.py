"""What a build renders, and which files of the previous release it keeps without
rendering them.

Every answer's reads are recorded (`reads`). An answer that would read the same again is
the same, so its files keep their lines of the manifest and its view does not run. Where
more than half of the answers would read something else, all of them are rendered: to
compare each with its record would cost more than it saves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shopwindow.content.documents import Content
from shopwindow.interface.formats import JSON
from shopwindow.problems import Failure
from shopwindow.release import prerender
from shopwindow.release.order import BuildOrder
from shopwindow.release.prerender import PlannedAnswer, PlannedOperation
from shopwindow.release.previous import Previous
from shopwindow.release.reads import Digests, ReadRecord


@dataclass(frozen=True)
class RenderingPlan:
    """What to render and what to keep.

    ``state``: digests of the program, of the schemas and of which answers there are;
    records of another state are void. ``digests``: of what the content returns now, for
    the reads of rendered answers. ``answers``: what to render: a list of what
    operations have few of, then a list for each operation. ``kept``: the lines of the
    previous manifest, by path, of answers that would read the same again. ``records``:
    what these answers have read.
    """

    state: Sequence[str]
    digests: Digests
    answers: Sequence[Sequence[PlannedAnswer]]
    kept: Mapping[str, bytes] = field(default_factory=dict)
    records: Sequence[ReadRecord] = ()


def planned(
    order: BuildOrder, content: Content, previous: Previous, indexes: Mapping[str, str]
) -> RenderingPlan:
    """Return what to render of a content.

    ``indexes``: the digest of each index, by its name. Raises Failure where the release
    would have more files than the order allows.
    """
    operations = prerender.planned_operations(order.interface, content)
    _check_size(operations, order.allowed)
    digests = Digests(content, indexes)
    state = *order.built_by, prerender.digest_of(operations)
    records = previous.records(state)
    outdated = {number for record in records for number in record.forget(digests)}
    total = sum(map(len, operations))
    if not records or len(outdated) > total // 2:
        return RenderingPlan(state, digests, prerender.planned_answers(operations))

    answers = prerender.planned_answers(operations, outdated)
    rendered = _paths(answers)
    kept = {path: line for path, line in previous.lines.items() if path not in rendered}
    return RenderingPlan(state, digests, answers, kept, records)


def _check_size(operations: Sequence[PlannedOperation], allowed: int) -> None:
    """Raise Failure where the release would have more than ``allowed`` files."""
    files = sum(operation.files for operation in operations)
    if files > allowed:
        largest = max(operations, key=lambda operation: operation.files)
        raise Failure(
            f"{files:,} files would be written, and {allowed:,} are allowed; "
            f"--allow-files {files} allows them, or pre-render fewer: "
            f"{largest.operation.name} has the most, {largest.files:,}"
        )


def _paths(answers: Sequence[Sequence[PlannedAnswer]]) -> set[str]:
    """Return the path of every file, below files/, that these answers will be."""
    return {
        path
        for some in answers
        for answer in some
        for call in answer.calls(JSON)
        for path in call.filenames()
    }
