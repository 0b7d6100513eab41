"""What differs between two releases in an editor's terms: which document, how, and at
which URLs.

Documents are compared by kind and identity, value by value. To know the URLs of a
change, each file that differs is answered once more from its own release, and what its
view reads names the documents (`reads`).

A contract is a document of its release. Each of its requests is answered from both
releases, and the values that its fields lead to are compared. What differs broke no
contract, or the release would not have been built; it is worth a look on such a phone.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.documents import documents
from shopwindow.content.documents.documents import Content
from shopwindow.content.documents.schedule import PUBLISHED
from shopwindow.content.kinds import Kind
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answering.answer import value_of
from shopwindow.interface.answering.contracts import (
    CONTRACT,
    answer_of,
    reached,
    read_requests,
    text_of,
    title_of,
)
from shopwindow.interface.declaring.index import BROUGHT_BACK, HandedOut
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.operation import FromContent
from shopwindow.interface.formats import JSON
from shopwindow.problems import Failure, Pointer, Refusal
from shopwindow.release import manifest
from shopwindow.release.documents_read import (
    SITE_DOCUMENT,
    DocumentsRead,
    Named,
    by_identity,
)
from shopwindow.release.manifest import ManifestEntry
from shopwindow.release.stored import interface_of

DETAILED = 1000
"""Documents of an index that are compared value by value. Of the others only the names
are listed: a million prices may change in one night, and nobody reads a million lines.
"""

Leaf = tuple[Pointer, Json, Json]
"""A place in a document, and its values in the old and in the new release."""


@dataclass(frozen=True)
class ValueChange:
    """One value that differs.

    ``pointer``: its place; empty where the whole document appears (``old`` is None) or
    disappears (``new`` is None). Where both values are objects, their keys stand in
    another order; otherwise they are leaves. ``urls``: what to purge, the addresses of
    the differing files whose answers read the document.
    """

    kind: str
    id: str
    pointer: Pointer
    old: Json
    new: Json
    urls: tuple[str, ...] = ()


@dataclass(frozen=True)
class OpenedRelease:
    """A release: its folder, its content, and the Interface with its collections."""

    folder: Path
    content: Content
    interface: Interface


def opened(release: Path, interface: Interface) -> OpenedRelease:
    """Return a release with what is needed to answer from it, its indexes among it.

    Raises Failure.
    """
    its_interface = interface_of(release, interface)
    content = documents_of(release, its_interface)
    indexed = content.with_indexes(_opened_indexes(release, its_interface))
    return OpenedRelease(release, indexed, its_interface)


def documents_of(release: Path, interface: Interface) -> Content:
    """Return the documents of a release, without its indexes. Raises Failure.

    ``interface`` must have the release's collections (`stored`) where their documents
    matter.
    """
    try:
        value = orjson.loads((release / manifest.CONTENT_FILE).read_bytes())
        return documents.decode(value, interface.kinds)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{release}: content.json cannot be read: {error}") from None


def _opened_indexes(
    release: Path, interface: Interface, handed_out: HandedOut | None = None
) -> Mapping[str, Any]:
    """Open the indexes that a release consists of, as its manifest says.

    Raises Failure where the file of one is lost, so that nobody takes the release for
    one without such documents.
    """
    listed = manifest.read_without_files(release / "manifest.json").private
    indexes = {}
    for index in interface.indexes:
        if index.file in listed:
            path = release / index.file
            if not path.is_file():
                raise Failure(f"{path}: is missing; {BROUGHT_BACK}")
            indexes[index.name] = index.open(path, handed_out)
    return indexes


def changes(old: OpenedRelease, new: OpenedRelease) -> list[ValueChange]:
    """Return every change from one release to another, by kind and identity, with its
    URLs.

    Raises Failure.
    """
    urls, interface = _urls(old, new), new.interface
    contents = old.content, new.content
    leaves = [*differences(*contents, interface), *_in_indexes(*contents, interface)]
    return [
        ValueChange(
            kind, id, pointer, before, after, urls=tuple(sorted(urls[kind, id]))
        )
        for (kind, id), (pointer, before, after) in leaves
    ]


def purged(old: Path, new: Path) -> list[str]:
    """Return the URLs of every file that differs, each once, sorted.

    Only the manifests are needed. Raises Failure.
    """
    return sorted(manifest.differing_urls(_lines(old), _lines(new)))


def longest_lifetime(release: OpenedRelease) -> int:
    """Return the seconds after which no cache holds an answer of a release, without any
    purge.
    """
    lifetimes = (
        release.content.lifetime(operation.name, operation.lifetime)
        for operation in release.interface.operations
        if isinstance(operation.source, FromContent)
    )
    return max(lifetimes, default=0)


def _lines(release: Path) -> Mapping[str, bytes]:
    return manifest.read_lines(release / "manifest.json", release.name).files


# -- which documents differ ------------------------------------------------------------


def differences(
    old: Content, new: Content, interface: Interface
) -> Iterator[tuple[Named, Leaf]]:
    """Yield every leaf that differs between two contents.

    An object whose keys stand in another order is among them, since answers show that
    order.
    """
    for leaf in _leaves(old.site, new.site, ()):
        yield SITE_DOCUMENT, leaf
    for name, title in clock_titles(interface).items():
        before, after = old.clocks.get(name), new.clocks.get(name)
        if before != after:
            yield SITE_DOCUMENT, ((title,), before, after)
    for kind in _kinds(old, new):
        for id, before, after in _pairs(old, new, kind):
            yield from _of_document((kind.name, str(id)), before, after)


def _pairs(old: Content, new: Content, kind: Kind) -> Iterator[tuple[Any, Json, Json]]:
    """Yield each identity of a kind with its documents in two contents, of which one may
    have none.
    """
    before, after = by_identity(old, kind.name), by_identity(new, kind.name)
    ids = before.keys() | after.keys()
    for id in sorted(ids, key=lambda id: (isinstance(id, str), id)):
        yield id, before.get(id), after.get(id)


def clock_titles(interface: Interface) -> dict[str, str]:
    """Return what a difference calls each clock, the engine's own among them."""
    return {clock.name: clock.title for clock in interface.clocks} | {
        PUBLISHED: "latest publish boundary"
    }


