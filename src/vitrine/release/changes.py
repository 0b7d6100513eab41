"""What differs between two releases in the editors' terms: which store, event, promotion or application, and how."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

import orjson

from vitrine.content.model import FORMAT, Content
from vitrine.content.yaml import Json
from vitrine.interface.answer import value_of
from vitrine.interface.bind import OPERATIONS
from vitrine.interface.call import make
from vitrine.interface.formats import JSON
from vitrine.interface.operation import FromContent
from vitrine.interface.ports import Part
from vitrine.problems import Failure, Pointer
from vitrine.release import catalog, manifest
from vitrine.release.index import Index
from vitrine.release.manifest import Entry, Manifest
from vitrine.release.reads import Read, Reading

IDS = {"apps": ("application", "name"), "stores": ("store", "locationNumber")}
IDS |= {"events": ("event", "id"), "promotions": ("promotion", "promoId")}
MOMENTS = {"monday": "opening hours from", "published": "latest publish boundary"}
"""What of content.json follows from the instant of the build: its name there, and what it tells."""
DETAILED = 1000
"""So many documents of a catalog are compared value by value; of the others only the names are told."""

Handed = TypeVar("Handed")
Named = tuple[str, str]
"""A document: its kind and its id."""


@dataclass(frozen=True)
class Change:
    """One value that differs. An empty pointer: the whole document appears (``old`` is None) or disappears.

    Two objects, the whole document or a part of it, have their keys in another order; else what differs is a leaf.
    ``urls``: what to purge, the addresses of the differing files whose answers read the document.
    """

    kind: str
    id: str
    pointer: Pointer
    old: Json
    new: Json
    urls: tuple[str, ...] = ()


def content_of(release: Path) -> Content:
    """A release's content.json. Raises Failure."""
    try:
        value = orjson.loads((release / "content.json").read_bytes())
        if value["format"] > FORMAT:
            raise Failure(f"{release}: content.json of format {value['format']}; this program reads up to {FORMAT}")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Failure(f"{release}: content.json cannot be read: {error}") from None
    content = Content(value)
    content.catalog = catalog.of_release(release)
    return content


def changes(old: Path, new: Path) -> list[Change]:
    """Every change from one release to another, by kind and id, with the URLs that it touches. Raises Failure."""
    contents = content_of(old), content_of(new)
    urls = _urls(_manifests(old, new), contents, (old, new))
    found = chain(
        differences(contents[0].value, contents[1].value),
        _in_catalogs(contents[0].catalog, contents[1].catalog),
    )
    return [
        Change(kind, id, pointer, before, after, tuple(sorted(urls[kind, id])))
        for (kind, id), pointer, before, after in found
    ]


def _in_catalogs(old: Index | None, new: Index | None) -> Iterator[tuple[Named, Pointer, Json, Json]]:
    """What differs between two catalogs, of the first DETAILED documents value by value."""
    for number, (kind, id) in enumerate(catalog.differing(old, new)):
        before, after = catalog.document(old, kind, id), catalog.document(new, kind, id)
        if before is None or after is None:
            yield (kind, str(id)), (), before, after
            continue
        leaves = list(_leaves(before, after, ())) if number < DETAILED else []
        for pointer, was, now in leaves:
            yield (kind, str(id)), pointer, was, now
        if not leaves:  # only what is told around it: a promotion's name, its place in a menu
            yield (kind, str(id)), ("answers",), "as before", "others"


def purged(old: Path, new: Path) -> list[str]:
    """The URLs of every file that differs, each once, sorted; from the manifests alone. Raises Failure."""
    manifests = _manifests(old, new)
    paths = manifest.difference(manifests[0].files, manifests[1].files).paths
    return sorted({listed.files[path]["url"] for listed in manifests for path in paths if path in listed.files})


def longest_lifetime(release: Path) -> int:
    """Seconds after which no cache holds an answer of a release, though nobody purges it. Raises Failure."""
    content = content_of(release)
    return max(content.lifetime(each.name) for each in OPERATIONS if isinstance(each.source, FromContent))


def _manifests(old: Path, new: Path) -> tuple[Manifest, Manifest]:
    return manifest.read(old / "manifest.json", old.name), manifest.read(new / "manifest.json", new.name)


def differences(old: Json, new: Json) -> Iterator[tuple[Named, Pointer, Json, Json]]:
    """Every leaf that differs between two content.json values, and every object whose keys stand in another order."""
    for pointer, before, after in _leaves(old["site"], new["site"], ()):
        yield ("site", "site.yaml"), pointer, before, after
    for name, words in MOMENTS.items():
        if old.get(name) != new.get(name):
            yield ("site", "site.yaml"), (words,), old.get(name), new.get(name)
    for key, (kind, name) in IDS.items():
        before_by_id = {document[name]: document for document in old[key]}
        after_by_id = {document[name]: document for document in new[key]}
        for id in sorted(before_by_id.keys() | after_by_id.keys()):
            before, after = before_by_id.get(id), after_by_id.get(id)
            if before is None or after is None:
                yield (kind, str(id)), (), before, after
            elif before != after or orjson.dumps(before) != orjson.dumps(after):  # to Python 1, 1.0 and true are equal
                for pointer, was, now in _leaves(before, after, ()):
                    yield (kind, str(id)), pointer, was, now


