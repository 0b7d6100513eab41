"""What is served of a collection: its list, narrowed by filters, and single documents
by their ids.

An Interface takes the collections of a content folder or of a release in as kinds and
operations like all others, so nothing else in the engine knows that they were declared
in a file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shopwindow.content import collection_schemas, collections, declarations
from shopwindow.content.collections import Collection, by_id, texts_of
from shopwindow.content.documents import Content
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Json
from shopwindow.interface.call import Call
from shopwindow.interface.interface import Interface
from shopwindow.interface.kinds import Ids, Texts
from shopwindow.interface.operation import (
    CALLBACK,
    FIELDS,
    Arguments,
    FromContent,
    Operation,
    Parameter,
)
from shopwindow.problems import Fault, Problem, Refusal

FILTER_VALUES = 200
"""Values of one filter that are pre-rendered; the service answers for the others. Ten
thousand values, each with a file in every format, would be most of a release.
"""

SITE_SCHEMA = "site.json"


@dataclass(frozen=True, eq=False)
class _List:
    """The view of `GET <path>`: every live document that all filters admit, in the
    kind's order.
    """

    collection: Collection

    def __call__(self, content: Content, call: Call) -> Json:
        documents = content.documents(self.collection.name)
        for name, wanted in call.arguments:
            if name in self.collection.filters:
                documents = [
                    each
                    for each in documents
                    if not set(texts_of(each.get(name))).isdisjoint(wanted)
                ]
        return {self.collection.key: list(documents)}

    def entries(self, content: Content) -> Iterator[Arguments]:
        """Yield the whole list, and each of the first FILTER_VALUES values of each
        filter.
        """
        yield {}
        documents = content.documents(self.collection.name)
        for name in self.collection.filters:
            choices = filter(_can_be_asked, self.collection.choices(documents, name))
            for text, _ in zip(choices, range(FILTER_VALUES), strict=False):
                yield {name: (text,)}


def _can_be_asked(text: str) -> bool:
    """Whether a text is read as itself where it is the value of a filter: it has no
    comma and no outer space.
    """
    try:
        return Texts().parse(text) == (text,)
    except ValueError:
        return False


@dataclass(frozen=True, eq=False)
class _Single:
    """The view of `GET <path>/{ids}`: the live documents with these ids, in the order
    of the ids.
    """

    collection: Collection

    def __call__(self, content: Content, call: Call) -> Json:
        name, id = self.collection.name, self.collection.id
        named = [content.document(name, id, value) for value in call[id]]
        documents = [document for document in named if document is not None]
        if not documents:
            raise Refusal("no_data", (Fault(id, f"there is no {name} with this {id}"),))
        return {self.collection.key: documents}

    def entries(self, content: Content) -> Iterator[Arguments]:
        """Yield each document."""
        for value in content.identities(self.collection.name):
            yield {self.collection.id: (value,)}


def operations(collection: Collection) -> tuple[Operation, Operation]:
    """Return the two operations of a collection: the list, and single documents."""
    listed, single = _List(collection), _Single(collection)
    name, id, properties = (
        collection.name,
        collection.id,
        collection.schema["properties"],
    )
    filters = tuple(
        Parameter(
            each,
            Texts(),
            f"Only those whose {each} is one of these, comma-separated.",
            example=example,
        )
        for each in collection.filters
        for example in [next(iter(collection.choices((), each)), "")]
    )
    ids = (
        Ids()
        if properties[id]["type"] == "integer"
        else Texts(maximum=collections.LONGEST_ID)
    )
    return (
        Operation(
            name,
            collection.path,
            FromContent(listed, listed.entries),
            _response(collection),
            f"Every {name} that is live now.",
            (*filters, FIELDS, CALLBACK),
            items=(collection.key,),
            lifetime=collection.lifetime,
        ),
        Operation(
            by_id(name),
            f"{collection.path}/{{{id}}}",
            FromContent(single, single.entries),
            _response(collection),
            f"One {name} or several, by {id}.",
            (
                Parameter(id, ids, f"The {id} of each, comma-separated."),
                FIELDS,
                CALLBACK,
            ),
            items=(collection.key,),
            lifetime=collection.lifetime,
        ),
    )


def _response(collection: Collection) -> str:
    """Return the name of the schema of a collection's answers."""
    return f"collections/{collection.name}"


