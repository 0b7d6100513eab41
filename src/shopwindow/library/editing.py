"""What says where a value comes from, who uses a document, and how files change."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from shopwindow.content.check.folder import Check, Checked
from shopwindow.content.check.memory import Memory
from shopwindow.content.editing.mending import Repair
from shopwindow.content.editing.mending import repair as repair_of
from shopwindow.content.editing.retiring import Retirement, retirement
from shopwindow.content.kinds import SITE
from shopwindow.content.lookup.uses import (
    Uses,
    uses_of_attribute,
    uses_of_document,
    uses_of_setting,
)
from shopwindow.content.lookup.why import Explanation, explanations
from shopwindow.content.reading.text import write
from shopwindow.interface.declaring.interface import Interface
from shopwindow.library.opening import (
    OpenedContent,
    declared,
)
from shopwindow.problems import (
    Misuse,
    Problem,
    failures,
)
from shopwindow.starter import document

MAX_CHECKED_AGAIN = 100_000
"""Problems that are listed where fixes are tried, a hundred times what a person reads:
that a problem is gone shows only where all of its file are listed.
"""


def why(content: OpenedContent, *names: str) -> list[Explanation]:
    """Return why a value of a document is what it is.

    ``names`` are a kind, an id and a pointer; without the kind, the id is an
    application's, or "site" for site.yaml. There is more than one answer only where
    documents share an id in turn, by their publish windows. Raises Misuse for a name
    that does not exist.
    """
    interface = content.interface
    *kinds, id, pointer = names
    if kinds:
        kind = document.kind_named(interface, kinds[0])
    elif id == SITE.name:
        kind = SITE
    elif interface.applications is None:
        raise Misuse("", f"{id}: a KIND has to stand before it")
    else:
        kind = interface.kind[interface.applications]
    return explanations(content.shelf, kind, id, pointer)


def uses(content: OpenedContent, what: str, name: str) -> Uses:
    """Return every place that names something.

    ``what`` is a kind, and ``name`` one of its ids; or "setting" and a name of
    site.yaml; or "attribute" and a key of an open map. Raises Misuse for what does not
    exist.
    """
    kinds, shelf = content.interface.kinds, content.shelf
    if what == "setting":
        return uses_of_setting(shelf, name)
    if what == "attribute":
        return uses_of_attribute(shelf, kinds, name)
    kind = document.kind_named(content.interface, what)
    return uses_of_document(shelf, kinds, kind, name)


def retire(
    content: OpenedContent,
    kind: str,
    id: str,
    on: str,
) -> Retirement:
    """Return the edits that end a document's publish window, and those of documents
    that cannot be live without it. Nothing is written; `write_edits` does that.

    ``on`` is the last day, or the instant of the end, which must be to come. After the
    edits a check finds nothing, too. Raises Misuse for what cannot be meant or needs a
    person's choice, and Failure for a file that has to be edited by hand.
    """
    interface = content.interface
    return retirement(
        content.shelf,
        interface.kinds,
        interface.rules,
        document.kind_named(interface, kind),
        id,
        on=on,
        now=datetime.now(UTC),
    )


def fixes(
    interface: Interface,
    content: Path,
    checked: Checked,
    *,
    jobs: int | None = None,
    memory: Memory | None = None,
    only: Callable[[Problem], bool] = lambda problem: True,
) -> Repair:
    """Return what mends a content folder as far as that is certain: the edits of its
    files, and the fixes that they consist of. Nothing is written; `write_edits` does
    that.

    ``checked`` is what `check` returned for ``content``, with its ``memory``. ``only`` chooses problems. A
    fix stays only where a check of the fixed text finds its problem no more, and
    nothing else wrong with what is written. Feeds, files that git marks as in conflict,
    collections.yaml, schemas and templates are left as they are.
    """
    prepared = declared(interface, content)
    sources = {source.path: source for source in checked.sources}
    again_memory = memory or Memory()

    def again(unsaved: Mapping[str, bytes]) -> Checked:
        over = [sources[path].with_unsaved(data) for path, data in unsaved.items()]
        changed = {source.kind.name for source in over}
        indexes = tuple(
            index
            for index in prepared.interface.indexes
            if changed.intersection(kind.name for kind in index.kinds)
        )
        without_feeds = replace(prepared.interface, indexes=indexes)
        return Check(
            content,
            replace(prepared, interface=without_feeds),
            jobs=jobs,
            memory=again_memory,
            most=MAX_CHECKED_AGAIN,
            over=over,
        ).run()

    return repair_of(content, checked, again, only)


def write_edits(content: Path, planned: Retirement | Repair) -> list[Path]:
    """Write what `retire` or `fixes` returned; return the files.

    Raises Failure where one of them has changed since; then nothing is written.
    """
    with failures(content, "files that come before it are written already"):
        write(content, planned.edits)
    return [content / edit.path for edit in planned.edits]
