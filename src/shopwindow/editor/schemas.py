"""Our schemas as a YAML language server needs them: one file a kind.

How this works. A file of this module needs no other file. So `Translation` follows
every `$ref` of ours and writes out what it leads to. This also lets the editor show a
property's own description, which a language server would not show beside a `$ref`. A
place that leads to itself, as a category within a category does, stays a `$ref` into
the file's own definitions.

The editor's schemas accept what `check` accepts, and more than that. `texts` loosens
what is required of texts. Keywords that only `check` knows are left out. A document
that builds on a base may lack what the base has and remove it by null, and only `check`
sees both together. For such places ``lacks`` is true.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.reading.listing import COLLECTIONS, SITE_FILE
from shopwindow.content.schemas.schema import BASE, Schemas
from shopwindow.content.schemas.shape import absolute
from shopwindow.editor import texts
from shopwindow.editor.snippets import snippet
from shopwindow.editor.texts import EditorSchema
from shopwindow.interface.declaring.interface import Interface

EDITOR_DIALECT = "http://json-schema.org/draft-07/schema#"
"""Draft 7 has every keyword that is left here, and every language server knows it."""

COLLECTIONS_SCHEMA = "collections.json"

ANNOTATIONS = ("description", "title", "default", "examples")

TYPE_WORDS = {
    "integer": "a whole number, without quotes",
    "number": "a number, without quotes",
    "boolean": "true or false, without quotes",
    "array": "a list: entries in brackets, [a, b], or below with a hyphen each",
    "null": "null",
}

_NUMBERS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_LISTS = ("minItems", "maxItems", "uniqueItems")
_SIZES = ("minProperties", "maxProperties")
_TEXT_KEYWORDS = ("pattern", "format", "minLength", "maxLength")


@dataclass(frozen=True)
class Association:
    """A schema and the files that it is for.

    ``patterns``: of paths below the content folder. Files of a pattern that begins with
    `!` are excluded.
    """

    name: str
    schema: EditorSchema
    patterns: tuple[str, ...]


def associations(interface: Interface, schemas: Schemas) -> list[Association]:
    """Return the editor's schemas of a content folder.

    They are those of site.yaml, of collections.yaml, of every kind, and of the bases of
    layered kinds. ``interface`` and ``schemas`` include what the folder itself declares.
    """
    result = [
        Association("site", whole(schemas, SITE.schema), (SITE_FILE,)),
        Association("collections", whole(schemas, COLLECTIONS_SCHEMA), (COLLECTIONS,)),
    ]
    for kind in interface.kinds:
        result.append(_of_kind(kind, schemas))
        if kind.layered:
            result.append(_of_bases(kind, schemas))
    return result


def whole(schemas: Schemas, name: str) -> EditorSchema:
    """Return the editor's schema of a file that holds one document."""
    definitions: dict[str, EditorSchema] = {}
    return _file(_document(schemas, name, definitions), definitions)


def _of_kind(kind: Kind, schemas: Schemas) -> Association:
    """Return the schema of a kind's files, which hold a document or a list of them.

    A document of a layered kind may be incomplete only where it has `extends`.
    """
    definitions: dict[str, EditorSchema] = {}
    document = _document(schemas, kind.schema, definitions)
    if kind.layered:
        relaxed = _document(schemas, kind.schema, definitions, lacks=True)
        document = {"if": {"required": ["extends"]}, "then": relaxed, "else": document}
    document = {"defaultSnippets": snippet(kind, schemas), **document}
    endings = ("yaml", "yml")
    patterns = [f"{kind.folder}/**/*.{ending}" for ending in endings]
    if kind.streamed:
        patterns += [f"{kind.folder}.{ending}" for ending in endings]
    if kind.layered:
        patterns += [f"!{kind.folder}/**/_*.{ending}" for ending in endings]
    listed = _listed(document, is_list=schemas[kind.schema].get("type") == "array")
    name = kind.name.replace("/", "-")
    return Association(name, _file(listed, definitions), tuple(patterns))


