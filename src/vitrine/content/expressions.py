"""Jinja2 expressions in text values: `"{{ base_url }}/logo.png"`, over the names of site.yaml, sandboxed."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from vitrine.content.yaml import Json
from vitrine.problems import Pointer, cut, nearest

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.sandbox import SandboxedEnvironment

OPENING = "{{"
FILTERS = ("capitalize", "default", "lower", "title", "trim", "upper", "urlencode")
WORDS = ("false", "none", "not", "self", "true")
"""What Jinja2 reads as something else than a name."""

_NAME = re.compile("(?!(?:and|else|if|in|is|or|" + "|".join(WORDS) + r")\b)[a-z][a-z0-9_]*")
"""A name of which nobody has to ask Jinja2, whose import takes 12 ms, what it means."""

MAX_RESULT = 65_536
_SURROGATE = re.compile("[\ud800-\udfff]")
MAX_MADE = 32 * 1024 * 1024

_ALLOWED = "names, filters and text"

Names = Mapping[str, str | None]
"""The names of site.yaml and their texts; None where the text is at fault there."""

# What may stand between the braces: quoted text, or anything but two closing braces.
_EXPRESSION = re.compile(r"""\{\{((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?!\}\})[^'"])*)\}\}""", re.DOTALL)


@dataclass(eq=False)
class Unreadable(Exception):
    """An expression that has no text: what was found, what is allowed, the nearest known name.

    ``name`` is the name that is not defined, where that is the fault. ``more``: what else is wrong with the same text.
    """

    found: str
    allowed: str
    nearest: str = ""
    name: str = ""
    more: "tuple[Unreadable, ...]" = ()


@dataclass(frozen=True, slots=True)
class Unrendered:
    """A text of a document whose expressions could not be evaluated.

    ``told``: it uses a name whose own value is at fault in site.yaml; nothing more is to be said of it.
    """

    pointer: Pointer
    fault: Unreadable
    told: bool = False


def render(value: Json, names: Names, report: Callable[[Unrendered], None]) -> Json:
    """``value`` with the expressions of its text values evaluated; faults go to ``report``, their text stays."""
    known = {name: text for name, text in names.items() if text is not None}
    made = 0

    def walk(part: Json, pointer: Pointer) -> Json:
        if isinstance(part, str):
            if OPENING not in part:
                return part
            nonlocal made
            try:
                text = evaluate(part, known)
                made += len(text)
                if made > MAX_MADE:
                    raise Unreadable(
                        "the expressions of the file make too much text", f"at most {MAX_MADE:,} characters"
                    )
            except Unreadable as fault:
                for each in (fault, *fault.more):
                    report(Unrendered(pointer, each, each.name in names))
                return part
            return text
        if isinstance(part, dict):
            return {key: walk(item, (*pointer, key)) for key, item in part.items()}
        if isinstance(part, list):
            return [walk(item, (*pointer, index)) for index, item in enumerate(part)]
        return part

    return walk(value, ())


def any_in(value: Json) -> bool:
    """Whether a text value holds an expression."""
    if isinstance(value, str):
        return OPENING in value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(map(any_in, parts))


def evaluate(text: str, names: Mapping[str, str]) -> str:
    """One text with its expressions evaluated; the rest verbatim. Raises Unreadable."""
    pieces: list[str] = []
    faults: dict[str, Unreadable] = {}
    end = 0
    try:
        for match in _expressions(text):
            try:
                pieces += text[end : match.start()], _result(match.group(1).strip(), names)
            except Unreadable as fault:
                faults.setdefault(fault.found, fault)
            end = match.end()
    except Unreadable as fault:  # beyond which nothing can be read
        faults.setdefault(fault.found, fault)
    if faults:
        first, *more = faults.values()
        first.more = tuple(more)
        raise first
    return "".join(pieces) + text[end:]


def _expressions(text: str) -> Iterator[re.Match[str]]:
    position = 0
    while (position := text.find(OPENING, position)) >= 0:
        match = _EXPRESSION.match(text, position)
        if match is None:
            raise Unreadable("'{{' without its '}}'", "`{{ name }}`; two braces as text: `{{ '{{' }}`")
        yield match
        position = match.end()


def _result(expression: str, names: Mapping[str, str]) -> str:
    if not expression:
        raise Unreadable("an empty expression", "`{{ name }}`")
    if expression in names and _NAME.fullmatch(expression):
        return _limited(names[expression], expression)
    from jinja2 import TemplateError, Undefined

    try:
        result = _compiled(expression)(names)  # by position: a name may be `self`
        text = str(result) if isinstance(result, (str, int, float, Undefined)) else None
    except Unreadable:
        raise
    except TemplateError as error:
        raise _explained(error, expression, names) from None
    except Exception:  # whatever an expression can raise is the expression's fault
        raise Unreadable(f"{_shown(expression)} cannot be worked out", _ALLOWED) from None
    if text is None:
        raise Unreadable(f"{_shown(expression)} is not text", _ALLOWED)
    return _limited(text, expression)


def _limited(text: str, expression: str) -> str:
    """What an expression makes, where that is text which a document may hold. Raises Unreadable."""
    if _SURROGATE.search(text):
        raise Unreadable(f"{_shown(expression)} makes a lone surrogate", "whole characters")
    if len(text) > MAX_RESULT:
        raise Unreadable(f"{_shown(expression)} makes {len(text):,} characters", f"at most {MAX_RESULT:,}")
    return text


def _shown(expression: str) -> str:
    return f"the expression '{expression[:80]}{'…' * (len(expression) > 80)}'"


def _explained(error: Exception, expression: str, names: Mapping[str, str]) -> Unreadable:
    from jinja2 import UndefinedError

    message = str(error)
    if isinstance(error, UndefinedError) and (match := re.match(r"'([^']*)' is undefined", message)):
        known = ", ".join(sorted(names)) or "none"
        return Unreadable(
            f"the name '{cut(match[1])}' is not defined",
            f"the names of site.yaml: {known}",
            nearest(match[1], names),
            match[1],
        )
    return Unreadable(
        f"{_shown(expression)} cannot be read", "`{{ name }}`, `{{ name | upper }}`, `{{ name ~ 'text' }}`"
    )


@cache
def _environment() -> "SandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.filters = {name: environment.filters[name] for name in FILTERS}
    environment.tests = {}
    environment.globals = {}
    return environment


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Callable[..., Any]:
    """The expression as a function of the names. Only what cannot grow without bound is let through."""
    from jinja2 import nodes

    environment = _environment()
    admitted: tuple[type[nodes.Node], ...] = (nodes.Name, nodes.Const, nodes.Concat, nodes.Add, nodes.Filter)
    admitted += (nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not)
    admitted += (nodes.Output, nodes.Keyword)

    def refuse(node: "Node") -> None:
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Filter) and child.name not in FILTERS:
                allowed = "the filters " + ", ".join(FILTERS)
                raise Unreadable(f"the filter '{cut(child.name)}' is not known", allowed, nearest(child.name, FILTERS))
            if not isinstance(child, admitted) or (isinstance(child, nodes.Name) and child.name in WORDS):
                raise Unreadable(f"{_shown(expression)} is more than is read here", _ALLOWED)
            refuse(child)

    refuse(environment.parse("{{ " + expression + "\n}}"))
    return environment.compile_expression(expression, undefined_to_none=False)
