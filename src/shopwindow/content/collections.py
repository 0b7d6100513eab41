"""Collections: kinds that a content folder declares for itself in `collections.yaml`, without
any Python.

A declaration says where the documents of a collection are, what identifies one, and what is
served of them. It becomes a Kind like any other, so that publish windows, boundaries,
uniqueness, differences and the preview hold for it, too. Every fault of a declaration is a
Problem at its place.

The schema that a declaration names must keep what every answer keeps (wire-shapes 1.2, 1.3 and
1.5): one JSON type at each place, no array directly in an array, names that XML can hold. It is
taken over with its references written out. A release stores it in that form, so that a service
needs no content folder to answer from a release.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import orjson

from shopwindow.content import own_schemas, yaml
from shopwindow.content.case import Case
from shopwindow.content.documents import Document
from shopwindow.content.finding import Finding
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.listing import COLLECTIONS, OWN_FOLDERS
from shopwindow.content.schema import BASE, Schemas
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Pointer, Problem, nearest

SCHEMA = "collections.json"

FORMAT = 1
"""Of the file in a release that stores collections. A reader refuses a higher one."""

MAX_DECLARATION_BYTES = 1024 * 1024
"""Of collections.yaml: a hundred collections with all their filters take a tenth of it."""

SCALARS = ("string", "integer", "number", "boolean")

NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_.-]*$"
"""What a key of an answer looks like (wire-shapes 1.5)."""
_COLLECTION_NAME = re.compile(NAME_PATTERN.strip("^$"), re.ASCII)

PUBLISH = "publish"
"""The property of the engine: it may stand in every document, and in no answer."""

PARAMETERS = ("_fields", "callback")
"""Parameters that the operations of every collection have, so that no filter may."""

LARGEST_ID = 2**53 - 1
"""The largest whole number that every JSON reader keeps exact (RFC 8259 §6)."""

LONGEST_ID = 100
"""Characters of an id: a hundred ids of this length fit into the longest address that the
service reads.
"""

_TEXT_ID = re.compile(rf"[^\s,/](?:[^,/\x00-\x1f]{{0,{LONGEST_ID - 2}}}[^\s,/])?")


@dataclass(frozen=True, eq=False)
class Collection:
    """One declaration: which documents there are, and what is served of them.

    ``path`` is that of the list; ``/{id}`` below it serves single documents. ``schema`` is the
    documents' own, without `publish` and with all references written out. ``filters`` are
    properties that a query may narrow the list by. ``lifetime`` is in seconds; None:
    site.yaml's default.
    """

    name: str
    folder: str
    id: str
    path: str
    schema: Mapping[str, Any]
    filters: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    lifetime: int | None = None

    @property
    def key(self) -> str:
        """The key of the list in answers: the last segment of the path."""
        return self.path.rpartition("/")[2]

    @property
    def written_schema(self) -> str:
        """The file name of the schema of a document as editors write it."""
        return f"collections/{self.name}.json"

    @cached_property
    def kind(self) -> Kind:
        """The kind of its documents."""
        properties = self.schema["properties"]
        names = (
            "title",
            "name",
            "headline",
            "label",
        )  # what people call a document by, the first that there is
        title = next(((name,) for name in names if name in properties), None)
        order = self.order or (self.id,)
        return Kind(
            name=self.name,
            folder=self.folder,
            schema=self.written_schema,
            ids=(self.id,),
            order=order if self.id in order else (*order, self.id),
            title=title,
            rules=(self._id_in_an_address,),
        )

    def _id_in_an_address(self, case: Case, document: Document) -> Iterator[Finding]:
        """Yield where an id cannot be asked for by a path."""
        if not case.sound(document, (self.id,)):
            return
        value = document.value[self.id]
        if isinstance(value, int) and not 1 <= value <= LARGEST_ID:
            yield Finding(
                "collection.id",
                (self.id,),
                f"{value} cannot be asked for",
                f"1 to {LARGEST_ID}",
            )
        elif isinstance(value, str) and (not _TEXT_ID.fullmatch(value) or value in (".", "..")):
            allowed = f"at most {LONGEST_ID} characters without comma and slash, and no space at either end"
            yield Finding(
                "collection.id", (self.id,), f"{value!r} cannot stand in a path", allowed
            )

    def choices(self, documents: Iterable[Mapping[str, Any]], name: str) -> list[str]:
        """Return the texts that the property ``name`` may be compared with.

        Where the property is an enum, all of it; else what ``documents`` hold, in order.
        """
        shape = self.schema["properties"][name]
        shape = shape.get("items", shape)
        if "enum" in shape:
            return list(dict.fromkeys(map(text_of, shape["enum"])))
        return sorted({text for document in documents for text in texts_of(document.get(name))})


def text_of(value: Json) -> str:
    """Return a scalar as a query writes it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def texts_of(value: Json) -> list[str]:
    """Return what a filter compares with: the texts of an array's items, or of the one value;
    [] for none.
    """
    if value is None:
        return []
    return [text_of(item) for item in value] if isinstance(value, list) else [text_of(value)]


