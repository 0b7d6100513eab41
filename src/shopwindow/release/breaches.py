"""What breaks a contract in the answers to its requests.

The requests take the way that they take in the service: they are bound to Calls, and
their views answer. A value breaks a contract where it is gone, of another type, or none
of those that the application knows; and so does an answer that is no success. What the
contract does not name may change as it likes.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson

from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import shown
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.answer import ERROR_CODES, selected, value_of
from shopwindow.interface.answer_paths import Every, Reached, text_of, walk
from shopwindow.interface.bind import bind
from shopwindow.interface.contracts import ReadField, ReadRequest, as_request
from shopwindow.interface.interface import Interface
from shopwindow.problems import Pointer, Refusal, nearest

TYPES_IN_WORDS = {
    "text": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "list": "a list",
}
"""The types of fields, as messages have them."""

VALUE_GONE = "contract.gone"
"""The rule of a value that an application needs and an answer lacks."""


class Asked(NamedTuple):
    """A request of a contract."""

    contract: Document
    request: ReadRequest


class Breach(NamedTuple):
    """What breaks a contract.

    ``pointer``: the place in the answer; None: there is no answer. ``what``: the end of
    the sentence that begins with the applications.
    """

    asked: Asked
    rule: str
    what: str
    allowed: str
    pointer: Pointer | None = None
    nearest: str = ""
    field: ReadField | None = None

    @property
    def place(self) -> Pointer:
        """The place in the contract."""
        return self.field.pointer if self.field else self.asked.request.pointer


def answer_of(
    interface: Interface, request: ReadRequest, application: str, content: Content
) -> Json:
    """Return the JSON answer to a request of a contract. Raises Refusal."""
    call = bind(as_request(request.text), application, interface, content=content)
    return selected(call, value_of(call, content))


def breaches(interface: Interface, asked: Asked, content: Content) -> Iterator[Breach]:
    """Yield what of one answer breaks a contract."""
    application, request = asked.contract.value["app"], asked.request
    try:
        answer = answer_of(interface, request, application, content)
    except Refusal as refusal:
        code = ERROR_CODES[refusal.code]
        faults = "; ".join(map(str, refusal.faults)) or code.message
        what = f"{request.text} is refused with {code.status}: {faults}"
        allowed = "an answer; without the request, if the app sends it no more"
        yield Breach(asked, "contract.refused", what, allowed)
        return
    yield from breaches_in(answer, asked)


def breaches_in(answer: Json, asked: Asked) -> Iterator[Breach]:
    """Yield every value of an answer that breaks the contract which asked for it."""
    fields = asked.request.fields
    without = _may_be_without(fields)
    for field in fields:
        for reached in walk(answer, field.steps):
            breach = _of_value(asked, field, reached, without)
            if breach is not None:
                yield breach


def _may_be_without(fields: Iterable[ReadField]) -> frozenset[tuple[Any, ...]]:
    """Return the paths at which an application needs no value, or no object.

    What is below such a path is needed only where there is something.
    """
    return frozenset(
        field.steps for field in fields if not field.required or field.nullable
    )


def _of_value(
    asked: Asked,
    field: ReadField,
    reached: Reached,
    without: frozenset[tuple[Any, ...]],
) -> Breach | None:
    """Return how a value breaks a contract, or None."""
    value, left = reached.value, reached.left
    walked = field.steps[: len(field.steps) - len(left)]

    def breach(rule: str, what: str, allowed: str, near: str = "") -> Breach:
        # Put into words here: of a hundred thousand values hardly one breaks a contract.
        where = f"{text_of(field.steps)} of {asked.request.text}"
        return Breach(
            asked, rule, f"{where} {what}", allowed, reached.pointer, near, field
        )

    if left:
        step = left[0]
        if value is None and walked in without:
            return None
        if isinstance(step, str) and isinstance(value, dict):
            if not field.required or (*walked, step) in without:
                return None
            wanted = TYPES_IN_WORDS.get(field.type, "a value")
            return breach(VALUE_GONE, "is gone", wanted)
        wanted = "a list" if step is Every.ITEM else "an object"
        above = text_of(walked)
        what = (
            f"cannot be read: {above or 'the answer'} is {shown(value)}, not {wanted}"
        )
        return breach("contract.type", what, wanted)

    if value is None and field.nullable:
        return None
    if field.type and not _is_of_type(value, field.type):
        wanted = TYPES_IN_WORDS[field.type] + " or null" * field.nullable
        return breach("contract.type", f"is {shown(value)}, not {wanted}", wanted)
    if field.choices and _text(value) not in field.choices:
        listed = ", ".join(field.choices)
        near = nearest(value, field.choices) if isinstance(value, str) else ""
        what = f"is {shown(value)}, which the app does not know"
        return breach("contract.enum", what, listed, near)
    return None


def _is_of_type(value: Json, type: str) -> bool:
    """Return whether a value is of a type of contracts.

    5.0 is no integer: an app that reads one refuses the point.
    """
    if isinstance(value, bool):
        return type == "boolean"
    return type in _TYPES and isinstance(value, _TYPES[type])


_TYPES: dict[str, Any] = {
    "text": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
    "list": list,
}


def _text(value: Json) -> str:
    """Return a value as a contract lists it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
