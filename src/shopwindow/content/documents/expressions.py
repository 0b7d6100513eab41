"""Evaluates Jinja2 expressions in text values, such as `"{{ base_url }}/logo.png"`.

The names in them are those of site.yaml. Editors write expressions, and editors of a
content repository are many, so an expression is not trusted: only a few kinds of
Jinja2's nodes are admitted, none of which loops or reads an attribute, and every size
has a limit. Most expressions are a name alone; these are looked up without Jinja2,
whose import takes 12 ms.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json, walked
from shopwindow.did_you_mean import nearest
from shopwindow.problems import Pointer, cut

if TYPE_CHECKING:
    from jinja2.nodes import Node
    from jinja2.sandbox import SandboxedEnvironment

EXPRESSION_START = "{{"
JINJA_FILTERS = (
    "capitalize",
    "default",
    "lower",
    "title",
    "trim",
    "upper",
    "urlencode",
)
RESERVED_WORDS = ("false", "none", "not", "self", "true")
"""Words that Jinja2 does not read as names."""

_PLAIN_REFERENCE = re.compile(
    "(?!(?:and|else|if|in|is|or|" + "|".join(RESERVED_WORDS) + r")\b)[a-z][a-z0-9_]*"
)
"""A name that means the same without Jinja2 as with it."""

MAX_EXPRESSION = 4_096
"""Characters of one expression. Two lines of text have some 200; to parse a literal of
10 MB took 1.4 GB of memory.
"""

MAX_IN_TEXT = 1_000
"""Expressions in one text. A page that names an address in every line has some
hundreds.
"""

MAX_COMPILED = 500
"""Different expressions of one file that are more than a name: Jinja2 takes 1.2 ms for
each.
"""

MAX_RESULT = 65_536
"""Characters of one expression's result: a long text of site.yaml can be repeated in
it.
"""

MAX_RENDERED = 32 * 1024 * 1024
"""Characters of all evaluated texts of one file. Aliases repeat a text, and each
repetition would be evaluated.
"""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")

_EXPRESSION_PARTS = "names, filters and text"

Names = Mapping[str, str | None]
"""The names of site.yaml and their texts; None where the text is at fault there."""

# What may stand between the braces: quoted text, or anything but two closing braces.
_EXPRESSION = re.compile(
    r"""\{\{((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|(?!\}\})[^'"])*)\}\}""", re.DOTALL
)


_IDENTIFIER = re.compile("[a-zA-Z_][a-zA-Z0-9_]*")
_NO_WORD = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\|\s*[a-z]+""", re.DOTALL)
"""What looks like a name and is none: quoted text, and filters."""


@dataclass(eq=False)
class Unreadable(Exception):
    """An expression that cannot be evaluated.

    ``found`` and ``allowed``: in an editor's words. ``name``: the name that is not
    defined, where that is the fault; ``nearest``: a defined name like it. ``more``:
    other faults of the same text.
    """

    found: str
    allowed: str
    nearest: str = ""
    name: str = ""
    more: "tuple[Unreadable, ...]" = ()


def render(
    value: Json,
    names: Names,
    report: Callable[[Finding], None],
    pointer: Pointer = (),
) -> Json:
    """Return a value, which stands at ``pointer``, with the expressions of its texts
    evaluated.

    A text at fault stays as it is, and ``report`` is called with the fault. It follows,
    where the text uses a name whose own value is at fault in site.yaml: that problem is
    reported there.
    """
    sound_names = {name: text for name, text in names.items() if text is not None}
    rendered = 0
    compiled: set[str] = set()

    def walk(part: Json, pointer: Pointer) -> Json:
        if isinstance(part, str):
            if EXPRESSION_START not in part:
                return part
            nonlocal rendered
            try:
                text = evaluate(part, sound_names, compiled)
                rendered += len(text)
                if rendered > MAX_RENDERED:
                    raise Unreadable(
                        "the expressions of the file make too much text",
                        f"at most {MAX_RENDERED:,} characters",
                    )
            except Unreadable as first:
                for fault in (first, *first.more):
                    report(
                        Finding(
                            "expression",
                            pointer,
                            fault.found,
                            fault.allowed,
                            nearest=fault.nearest,
                            absent=("name", "", fault.name) if fault.name else None,
                            follows=fault.name in names,
                        )
                    )
                return part
            return text
        if isinstance(part, dict):
            return {key: walk(item, (*pointer, key)) for key, item in part.items()}
        if isinstance(part, list):
            return [walk(item, (*pointer, index)) for index, item in enumerate(part)]
        return part

    return walk(value, pointer)


def any_in(value: Json) -> bool:
    """Return whether a text within a value holds an expression."""
    return any(begins_in(part) for _, part in walked(value))


def begins_in(value: Json) -> bool:
    """Return whether a value is a text that holds an expression."""
    return isinstance(value, str) and EXPRESSION_START in value


def evaluate(
    text: str, names: Mapping[str, str], compiled: set[str] | None = None
) -> str:
    """Return a text with its expressions evaluated, and the rest as it is.

    ``compiled``: the expressions of the same file that Jinja2 has compiled; those of
    this text are added. Raises Unreadable, with every fault of the text.
    """
    compiled = set() if compiled is None else compiled
    pieces: list[str] = []
    faults: dict[str, Unreadable] = {}
    end = 0
    try:
        for match in _expressions(text):
            try:
                result = _result(match.group(1).strip(), names, compiled)
                pieces += (text[end : match.start()], result)
            except Unreadable as fault:
                faults.setdefault(fault.found, fault)
            end = match.end()
    except Unreadable as fault:  # no expression can be recognized behind it
        faults.setdefault(fault.found, fault)
    if faults:
        first, *more = faults.values()
        first.more = tuple(more)
        raise first
    return "".join(pieces) + text[end:]


def names_in(text: str) -> set[str]:
    """Return the names that the expressions of a text use."""
    names: set[str] = set()
    try:
        for match in _expressions(text):
            names |= set(_IDENTIFIER.findall(_NO_WORD.sub(" ", match.group(1))))
    except Unreadable:  # what stands behind it is no expression
        pass
    return names


def _expressions(text: str) -> Iterator[re.Match[str]]:
    """Yield the expressions of a text. Raises Unreadable where one does not end."""
    position = count = 0
    while (position := text.find(EXPRESSION_START, position)) >= 0:
        count += 1
        if count > MAX_IN_TEXT:
            raise Unreadable(
                "a text with too many expressions",
                f"at most {MAX_IN_TEXT:,} in one text",
            )
        end = position + MAX_EXPRESSION + 2 * len(EXPRESSION_START)
        match = _EXPRESSION.match(text, position, end)
        if match is None and end < len(text):
            begun = f"an expression that begins with '{text[position : position + 60]}…' does not end soon"
            raise Unreadable(
                begun, f"'}}}}' after at most {MAX_EXPRESSION:,} characters"
            )
        if match is None:
            raise Unreadable(
                "'{{' without its '}}'",
                "`{{ name }}`; two braces as text: `{{ '{{' }}`",
            )
        yield match
        position = match.end()


def _result(expression: str, names: Mapping[str, str], compiled: set[str]) -> str:
    """Return the text that an expression results in. Raises Unreadable."""
    if not expression:
        raise Unreadable("an empty expression", "`{{ name }}`")
    if expression in names and _PLAIN_REFERENCE.fullmatch(expression):
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
        result = _compiled(expression)(names)  # by position, since a name may be `self`
        text = str(result) if isinstance(result, (str, int, float, Undefined)) else None
    except Unreadable:
        raise
    except TemplateError as error:
        raise _explained(error, expression, names) from None
    except Exception:  # whatever it is, the expression raised it
        raise Unreadable(
            f"{_shown(expression)} cannot be worked out", _EXPRESSION_PARTS
        ) from None
    if text is None:
        raise Unreadable(f"{_shown(expression)} is not text", _EXPRESSION_PARTS)
    return _limited(text, expression)


def _limited(text: str, expression: str) -> str:
    """Return the result of an expression. Raises Unreadable where no document may hold
    it.
    """
    if _HALF_CHARACTER.search(text):
        raise Unreadable(
            f"{_shown(expression)} makes a lone surrogate", "whole characters"
        )
    if len(text) > MAX_RESULT:
        raise Unreadable(
            f"{_shown(expression)} makes {len(text):,} characters",
            f"at most {MAX_RESULT:,}",
        )
    return text


def _shown(expression: str) -> str:
    return f"the expression '{expression[:80]}{'…' * (len(expression) > 80)}'"


def _explained(
    error: Exception, expression: str, names: Mapping[str, str]
) -> Unreadable:
    """Return what Jinja2 refused, in an editor's words."""
    from jinja2 import UndefinedError

    undefined = re.match(r"'([^']*)' is undefined", str(error))
    if isinstance(error, UndefinedError) and undefined:
        name, defined = undefined[1], ", ".join(sorted(names)) or "none"
        return Unreadable(
            f"the name '{cut(name)}' is not defined",
            f"the names of site.yaml: {defined}",
            nearest(name, names),
            name,
        )
    return Unreadable(
        f"{_shown(expression)} cannot be read",
        "`{{ name }}`, `{{ name | upper }}`, `{{ name ~ 'text' }}`",
    )


_ADMITTED = (
    "Name",
    "Const",
    "Concat",
    "Add",
    "Filter",
    "CondExpr",
    "Compare",
    "Operand",
    "And",
    "Or",
    "Not",
    "Output",
    "Keyword",
)
"""Jinja2's kinds of nodes that an expression may consist of."""


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
    """Return the expression as a function of the names.

    Raises Unreadable for every kind of node that is not admitted: loops, calls other
    than the filters, and attributes, so that no result grows without bound.
    """
    from jinja2 import nodes

    environment = _environment()

    def refuse(node: "Node") -> None:
        for child in node.iter_child_nodes():
            if isinstance(child, nodes.Filter) and child.name not in JINJA_FILTERS:
                allowed = "the filters " + ", ".join(JINJA_FILTERS)
                raise Unreadable(
                    f"the filter '{cut(child.name)}' is not known",
                    allowed,
                    nearest(child.name, JINJA_FILTERS),
                )
            if type(child).__name__ not in _ADMITTED or (
                isinstance(child, nodes.Name) and child.name in RESERVED_WORDS
            ):
                raise Unreadable(
                    f"{_shown(expression)} is more than is read here", _EXPRESSION_PARTS
                )
            refuse(child)

    refuse(environment.parse("{{ " + expression + "\n}}"))
    return environment.compile_expression(expression, undefined_to_none=False)
