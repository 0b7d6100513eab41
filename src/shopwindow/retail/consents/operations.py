"""Opting in and out: a device's choice, recorded with its history (interface 2.2, 4.3)."""

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.operation import (
    Allowance,
    Call,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Rate,
    Sender,
)
from shopwindow.interface.declaring.table import Tables
from shopwindow.retail.consents.table import CONSENTS


def mobileoptinout(
    tables: Tables, content: Content, call: Call, moment: Moment
) -> Outcome:
    """Record a device's choice and keep it in the history, so that consent can be
    proved.
    """
    tables[CONSENTS].record(
        application=str(call.application),
        device=call.body["deviceID"],
        choice=call.body["optInOrOptOut"],
        user=call.body.get("svcUID"),
        at=moment.now,
        key=moment.random(16).hex(),
    )
    return Outcome({"success": True})


OPT_IN_ALLOWANCE = Allowance(
    "optIns",
    "opt-ins",
    # One address may be a mobile carrier's. This is five from each of 120 customers who
    # are behind it at that time.
    address=Rate(600, 10),
    # 28 a second. A choice takes some 400 bytes, so one key fills at most 40 MB an
    # hour.
    application=Rate(100_000, 60),
    cost=lambda call, keeps_answer: 1,
)
"""How many choices may be stored, unless site.yaml sets other rates. Each of them stays
in the history for good, so the rates bound how fast the database grows.
"""


def choosing_device(call: Call) -> Sender:
    """Return the device that opts in or out, and its user where one is signed in."""
    return Sender(device=call.body["deviceID"], user=call.body.get("svcUID"))


OPERATIONS = (
    Operation(
        "mobileoptinout",
        "v2/utility/mobileoptinout",
        FromStore(mobileoptinout),
        "success",
        "Record that a device opts in or out.",
        by_application=True,
        method="POST",
        body="mobileoptinout",
        allowance=OPT_IN_ALLOWANCE,
        sender=choosing_device,
    ),
)