# -- as a release stores them ------------------------------------------------------------------


def encode(collections: Iterable[Collection]) -> bytes:
    """Return the bytes of the file that stores collections in a release."""
    stored = [
        {
            "name": each.name,
            "folder": each.folder,
            "id": each.id,
            "path": each.path,
            "schema": each.schema,
            "filters": each.filters,
            "order": each.order,
            "lifetime": each.lifetime,
        }
        for each in collections
    ]
    return orjson.dumps({"format": FORMAT, "collections": stored}) + b"\n"


def decode(data: bytes) -> tuple[Collection, ...]:
    """Return the collections that `encode` stored. Raises ValueError, KeyError or TypeError
    where they are none.
    """
    value = orjson.loads(data)
    if value["format"] > FORMAT:
        raise ValueError(
            f"collections of format {value['format']}; this program reads up to {FORMAT}: update it"
        )
    return tuple(
        Collection(**{**each, "filters": tuple(each["filters"]), "order": tuple(each["order"])})
        for each in value["collections"]
    )


# -- as editors declare them -------------------------------------------------------------------


@dataclass
class Declarations:
    """What `collections.yaml` holds: the collections that are sound, and what is wrong with the
    others.

    ``unread``: the folders of the others, whose documents nobody can check. While there is a
    problem, these are all that nothing claims, for the problem may hide whose they are.
    """

    collections: list[Collection] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read(
    folder: Path, schemas: Schemas, kinds: Sequence[Kind], paths: Mapping[str, str]
) -> Declarations:
    """Return the declarations of a content folder; none where it has no `collections.yaml`.

    ``schemas`` hold those of the folder. ``kinds`` are those that exist already, ``paths`` the
    paths that are served already, by the names of their operations.
    """
    declared = _read(folder, schemas, kinds, paths)
    if declared.problems:
        claimed = {kind.folder.partition("/")[0] for kind in kinds} | {
            each.folder for each in declared.collections
        }
        declared.unread += sorted(
            {path.name.partition(".")[0] for path in folder.iterdir()} - claimed
        )
    return declared


def _read(
    folder: Path, schemas: Schemas, kinds: Sequence[Kind], paths: Mapping[str, str]
) -> Declarations:
    declared = Declarations()
    try:
        with open(folder / COLLECTIONS, "rb") as stream:
            data = stream.read(MAX_DECLARATION_BYTES + 1)
        if len(data) > MAX_DECLARATION_BYTES:
            allowed = f"at most {MAX_DECLARATION_BYTES:,} bytes"
            declared.problems.append(
                Problem("tree.size", COLLECTIONS, "the file is too large", allowed=allowed)
            )
            return declared
        text = yaml.decode(data)
        value = yaml.load(text)
    except FileNotFoundError:
        return declared
    except Malformed as fault:
        declared.problems += map(_malformed, (fault, *fault.more))
        return declared
    except OSError as error:
        found = f"cannot be read: {error.strerror}"
        declared.problems.append(
            Problem("tree.unreadable", COLLECTIONS, found, allowed="a readable file")
        )
        return declared
    reader = _Reader(folder, schemas, text, kinds, paths)
    for finding in schemas.findings(SCHEMA, value):
        reader.report(finding)
    if isinstance(value, dict):
        reader.take(value)
    return reader.declared


def _malformed(fault: Malformed) -> Problem:
    return Problem(
        fault.rule, COLLECTIONS, fault.found, fault.place, fault.pointer, fault.allowed
    )


