"""What libyaml says of a text that is no YAML, in an editor's words and at the place where the editor must look."""

from typing import Any

from vitrine.problems import Place

# What may begin no text without quotes: alias, anchor, tag, block, directive.
_SIGNS = frozenset("*&!|>%@`")

_INDENTED = "blanks for indentation"
_IN_QUOTES = "such text in quotes"

# libyaml's problem → what was found, what is allowed. {char} stands at the place.
_HERE = {
    "mapping values are not allowed in this context": (
        "a colon and a blank stand within a text",
        "one `key: value` a line, indented like its neighbours; text that holds a colon and a blank in quotes",
    ),
    "mapping keys are not allowed in this context": ("a text that begins with ?", _IN_QUOTES),
    "block sequence entries are not allowed in this context": (
        "a list entry stands where no list can be",
        "the first `- ` on a line of its own below its key; text that begins with a hyphen and a blank in quotes",
    ),
    "found unexpected ':'": (
        "a colon without a blank, within brackets or braces",
        "`key: value`; text that holds a colon in quotes",
    ),
    "did not find expected node content": ("a value is missing before {char}", "a value; text with {char} in quotes"),
    "found a tab character that violates indentation": ("a tab in the indentation", _INDENTED),
    "found a tab character where an indentation space is expected": ("a tab in the indentation", _INDENTED),
    "found unknown escape character": (
        "a backslash in double quotes before a character that needs none",
        "two backslashes for one; or single quotes, in which a backslash is only itself",
    ),
    "did not find expected hexdecimal number": (
        "an escape without its hexadecimal digits",
        "\\x and two digits, \\u and four, \\U and eight; two backslashes for one",
    ),
    "found invalid Unicode character escape code": (
        "an escape that is no character (a lone surrogate)",
        "the character itself, or \\U and its eight digits",
    ),
}

# The same where what is told began earlier, and is to be looked at there.
_WHERE_IT_BEGAN = {
    "could not find expected ':'": ("a key without a colon", "`key: value`"),
    "found unexpected end of stream": ("quoted text is not closed", "a closing quote like the opening one"),
    "found unexpected document indicator": ("quoted text is not closed", "a closing quote like the opening one"),
}

# What follows on the same line as something whole, and what begins a line that fits nowhere.
_FOLLOWS = (
    "something follows the end of the value",
    "nothing after a closing quote or bracket; a quote within single quotes twice: 'it''s'",
)
_MISFITS = {
    "did not find expected key": (
        "this line does not fit into the block around it",
        "the same indentation for all keys of a block",
    ),
    "did not find expected '-' indicator": (
        "this line does not fit into the list around it",
        "each entry of a list begins with `- ` at the same indentation",
    ),
    "did not find expected <document start>": (
        "this line does not belong to the document above it",
        "one document a file, its keys at the same indentation",
    ),
}
_UNCLOSED = {
    "did not find expected ',' or ']'": ("a list in brackets", "`[a, b]`"),
    "did not find expected ',' or '}'": ("an object in braces", "`{a: 1, b: 2}`"),
}


def explain(error: Any, text: str) -> tuple[str, str, Place]:
    """What was found, what is allowed, and where, for an error of libyaml's scanner or parser."""
    said, here = str(error.problem), error.problem_mark
    began = error.context_mark or here
    char, first = _at(text, here), _at(text, began)
    if said in _UNCLOSED:
        return _unclosed(said, here, began)
    if said in _MISFITS:
        return *(_MISFITS[said] if _begins_line(text, here) else _FOLLOWS), _place(here)
    if said in _WHERE_IT_BEGAN:
        return *_WHERE_IT_BEGAN[said], _place(began)
    if said in _HERE:
        found, allowed = _HERE[said]
        shown = repr(char) if char.strip() else "the end of the line"
        return found.format(char=shown), allowed.format(char=shown), _place(here)
    if said == "found character that cannot start any token" and char == "\t":
        return "a tab in the indentation", _INDENTED, _place(here)
    for sign, mark in ((first, began), (char, here)):
        if sign in _SIGNS:
            block = "the text of a block on the lines below; " * (sign in "|>")
            return f"a text that begins with {sign}", block + _IN_QUOTES, _place(mark)
    return f"YAML: {said}", "well-formed YAML", _place(here)


def _unclosed(said: str, here: Any, began: Any) -> tuple[str, str, Place]:
    what, allowed = _UNCLOSED[said]
    if here.line == began.line:
        return f"{what} goes on without a comma, or is not closed", allowed, _place(here)
    return f"{what} is not closed", allowed, _place(began)


def _at(text: str, mark: Any) -> str:
    return text[mark.index : mark.index + 1]


def _begins_line(text: str, mark: Any) -> bool:
    before = text[max(0, mark.index - mark.column) : mark.index]
    return not before.strip(" -?")


def _place(mark: Any) -> Place:
    return Place(mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
