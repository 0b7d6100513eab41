"""Mobile utilities: the configuration of one application (interface 2.1, 4.2), opt in and out (2.2, 4.3)."""

from vitrine.content.model import Content
from vitrine.content.yaml import Json
from vitrine.interface.call import Call
from vitrine.interface.operation import CALLBACK, FromContent, FromStore, Moment, Operation, Outcome
from vitrine.interface.ports import Store
from vitrine.problems import Refusal


def mobileapp(content: Content, call: Call) -> Json:
    """The configuration of the application that the API key belongs to. Raises Refusal where it belongs to none."""
    if call.application is None or call.application not in content.applications():
        raise Refusal("no_key")
    return content.application(call.application)["config"]


def mobileoptinout(store: Store, content: Content, call: Call, moment: Moment) -> Outcome:
    """Record a device's choice, and that it was made: consent must be provable."""
    body, application = call.body, str(call.application)
    key = moment.random(16).hex()
    store.consents.record(application, body["deviceID"], body["optInOrOptOut"], body.get("svcUID"), moment.now, key)
    return Outcome({"success": True})


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
    Operation(
        "mobileoptinout",
        "v2/utility/mobileoptinout",
        FromStore(mobileoptinout),
        "success",
        "Record that a device opts in or out.",
        by_application=True,
        method="POST",
        body="mobileoptinout",
    ),
)