def _answer(collection: Collection) -> Mapping[str, Any]:
    """Return the schema of a collection's answers: the list, as long as it may be, is
    always there.
    """
    return {
        "description": f"Documents of the collection {collection.name}.",
        "type": "object",
        "properties": {
            collection.key: {
                "description": "Those that are live and asked for, in order.",
                "type": "array",
                "items": collection.schema,
            }
        },
        "required": [collection.key],
        "additionalProperties": False,
    }


# -- an Interface with its collections -------------------------------------------------


def with_collections(interface: Interface, declared: Iterable[Collection]) -> Interface:
    """Return an Interface that serves these collections, too."""
    more = tuple(declared)
    if not more:
        return interface
    return replace(
        interface,
        kinds=(*interface.kinds, *(each.kind for each in more)),
        operations=(
            *interface.operations,
            *(operation for each in more for operation in operations(each)),
        ),
        collections=(*interface.collections, *more),
    )


def without_collections(interface: Interface) -> Interface:
    """Return an Interface as it is without the collections of a content folder or a
    release.
    """
    if not interface.collections:
        return interface
    names = {each.name for each in interface.collections}
    served = names | {by_id(name) for name in names}
    return replace(
        interface,
        kinds=tuple(kind for kind in interface.kinds if kind.name not in names),
        operations=tuple(
            operation
            for operation in interface.operations
            if operation.name not in served
        ),
        collections=(),
    )


def schemas_with(schemas: Schemas, interface: Interface) -> Schemas:
    """Return schemas with those that follow from an Interface.

    These are the schemas of its collections, of documents and of answers; and
    `lifetimes` of site.yaml may name each operation that answers from content.
    """
    files: dict[str, Any] = {}
    for each in interface.collections:
        files[each.written_schema] = collection_schemas.as_written(each.schema)
        files[f"responses/{_response(each)}.json"] = _answer(each)
    lifetimes = schemas[SITE_SCHEMA]["properties"]["lifetimes"]
    reads = [
        operation.name
        for operation in interface.operations
        if isinstance(operation.source, FromContent)
    ]
    unnamed = [name for name in reads if name not in lifetimes["properties"]]
    if unnamed:
        files[SITE_SCHEMA] = _site_schema(schemas[SITE_SCHEMA], unnamed)
    if not files:
        return schemas
    return schemas.with_files(
        files, collections.encode(interface.collections) + " ".join(unnamed).encode()
    )


def _site_schema(schema: Mapping[str, Any], names: Iterable[str]) -> Mapping[str, Any]:
    """Return the schema of site.yaml, whose `lifetimes` may name these operations, too."""
    lifetimes = schema["properties"]["lifetimes"]
    own = {
        name: {"description": f"Lifetime of {name}.", "$ref": "#/$defs/lifetime"}
        for name in names
    }
    lifetimes = {**lifetimes, "properties": {**lifetimes["properties"], **own}}
    return {**schema, "properties": {**schema["properties"], "lifetimes": lifetimes}}


@dataclass(frozen=True)
class Declared:
    """An Interface and schemas with the collections of a content folder, and what is
    wrong with their declarations.

    ``unread``: the folders of those that are declared with faults.
    """

    interface: Interface
    schemas: Schemas
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()


def declared(folder: Path, interface: Interface, schemas: Schemas) -> Declared:
    """Return what a content folder makes of an Interface; ``schemas`` hold those of the
    folder already.
    """
    paths = {operation.name: operation.path for operation in interface.operations}
    declared_ones = declarations.read(folder, schemas, interface.kinds, paths)
    extended = with_collections(interface, declared_ones.collections)
    return Declared(
        extended,
        schemas_with(schemas, extended),
        tuple(declared_ones.problems),
        tuple(declared_ones.unread),
    )
