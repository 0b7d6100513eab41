"""Who shares the work: an Executor, which is handed to whatever has parts to work on.

A stage of work is a function of some of its items, such as the blocks of the feeds. An
Executor calls it, on this machine (`Processes`) or on others (`shopwindow.cluster`),
and hands the results back in the order of the items. What comes out is the same
everywhere, because nothing depends on who has worked on which item, or how often.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar
from uuid import uuid4

from shopwindow.content.processes import processors, shared

PartItem = TypeVar("PartItem")
PartResult = TypeVar("PartResult")
Work = Callable[[Sequence[PartItem]], Iterable[PartResult]]
"""Called with some of a stage's items, in order; yields a result for each of them.

It is called for every item, but nobody knows with how many others, where, or how often:
a machine may be lost after it has done its part. So it reads what does not change
meanwhile, and writes files only under names that nobody else has; its results name
them. Beyond this machine it is pickled, and so are items and results.

It may run where nobody sees the files of whoever has begun it. They are brought there:
files that it or its items name by a Path, all of a folder below the Executor's that they
name so, and the feeds of Sources in its items. What it writes below the Executor's
folder is brought back. Results name files by their names, since paths differ by machine.
"""


def own_name() -> str:
    """Return a name for a file that nobody else gives to one, on any machine."""
    return uuid4().hex


class Executor(Protocol):
    """Calls the work of a stage with its items, wherever that is."""

    @property
    def folder(self) -> Path | None:
        """Where files are that one who works writes for others to read.

        Everybody who works sees it, or its files, under the path that is in the work.
        None: any folder of this machine.
        """
        ...

    def shared(
        self, stage: str, work: Work[PartItem, PartResult], items: Sequence[PartItem]
    ) -> AbstractContextManager[Iterator[PartResult]]:
        """Return a block that has an iterator of results, one for each item, in order.

        ``stage`` is what people see of it: "feeds" or "rows". The iterator raises what
        ``work`` raises, and Failure where those are lost who do it. A block that is
        left early ends the stage.
        """
        ...


@dataclass(frozen=True)
class Processes:
    """An Executor of forked processes on this machine (`processes.shared`).

    ``jobs``: how many; None: one for each processor.
    """

    jobs: int | None = None
    folder: None = None

    def shared(
        self, stage: str, work: Work[PartItem, PartResult], items: Sequence[PartItem]
    ) -> AbstractContextManager[Iterator[PartResult]]:
        return shared(work, items, self.jobs or processors())
