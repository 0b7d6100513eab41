"""Mobile utilities: the configuration of one application (interface 2.1, 4.2)."""

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.operation import CALLBACK, FromContent, Operation
from vitrine.problems import Refusal


def mobileapp(content: Content, call: Call) -> Json:
    """The configuration of the application that the API key belongs to. Raises Refusal where it belongs to none."""
    if call.application is None or call.application not in content.applications():
        raise Refusal("no_key")
    return content.application(call.application)["config"]


OPERATIONS = (
    Operation(
        "mobileapp",
        "v2/utility/mobileapp",
        FromContent(mobileapp, lambda content: ({},)),
        "mobileapp",
        "The configuration of the mobile application that the API key belongs to.",
        (CALLBACK,),
        by_application=True,
    ),
)
