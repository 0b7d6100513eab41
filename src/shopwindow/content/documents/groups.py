"""Groups of documents in site.yaml, and documents that name others by a group.

A kind may say how site.yaml groups its documents (Kind.groups), such as stores by their
states. Another kind may say where its documents name such a group, or all (`Selection`).

`selected` puts the ids that are meant into their place, once, when all files are read.
From there on a document looks as if somebody had written these ids, so references,
views, differences and releases need to know nothing of groups. Only who asks how
something is written looks at the document's layers.

A group counts all documents that exist, also those that are not live yet: the group is
what its members have in common, and whoever names it means each of them while it is
live.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from shopwindow.content.documents.documents import Document
from shopwindow.content.kinds import Grouping, Kind, Selection, values_at
from shopwindow.content.reading.yaml import part
from shopwindow.problems import Pointer

ALL = "all"
"""In place of the object of a Selection: every document of the kind."""

GROUP = "group"
"""In the object of a Selection: the key of a group's name."""


def grouping_of(kind: Kind) -> Grouping:
    """Return how a kind is grouped. Raises ValueError where it is not."""
    if kind.groups is None:
        raise ValueError(f"the kind {kind.name} has no groups")
    return kind.groups


def contains(
    grouping: Grouping, group: Mapping[str, Collection[Any]], value: Mapping[str, Any]
) -> bool:
    """Return whether a document has one of the listed values of each property."""
    return all(
        any(stated in group[name] for _, stated in values_at(value, pointer))
        for name, pointer in grouping.properties
        if name in group
    )


def containing(
    kind: Kind, site: Mapping[str, Any], value: Mapping[str, Any]
) -> Iterator[str]:
    """Yield the names of the groups in site.yaml that a document of ``kind`` is in."""
    if kind.groups is not None:
        for name, group in site.get(kind.groups.setting, {}).items():
            if contains(kind.groups, group, value):
                yield name


def members(
    kind: Kind,
    documents: Iterable[Document],
    group: Mapping[str, Collection[Any]] | None,
) -> list[Any]:
    """Return what identifies the documents of a group, in order, and once where several
    share it. None: of all documents.
    """
    listed = {name: frozenset(values) for name, values in (group or {}).items()}
    return sorted(
        {
            document.value[str(kind.identity)]
            for document in documents
            if group is None or contains(grouping_of(kind), listed, document.value)
        }
    )


# -- what a document names -------------------------------------------------------------


def names_group(stated: Any) -> bool:
    """Return whether the value at a Selection names a group, or all."""
    return stated == ALL or (isinstance(stated, dict) and GROUP in stated)


def name_of(stated: Any) -> str | None:
    """Return the name of the group at a Selection; None where there is none."""
    return stated.get(GROUP) if isinstance(stated, dict) else None


def by_group(document: Document, selections: Sequence[Selection], kind: str) -> bool:
    """Return whether a document names documents of ``kind`` by a group, or all.

    Its layers say so, in which it is as an editor wrote it.
    """
    return any(
        names_group(part(layer.value, selection.pointer))
        for selection in selections
        if selection.kind == kind
        for layer in document.layers
    )


def selected(
    value: dict[str, Any], selection: Selection, kind: Kind, ids: Sequence[Any]
) -> dict[str, Any]:
    """Return a document with ids in the place of a group's name, or of `all`.

    They are added to those that stand there already. ``kind``: that of the documents
    that are named. Without ids the document stays as it is, and a rule reports it.
    """
    if not ids:
        return value
    stated, identity = part(value, selection.pointer), str(kind.identity)
    explicit = {} if stated == ALL else {**stated}
    explicit.pop(GROUP, None)
    listed = explicit.get(identity, [])
    more = [id for id in ids if id not in listed]
    return with_part(value, selection.pointer, {**explicit, identity: [*listed, *more]})


def with_part(value: dict[str, Any], pointer: Pointer, part: Any) -> dict[str, Any]:
    """Return a value with another part at ``pointer``, which leads through objects."""
    key, rest = str(pointer[0]), pointer[1:]
    return {**value, key: with_part(value[key], rest, part) if rest else part}
