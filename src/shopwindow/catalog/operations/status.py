"""Refresh status: how and when the release that is served was built.

Source of the shape: interface 4.9, W2.13.
"""

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.operation import (
    CALLBACK,
    Call,
    FromRunning,
    Moment,
    Operation,
    Outcome,
)


def refresh_status(content: Content, call: Call, moment: Moment) -> Outcome:
    """Return how the last build ended, and when."""
    return Outcome(moment.status())


OPERATIONS = (
    Operation(
        "refresh_status",
        "v3/job/refreshjobstatus",
        FromRunning(refresh_status),
        "refresh_status",
        "Status and time of the last data refresh.",
        (CALLBACK,),
    ),
)
