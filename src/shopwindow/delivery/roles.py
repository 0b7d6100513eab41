"""The four roles of The Update Framework, and how long what they sign is good for."""

from datetime import timedelta

ROLES = ("root", "targets", "snapshot", "timestamp")
"""Each signs which of the one after it counts; the root signs which keys they have."""

DEFAULT_DAYS = {
    # Somebody fetches the sticks once a year anyway, and notices a broken one.
    "root": 365,
    # A shop that publishes nothing for a quarter of a year should be asked why.
    "targets": 90,
    # It moves with the targets, but a renewal job has its key, too: a month without
    # that job and without a release is an accident.
    "snapshot": 30,
    # An attacker who holds back a release can do so for three days at most. A job
    # that fails on a Friday evening is mended on Monday.
    "timestamp": 3,
}
"""Days for which a role's signature is good, unless the root says otherwise."""

MOST_DAYS = 3650
"""Ten years. A key that signs for longer has no end that anybody will live to renew."""

_DUE = {
    "root": timedelta(days=60),
    "targets": timedelta(days=45),
    "snapshot": timedelta(days=15),
    "timestamp": timedelta(days=1),
}
"""How long before its end a signature is due. Two people need time to meet; the others
are renewed by a program, which may fail for a while before anybody notices.
"""


def due_before(role: str, lifetime: timedelta) -> timedelta:
    """Return how long before its end a role's signature is due: after half of its
    ``lifetime`` at the earliest.
    """
    return min(_DUE[role], lifetime / 2)