def _of_bases(kind: Kind, schemas: Schemas) -> Association:
    """Return the schema of a layered kind's bases, one document a file."""
    definitions: dict[str, EditorSchema] = {}
    document = _document(schemas, kind.schema, definitions, lacks=True)
    patterns = tuple(f"{kind.folder}/**/_*.{ending}" for ending in ("yaml", "yml"))
    return Association(f"{kind.name}-base", _file(document, definitions), patterns)


def _listed(document: EditorSchema, *, is_list: bool) -> EditorSchema:
    """Return the schema of a file that holds one document or a list of them.

    ``is_list``: a document is a list itself, so a file with several is a list of lists.
    """
    several: EditorSchema = {"type": "array"}
    if is_list:
        several["items"] = {"type": "array"}
    reference = {"$ref": "#/definitions/document"}
    return {
        "description": document.get("description", ""),
        "definitions": {"document": document},
        "if": several,
        "then": {"type": "array", "items": reference},
        "else": reference,
    }


def _file(schema: EditorSchema, more: Mapping[str, EditorSchema]) -> EditorSchema:
    """Return the schema of a file, with its definitions."""
    definitions = {**schema.get("definitions", {}), **more}
    result = {"$schema": EDITOR_DIALECT, **schema}
    return result | ({"definitions": definitions} if definitions else {})


def _document(
    schemas: Schemas,
    name: str,
    definitions: dict[str, EditorSchema],
    *,
    lacks: bool = False,
) -> EditorSchema:
    """Return the schema of a document, and add what it refers to to ``definitions``.

    A content folder's own schema stands on top of the program's: both hold.
    """
    first, *others = (
        Translation(level, number, definitions, lacks).document(name)
        for number, level in enumerate(schemas.levels(name))
    )
    return _both(first, others) if others else first


