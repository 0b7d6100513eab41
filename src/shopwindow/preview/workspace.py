"""The content folder as the preview sees it: checked again whenever a file is saved.

A check gives a Snapshot, which never changes. A page reads one Snapshot from its start
to its end, so a check that ends meanwhile cannot mix two states of the folder on it.
Where a check finds problems, its Snapshot has the documents of the last check without
any, so that pages still show something.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from shopwindow import library
from shopwindow.content.check.folder import Checked
from shopwindow.content.documents.documents import (
    Content,
    Document,
    Documents,
    Layer,
    boundaries,
    live,
)
from shopwindow.content.editing.mending import Repair, fixes_of
from shopwindow.content.reading.revision import commit_of, exported
from shopwindow.content.reading.text import Fix
from shopwindow.interface.declaring.collections import Declared
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library import ContentAtFault
from shopwindow.preview.index_builds import IndexBuilds
from shopwindow.problems import Failure, Misuse, Problem
from shopwindow.release.documents_read import by_identity
from shopwindow.release.order import BuildInputs
from shopwindow.release.program import program_digest
from shopwindow.release.purging import Purge, urls_to_purge
from shopwindow.release.releases import Releases

CONTENTS_KEPT = 8
"""Contents of a Snapshot that stay in memory, one for an instant: as many instants as a
person moves between.
"""

NOTHING = Documents(
    Document("site", {"time_zone": "UTC"}, (Layer("site.yaml", None, {}),))
)
"""What pages show while every check has found problems: no document but an empty
site.yaml.
"""


@dataclass(frozen=True)
class Snapshot:
    """The outcome of one check.

    ``number`` counts the checks of this preview, from 1. ``folder``: the content folder.
    ``declared``: the collections
    of the folder. ``checked``: what this check found. ``documents``: those of the last
    check that found no problem, which ended at ``good_at``; NOTHING and None while every
    check has found some. ``seconds``: how long the check took. ``failure``: why the
    folder could not be checked at all, as a sentence; empty where it could.
    """

    number: int
    folder: Path
    declared: Declared
    checked: Checked
    documents: Documents
    good_at: datetime | None
    seconds: float
    failure: str = ""

    @property
    def interface(self) -> Interface:
        """The interface with the collections that the folder declares."""
        return self.declared.interface

    @property
    def is_stale(self) -> bool:
        """Whether the documents are older than the check: it found problems."""
        return self.checked.documents is None

    @cached_property
    def by_id(self) -> Mapping[tuple[str, str], Document]:
        """Kind and identity as text → document."""
        return {
            (kind.name, str(kind.named(document.value))): document
            for kind in self.interface.kinds
            if kind.is_named
            for document in self.documents.of(kind.name)
        }

    @cached_property
    def content(self) -> Callable[[datetime], Content]:
        """Returns the documents that are live at an instant. Those of a few instants
        stay in memory.
        """
        documents, interface = self.documents, self.interface
        return lru_cache(CONTENTS_KEPT)(
            lambda moment: live(documents, moment, interface.kinds, interface.clocks)
        )

    @cached_property
    def fixes(self) -> Mapping[Problem, Fix]:
        """The fixes of its problems that seem certain."""
        return fixes_of(self.folder, self.checked)

    @cached_property
    def boundaries(self) -> list[datetime]:
        """Every instant at which a document comes or goes, in order."""
        return boundaries(self.documents, self.interface.kinds)


@dataclass(frozen=True)
class Released:
    """The current release: its id, the documents that it was built from, and what
    build.json notes.
    """

    id: str
    content: Content
    note: Mapping[str, Any]


@dataclass(frozen=True)
class Baseline:
    """What pages compare values with: the current release, or a git revision.

    ``mark``: what stands beside a value that it does not have.
    """

    mark: str
    content: Content

    def document(self, kind: str, id: Any) -> Any:
        """Return the document of a kind with this identity, or None."""
        return by_identity(self.content, kind).get(id)


@dataclass(frozen=True)
class Revision:
    """A commit of the content folder: its id, and its documents.

    ``interface`` has the collections that it declares.
    """

    commit: str
    interface: Interface
    documents: Documents

    def content(self, moment: datetime) -> Content:
        """Return the documents that are live at ``moment``."""
        kinds, clocks = self.interface.kinds, self.interface.clocks
        return live(self.documents, moment, kinds, clocks)


class Workspace:
    """Checks a content folder, again whenever it is asked to, and remembers the outcome
    of the last check, its ``snapshot``.

    ``folder`` is the content folder; ``out`` is where the releases are, which need not
    exist. ``cache`` is a folder for what can be made again. ``against`` is the git
    revision that pages compare with; empty: the current release. Raises Failure where
    git has no such revision, and where the folder cannot be read at all.
    """

    def __init__(
        self,
        interface: Interface,
        folder: Path,
        out: Path,
        cache: Path,
        against: str = "",
    ) -> None:
        self.interface, self.folder, self.out = interface, folder, out
        self.cache, self.against = cache, against
        if against:
            commit_of(folder, against)
        self.index_builds = {
            index.name: IndexBuilds(index, cache) for index in interface.indexes
        }
        self._memory = library.memory_of(interface, folder, cache)
        self._checking = threading.Lock()
        self._checked_at: dict[tuple[int, datetime], Checked] = {}
        self._released: Released | None = None
        self._revision: Revision | None = None
        self._exporting = threading.Lock()
        self.snapshot = self._check(None)

    # -- checks ------------------------------------------------------------------------

    def refresh(self) -> Snapshot:
        """Check the folder again; pages that are asked for from now on see the outcome."""
        with self._checking:
            self.snapshot = self._check(self.snapshot)
            return self.snapshot

    def checked_at(self, snapshot: Snapshot, moment: datetime) -> Checked:
        """Return what a check finds at another instant, at which other windows are past.

        Where the folder cannot be checked now, that is what the snapshot has.
        """
        with self._checking:
            key = (snapshot.number, moment)
            if key not in self._checked_at:
                try:
                    checked = library.check(
                        self.interface,
                        self.folder,
                        at=moment.isoformat(),
                        jobs=1,
                        memory=self._memory,
                    )
                except (Failure, Misuse, OSError):
                    return snapshot.checked
                self._checked_at = {key: checked}
            return self._checked_at[key]

    def _check(self, previous: Snapshot | None) -> Snapshot:
        """Return the outcome of a new check.

        The first one may use several processes. A later one reads only what changed,
        and uses this process alone: it runs beside threads, of which a new process
        would have none.
        """
        started = time.perf_counter()
        declared = previous.declared if previous else None
        checked, failure = Checked(None, []), ""
        try:
            declared = library.declared(self.interface, self.folder)
            checked = library.check(
                self.interface,
                self.folder,
                jobs=None if previous is None else 1,
                memory=self._memory,
            )
        except (Failure, Misuse) as error:
            failure = str(error)
        except OSError as error:
            failure = f"{self.folder} cannot be read: {error.strerror}"
        if declared is None:
            raise Failure(failure)
        documents = previous.documents if previous else NOTHING
        good_at = previous.good_at if previous else None
        if checked.documents is not None:
            documents, good_at = checked.documents, datetime.now(UTC)
        number = previous.number + 1 if previous else 1
        seconds = time.perf_counter() - started
        return Snapshot(
            number=number,
            folder=self.folder,
            declared=declared,
            checked=checked,
            documents=documents,
            good_at=good_at,
            seconds=seconds,
            failure=failure,
        )

    # -- fixes -------------------------------------------------------------------------

    def repair(self, snapshot: Snapshot, only: Callable[[Problem], bool]) -> Repair:
        """Return the change that mends some problems of a snapshot.

        It uses this process alone, for the reason that `_check` names.
        """
        checked = snapshot.checked
        return library.fixes(
            self.interface, self.folder, checked, jobs=1, memory=self._memory, only=only
        )

    # -- what pages read ---------------------------------------------------------------

    def released(self) -> Released | None:
        """Return the current release; None where none is current.

        Raises Failure where it is damaged.
        """
        releases = Releases(self.out)
        release_id = releases.current()
        if release_id is None:
            return None
        if self._released is None or self._released.id != release_id:
            content = library.released_content(self.interface, self.out, release_id)
            self._released = Released(release_id, content, releases.note(release_id))
        return self._released

    def forget_released(self) -> None:
        """Open the current release anew when it is asked for: a file of it is damaged."""
        self._released = None

    def baseline(self, moment: datetime) -> Baseline | None:
        """Return what pages compare values with at an instant; None where there is
        nothing, or where it cannot be read.
        """
        try:
            if self.against:
                content = self.revision(self.against).content(moment)
                return Baseline(f"not in {self.against}", content)
            released = self.released()
        except Failure:
            return None
        return Baseline("not released yet", released.content) if released else None

    def revision(self, name: str) -> Revision:
        """Return the content folder as a git revision has it.

        ``name``: as git takes it, such as a branch. The last revision stays in memory,
        because a page needs it again whenever a file is saved. Raises Failure where git
        has no such revision, and where its content has problems.
        """
        with self._exporting:
            commit = commit_of(self.folder, name)
            if self._revision is None or self._revision.commit != commit:
                self._revision = self._exported(name, commit)
            return self._revision

    def _exported(self, name: str, commit: str) -> Revision:
        """Return a commit's content, checked in a folder that exists only meanwhile."""
        with exported(self.folder, commit) as folder:
            try:
                content = library.opened(self.interface, folder, jobs=1)
            except ContentAtFault as fault:
                raise Failure(f"nothing can be compared with {name}: {fault}") from None
        return Revision(commit, content.interface, content.documents)

    def purge(self, snapshot: Snapshot, moment: datetime) -> Purge | None:
        """Return the URLs to purge if the documents were built as of ``moment``.

        None where there is no current release to compare with.
        """
        releases = Releases(self.out)
        if not releases.current():
            return None
        schemas = snapshot.declared.schemas
        inputs = BuildInputs(
            snapshot.interface, snapshot.documents, schemas, self.program
        )
        return urls_to_purge(inputs, snapshot.content(moment), releases)

    @cached_property
    def program(self) -> str:
        """The digest of this program, with collections.yaml as it is when a page first
        needs it. Where that changes later, a release built since counts as another
        program's until the preview starts again.
        """
        return program_digest(self.interface, self.folder, self.out)
