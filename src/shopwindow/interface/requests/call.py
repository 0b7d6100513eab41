"""Calls from parsed arguments, in the one order of canonical URLs and file names."""

from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.operation import Arguments, Call, Operation
from shopwindow.interface.formats import Format


def make(
    operation: Operation,
    format: Format,
    arguments: Arguments,
    application: str | None = None,
    body: Json = None,
    if_match: str | None = None,
) -> Call:
    """Return a Call of parsed arguments, which it brings into order; those at their
    default are left out.
    """
    defaults = operation.defaults
    not_default = [
        (name, value)
        for name in operation.ordered(arguments)
        if (value := arguments[name]) != defaults.get(name)
    ]
    asking = application if operation.by_application else None
    # If-Match concerns only operations whose responses have an ETag
    guard = if_match if operation.tagged else None
    return Call(operation, format, tuple(not_default), asking, body, guard)
