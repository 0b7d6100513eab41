"""Where the references of own schemas lead, and how many schemas look at one value
because of them.

A `$ref` may lead nowhere, or to a schema that refers back for the same value: both are
refused. Beyond that, references multiply. A schema that refers twice to one that refers
twice to a third looks at a value four times, and thirty such steps would never end. So
the schemas are put in an order in which each comes after all that look at the same
value for it, and counts are added up along that order, level by level of nesting.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from shopwindow.content import yaml
from shopwindow.content.own_schemas import ALLOWED_AT_KEYWORD, Own, parts, subschemas
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, Problem, cut, nearest

MAX_EVALUATIONS = 100_000
"""Subschemas that may look at one value and what it holds: 2 ms of jsonschema-rs's
time.
"""

Node = tuple[str, Pointer]
"""A subschema: the name of its file, and where it stands there."""


class References:
    """Where `$ref`s lead, and how many schemas look at one value because of them.

    ``own``: the own files by name; ``files``: these and the program's. ``base``: the
    URI below which names stand. ``places``: where schemas stand in each own file.
    """

    def __init__(
        self,
        own: Mapping[str, Own],
        files: Mapping[str, Json],
        base: str,
        places: Mapping[str, set[Pointer]],
    ) -> None:
        self._own, self._files, self._base, self._places = own, files, base, places

    def faults(self) -> Iterator[Problem]:
        wrong = [*self._dangling(), *self._lost()]
        yield from wrong
        if wrong:
            return
        order, rings = self._ordered()
        for name, pointer in rings:
            found = "the schema refers to itself for the same value, without end"
            yield self._own[name].problem(
                "schema.ref", pointer, found, "a $ref to another schema"
            )
        if rings:
            return
        seen = self._evaluations(order)
        over = [
            (count, node)
            for node, count in seen.items()
            if count > MAX_EVALUATIONS and node[0] in self._own
        ]
        if over:
            count, (name, pointer) = min(
                over, key=lambda entry: (entry[0], len(entry[1][1]), str(entry[1]))
            )
            found = "here schemas multiply: too many of them look at one value" + (
                f" ({count:,})" if count < 10**15 else ""
            )
            allowed = f"at most {MAX_EVALUATIONS:,}; each $ref once for a value, also in schemas that hold themselves"
            yield self._own[name].problem("schema.size", pointer, found, allowed)

    # -- where they lead ---------------------------------------------------------------

    def target(self, name: str, ref: str) -> Node | None:
        """Return the subschema that a `$ref` in a file names; None where there is none."""
        uri, fragment = urldefrag(urljoin(self._base + name, ref))
        file = uri.removeprefix(self._base)
        if file not in self._files or (fragment and not fragment.startswith("/")):
            return None
        schema = self._files[file]
        pointer: Pointer = ()
        for step in unquote(fragment).split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if (
                isinstance(schema, list)
                and step.isascii()
                and step.isdigit()
                and int(step) < len(schema)
            ):
                pointer, schema = (*pointer, int(step)), schema[int(step)]
            elif isinstance(schema, dict) and step in schema:
                pointer, schema = (*pointer, step), schema[step]
            else:
                return None
        if not isinstance(schema, dict) or (
            file in self._places and pointer not in self._places[file]
        ):
            return None
        return file, pointer

    def _dangling(self) -> Iterator[Problem]:
        """Yield own `$ref`s that lead nowhere, or to what is no schema."""
        for name, file in self._own.items():
            for pointer, schema in subschemas(file.schema, ()):
                if "$ref" in schema and self.target(name, schema["$ref"]) is None:
                    defined = [f"#/$defs/{key}" for key in file.schema.get("$defs", {})]
                    found = f"the $ref {cut(schema['$ref'])!r} leads nowhere"
                    close = nearest(schema["$ref"], defined[:1000])
                    yield file.problem(
                        "schema.ref",
                        (*pointer, "$ref"),
                        found,
                        ALLOWED_AT_KEYWORD["$ref"],
                        close,
                    )

    def _lost(self) -> Iterator[Problem]:
        """Yield what the program's schemas refer to in a file, and the own file in its
        place lacks.
        """
        for name, schema in self._files.items():
            if name in self._own:
                continue
            for _, part in subschemas(schema, ()):
                ref = part.get("$ref")
                if ref is not None and self.target(name, ref) is None:
                    file = self._own.get(urldefrag(urljoin(name, ref))[0])
                    if file is not None:
                        found = f"the schema {name} refers to {ref!r}, which is missing here"
                        yield file.problem(
                            "schema.ref",
                            (),
                            found,
                            "what the program's schema of that name has under $defs",
                        )

    # -- how many look at one value ----------------------------------------------------

    def _at(self, node: Node) -> dict[str, Any]:
        schema: Any = self._files[node[0]]
        for step in node[1]:
            schema = schema[step]
        return schema if isinstance(schema, dict) else {}

    def _ways(self, node: Node) -> list[tuple[Node, str | None]]:
        """Return the schemas that a schema leads to, each with its label (`parts`)."""
        name, pointer = node
        schema = self._at(node)
        ways = [
            ((name, (*pointer, *way)), label)
            for way, _, label in parts(schema)
            if label != ""
        ]
        if "$ref" in schema and (target := self.target(name, schema["$ref"])):
            ways.append((target, None))
        return ways

    def _ordered(self) -> tuple[list[Node], list[Node]]:
        """Return all schemas that own ones lead to, in order, and those that are in a
        ring.

        Each comes after the schemas that it leads to for the same value. One that leads
        back to itself for the same value is in a ring.
        """
        roots = [
            (name, pointer) for name in self._own for pointer in self._places[name]
        ]
        # Places are a set, whose order differs from process to process.
        roots.sort(key=lambda node: (len(node[1]), str(node)))
        order: list[Node] = []
        rings: list[Node] = []
        state: dict[Node, int] = {}  # 1: begun, 2: done
        later = [
            *roots
        ]  # schemas that look at parts of a value, to be begun by themselves
        while later:
            stack = [later.pop()]
            while stack:
                node = stack[-1]
                if node not in state:
                    state[node] = 1
                    for target, label in self._ways(node):
                        if label is not None:
                            later += [target] * (target not in state)
                        elif state.get(target) == 1:
                            rings.append(node)
                        elif target not in state:
                            stack.append(target)
                    continue
                stack.pop()
                if state[node] == 1:
                    state[node] = 2
                    order.append(node)
        return order, [node for node in rings if node[0] in self._own]

    def _evaluations(self, order: Iterable[Node]) -> dict[Node, int]:
        """Return, for each schema, how many schemas look at a value and at what it
        holds.

        Of the parts of a value, the one counts at which most of them look. That is
        added up level by level, to the deepest level that a document may have.
        """
        here: dict[Node, int] = {}
        below: dict[Node, dict[str, Counter[Node]]] = {}
        for node in order:
            count, parts = 1, dict[str, Counter[Node]]()
            for target, label in self._ways(node):
                if label is not None:
                    parts.setdefault(label, Counter())[target] += 1
                    continue
                count += here[target]
                for inner, targets in below[target].items():
                    parts.setdefault(inner, Counter()).update(targets)
            here[node], below[node] = count, parts
        total = dict(here)
        for _ in range(yaml.MAX_NESTING):
            deeper = {
                node: here[node] + _most(parts, total) for node, parts in below.items()
            }
            if deeper == total or any(
                count > MAX_EVALUATIONS for count in deeper.values()
            ):
                return deeper
            total = deeper
        return total


def _most(parts: Mapping[str, Counter[Node]], total: Mapping[Node, int]) -> int:
    """Return the largest number of schemas that look at one part of a value.

    Schemas for any name look at each name, beside those for this name alone.
    """
    counts = {
        label: sum(times * total[node] for node, times in targets.items())
        for label, targets in parts.items()
    }
    named = max(
        (count for label, count in counts.items() if label.startswith("properties/")),
        default=0,
    )
    of_items = sum(
        counts.get(label, 0) for label in ("items", "contains", "unevaluatedItems")
    )
    for_any = sum(
        count
        for label, count in counts.items()
        if label.startswith("patternProperties/")
        or label in ("additionalProperties", "unevaluatedProperties", "propertyNames")
    )
    return max(named + for_any, of_items)