def _kinds(old: Content, new: Content) -> list[Kind]:
    """Return the kinds of two contents, each once, except streamed ones.

    One of the contents may have collections that the other lacks.
    """
    return [kind for kind in {**old.kinds, **new.kinds}.values() if not kind.streamed]


def _of_document(
    named: Named, before: Json | None, after: Json | None
) -> Iterator[tuple[Named, Leaf]]:
    """Yield the leaves of one document that differ; None stands for no document."""
    if before is None or after is None:
        yield named, ((), before, after)
        return
    # In Python 1, 1.0 and True are equal; as JSON they are not.
    if before != after or orjson.dumps(before) != orjson.dumps(after):
        for leaf in _leaves(before, after, ()):
            yield named, leaf


def _leaves(old: Json, new: Json, pointer: Pointer) -> Iterator[Leaf]:
    """Yield what differs between two values.

    Objects are compared by key, and lists of equal length item by item.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys([*old, *new]):
            yield from _leaves(old.get(key), new.get(key), (*pointer, key))
        if [key for key in old if key in new] != [key for key in new if key in old]:
            yield pointer, old, new
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            yield from _leaves(before, after, (*pointer, index))
    elif old != new or type(old) is not type(new):
        yield pointer, old, new


def _in_indexes(
    old: Content, new: Content, interface: Interface
) -> Iterator[tuple[Named, Leaf]]:
    """Yield what differs between the indexes, of the first DETAILED documents value by
    value.
    """
    for index in interface.indexes:
        opened = old.index(index.name), new.index(index.name)
        for number, named in enumerate(index.differences(*opened)):
            before, after = (index.document(content, *named) for content in opened)
            leaves = []
            if number < DETAILED or not (before and after):
                leaves = list(_of_document(named, before, after))
            yield from leaves
            if not leaves:
                # Beyond DETAILED; or only what answers show around the document
                # differs, such as the name of a promotion, or its place in a menu.
                yield named, (("answers",), "as before", "others")


def documents_changed(
    old: Content, new: Content, interface: Interface
) -> dict[str, list[str]]:
    """Return, by kind, the identities of the documents that differ, without those of
    indexes.

    A clock that has moved on is listed under its title with its new value, since every
    answer that shows it differs.
    """
    changed: dict[str, list[str]] = {}
    if old.site != new.site:
        changed[SITE_DOCUMENT[0]] = [SITE_DOCUMENT[1]]
    for name, title in clock_titles(interface).items():
        if old.clocks.get(name) != new.clocks.get(name) and name in new.clocks:
            changed[title] = [new.clocks[name]]
    for kind in _kinds(old, new):
        ids = [
            str(id) for id, before, after in _pairs(old, new, kind) if before != after
        ]
        if ids:
            changed[kind.name] = ids
    return changed


# -- which answers read which documents ------------------------------------------------


def _urls(old: OpenedRelease, new: OpenedRelease) -> Mapping[Named, set[str]]:
    """Return for each document the URLs of the differing files whose answers read it.

    Both releases count: an answer that showed a document may no longer read it in the
    new one.
    """
    urls: dict[Named, set[str]] = defaultdict(set)
    both_lines = _lines(old.folder), _lines(new.folder)
    paths = manifest.differing(*both_lines)
    for release, lines in zip((old, new), both_lines, strict=True):
        readers = _Readers(release)
        for path in paths:
            entry = orjson.loads(lines.get(path, b"{}"))
            if entry.get("mediaType") == JSON.media_type:
                for named in readers.documents(entry):
                    urls[named].add(entry["url"])
    return urls


class _Readers:
    """Finds out which documents the answer in a file of one release reads."""

    def __init__(self, release: OpenedRelease) -> None:
        self._interface = release.interface
        open_indexes = partial(_opened_indexes, release.folder, release.interface)
        self._documents = DocumentsRead(release.content, open_indexes)

    def documents(self, entry: ManifestEntry) -> set[Named]:
        """Return the documents that the answer in a file reads."""
        operation = self._interface.operation.get(entry["operation"])
        if operation is None:
            return set()
        arguments = {
            name: operation.named[name].kind.parse(text)
            for name, text in entry["arguments"].items()
        }
        call = operation.call(JSON, arguments, entry.get("application"))
        value_of(call, self._documents.recorded)
        return self._documents.take()


# -- which contracts read what differs -------------------------------------------------


@dataclass(frozen=True)
class TouchedContract:
    """What of one answer differs that a contract reads.

    ``reader``: the application and its version. ``request``: as the contract has it.
    ``paths``: of the fields whose values differ.
    """

    reader: str
    request: str
    paths: tuple[str, ...]


def touched(before: OpenedRelease, after: OpenedRelease) -> list[TouchedContract]:
    """Return what differs that the contracts of the newer release read. Raises Failure."""
    if CONTRACT not in after.interface.kind:
        return []
    found = []
    for contract in after.content.documents(CONTRACT):
        for request in read_requests(after.interface, contract):
            answers = [
                _answer(release, request.text, contract["app"])
                for release in (before, after)
            ]
            paths = tuple(
                text_of(steps)
                for steps in request.fields
                if len({orjson.dumps(reached(answer, steps)) for answer in answers}) > 1
            )
            if paths:
                found.append(TouchedContract(title_of(contract), request.text, paths))
    return found


def _answer(release: OpenedRelease, request: str, application: str) -> Json:
    """Return the answer of a release; null where it refuses the request."""
    try:
        return answer_of(release.interface, request, application, release.content)
    except Refusal:
        return None
