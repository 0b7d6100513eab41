"""Jinja2 expressions in text values: `"{{ base_url }}/logo.png"`, over the names of site.yaml,
sandboxed.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, cut, nearest

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.sandbox import SandboxedEnvironment

EXPRESSION_START = "{{"
JINJA_FILTERS = ("capitalize", "default", "lower", "title", "trim", "upper", "urlencode")
RESERVED_WORDS = ("false", "none", "not", "self", "true")
"""What Jinja2 reads as something else than a name."""

_PLAIN_NAME = re.compile(
    "(?!(?:and|else|if|in|is|or|" + "|".join(RESERVED_WORDS) + r")\b)[a-z][a-z0-9_]*"
)
"""A name of which nobody has to ask Jinja2, whose import takes 12 ms, what it means."""

MAX_EXPRESSION = 4_096
"""Characters between two braces. A literal of 10 MB took 1.4 GB to look at; two lines of text
take some 200.
"""

MAX_IN_TEXT = 1_000
"""Expressions in one text. A page that names an address in every line has some hundreds."""

MAX_COMPILED = 500
"""Different expressions in one file that are more than a name: Jinja2 takes 1.2 ms for each."""

MAX_RESULT = 65_536
_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
MAX_MADE = 32 * 1024 * 1024

_EXPRESSION_PARTS = "names, filters and text"

Names = Mapping[str, str | None]
"""The names of site.yaml and their texts; None where the text is at fault there."""

# What may stand between the braces: quoted text, or anything but two closing braces.
_EXPRESSION = re.compile(
    r"""\{\{((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?!\}\})[^'"])*)\}\}""", re.DOTALL
)


@dataclass(eq=False)
class Unreadable(Exception):
    """An expression that has no text: what was found, what is allowed, the nearest known name.

    ``name`` is the name that is not defined, where that is the fault. ``more``: what else is
    wrong with the same text.
    """

    found: str
    allowed: str
    nearest: str = ""
    name: str = ""
    more: "tuple[Unreadable, ...]" = ()


@dataclass(frozen=True, slots=True)
class Unrendered:
    """A text of a document whose expressions could not be evaluated.

    ``told``: it uses a name whose own value is at fault in site.yaml; nothing more is to be
    said of it.
    """

    pointer: Pointer
    fault: Unreadable
    told: bool = False


def render(value: Json, names: Names, report: Callable[[Unrendered], None]) -> Json:
    """``value`` with the expressions of its text values evaluated; faults go to ``report``,
    their text stays.
    """
    known = {name: text for name, text in names.items() if text is not None}
    made = 0
    compiled: set[str] = set()

    def walk(part: Json, pointer: Pointer) -> Json:
        if isinstance(part, str):
            if EXPRESSION_START not in part:
                return part
            nonlocal made
            try:
                text = evaluate(part, known, compiled)
                made += len(text)
                if made > MAX_MADE:
                    raise Unreadable(
                        "the expressions of the file make too much text",
                        f"at most {MAX_MADE:,} characters",
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
        return EXPRESSION_START in value
    parts = (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    )
    return any(map(any_in, parts))


def evaluate(text: str, names: Mapping[str, str], compiled: set[str] | None = None) -> str:
    """One text with its expressions evaluated; the rest verbatim. Raises Unreadable.

    ``compiled``: those of the same file that Jinja2 has read; this text's are added.
    """
    compiled = set() if compiled is None else compiled
    pieces: list[str] = []
    faults: dict[str, Unreadable] = {}
    end = 0
    try:
        for match in _expressions(text):
            try:
                pieces += (
                    text[end : match.start()],
                    _result(match.group(1).strip(), names, compiled),
                )
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
    position = count = 0
    while (position := text.find(EXPRESSION_START, position)) >= 0:
        count += 1
        if count > MAX_IN_TEXT:
            raise Unreadable(
                "a text with too many expressions", f"at most {MAX_IN_TEXT:,} in one text"
            )
        end = position + MAX_EXPRESSION + 2 * len(EXPRESSION_START)
        match = _EXPRESSION.match(text, position, end)
        if match is None and end < len(text):
            begun = f"an expression that begins with '{text[position : position + 60]}…' does not end soon"
            raise Unreadable(begun, f"'}}}}' after at most {MAX_EXPRESSION:,} characters")
        if match is None:
            raise Unreadable(
                "'{{' without its '}}'", "`{{ name }}`; two braces as text: `{{ '{{' }}`"
            )
        yield match
        position = match.end()


def _result(expression: str, names: Mapping[str, str], compiled: set[str]) -> str:
    if not expression:
        raise Unreadable("an empty expression", "`{{ name }}`")
    if expression in names and _PLAIN_NAME.fullmatch(expression):
        return _limited(names[expression], expression)
    compiled.add(expression)
    if len(compiled) > MAX_COMPILED:
        found = "the file has too many different expressions"
        raise Unreadable(
            found,
            f"at most {MAX_COMPILED:,} that are more than a name; the text itself elsewhere",
        )
    from jinja2 import TemplateError, Undefined

    try:
        result = _compiled(expression)(names)  # by position: a name may be `self`
        text = str(result) if isinstance(result, (str, int, float, Undefined)) else None
    except Unreadable:
        raise
    except TemplateError as error:
        raise _explained(error, expression, names) from None
    except Exception:  # whatever an expression can raise is the expression's fault
        raise Unreadable(
            f"{_shown(expression)} cannot be worked out", _EXPRESSION_PARTS
        ) from None
    if text is None:
        raise Unreadable(f"{_shown(expression)} is not text", _EXPRESSION_PARTS)
    return _limited(text, expression)


def _limited(text: str, expression: str) -> str:
    """What an expression makes, where that is text which a document may hold. Raises
    Unreadable.
    """
    if _HALF_CHARACTER.search(text):
        raise Unreadable(f"{_shown(expression)} makes a lone surrogate", "whole characters")
    if len(text) > MAX_RESULT:
        raise Unreadable(
            f"{_shown(expression)} makes {len(text):,} characters", f"at most {MAX_RESULT:,}"
        )
    return text


def _shown(expression: str) -> str:
    return f"the expression '{expression[:80]}{'…' * (len(expression) > 80)}'"


def _explained(error: Exception, expression: str, names: Mapping[str, str]) -> Unreadable:
    from jinja2 import UndefinedError

    message = str(error)
    if isinstance(error, UndefinedError) and (
        match := re.match(r"'([^']*)' is undefined", message)
    ):
        known = ", ".join(sorted(names)) or "none"
        return Unreadable(
            f"the name '{cut(match[1])}' is not defined",
            f"the names of site.yaml: {known}",
            nearest(match[1], names),
            match[1],
        )
    return Unreadable(
        f"{_shown(expression)} cannot be read",
        "`{{ name }}`, `{{ name | upper }}`, `{{ name ~ 'text' }}`",
    )


@cache
def _environment() -> "SandboxedEnvironment":
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, autoescape=False)
    environment.filters = {name: environment.filters[name] for name in JINJA_FILTERS}
    environment.tests = {}
    environment.globals = {}
    return environment


@lru_cache(maxsize=4096)
def _compiled(expression: str) -> Callable[..., Any]:
    """The expression as a function of the names. Only what cannot grow without bound is let
    through.
    """
    from jinja2 import nodes

    environment = _environment()
    admitted: tuple[type[nodes.Node], ...] = (
        nodes.Name,
        nodes.Const,
        nodes.Concat,
        nodes.Add,
        nodes.Filter,
    )
    admitted += (nodes.CondExpr, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not)
    admitted += (nodes.Output, nodes.Keyword)

    def refuse(node: "Node") -> None:
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Filter) and child.name not in JINJA_FILTERS:
                allowed = "the filters " + ", ".join(JINJA_FILTERS)
                raise Unreadable(
                    f"the filter '{cut(child.name)}' is not known",
                    allowed,
                    nearest(child.name, JINJA_FILTERS),
                )
            if not isinstance(child, admitted) or (
                isinstance(child, nodes.Name) and child.name in RESERVED_WORDS
            ):
                raise Unreadable(
                    f"{_shown(expression)} is more than is read here", _EXPRESSION_PARTS
                )
            refuse(child)

    refuse(environment.parse("{{ " + expression + "\n}}"))
    return environment.compile_expression(expression, undefined_to_none=False)
