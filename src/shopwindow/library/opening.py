"""Opening a content folder: its collections, its memory, and its checked documents."""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from shopwindow.content.check.folder import Check, Checked
from shopwindow.content.check.memory import SOUND, Memory
from shopwindow.content.documents import schedule
from shopwindow.content.documents.documents import Content, Documents, live
from shopwindow.content.lookup.shelf import Shelf
from shopwindow.content.reading.processes import Steps, no_steps
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.answering.contracts import with_rules
from shopwindow.interface.declaring.collections import Declared
from shopwindow.interface.declaring.collections import declared as declared_in
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.loading import program_schemas
from shopwindow.problems import Failure, Misuse, Problem, sentence
from shopwindow.release.program import program_digest


@dataclass(frozen=True)
class OpenedContent:
    """A content folder in which nothing is wrong, for whoever looks into it.

    ``interface`` has the collections of the folder. ``shelf``: its files, documents and
    schemas.
    """

    interface: Interface
    shelf: Shelf

    @property
    def documents(self) -> Documents:
        return self.shelf.documents


class ContentAtFault(Failure):
    """A content folder has problems, so nobody can look into it. ``checked`` has them."""

    def __init__(self, checked: Checked) -> None:
        super().__init__(first_problem(checked))
        self.checked = checked


def opened(
    interface: Interface,
    content: Path,
    *,
    jobs: int | None = None,
    memory: Memory | None = None,
    steps: Steps = no_steps,
) -> OpenedContent:
    """Return a content folder as `show`, `why`, `uses`, `retire` and `calendar` take it.

    Warnings and contracts are not looked at. ``jobs`` and ``memory`` are as for `check`.
    Raises ContentAtFault where something is wrong, and Misuse where there is no such
    folder.
    """
    prepared = declared(interface, content)
    check = Check(
        content,
        prepared,
        jobs=jobs,
        progress=steps("checking"),
        memory=memory or Memory(),
        warns=False,
    )
    checked = checked_content(prepared, check)
    if checked.documents is None:
        raise ContentAtFault(checked)
    shelf = Shelf(content, checked.sources, checked.documents, prepared.schemas)
    return OpenedContent(prepared.interface, shelf)


def memory_of(interface: Interface, content: Path, folder: Path | None) -> Memory:
    """Return the memory of a content folder, which holds for this program alone.

    ``folder``: where it is between runs, such as below a user's cache; it need not exist.
    None: it ends with this process.
    """
    program = program_digest(interface, content)
    return Memory(folder.absolute() if folder else None, program)


def schemas(interface: Interface, content: Path) -> Schemas:
    """Return the schemas of an interface, with those of a content folder, if any, on
    top.

    Raises Failure for a fault in the interface's schemas; one in the folder's is among
    the problems of `check`.
    """
    return program_schemas(interface).under(content / "schemas")


def declared(interface: Interface, content: Path) -> Declared:
    """Return an interface and its schemas with the collections that a content folder
    declares.

    What is wrong with a declaration is among the problems of `check`. The interface has
    the rules of contracts, but not while a collection cannot be declared: their requests
    may be its. Raises Misuse where there is no such folder.
    """
    require_folder(content)
    found = declared_in(content, interface, schemas(interface, content))
    if found.problems or found.schemas.problems:
        return found
    return replace(found, interface=with_rules(found.interface, found.schemas))


def checked_content(declared: Declared, check: Check) -> Checked:
    """Check a folder's documents, and its own templates of mails, where it has some."""
    checked = check.run()
    memory, templates = check.memory, check.folder / "templates"
    if templates.is_dir() and not (
        checked.state and checked.state == memory.noted(SOUND)
    ):
        from shopwindow.service.mail import trial  # here: few folders have templates

        if problems := [*trial.problems(declared.interface, templates)]:
            all_problems = sorted([*checked.problems, *problems], key=Problem.order)
            return replace(checked, documents=None, problems=all_problems)
    if checked.documents is not None:
        memory.note(SOUND, checked.state)
    return checked


def require_folder(content: Path) -> None:
    if not os.path.lexists(content):
        raise Misuse("content", f"{content}: there is no such folder")
    if not content.is_dir():
        raise Failure(f"{content} is no folder, or none that can be read")


def live_at(interface: Interface, documents: Documents, at: str | None) -> Content:
    """Return the documents that are live at an instant, without their indexes.

    ``at`` is RFC 3339, or a local time or a day in the content's time zone; None is now.
    Raises Misuse for any other text.
    """
    moment = schedule.moment_of(at, documents.zone)
    return live(documents, moment, interface.kinds, interface.clocks)


def first_problem(checked: Checked) -> str:
    """Return the problems of a content folder in one sentence."""
    first, count = checked.problems[0], len(checked.problems) + checked.more
    where = f"{first.path}:{first.place.line}" if first.place else first.path
    problems = f"{count} problem{'s' * (count > 1)} in the content"
    return f"{problems}, the first in {where}: {sentence(first)}"
