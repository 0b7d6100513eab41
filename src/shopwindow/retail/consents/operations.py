"""Opt in and out: a device's choice, recorded with its history (interface 2.2, 4.3)."""

from shopwindow.content.documents import Content
from shopwindow.interface.call import Call
from shopwindow.interface.operation import (
    Allowance,
    FromStore,
    Moment,
    Operation,
    Outcome,
    Rate,
)
from shopwindow.interface.table import Tables
from shopwindow.retail.consents.table import CONSENTS


def mobileoptinout(tables: Tables, content: Content, call: Call, moment: Moment) -> Outcome:
    """Record a device's choice, and that it was made: consent must be provable."""
    body, application = call.body, str(call.application)
    key = moment.random(16).hex()
    tables[CONSENTS].record(
        application,
        body["deviceID"],
        body["optInOrOptOut"],
        body.get("svcUID"),
        moment.now,
        key,
    )
    return Outcome({"success": True})


OPT_INS = Allowance(
    "optIns",
    "opt-ins",
    # one address may be a mobile carrier's: five from each of 120 customers who are behind it
    # at that time
    Rate(600, 10),
    # 28 a second; a choice takes some 400 bytes, so that 40 MB an hour are the most that a key
    # can fill
    Rate(100_000, 60),
    lambda call, keeps_answer: 1,
)
"""How many choices are stored, where site.yaml says nothing else: each stays in the history for
good.
"""

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
        limited=True,
        allowance=OPT_INS,
    ),
)
