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
    ordered = {name: arguments[name] for name in operation.ordered(arguments)}
    return of_ordered(operation, format, ordered, application, body, if_match)


def of_ordered(
    operation: Operation,
    format: Format,
    arguments: Arguments,
    application: str | None,
    body: Json,
    if_match: str | None,
) -> Call:
    """Return a Call of arguments that are in declared order; those at their default are
    left out.
    """
    defaults = operation.defaults
    not_default = tuple(
        [
            (name, value)
            for name, value in arguments.items()
            if value != defaults.get(name)
        ]
    )
    asking = application if operation.by_application else None
    guard = (
        if_match if operation.tagged else None
    )  # If-Match concerns only operations whose responses have an ETag
    return Call(operation, format, not_default, asking, body, guard)
