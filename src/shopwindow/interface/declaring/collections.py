"""Adds the collections of a content folder or a release to an Interface.

A collection is a kind that collections.yaml declares. It gets two operations: the list
of its documents, narrowed by filters, and single documents by their ids. Both join the
Interface's own kinds and operations, so nothing else in the engine knows that they were
declared in a file.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

from shopwindow.content.declared import collection_schemas, declarations
from shopwindow.content.declared.collection import (
    LONGEST_ID,
    Collection,
    by_id,
    encode,
    texts_of,
)
from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.declaring.interface import Interface
from shopwindow.interface.declaring.kinds import Ids, Texts
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    FIELDS,
    Arguments,
    Call,
    FromContent,
    Operation,
    Parameter,
)
from shopwindow.problems import Fault, Problem, Refusal

FAMILY = "Collections"
"""The heading below which documents list the operations of all collections."""

FILTER_VALUES = 200
"""Values of one filter that are pre-rendered; the service answers for the others.

Ten thousand values, each with a file in every format, would be most of a release.
"""

SITE_SCHEMA = "site.json"


def _listed(collection: Collection, content: Content, call: Call) -> Json:
    """The view of `GET <path>`: the live documents that all filters admit, in order."""
    documents = content.documents(collection.name)
    for name, wanted in call.arguments:
        if name in collection.filters:
            documents = [
                document
                for document in documents
                if not set(texts_of(document.get(name))).isdisjoint(wanted)
            ]
    return {collection.key: list(documents)}


def _lists(collection: Collection, content: Content) -> Iterator[Arguments]:
    """Yield the whole list, then the first FILTER_VALUES values of each filter."""
    yield {}
    documents = content.documents(collection.name)
    for name in collection.filters:
        choices = filter(_is_one_text, collection.choices(documents, name))
        for text in islice(choices, FILTER_VALUES):
            yield {name: (text,)}


def _is_one_text(text: str) -> bool:
    """Return whether a filter's argument reads a text as this one text.

    It does not where the text has a comma, or spaces around it.
    """
    try:
        return Texts().parse(text) == (text,)
    except ValueError:
        return False


def _single(collection: Collection, content: Content, call: Call) -> Json:
    """The view of `GET <path>/{ids}`: live documents, in the order of these ids."""
    name, id = collection.name, collection.id
    by_ids = (content.document(name, id, value) for value in call[id])
    documents = [document for document in by_ids if document is not None]
    if not documents:
        raise Refusal("no_data", Fault(id, f"there is no {name} with this {id}"))
    return {collection.key: documents}


def _singles(collection: Collection, content: Content) -> Iterator[Arguments]:
    """Yield each document."""
    for value in content.identities(collection.name):
        yield {collection.id: (value,)}


def operations(collection: Collection) -> tuple[Operation, Operation]:
    """Return the two operations of a collection: the list, and single documents."""
    name, id = collection.name, collection.id
    filters = tuple(_filter(collection, property) for property in collection.filters)

    ids: Ids | Texts = Texts(maximum=LONGEST_ID)
    if collection.schema["properties"][id]["type"] == "integer":
        ids = Ids()

    every = Operation(
        name,
        collection.path,
        FromContent(partial(_listed, collection), partial(_lists, collection)),
        _response(collection),
        f"Every {name} that is live now.",
        (*filters, FIELDS, CALLBACK),
        items=(collection.key,),
        lifetime=collection.lifetime,
        family=FAMILY,
    )
    by_ids = Parameter(id, ids, f"The {id} of each, comma-separated.")
    single = replace(
        every,
        name=by_id(name),
        path=f"{collection.path}/{{{id}}}",
        source=FromContent(partial(_single, collection), partial(_singles, collection)),
        about=f"One {name} or several, by {id}.",
        parameters=(by_ids, FIELDS, CALLBACK),
    )
    return every, single


def _filter(collection: Collection, property: str) -> Parameter:
    """Return the parameter that filters the list by a property."""
    description = f"Only those whose {property} is one of these, comma-separated."
    example = next(iter(collection.choices((), property)), "")
    return Parameter(property, Texts(), description, example=example)


def _response(collection: Collection) -> str:
    """Return the name of the schema of a collection's answers."""
    return f"collections/{collection.name}"


def _answer(collection: Collection) -> Mapping[str, Any]:
    """Return the schema of a collection's answers.

    The list is always there, however many documents it has.
    """
    return {
        "description": f"Documents of the collection {collection.name}.",
        "type": "object",
        "properties": {
            collection.key: {
                "description": "Those that are live and requested, in order.",
                "type": "array",
                "items": collection.schema,
            }
        },
        "required": [collection.key],
        "additionalProperties": False,
    }


# -- an Interface with its collections -------------------------------------------------


def with_collections(interface: Interface, declared: Iterable[Collection]) -> Interface:
    """Return an Interface that serves these collections and no others, too."""
    base, collections = interface.base or interface, tuple(declared)
    if not collections:
        return base
    kinds = [collection.kind for collection in collections]
    pairs = [operations(collection) for collection in collections]
    return replace(
        base,
        kinds=(*base.kinds, *kinds),
        operations=(*base.operations, *chain.from_iterable(pairs)),
        collections=collections,
        base=base,
    )


def schemas_with(schemas: Schemas, interface: Interface) -> Schemas:
    """Return schemas with those that follow from an Interface.

    These are the schemas of its collections, for documents and for answers, and one of
    site.yaml, in which `lifetimes` may name each operation that answers from content.
    """
    files: dict[str, Any] = {}
    for collection in interface.collections:
        document_schema = collection_schemas.as_written(collection.schema)
        files[collection.written_schema] = document_schema
        files[f"responses/{_response(collection)}.json"] = _answer(collection)

    site = schemas[SITE_SCHEMA]
    lifetimes = site["properties"]["lifetimes"]
    unnamed = {
        name: {"description": f"Lifetime of {name}.", "$ref": "#/$defs/lifetime"}
        for name in interface.cached
        if name not in lifetimes["properties"]
    }
    if unnamed:
        every = {**lifetimes, "properties": {**lifetimes["properties"], **unnamed}}
        properties = {**site["properties"], "lifetimes": every}
        files[SITE_SCHEMA] = {**site, "properties": properties}

    if not files:
        return schemas
    state = encode(interface.collections) + " ".join(unnamed).encode()
    return schemas.with_files(files, state)


@dataclass(frozen=True)
class Declared:
    """An Interface and schemas with the collections of a content folder.

    ``problems`` are those of the declarations. ``unread`` names the folders of the
    collections whose declaration has a problem: their documents are not read.
    """

    interface: Interface
    schemas: Schemas
    problems: tuple[Problem, ...] = ()
    unread: tuple[str, ...] = ()


def declared(folder: Path, interface: Interface, schemas: Schemas) -> Declared:
    """Return an Interface with the collections that a content folder declares.

    ``schemas`` have those of the folder already.
    """
    paths = {operation.name: operation.path for operation in interface.operations}
    file = declarations.read(folder, schemas, interface.kinds, paths)
    extended = with_collections(interface, file.collections)
    return Declared(
        extended,
        schemas_with(schemas, extended),
        tuple(file.problems),
        tuple(file.unread),
    )
