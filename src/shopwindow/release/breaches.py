"""What breaks a contract in the answers to its requests.

The requests take the way that they take in the service: they are bound to Calls, and
their views answer. An answer breaks a contract where the contract's schema refuses it,
or where it is no success. What the contract does not name may change as it likes.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from shopwindow.content.documents.documents import Content, Document
from shopwindow.content.documents.finding import Finding
from shopwindow.content.reading.yaml import Json
from shopwindow.content.schemas.schema import Schemas, schemas_of
from shopwindow.content.schemas.shape import Shape
from shopwindow.content.schemas.wording import fractions
from shopwindow.interface.answer import ERROR_CODES, selected, value_of
from shopwindow.interface.answer_paths import text_of
from shopwindow.interface.bind import bind
from shopwindow.interface.contracts import ReadRequest, as_request
from shopwindow.interface.interface import Interface
from shopwindow.problems import Pointer, Refusal

_SCHEMA = "contract"
"""The name of the schema by which an answer is judged."""


class Breach(NamedTuple):
    """What breaks a contract: the answer to one of its requests.

    ``place``: in the contract. ``finding``: at the place in the answer, in the words of
    an editor. ``answered``: there is an answer.
    """

    contract: Document
    request: ReadRequest
    place: Pointer
    finding: Finding
    answered: bool = True


def answer_of(
    interface: Interface, request: str, application: str | None, content: Content
) -> Json:
    """Return the JSON answer to a request of a contract. Raises Refusal."""
    call = bind(as_request(request), application, interface, content=content)
    return selected(call, value_of(call, content))


def breaches(
    interface: Interface,
    schemas: Schemas,
    contract: Document,
    request: ReadRequest,
    content: Content,
) -> Iterator[Breach]:
    """Yield what of one answer breaks a contract."""
    try:
        answer = answer_of(interface, request.text, contract.value["app"], content)
    except Refusal as refusal:
        found = f"{request.text} {refused(refusal)}"
        allowed = "an answer; without the request, if the app sends it no more"
        finding = Finding("contract.refused", (), found, allowed)
        place = (*request.place, "request")
        yield Breach(contract, request, place, finding, answered=False)
        return
    paths = list(request.fields)
    for number, finding in _judged(request.schemas(schemas), answer):
        where = f"{text_of(paths[number])} of {request.text}"
        found = f"{where}: {finding.found}"
        allowed = finding.allowed or "a value"
        broken = Finding(
            "contract.broken",
            finding.pointer,
            found,
            allowed,
            nearest=finding.nearest,
            on_key=finding.on_key,
        )
        yield Breach(contract, request, (*request.place, "fields", number), broken)


def refused(refusal: Refusal) -> str:
    """Return the end of a sentence about a request that is refused."""
    code = ERROR_CODES[refusal.code]
    faults = "; ".join(map(str, refusal.faults)) or code.message
    return f"is refused with {code.status}: {faults}"


def _judged(fields: Sequence[Json], answer: Json) -> Iterator[tuple[int, Finding]]:
    """Yield what the schemas of fields find in an answer, with the field's number.

    5.0 is no whole number: an app that reads one refuses the point.
    """
    schemas = schemas_of({_SCHEMA: {"allOf": fields}})
    for error, finding in schemas.explained(_SCHEMA, answer):
        yield error.schema_path[1], finding
    for number, field in enumerate(fields):
        shape = Shape(schemas.target, "", field)
        for finding in fractions(shape, answer, (), lambda pointer: None):
            yield number, finding
