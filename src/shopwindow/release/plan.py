"""A plan says which answers a build renders, and which files it reuses.

Every build records what each answer has read (`reads`). An answer that would read the
same values now is the same, since views are pure. So its files keep their lines of the
previous manifest, and its view does not run.

Where no reads are recorded, or more than half of the answers are outdated, the plan is
to render all answers. What it reuses otherwise saves time alone: a release has the same
bytes either way.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from shopwindow.content.documents.documents import Content
from shopwindow.interface.formats import JSON
from shopwindow.problems import Failure
from shopwindow.release import prerender
from shopwindow.release.order import BuildInputs
from shopwindow.release.prerender import PlannedAnswer, PlannedOperation
from shopwindow.release.previous import Previous
from shopwindow.release.reads import Digests, ReadRecord

MAX_FILES = 200_000
"""Files that a release may have unless site.yaml allows more (`max_files`): nobody shall
pre-render a million products unawares.
"""


@dataclass(frozen=True)
class RenderingPlan:
    """What to render, and what to reuse of the previous release.

    ``state``: digests of the program, of the schemas and of which answers there are;
    records of another state are void. ``digests``: of what the content returns now; the
    reads of rendered answers are recorded with them. ``answers``: those to render,
    operation by operation. ``reused``: path → line of the previous manifest, for the
    files that are not rendered. ``record``: what the answers behind these files have
    read; `render` adds what it renders.
    """

    state: Sequence[str]
    digests: Digests
    answers: Sequence[PlannedAnswer]
    reused: Mapping[str, bytes] = field(default_factory=dict)
    record: ReadRecord = field(default_factory=ReadRecord)


def planned(
    inputs: BuildInputs,
    content: Content,
    previous: Previous,
    indexes: Mapping[str, str],
    *,
    is_same: bool,
) -> RenderingPlan:
    """Return what to render of a content, and what to reuse of the previous release.

    ``indexes``: index name → digest of its file. ``is_same``: the previous release is of
    this very content, so no answer is outdated. Raises Failure where the release would
    have more files than site.yaml allows.
    """
    operations = prerender.planned_operations(inputs.interface, content)
    _check_size(operations, inputs.documents.site.value.get("max_files", MAX_FILES))
    digests = Digests(content, indexes)

    # The state names all answers and their order. So a number in a record means the
    # same answer now, and the previous release has the same paths.
    state = *inputs.built_by, prerender.digest_of_answers(operations)
    record = previous.read_record(state)
    outdated = record.forget(digests) if record and not is_same else set()
    total = sum(map(len, operations))
    if not record or len(outdated) > total // 2:
        return RenderingPlan(state, digests, prerender.planned_answers(operations))

    answers = prerender.planned_answers(operations, outdated)
    rendered_paths = _paths(answers)
    reused = {
        path: line
        for path, line in previous.lines.items()
        if path not in rendered_paths
    }
    return RenderingPlan(state, digests, answers, reused, record)


def _check_size(operations: Sequence[PlannedOperation], allowed: int) -> None:
    """Raise Failure where the release would have more than ``allowed`` files."""
    files = sum(operation.files for operation in operations)
    if files > allowed:
        largest = max(operations, key=lambda operation: operation.files)
        raise Failure(
            f"{files:,} files would be written, and {allowed:,} are allowed; "
            f"`max_files: {files}` in site.yaml allows them, or pre-render fewer: "
            f"{largest.operation.name} has the most, {largest.files:,}"
        )


def _paths(answers: Sequence[PlannedAnswer]) -> set[str]:
    """Return the path, below files/, of every file that these answers fill.

    `filenames` lists a call's files in all formats, so one format's calls are enough.
    """
    return {
        path
        for answer in answers
        for call in answer.calls(JSON)
        for path in call.filenames()
    }
