"""Several processes render the answers of a release and stage their files.

The work is cut into batches. What takes longest, an answer that holds every store, is a
batch of its own and comes first; then batches of the other operations take turns, so
that two processes seldom fill the same directory, which has one lock; then come the
files that are reused, which are only linked.

A process writes no bytes that the previous release has or that it has written itself:
it links them. Processes do not learn of each other's files while they work.
`StagedFiles` collects all of them afterwards, refuses two with one name, and stores
bytes once that several processes have written.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest
from typing import TypeVar

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.processes import give_back, processors, shared
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.order import BuildOrder
from shopwindow.release.plan import RenderingPlan
from shopwindow.release.prerender import AnswerCache, File, PlannedAnswer, prerender
from shopwindow.release.previous import Previous
from shopwindow.release.reads import Digests, ReadRecord, Recorded
from shopwindow.release.stage import Stage

BatchItem = TypeVar("BatchItem")

FEW_ANSWERS = 60
"""An operation with fewer answers than this is rendered first, each answer as a batch of
its own.

Such answers are mostly whole lists (every store, every category), which take long;
begun last, one would keep a process busy after all others have ended. Only the order of
the work depends on the number, never what a release holds.
"""

ANSWERS_A_BATCH = 16
"""The lines of their files fit into a pipe (64 KiB), so that no process waits for its
results to be read.
"""

LINKS_A_BATCH = 512
"""Reused files in a batch. Files that follow each other stand in few directories, and
while a process links them, it is mostly alone there.
"""

SETS_A_RECORD = 60
"""A process sends its record of reads once it holds so many different sets of reads, or
has no batch left. To hold all until the end would take much memory; to send each by
itself would repeat the reads that many answers share, for a record states each of its
reads once.
"""


@dataclass(frozen=True)
class _Batch:
    """Some answers to render, or the paths of some files to reuse."""

    answers: Sequence[PlannedAnswer] = ()
    reused: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.answers) + len(self.reused)


StagedFile = tuple[str, bytes, str]
"""A file: its path below files/, its line of the manifest, and its digest where its
bytes were written; an empty text where they were linked.
"""


class StagedFiles:
    """Every file of a release.

    ``lines``: path → the file's line of the manifest. ``written``: digest → the first
    path whose bytes were written.
    """

    def __init__(self, reused: Mapping[str, bytes]) -> None:
        self.lines = dict(reused)
        self.written: dict[str, str] = {}
        self._written_twice: set[str] = set()

    def take(self, files: Iterable[StagedFile]) -> None:
        """Add files that one process has staged. Raises Failure where two have one
        name.
        """
        for path, line, digest in files:
            if self.lines.setdefault(path, line) is not line:
                raise Failure(_same_name(path, path))
            if digest and self.written.setdefault(digest, path) is not path:
                self._written_twice.add(digest)

    def end(self, stage: Stage) -> None:
        """Finish, once all files are there.

        Bytes that several processes have written are stored once: every path with them
        becomes a link to the first. Raises Failure where two paths are one on a file
        system that ignores case.
        """
        if len(set(map(str.lower, self.lines))) != len(self.lines):
            folded: dict[str, str] = {}
            for path in self.lines:
                if (other := folded.setdefault(path.lower(), path)) is not path:
                    raise Failure(_same_name(other, path))
        if not self._written_twice:
            return
        for path, line in self.lines.items():
            digest = manifest.digest_of(line)
            if digest in self._written_twice:
                stage.relink(f"files/{path}", f"files/{self.written[digest]}")


def _same_name(path: str, other: str) -> str:
    return f"two answers have one file name: {path} and {other}"


def render(
    order: BuildOrder,
    plan: RenderingPlan,
    content: Content,
    previous: Previous,
    stage: Stage,
) -> StagedFiles:
    """Render the answers of the plan and stage every file of the release.

    The plan's record then has what these answers have read, too. Raises Failure where two
    files have one name, or a response schema refuses an answer.
    """
    schemas = order.inputs.schemas
    for schema in {answer.operation.schema for answer in plan.answers}:
        schemas.checker(schema)  # compiled before the fork, for all processes

    def work(batches: Sequence[_Batch]) -> Iterator[tuple[list[StagedFile], bytes]]:
        reading, record, linking = (
            Recorded(content),
            ReadRecord(),
            _Linking(previous, stage),
        )
        cache: AnswerCache = {}
        for batch in batches:
            answers = _recorded(batch.answers, reading, record, plan.digests)
            rendered = prerender(answers, reading, schemas, previous.encoded, cache)
            files = [linking.rendered(file) for file in rendered]
            for path in batch.reused:
                linking.stage(path, manifest.digest_of(plan.reused[path]))
            if len(record.readers) < SETS_A_RECORD and batch is not batches[-1]:
                yield files, b""
                continue
            yield files, record.encode()
            record = ReadRecord()

    batches = _batches(plan)
    total, done = sum(map(len, batches)), 0
    progress = order.steps("rendering")
    files = StagedFiles(plan.reused)
    give_back()  # memory that reading left, before every process counts it as its own
    with shared(work, batches, order.jobs or processors()) as results:
        for batch, (staged, record) in zip(batches, results, strict=True):
            files.take(staged)
            if record:
                plan.record.merge(ReadRecord.decode(record))
            done += len(batch)
            if progress:
                progress(done, total)
    files.end(stage)
    return files


def _batches(plan: RenderingPlan) -> list[_Batch]:
    """Return the work in batches, in the order in which processes take them."""
    alone: list[_Batch] = []
    by_operation: list[list[_Batch]] = []
    for _, planned in groupby(plan.answers, lambda answer: answer.operation.name):
        answers = list(planned)
        if len(answers) < FEW_ANSWERS:
            alone += [_Batch([answer]) for answer in answers]
        else:
            parts = _cut(answers, ANSWERS_A_BATCH)
            by_operation.append([_Batch(part) for part in parts])
    # The first batch of each operation, then the second of each, and so on.
    turns = chain.from_iterable(zip_longest(*by_operation))
    reused = [_Batch(reused=part) for part in _cut(list(plan.reused), LINKS_A_BATCH)]
    return [*alone, *(batch for batch in turns if batch), *reused]


def _cut(items: Sequence[BatchItem], length: int) -> list[Sequence[BatchItem]]:
    return [items[start : start + length] for start in range(0, len(items), length)]


def _recorded(
    answers: Iterable[PlannedAnswer],
    reading: Recorded,
    record: ReadRecord,
    digests: Digests,
) -> Iterator[PlannedAnswer]:
    """Yield each answer to be rendered, and record what it has read.

    Whoever takes the next answer has rendered this one, so its reads are recorded then.
    """
    for answer in answers:
        reading.seen = set()
        yield answer
        record.note(answer.number, reading.seen, digests)


class _Linking:
    """Stages the files of one process.

    Bytes that the previous release has, or that this process has staged, are linked;
    others are written.
    """

    def __init__(self, previous: Previous, stage: Stage) -> None:
        self._previous = previous
        self._stage = stage
        self._names: dict[
            str, str
        ] = {}  # digest → the name of a file that this process has staged

    def rendered(self, file: File) -> StagedFile:
        """Stage a file of an answer that was rendered."""
        path, digest = file.entry["path"], file.entry["sha256"]
        is_written = self.stage(path, digest, file.body)
        return path, b"%b" % orjson.dumps(file.entry), digest if is_written else ""

    def stage(self, path: str, digest: str, body: bytes | None = None) -> bool:
        """Stage a file, and return whether its bytes were written, which are ``body``
        then.
        """
        name = f"files/{path}"
        staged = self._names.setdefault(digest, name)
        previous_path = self._previous.paths.get(digest)
        if staged is not name:
            self._stage.link(name, staged)
        elif previous_path is not None:
            self._stage.take(name, f"{self._previous.files}/{previous_path}", digest)
        else:
            self._stage.write(name, body or b"", digest)
            return True
        return False
