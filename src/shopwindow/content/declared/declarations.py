"""Reads `collections.yaml`, in which a content folder declares collections.

Every fault of a declaration is a Problem at its place. A declaration must take a name,
a folder and a path that nothing else has, so declarations are taken one after another,
in their order in the file. One with a fault does not become a collection, and its
folder is not looked into: what stands there cannot be checked.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shopwindow.content.declared.collection import Collection, by_id
from shopwindow.content.declared.collection_schemas import (
    SCALARS,
    as_served,
    document_faults,
)
from shopwindow.content.documents.finding import Finding
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.reading import yaml
from shopwindow.content.reading.listing import COLLECTIONS, OWN_FOLDERS, declaring
from shopwindow.content.reading.text import text_of
from shopwindow.content.reading.yaml import Malformed, Spot
from shopwindow.content.schemas import own_schemas
from shopwindow.content.schemas.schema import Schemas
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer, Problem

SCHEMA = "collections.json"
PARAMETERS = ("_fields", "callback")
"""Parameters that the operations of every collection have, so that no filter may."""


@dataclass
class Declarations:
    """What `collections.yaml` holds.

    ``collections``: those without a fault. ``problems``: what is wrong with the others.
    ``unread``: folders whose documents cannot be checked. While there is a problem,
    these are all folders that no kind claims, because the problem may hide whose they
    are.
    """

    collections: list[Collection] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)


def read(
    folder: Path, schemas: Schemas, kinds: Sequence[Kind], paths: Mapping[str, str]
) -> Declarations:
    """Return the declarations of a content folder; none where it has no
    `collections.yaml`.

    ``schemas`` hold those of the folder. ``kinds``: those that exist already.
    ``paths``: those that are served already, by the names of their operations.
    """
    declared = _read(folder, schemas, kinds, paths)
    if declared.problems:
        claimed = {kind.folder.partition("/")[0] for kind in kinds}
        claimed |= {collection.folder for collection in declared.collections}
        there = {path.name.partition(".")[0] for path in folder.iterdir()}
        declared.unread += sorted(there - claimed)
    return declared


def _read(
    folder: Path, schemas: Schemas, kinds: Sequence[Kind], paths: Mapping[str, str]
) -> Declarations:
    declared = Declarations()
    source = declaring(folder)
    if source is None:
        return declared
    try:
        file = text_of(folder, source)
        faults = file.faults
    except Malformed as fault:
        faults = (fault,)
    if faults:
        declared.problems += (fault.problem(COLLECTIONS) for fault in faults)
        return declared
    value = file.value
    reader = _ReaderOfCollections(folder, schemas, file.spots, kinds, paths)
    for finding in schemas.findings(SCHEMA, value):
        if not finding.follows:
            reader.report(finding)
    if isinstance(value, dict):
        reader.take(value)
    return reader.declared


class _ReaderOfCollections:
    """Takes declarations one after another, and remembers what each has taken.

    ``names``, ``folders`` and ``paths``: who has them, as messages say it.
    """

    def __init__(
        self,
        folder: Path,
        schemas: Schemas,
        spots: Mapping[Pointer, Spot],
        kinds: Sequence[Kind],
        paths: Mapping[str, str],
    ) -> None:
        self.folder, self.schemas = folder, schemas
        self.spots = spots
        self.faulty: set[Pointer] = set()
        self.names = {name: f"the operation {name}" for name in paths}
        self.names |= {kind.name: f"the kind {kind.name}" for kind in (SITE, *kinds)}
        self.folders = {
            kind.folder.partition("/")[0]: f"the kind {kind.name}"
            for kind in reversed(kinds)
        }
        self.folders |= dict.fromkeys(OWN_FOLDERS, "the content folder's own files")
        self.paths = {path: f"the operation {name}" for name, path in paths.items()}
        self.declared = Declarations()

    def report(self, finding: Finding) -> None:
        """Add a finding as a problem at its place in the file."""
        pointer = finding.pointer
        place = yaml.place_at(self.spots, pointer, on_key=finding.on_key)
        self.faulty.add(pointer[:1])
        self.declared.problems.append(finding.problem(COLLECTIONS, pointer, place))

    def take(self, value: Mapping[str, Any]) -> None:
        """Take the declarations of the file, in its order."""
        for name, declaration in value.items():
            collection = None
            if not self.faulty & {(), (name,)}:
                self._take_places(name, declaration)
                collection = self._collection(name, declaration)
            if collection is not None:
                self.declared.collections.append(collection)
            elif isinstance(declaration, dict) and isinstance(
                declaration.get("folder"), str
            ):
                self.declared.unread.append(declaration["folder"])

    def _take_places(self, name: str, declaration: Mapping[str, Any]) -> None:
        """Report a name, folder or path that something else has, and take those that
        are free.
        """
        folder, path = declaration["folder"], declaration["path"]
        names, paths = (name, by_id(name)), (path, f"{path}/{{}}")
        for what, owners, wanted, words in (
            ("name", self.names, names, "the name {!r} is that of"),
            ("folder", self.folders, (folder,), "the folder {!r} belongs to"),
            ("path", self.paths, paths, "the path {} is served by"),
        ):
            clashes = (
                f"{words.format(one)} {owners[other]}"
                for one in wanted
                for other in owners
                if _overlap(one, other)
            )
            if found := next(clashes, ""):
                is_name = what == "name"
                self.report(
                    Finding(
                        f"collection.{what}",
                        (name,) if is_name else (name, what),
                        found,
                        f"a {what} of its own",
                        on_key=is_name,
                    )
                )
            for one in wanted:
                owners.setdefault(one, f"the collection {name}")

    def _collection(
        self, name: str, declaration: Mapping[str, Any]
    ) -> Collection | None:
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
        """Return the schema that a declaration names, its references written out, or
        None with problems.
        """
        own_files = sorted(
            path.name for path in (self.folder / "schemas").glob("*.json")
        )
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
            return None  # what is wrong with the folder's schemas is a problem already
        schema: Mapping[str, Any] = self.schemas[file]
        faults = list(document_faults(schema))
        for fault in faults:
            self.declared.problems.append(own.problem("collection.shape", *fault))
        return None if faults else as_served(schema)

    def _check_properties(
        self, name: str, declaration: Mapping[str, Any], schema: Mapping[str, Any]
    ) -> None:
        """Report an id, an order or a filter that the schema cannot serve."""
        for key in _TYPES:
            stated = declaration.get(key, ())
            for index, property in enumerate([stated] if key == "id" else stated):
                if fault := _property_fault(key, property, schema):
                    place = (name, key) if key == "id" else (name, key, index)
                    near = "" if property in schema["properties"] else property
                    self.report(
                        Finding(
                            "collection.property",
                            place,
                            *fault,
                            nearest=nearest(near, schema["properties"]),
                        )
                    )


_TYPES = {"id": ("integer", "string"), "order": SCALARS, "filters": (*SCALARS, "array")}
"""What a declaration names a property as → which types it may have."""


def _property_fault(
    key: str, property: str, schema: Mapping[str, Any]
) -> tuple[str, str] | None:
    """Return what is found and what is allowed where a property cannot be served.

    ``key``: what a declaration names it as.
    """
    properties, types = schema["properties"], _TYPES[key]
    if property not in properties:
        return f"the schema has no property {property!r}", ", ".join(properties)
    shape = properties[property]
    kind = shape.get("type")
    if kind not in types or (kind == "array" and shape["items"]["type"] not in SCALARS):
        allowed = "a property of type " + ", ".join(types)
        allowed += " of scalars" * ("array" in types)
        return f"{property!r} is of the type {kind}", allowed
    if key != "filters" and property not in schema.get("required", ()):
        found = f"{property!r} may be missing from a document"
        return found, "a property that the schema requires"
    if key == "filters" and property in PARAMETERS:
        found = f"every operation has a parameter {property} already"
        return found, "another property"
    return None


def _overlap(one: str, other: str) -> bool:
    """Return whether two names or folders are the same, or some address has both paths:
    a segment in braces is any text.
    """
    pairs = zip(one.split("/"), other.split("/"), strict=False)
    return one.count("/") == other.count("/") and all(
        a == b or a.startswith("{") or b.startswith("{") for a, b in pairs
    )