@dataclass
class Translation:
    """One translation of a document's schema.

    ``schemas``: those of one ``level``, the program's or the folder's.
    ``definitions``: name → schema of what leads to itself, filled while `document`
    runs. ``lacks``: a base may have what is required here, and null removes what it
    has.
    """

    schemas: Schemas
    level: int
    definitions: dict[str, EditorSchema]
    lacks: bool
    _open: list[str] = field(default_factory=list)
    """Keys of the references that are being written out, the outermost first."""
    _recursive: set[str] = field(default_factory=set)
    """Keys of references that lead to themselves."""

    @property
    def _complete(self) -> "Translation":
        """The translation of what no base can complete, such as an entry of a list."""
        return replace(self, lacks=False)

    def document(self, name: str) -> EditorSchema:
        """Return the schema of a whole document."""
        result = self._target(BASE + name, {})
        result.pop("errorMessage", None)
        return result

    def _target(self, uri: str, own: EditorSchema) -> EditorSchema:
        """Return the schema for a reference, written out.

        ``uri``: absolute. ``own``: the keywords that stand beside the reference, and
        count more than what it leads to: they are its annotations. It stays a reference
        to a definition where it leads to itself.
        """
        address = uri.removeprefix(BASE).replace("/", "-").replace("#", "-")
        key = f"{'layered-' * self.lacks}{self.level}-{address}"
        if key in self._open:
            self._recursive.add(key)
            reference = {"$ref": f"#/definitions/{key}"}
            # Draft 7 would ignore what stands beside it.
            return _both(own, [reference]) if own else reference
        self._open.append(key)
        base, schema = self.schemas.target(uri)
        result = self.place(absolute(schema, base) | own)
        self._open.pop()
        if key in self._recursive:
            self.definitions[key] = result
        return result

    def place(self, schema: EditorSchema) -> EditorSchema:
        """Return the schema of one place, whose references are absolute."""
        if "$ref" in schema:
            own = {key: part for key, part in schema.items() if key != "$ref"}
            return self._target(schema["$ref"], own)
        about = {key: schema[key] for key in ANNOTATIONS if key in schema}
        more: EditorSchema = {
            key: [self._part(part) for part in schema[key]]
            for key in ("allOf", "anyOf", "oneOf")
            if key in schema
        }
        if schema.get("not"):
            more["not"] = schema["not"]
        if "if" in schema and not self.lacks:
            # A looser condition would hold for other documents.
            more["if"] = schema["if"]
            for key in ("then", "else"):
                if key in schema:
                    more[key] = self._part(schema[key])
        typed = self._by_type(schema)
        if typed.keys() & more.keys():
            return about | _both(more, [typed])
        return about | typed | more

    def _by_type(self, schema: EditorSchema) -> EditorSchema:
        types = schema.get("type")
        wanted = [types] if isinstance(types, str) else list(types or ())
        is_text = wanted == ["string"] or (
            not wanted and any(key in schema for key in _TEXT_KEYWORDS)
        )
        if is_text or (not wanted and _of_texts(schema)):
            return texts.text(schema)
        result: EditorSchema = {}
        if wanted:
            result["type"] = wanted[0] if len(wanted) == 1 else wanted
            if not {"object", "string"} & set(wanted):
                words = " or ".join(TYPE_WORDS[name] for name in wanted)
                result["errorMessage"] = schema.get("x-allowed") or words
        for key in (*_NUMBERS, *_LISTS, "const", "enum"):
            if key in schema:
                result[key] = schema[key]
        if "string" in wanted:
            result |= texts.form(schema)
        result |= self._object(schema)
        inner = self._complete
        if "prefixItems" in schema:
            result["items"] = [inner._part(part) for part in schema["prefixItems"]]
            result["additionalItems"] = inner._part(schema.get("items", True))
        elif "items" in schema:
            result["items"] = inner._part(schema["items"])
        return result

    def _object(self, schema: EditorSchema) -> EditorSchema:
        result: EditorSchema = {}
        for key in ("properties", "patternProperties"):
            if key in schema:
                parts = schema[key].items()
                result[key] = {name: self._property(part) for name, part in parts}
        if refused := _refused(schema.get("properties", {})):
            result["errorMessage"] = refused
        if "additionalProperties" in schema:
            others = self._property(schema["additionalProperties"])
            result["additionalProperties"] = others
        if "propertyNames" in schema:
            result["propertyNames"] = texts.name(schema["propertyNames"])
        if not self.lacks:
            sizes = ("required", *_SIZES)
            result |= {key: schema[key] for key in sizes if key in schema}
            if "dependentRequired" in schema:
                result["dependencies"] = schema["dependentRequired"]
        return result

    def _property(self, schema: Any) -> Any:
        """Return the schema of a property; where a base may have it, null removes it."""
        result = self._part(schema)
        return _removable(result) if self.lacks and isinstance(result, dict) else result

    def _part(self, schema: Any) -> Any:
        """Return a schema within a schema.

        True and false are schemas, too. `not: {}` means false; our schemas write it so
        where a message goes with it.
        """
        if not isinstance(schema, dict):
            return schema
        return False if schema.get("not") == {} else self.place(schema)


def _both(schema: EditorSchema, others: list[EditorSchema]) -> EditorSchema:
    """Return a schema with others that hold as well."""
    return schema | {"allOf": [*schema.get("allOf", ()), *others]}


def _removable(schema: EditorSchema) -> EditorSchema:
    """Return a schema that also takes null."""
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    types = schema.get("type")
    if types is None or "enum" in schema or "const" in schema:
        about = {key: schema[key] for key in ANNOTATIONS if key in schema}
        return {**about, "anyOf": [schema, {"type": "null"}]}
    return schema | {"type": [*([types] if isinstance(types, str) else types), "null"]}


def _of_texts(schema: EditorSchema) -> bool:
    choices = schema.get("enum", [schema["const"]] if "const" in schema else [])
    return bool(choices) and all(isinstance(choice, str) for choice in choices)


def _refused(properties: Mapping[str, Any]) -> str:
    """Return the message for properties that may not stand here.

    Empty where there are none, or where their messages differ.
    """
    parts: Iterable[Any] = properties.values()
    words = {
        part.get("x-allowed", "")
        for part in parts
        if isinstance(part, dict) and part.get("not") == {}
    }
    return words.pop() if len(words) == 1 else ""