class _Reader:
    """Takes declarations one after another, and remembers what each has taken."""

    def __init__(
        self,
        folder: Path,
        schemas: Schemas,
        text: str,
        kinds: Sequence[Kind],
        paths: Mapping[str, str],
    ) -> None:
        self.folder, self.schemas = folder, schemas
        self.spots = yaml.locate(text)
        self.faulty: set[Pointer] = set()
        self.names = {name: f"the operation {name}" for name in paths}
        self.names |= {kind.name: f"the kind {kind.name}" for kind in (SITE, *kinds)}
        self.folders = {
            kind.folder.partition("/")[0]: f"the kind {kind.name}" for kind in reversed(kinds)
        }
        self.folders |= dict.fromkeys(OWN_FOLDERS, "the content folder's own files")
        self.paths = {
            tuple(path.split("/")): f"the operation {name}" for name, path in paths.items()
        }
        self.declared = Declarations()

    def report(self, finding: Finding) -> None:
        """Add a finding as a problem at its place in the file."""
        spot = yaml.spot(self.spots, finding.pointer)
        place = ((finding.on_key and spot.key) or spot.value) if spot else None
        self.faulty.add(finding.pointer[:1])
        self.declared.problems.append(
            Problem(
                finding.rule,
                COLLECTIONS,
                finding.found,
                place,
                finding.pointer,
                finding.allowed,
                finding.about,
                finding.nearest,
            )
        )

    def take(self, value: Mapping[str, Any]) -> None:
        """Take in the declarations of the file, in its order."""
        for name, declaration in value.items():
            collection = None
            if not self.faulty & {(), (name,)}:
                self._take_places(name, declaration)
                collection = self._collection(name, declaration)
            if collection is not None:
                self.declared.collections.append(collection)
            elif isinstance(declaration, dict) and isinstance(declaration.get("folder"), str):
                self.declared.unread.append(declaration["folder"])

    def _take_places(self, name: str, declaration: Mapping[str, Any]) -> None:
        """Report a name, folder or path that something else has, and take those that are free."""
        owner = f"the collection {name}"
        for taken in (name, by_id(name)):
            if taken in self.names:
                found = f"the name {taken!r} is that of {self.names[taken]}"
                self.report(
                    Finding("collection.name", (name,), found, "a name of its own", on_key=True)
                )
                break
        self.names |= {taken: owner for taken in (name, by_id(name)) if taken not in self.names}
        folder = declaration["folder"]
        if folder in self.folders:
            found = f"the folder {folder!r} belongs to {self.folders[folder]}"
            self.report(
                Finding("collection.folder", (name, "folder"), found, "a folder of its own")
            )
        self.folders.setdefault(folder, owner)
        for path in (declaration["path"], f"{declaration['path']}/{{}}"):
            segments = tuple(path.split("/"))
            other = next(
                (self.paths[each] for each in self.paths if _overlap(segments, each)), None
            )
            if other is not None:
                found = f"the path {path} is served by {other}"
                self.report(
                    Finding("collection.path", (name, "path"), found, "a path of its own")
                )
                break
        for path in (declaration["path"], f"{declaration['path']}/{{}}"):
            self.paths.setdefault(tuple(path.split("/")), owner)

    def _collection(self, name: str, declaration: Mapping[str, Any]) -> Collection | None:
        """Return what a declaration says, or None with problems."""
        schema = self._schema(name, declaration["schema"])
        if schema is None:
            return None
        self._check_properties(name, declaration, schema)
        if (name,) in self.faulty:
            return None
        return Collection(
            name,
            declaration["folder"],
            declaration["id"],
            declaration["path"],
            schema,
            tuple(declaration.get("filters", ())),
            tuple(declaration.get("order", ())),
            declaration.get("lifetime"),
        )

    def _schema(self, name: str, file: str) -> Mapping[str, Any] | None:
        """Return the schema that a declaration names, its references written out, or None with
        problems.
        """
        own_files = sorted(path.name for path in (self.folder / "schemas").glob("*.json"))
        if file not in own_files:
            allowed = ", ".join(own_files) or "a JSON Schema in the folder schemas/"
            found = f"there is no file schemas/{file}"
            self.report(
                Finding(
                    "collection.schema",
                    (name, "schema"),
                    found,
                    allowed,
                    nearest=nearest(file, own_files),
                )
            )
            return None
        own = own_schemas.read(self.folder / "schemas", file)
        if self.schemas.problems or isinstance(own, Problem):
            return None  # what is wrong with the folder's schemas is listed among the problems already
        try:
            schema: Mapping[str, Any] = _Resolved(self.schemas).schema(self.schemas[file], file)
        except ValueError as error:
            self.declared.problems.append(
                own.problem("collection.shape", (), str(error), "a schema without an end")
            )
            return None
        faults = list(_document_faults(schema))
        for pointer, found, allowed in faults:
            self.declared.problems.append(
                own.problem("collection.shape", pointer, found, allowed)
            )
        return None if faults else _without_publish(schema)

    def _check_properties(
        self, name: str, declaration: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> None:
        """Report an id, an order or a filter that the schema cannot serve."""
        properties, required = schema["properties"], schema.get("required", ())
        uses: list[tuple[Pointer, str, tuple[str, ...], bool]] = [
            (("id",), declaration["id"], ("integer", "string"), True),
            *(
                (("order", index), each, SCALARS, True)
                for index, each in enumerate(declaration.get("order", ()))
            ),
            *(
                (("filters", index), each, (*SCALARS, "array"), False)
                for index, each in enumerate(declaration.get("filters", ()))
            ),
        ]
        for where, property, types, is_required in uses:
            found, allowed, close = "", "", ""
            shape = properties.get(property, {})
            kind = shape.get("type")
            if property not in properties:
                found, allowed = (
                    f"the schema has no property {property!r}",
                    ", ".join(properties),
                )
                close = nearest(property, properties)
            elif kind not in types or (
                kind == "array" and shape["items"]["type"] not in SCALARS
            ):
                found, allowed = (
                    f"{property!r} is of the type {kind}",
                    "a property of type " + ", ".join(types),
                )
                allowed += " of scalars" * ("array" in types)
            elif is_required and property not in required:
                found, allowed = (
                    f"{property!r} may be missing from a document",
                    "a property that the schema requires",
                )
            elif where[0] == "filters" and property in PARAMETERS:
                found, allowed = (
                    f"every operation has a parameter {property} already",
                    "another property",
                )
            if found:
                self.report(
                    Finding(
                        "collection.property", (name, *where), found, allowed, nearest=close
                    )
                )


def by_id(name: str) -> str:
    """Return the name of the operation that serves single documents of a collection."""
    return f"{name}_by_id"


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether some address has both paths; a segment in braces is any text."""
    pairs = zip(one, other, strict=False)
    return len(one) == len(other) and all(
        a == b or a.startswith("{") or b.startswith("{") for a, b in pairs
    )


def _without_publish(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema of documents as answers show them."""
    properties = {name: part for name, part in schema["properties"].items() if name != PUBLISH}
    shown = {**schema, "properties": properties}
    if PUBLISH in schema.get("required", ()):
        shown["required"] = [name for name in schema["required"] if name != PUBLISH]
    return shown


# -- schemas of documents ----------------------------------------------------------------------

_DROPPED = ("$id", "$schema", "$defs", "definitions", "$comment")
_ANNOTATING_KEYWORDS = ("description", "title", "default", "examples", "x-allowed")
_KEYWORDS_OF_NAMED_SCHEMAS = ("properties", "patternProperties", "dependentSchemas")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *(
        "not",
        "if",
        "then",
        "else",
        "items",
        "contains",
        "additionalProperties",
        "propertyNames",
    ),
    *("unevaluatedProperties", "unevaluatedItems"),
)