def _leaves(old: Json, new: Json, pointer: Pointer) -> Iterator[tuple[Pointer, Json, Json]]:
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


def documents_changed(old: bytes, new: bytes) -> dict[str, list[str]]:
    """Kind → ids of the documents that differ between two content.json files, by the lines that differ.

    Also the Monday from which opening hours are told and the latest publish boundary, where another has come: every
    store's or every product's answer is another then.
    """
    moments = {b'"%b"' % name.encode(): words for name, words in MOMENTS.items()}
    found: dict[str, dict[str, None]] = defaultdict(dict)
    contents = old.splitlines(), new.splitlines()
    lines = set(contents[0]), set(contents[1])
    only = lines[0] ^ lines[1]
    for data, other in zip(contents, reversed(lines), strict=True):
        section = ""
        for line in data:
            if line.endswith(b":["):
                section = line[1:-3].decode()
            elif line not in only:
                continue
            elif line.startswith(b'"site":'):
                found["site"]["site.yaml"] = None
            elif data is contents[1] and (words := moments.get(line.partition(b":")[0])):
                found[words][line.split(b'"')[3].decode()] = None
            elif not line.startswith(b'{"') or section not in IDS:
                continue
            elif line.removesuffix(b",") not in other and line + b"," not in other:
                kind, name = IDS[section]
                found[kind][str(orjson.loads(line.removesuffix(b","))[name])] = None
    return {kind: sorted(ids, key=lambda id: (len(id), id)) for kind, ids in found.items()}


# -- which answers read which documents --------------------------------------------------------------------------


def _urls(
    manifests: tuple[Manifest, Manifest], contents: tuple[Content, Content], releases: tuple[Path, Path]
) -> Mapping[Named, set[str]]:
    """For each document the URLs of the differing files whose answers, then or now, read it."""
    found: dict[Named, set[str]] = defaultdict(set)
    paths = manifest.difference(manifests[0].files, manifests[1].files).paths
    for listed, content, release in zip(manifests, contents, releases, strict=True):
        reading = Reading(content)
        if content.catalog is not None:
            reading.catalog = _ReadIndex(release / catalog.NAME, reading)
        documents = cache(partial(_documents, content))
        for path in paths:
            entry = listed.files.get(path)
            if entry is not None and entry["mediaType"] == JSON.media_type:
                for name in set().union(*map(documents, _reads(entry, reading))):
                    found[name].add(entry["url"])
    return found


def _reads(entry: Entry, reading: Reading) -> set[Read]:
    """What the answer in a file is made from."""
    operation = next((known for known in OPERATIONS if known.name == entry["operation"]), None)
    if operation is None:
        return set()
    kinds = {parameter.name: parameter.kind for parameter in operation.parameters}
    arguments = {name: kinds[name].parse(text) for name, text in entry["arguments"].items()}
    reading.seen = {SITE}
    value_of(make(operation, JSON, arguments, entry.get("application")), reading)
    return reading.seen


def _documents(content: Content, read: Read) -> set[Named]:
    """The documents that a verb tells of; a product, a category and the site are named by the read itself."""
    verb, *arguments = read
    if verb in _NAMED:
        return {(verb, arguments[0])}
    if verb == "has_events":
        return _documents(content, ("events", *arguments))
    if verb not in _HANDED:
        return set()
    kind, name = IDS[_HANDED[verb]]
    found = getattr(content, verb)(*arguments)
    documents = [found] if isinstance(found, dict) else found or ()
    return {(kind, str(document[name])) for document in documents}


SITE: Read = ("site", "site.yaml")
_NAMED = {"site", "product", "category"}
_HANDED = {"application": "apps", "stores": "stores", "store": "stores", "events": "events"}
_HANDED |= {"promotions": "promotions", "promotion": "promotions"}


class _ReadIndex(Index):
    """A catalog that notes which products and categories its verbs hand out."""

    def __init__(self, path: Path, reading: Reading) -> None:
        super().__init__(path)
        self._reading = reading

    def products(self, ids: Sequence[int]) -> Mapping[int, Json]:
        return self._noted("product", super().products(ids))

    def rendered(self, ids: Sequence[int], part: Part) -> Mapping[int, bytes]:
        return self._noted("product", super().rendered(ids, part))

    def category(self, id: int) -> Json | None:
        found = super().category(id)
        self._reading.seen |= {("category", str(id))} if found else set()
        return found

    def _noted(self, kind: str, found: Mapping[int, Handed]) -> Mapping[int, Handed]:
        self._reading.seen |= {(kind, str(id)) for id in found}
        return found
