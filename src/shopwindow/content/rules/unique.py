"""Rules about what identifies documents: no two of a kind have it at the same time."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from shopwindow.content.documents.documents import Document, unscheduled
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.yaml import at
from shopwindow.content.rules.case import Case, RuleFindings
from shopwindow.problems import Pointer

FEW_COPIES = 3
"""Documents that stand in two files, of which each is reported. More of them are one
mistake: the file was copied.
"""

DocumentUse = tuple[Document, Pointer, Any]
"""One use of a value that must be unique: the document, where in it, the value."""


def unique(case: Case) -> RuleFindings:
    """Check that no two documents of a kind have the same id at the same time."""
    for kind in case.kinds:
        for name in kind.ids:
            documents = case.having(kind.name, (name,))
            values = {document.value[name] for document in documents}
            if len(values) < len(documents):
                uses = (
                    (document, (name,), document.value[name]) for document in documents
                )
                clashes = _copied(once(case, kind, name, uses))
                if not all(type(value) is int for value in values):
                    yield from clashes
                    continue
                # Branches that each began a document counted on from the same one.
                for free, (document, finding) in enumerate(clashes, max(values) + 1):
                    allowed = f"{finding.allowed}; {free} is free"
                    yield document, replace(finding, allowed=allowed)


def once(
    case: Case, kind: Kind, name: str, uses: Iterable[DocumentUse]
) -> RuleFindings:
    """Yield each use of a value that another document of the kind uses at the same
    time.

    ``name`` is what the value is called in the message. Two documents of a scheduled
    kind may share a value where their publish windows do not overlap.
    """
    allowed = "each once"
    if kind.scheduled:
        allowed += (
            "; two documents may share one if their publish windows do not overlap"
        )
    users: dict[Any, list[tuple[Document, Pointer]]] = defaultdict(list)
    for document, pointer, value in uses:
        for other, there in users[value]:
            if _at_the_same_time(case, document, other):
                twins = id(document), id(other)
                if document is not other and twins in case.twins:
                    break
                if unscheduled(document) == unscheduled(other):
                    case.twins.add(twins)
                layer = other.own
                found = f"the {name} {value} is also that of the {kind.name} in {layer.path}"
                beside = (layer.path, layer.in_file(there))
                finding = Finding("unique", pointer, found, allowed, beside=beside)
                yield document, finding
                break
        users[value].append((document, pointer))


def _copied(findings: RuleFindings) -> RuleFindings:
    """Yield findings about ids that documents of one file share with those of another.

    Of many that are shared with one file only the first is yielded, which names them:
    the file was copied.
    """
    shared: dict[tuple[str, str], list[tuple[Document, Finding]]] = defaultdict(list)
    for document, finding in findings:
        path = document.own.path
        if finding.beside and finding.beside[0] != path:
            shared[path, finding.beside[0]].append((document, finding))
        else:
            yield document, finding
    for (_, path), pairs in shared.items():
        if len(pairs) <= FEW_COPIES:
            yield from pairs
            continue
        document, first = pairs[0]
        values = ", ".join(
            str(at(one.value, finding.pointer)) for one, finding in pairs[:FEW_COPIES]
        )
        found = f"{len(pairs):,} {document.kind}s of this file are also in {path}, such as {values}"
        yield document, replace(first, found=found, beside=None)


def _at_the_same_time(case: Case, document: Document, other: Document) -> bool:
    mine, theirs = case.window(document), case.window(other)
    return mine is not None and theirs is not None and mine.overlaps(theirs)