class _Resolved:
    """Writes the references of a schema out, so that it means the same wherever it stands."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._left = own_schemas.MAX_SCHEMAS

    def schema(self, schema: Json, file: str, within: tuple[str, ...] = ()) -> Any:
        """Return a schema of ``file`` without references.

        ``within`` are the references that led here. Raises ValueError where there is no end to
        them.
        """
        if not isinstance(schema, dict):
            return schema
        self._left -= 1
        if self._left < 0:
            raise ValueError(
                f"more than {own_schemas.MAX_SCHEMAS:,} subschemas, once its references are written out"
            )
        resolved = {
            key: self._part(key, part, file, within)
            for key, part in schema.items()
            if key not in _DROPPED
        }
        if "$ref" not in resolved:
            return resolved
        address = urljoin(BASE + file, resolved.pop("$ref"))
        if address in within:
            raise ValueError(
                "the schema refers to itself, so that documents may be nested without end"
            )
        base, target = self._schemas.target(address)
        referred = self.schema(target, base.removeprefix(BASE), (*within, address))
        merged = {**referred, **resolved}
        if any(
            key in referred for key in resolved if key not in _ANNOTATING_KEYWORDS
        ):  # both hold
            merged["allOf"] = [*resolved.get("allOf", ()), referred]
        return merged

    def _part(self, key: str, part: Json, file: str, within: tuple[str, ...]) -> Json:
        if key in _KEYWORDS_OF_NAMED_SCHEMAS:
            return {name: self.schema(each, file, within) for name, each in part.items()}
        if key in _LISTED:
            return [self.schema(each, file, within) for each in part]
        return self.schema(part, file, within) if key in _SINGLE else part


ShapeFault = tuple[Pointer, str, str]
"""Where in a schema, what is found there, what is allowed."""


def _document_faults(schema: Mapping[str, Any]) -> Iterator[ShapeFault]:
    """Yield what keeps a schema from being that of a collection's documents."""
    if schema.get("type") != "object":
        yield (
            ("type",) if "type" in schema else (),
            "documents that are no objects",
            '"type": "object"',
        )
    elif not schema.get("properties"):
        yield (
            (),
            "documents without any property",
            '"properties", with the name and schema of each',
        )
    else:
        yield from _shape_faults(schema, ())


