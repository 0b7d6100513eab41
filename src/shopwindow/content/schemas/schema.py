"""The JSON Schemas: is a value valid, what is wrong with it, what does a property mean.

jsonschema-rs decides, in microseconds, and says which keyword refused what; `wording`
puts that into an editor's words. Schemas are compiled when they are first needed, and
before processes are forked.

A content folder may have schemas of its own (`own_schemas`). Each stands on top of the
program's schema of the same name, and both hold.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from copy import copy
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from shopwindow.content.documents.finding import Finding, NumberAt
from shopwindow.content.reading.listing import below
from shopwindow.content.reading.yaml import Json, walked
from shopwindow.content.schemas import own_schemas
from shopwindow.content.schemas.causes import united
from shopwindow.content.schemas.own_schemas import Own, WritingOut
from shopwindow.content.schemas.shape import SchemaFiles, Shape, validator
from shopwindow.content.schemas.wording import about_of, explained, fractions
from shopwindow.problems import Failure, Pointer, Problem, pointer_text

BASE = "https://shopwindow.example/schemas/"
SITE_SCHEMA, PARTS = "site.json", "site/"
"""The schema of site.yaml, and the folder of the parts that families add to it."""

OF_A_FILE = ("$schema", "$id", "description", "type")
"""Keywords by which each part describes itself; they are not merged."""

MAX_FINDINGS = 10_000
"""Findings in one document: ten times the problems that `check` lists of a whole
folder.
"""


class Schemas:
    """All schemas of a program, by file name; `under` lays an editors' folder on top.

    ``folder`` is the engine's, None for none. Those in ``of_interface`` are an
    Interface's, whose files replace the engine's. Faults in any of them are a Failure.

    site.yaml's schema is put together from site.json and a part for each family,
    site/<family>.json. Of the engine's parts only those of ``families`` count; None:
    all.

    ``problems`` holds what is wrong in the editors' folder.
    """

    def __init__(
        self,
        folder: Path | None = None,
        of_interface: Iterable[Path] = (),
        families: Collection[str] | None = None,
    ) -> None:
        self._files: dict[str, Any] = {}
        self._own: tuple[Schemas, Schemas] | None = None  # and what they stand on
        self._written: dict[str, Any] = {}
        self.problems: tuple[Problem, ...] = ()
        digest = sha256()
        if folder is not None:
            self._take(folder, digest, families)
            for interface_folder in of_interface:
                self._take(interface_folder, digest, None)
            self._merge_parts(folder)
        self.digest = digest.hexdigest()
        self._fast: dict[str, Any] = {}
        self._shapes: dict[str, Shape] = {}
        self._derived: dict[bytes, Schemas] = {}

    def _take(
        self, folder: Path, digest: Any, families: Collection[str] | None
    ) -> None:
        """Take the schemas of a folder that a programmer wrote, without the parts of
        other families.

        Raises Failure for a family that has no part.
        """
        names = below(folder, ".json")
        if families is not None:
            parts = {f"{PARTS}{family}.json" for family in families}
            if missing := sorted(parts.difference(names)):
                raise Failure(
                    f"{folder / missing[0]}: is not there, and the interface names its family"
                )
            names = [
                name for name in names if not name.startswith(PARTS) or name in parts
            ]
        for name in names:
            data, schema = _read(folder / name)
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
            self._files[name] = schema | {"$id": BASE + name}

    def _merge_parts(self, folder: Path) -> None:
        """Merge the families' parts of site.yaml's schema, site/<family>.json, into the
        engine's, site.json.

        What each part says stands in the merged schema at the same place, so its
        references are as if it stood in site.json. Raises Failure where two parts say
        something else at one place.
        """
        parts = [name for name in self._files if name.startswith(PARTS)]
        whole = self._files.get(SITE_SCHEMA, {})
        for name in parts:
            part = {
                key: said
                for key, said in self._files.pop(name).items()
                if key not in OF_A_FILE
            }
            whole = _merged(whole, part, f"{folder / name}", ())
        if parts:
            self._files[SITE_SCHEMA] = whole

    def under(self, folder: Path) -> "Schemas":
        """Return these schemas with those of an editors' folder on top: both hold,
        except that the upper one may allow keys which the lower one does not know. So
        every document has what the program's own schema promises.

        While any file has a fault, documents are checked by these schemas alone. The
        same files again give the same schemas, compiled as they are.
        """
        read = [own_schemas.read(folder, name) for name in below(folder, ".json")]
        if not read:
            return self
        own = {file.name: file for file in read if isinstance(file, Own)}
        problems = [file for file in read if isinstance(file, Problem)]
        texts = {name: own[name].text for name in own}
        state = repr((texts, problems)).encode()
        if derived := self._derived.get(state):
            return derived
        more = copy(self)  # with whatever is compiled
        more.digest = sha256(self.digest.encode() + state).hexdigest()
        more._derived = {}
        shipped = frozenset(
            part
            for pointer, part in walked(self._files)
            if pointer[-1:] == ("pattern",) and isinstance(part, str)
        )
        for file in own.values():
            problems += own_schemas.faults(file, shipped)
        files: dict[str, Any] = {}
        written = self._files | {name: file.schema for name, file in own.items()}
        writing = WritingOut(own, written, BASE)
        # A reference may lead to a file that is at fault.
        for name in () if problems else sorted(writing.names):
            schema = writing.written_out(name)
            if isinstance(schema, list):
                problems += schema
            elif schema is not None:
                files[name] = schema
        more.problems = tuple(problems)
        if files and not problems:
            more._written = written
            more._own = schemas_of(files), schemas_of(_open(self._files))
        # At last, since another thread takes what it finds here.
        self._derived = {state: more}
        return more

    def with_files(self, files: Mapping[str, Any], state: bytes) -> "Schemas":
        """Return these schemas with others that stand in no folder.

        ``files``: by file name; they replace those of their names. ``state``:
        everything that they were derived from, for the digest. The same state again
        gives the same schemas, compiled as they are.
        """
        if derived := self._derived.get(state):
            return derived
        more = schemas_of({**self._files, **files})
        more._written = self._written | {name: more._files[name] for name in files}
        more._own = self._own
        more.problems = self.problems
        more.digest = sha256(self.digest.encode() + state).hexdigest()
        self._derived = {state: more}
        return more

    def __getitem__(self, name: str) -> Any:
        return self.levels(name)[0]._files[name]

    def written(self, name: str) -> Any:
        """Return the schema of a file as it is written, a content folder's own before
        the program's: with the references by which OpenAPI names its components.
        """
        return self._written[name] if name in self._written else self[name]

    def target(self, uri: str) -> tuple[str, Any]:
        """Return the base URI and the schema that an absolute `$ref` names."""
        return self._references.target(uri)

    def shape(self, name: str) -> Shape:
        """Return the place of a whole document, in the schema that stands on top."""
        top = self.levels(name)[0]
        if top is not self:
            return top.shape(name)
        if name not in self._shapes:
            files = self._references
            self._shapes[name] = Shape(files, BASE + name, self._files[name])
        return self._shapes[name]

    def shapes(self, name: str) -> tuple[Shape, ...]:
        """Return the place of a whole document in each schema that holds for it.

        That is a content folder's own, where it has one of this name, and then the
        program's.
        """
        return tuple(level.shape(name) for level in self.levels(name))

    def levels(self, name: str) -> tuple["Schemas", ...]:
        """Return the schemas that hold for a document together, by the name of its
        schema: a content folder's own on top, and below it the program's, which then
        admits more keys.
        """
        if self._own is None or name not in self._own[0]._files:
            return (self,)
        return tuple(level for level in self._own if name in level._files)

    def about(self, name: str, pointer: Pointer) -> str:
        """Return the description of a place, or of the nearest around it that has one."""
        return about_of(self.shape(name), pointer)

    def valid(self, name: str, value: Json) -> bool:
        """Return whether ``value`` satisfies the schema ``name``, formats included.

        It takes about 1 µs for a small record.
        """
        return self.checker(name)(value)

    def checker(self, name: str) -> Callable[[Json], bool]:
        """Return `valid` for one schema, without the look-up of the schema at each
        call.
        """
        checks = [level.validator(name).is_valid for level in self.levels(name)]
        if len(checks) == 1:
            only: Callable[[Json], bool] = checks[0]
            return only
        return lambda value: all(check(value) for check in checks)

    def validator(self, name: str) -> Any:
        """Return the compiled jsonschema-rs validator of the schema ``name``.

        It does not regard the schema below, on top of which this one may stand.
        """
        if name not in self._fast:
            try:
                self._fast[name] = validator(
                    self._files[name], self._references.registry
                )
            except ValueError as error:
                raise Failure(
                    f"the schema {name} is no JSON Schema: {str(error).splitlines()[0]}"
                ) from None
        return self._fast[name]

    @cached_property
    def _references(self) -> SchemaFiles:
        """What references lead to. Shapes hold this and not these schemas: with a
        reference back, Python would free compiled validators, some 8 MB, late.
        """
        files = {BASE + name: schema for name, schema in self._files.items()}
        return SchemaFiles(files)

    def refusals(self, name: str, value: Json) -> Iterator[Any]:
        """Yield what jsonschema-rs refuses in a value, by all schemas of a name."""
        for level in self.levels(name):
            yield from level.validator(name).iter_errors(value)

    def findings(
        self,
        name: str,
        value: Json,
        limit: int = MAX_FINDINGS,
        written: NumberAt = lambda pointer: None,
    ) -> list[Finding]:
        """Return everything that is wrong with ``value`` by the schema ``name``.

        ``limit``: no more findings than this are looked for, though always one.
        ``written`` returns how a number is written at its place, so that a message can
        quote 5.10, which is the number 5.1 to everyone else.

        JSON Schema takes 7.0 for an integer. Answers would then hold 7.0 where apps
        read 7, so it is a finding here. Otherwise the result is empty exactly when the
        value is valid.
        """
        found: list[Finding] = []
        for level in self.levels(name):
            places = {(finding.pointer, finding.missing) for finding in found}
            found += [
                finding
                for finding in level._findings(name, value, limit, written)
                if (finding.pointer, finding.missing) not in places
            ]
        return united(found, value, self.shape(name))

    def _findings(
        self, name: str, value: Json, limit: int, written: NumberAt
    ) -> list[Finding]:
        """Return what is wrong by this schema, without regard to the one below it."""
        shape = self.shape(name)
        with_fraction = list(islice(fractions(shape, value, written), limit))
        refused = (
            finding
            for error in self.validator(name).iter_errors(value)
            for finding in explained(error, value, shape, written)
        )
        # Of two keywords that want the same at one place, the first speaks.
        found = [*with_fraction, *islice(refused, limit)]
        if len(found) >= limit:
            # What was not looked for may be anywhere.
            found.append(Finding("schema.other", (), "", follows=True))
        first: dict[Any, Finding] = {}
        for finding in found:
            wanted = finding.allowed or finding.found
            place = finding.pointer, finding.missing, finding.on_key
            first.setdefault((place, wanted), finding)
        return list(first.values())


def schemas_of(files: Mapping[str, Any]) -> Schemas:
    """Return schemas that stand in no folder, by the names of files."""
    schemas = Schemas()
    schemas._files = {
        name: {**schema, "$id": BASE + name} for name, schema in files.items()
    }
    return schemas


def _read(path: Path) -> tuple[bytes, Any]:
    """Return a schema that a programmer wrote, with its bytes. Raises Failure."""
    try:
        if not path.is_file():
            raise Failure(f"{path}: a schema is a file")
        data = path.read_bytes()
        schema = orjson.loads(data)
    except OSError as error:
        raise Failure(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise Failure(f"{path}: the schema is no JSON: {error}") from None
    if not isinstance(schema, dict):
        raise Failure(f"{path}: the schema is no JSON object")
    return data, schema


def _merged(one: Any, other: Any, source: str, pointer: Pointer) -> Any:
    """Return two parts of a schema as one. ``source``: the file of the second.

    Raises Failure where they say different things at one place.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        merged = dict(one)
        for key, said in other.items():
            merged[key] = (
                _merged(one[key], said, source, (*pointer, key)) if key in one else said
            )
        return merged
    if one != other:
        raise Failure(
            f"{source}: {pointer_text(pointer)} stands in another part of site.yaml's schema already"
        )
    return one


def _open(schema: Any) -> Any:
    """Return a schema without `additionalProperties: false`, at every depth."""
    if isinstance(schema, list):
        return [_open(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _open(part)
        for key, part in schema.items()
        if key != "additionalProperties" or part is not False
    }
