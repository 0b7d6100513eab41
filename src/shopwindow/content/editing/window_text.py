"""Writes the end of a publish window into the text of a YAML file, and nothing else.

How this works: the end is one edit of the text, so that comments and layout stay
(`text`). Then the new text is read again, and its value must be the old one with
that end. YAML that is written in a way not foreseen here is thus refused, and never
changed by mistake.
"""

from shopwindow.content.editing.fixing import fixed
from shopwindow.content.reading.text import Edit, Fix, YamlText, ending
from shopwindow.content.reading.yaml import at
from shopwindow.problems import Pointer

STEP = "  "
"""Of `until` below `publish`, as the sample's files have it."""


class Unwritable(Exception):
    """The text is written in a way that is edited by hand only."""


def with_end(text: str, document: Pointer, until: str) -> str:
    """Return the text of a YAML file in which a document ends at ``until``.

    Args:
        text: of the file, without a byte order mark.
        document: where the document stands in it: its number, or nothing.
        until: what `publish.until` is to be: a day or a time that needs no quotes.

    Raises:
        Unwritable: an alias stands there, or the outcome would not be what is meant.
        Malformed: the text cannot be read.
    """
    file = YamlText(text)
    value = at(file.value, document)
    edit = _ended(file, document, until)
    publish = {**value.get("publish", {}), "until": until}
    edited = fixed(file, [Fix("", (edit,), document, {**value, "publish": publish})])
    if edited is None:
        raise Unwritable("the document is written in an unusual way")
    return edited


def _ended(file: YamlText, document: Pointer, until: str) -> Edit:
    """Return the edit after which a document ends at ``until``."""
    spots, publish = file.spots, (*document, "publish")
    if (*publish, "until") in spots:
        return Edit(spots[*publish, "until"].value, until)
    if publish not in spots:
        return _added(file, document, until)
    if file.sign(publish) in "*&":
        raise Unwritable("its publish window is shared by an alias")
    begins = (*publish, "from")
    if begins not in spots:
        raise Unwritable("its publish window has no `from`, and no `until`")
    if file.sign(publish) == "{":
        return Edit(ending(spots[begins].value), f", until: {until}")
    line = f"{_indent(file, begins)}until: {until}"
    return file.lines_after(spots[begins].value.line, line)


def _added(file: YamlText, document: Pointer, until: str) -> Edit:
    """Return the edit that adds a window at the end of a document without one."""
    last = file.last_leaf(document)
    if file.sign(document) == "{":
        window = f", publish: {{until: {until}}}"
        return Edit(ending(file.spots[last].value), window)
    indent = _indent(file, (*document, next(iter(at(file.value, document)))))
    lines = (f"{indent}publish:", f"{indent}{STEP}until: {until}")
    return file.lines_after(file.last_line(last), *lines)


def _indent(file: YamlText, pointer: Pointer) -> str:
    """Return the spaces that a line begins with beside the key of a value."""
    key = file.spots[pointer].key
    if key is None:
        raise Unwritable("its keys stand by alias")
    return " " * (key.column - 1)