def _shape_faults(schema: Json, pointer: Pointer) -> Iterator[ShapeFault]:
    """Yield where a schema lets values through that XML could not carry, or a decoder not tell
    apart.
    """
    kind = schema.get("type") if isinstance(schema, dict) else None
    if kind not in (*SCALARS, "object", "array"):
        allowed = (
            "exactly one of object, array, string, integer, number, boolean (wire-shapes 1.3)"
        )
        where = pointer if kind is None else (*pointer, "type")
        yield (
            where,
            "no type" if kind is None else f"the type {orjson.dumps(kind).decode()}",
            allowed,
        )
    elif kind == "object":
        yield from _object_faults(schema, pointer)
    elif kind == "array":
        yield from _array_faults(schema, pointer)


def _object_faults(schema: Mapping[str, Any], pointer: Pointer) -> Iterator[ShapeFault]:
    if "patternProperties" in schema:
        found = "patternProperties, by which a place may have several types"
        yield (
            (*pointer, "patternProperties"),
            found,
            "additionalProperties with one schema (wire-shapes 1.3)",
        )
    for name, below in schema.get("properties", {}).items():
        where = (*pointer, "properties", name)
        if not _COLLECTION_NAME.fullmatch(name):
            allowed = (
                "letters, digits, _ . and -, beginning with a letter or _ (wire-shapes 1.5)"
            )
            yield where, f"the name {name!r}, which XML cannot hold", allowed
        yield from _shape_faults(below, where) if pointer or name != PUBLISH else ()
        is_array = isinstance(below, dict) and below.get("type") == "array"
        if is_array and name not in schema.get("required", ()) and not below.get("minItems"):
            allowed = (
                '"minItems": 1, or its name among those that are required (wire-shapes 1.2)'
            )
            yield (
                where,
                "an array that may be empty or missing, which XML cannot tell apart",
                allowed,
            )
    more = schema.get("additionalProperties", True)
    where = (*pointer, "additionalProperties") if "additionalProperties" in schema else pointer
    if more is True or more == {}:
        allowed = '"additionalProperties": false, or one schema (wire-shapes 1.3)'
        yield where, "an object whose other properties may be anything", allowed
    elif more is not False:
        yield from _shape_faults(more, where)


def _array_faults(schema: Mapping[str, Any], pointer: Pointer) -> Iterator[ShapeFault]:
    items = schema.get("items")
    where = (*pointer, "items") if "items" in schema else pointer
    if "prefixItems" in schema:
        found = "prefixItems, by which items have several types"
        yield (*pointer, "prefixItems"), found, "items with one schema (wire-shapes 1.3)"
    if isinstance(items, dict) and items.get("type") == "array":
        yield (
            where,
            "an array directly in an array",
            "items that are objects or scalars (wire-shapes 1.2)",
        )
    elif items is None:
        yield (
            where,
            "an array whose items may be anything",
            "items with one schema (wire-shapes 1.3)",
        )
    else:
        yield from _shape_faults(items, where)


def written(collection: Collection) -> dict[str, Any]:
    """Return the schema of a collection's documents as editors write them: with `publish`, and
    with names for XML.
    """
    schema: dict[str, Any] = _with_names(collection.schema)
    schema["properties"] = {**schema["properties"], PUBLISH: {"$ref": f"{BASE}publish.json"}}
    return schema


def _with_names(schema: Json) -> Any:
    """Return a schema whose objects with free names want such that XML can hold (wire-shapes
    1.5).
    """
    if not isinstance(schema, dict):
        return schema
    named = dict(schema)
    if "properties" in named:
        named["properties"] = {
            name: _with_names(part) for name, part in named["properties"].items()
        }
    if "items" in named:
        named["items"] = _with_names(named["items"])
    if isinstance(named.get("additionalProperties"), dict):
        named["additionalProperties"] = _with_names(named["additionalProperties"])
        names = {
            "pattern": NAME_PATTERN,
            "x-allowed": "letters, digits, _ . and -, beginning with a letter or _",
        }
        named["propertyNames"] = (
            {**names, "allOf": [named["propertyNames"]]} if "propertyNames" in named else names
        )
    return named
