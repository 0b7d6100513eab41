"""Keyed digests of what the database counts by and must not tell: mail addresses,
network addresses, devices.
"""

import hmac
from hashlib import sha256

from shopwindow.interface.limits import LIMITS
from shopwindow.interface.operation import Moment
from shopwindow.interface.table import Tables


def keyed(text: str, secret: bytes) -> str:
    """What is stored in a text's place. Who has the database and not the secret cannot
    try texts on it.

    Single-use codes have the same secret and never the same digest: no code is spelled
    in lower case.
    """
    return hmac.new(
        secret, b"counted: " + text.encode("utf-8", "surrogatepass"), sha256
    ).hexdigest()


def counted(text: str, tables: Tables, moment: Moment) -> str:
    """The digest under which this database counts, by the service's secret or, without
    one, a key of the database.
    """
    return keyed(text, moment.secret or tables[LIMITS].key(moment.random))
