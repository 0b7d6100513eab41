"""The configuration of a mobile application (interface 2.1, 4.2)."""

from shopwindow.content.documents.documents import Content
from shopwindow.content.reading.yaml import Json
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    Call,
    FromContent,
    Operation,
)
from shopwindow.problems import Refusal


def mobileapp(content: Content, call: Call) -> Json:
    """Return the configuration of the application that the API key belongs to.

    Raises Refusal where there is no such application.
    """
    application = content.document("app", "name", call.application)
    if application is None:
        raise Refusal("no_key")
    return application["config"]


OPERATIONS = (
    Operation(
        "mobileapp",
        "v2/utility/mobileapp",
        FromContent(mobileapp, lambda content: ({},)),
        "mobileapp",
        "The configuration of the mobile application that the API key belongs to.",
        (CALLBACK,),
        subject="config",
        by_application=True,
    ),
)
