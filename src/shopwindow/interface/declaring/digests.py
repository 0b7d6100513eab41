"""Keyed digests of mail addresses, network addresses and devices.

The database counts by these and must not reveal them, so it stores digests instead.
"""

import hmac
from hashlib import sha256

from shopwindow.interface.declaring.limits import LIMITS
from shopwindow.interface.declaring.operation import Moment
from shopwindow.interface.declaring.table import Tables


def keyed(text: str, secret: bytes) -> str:
    """Return the digest that is stored instead of a text.

    Whoever has the database but not the secret cannot find a text by trial. Digests of
    single-use codes use the same secret, and are never equal to one of these: a code
    has no lower-case letter, and the text that is digested here begins with some.
    """
    data = b"counted: " + text.encode("utf-8", "surrogatepass")
    return hmac.new(secret, data, sha256).hexdigest()


def counted(text: str, tables: Tables, moment: Moment) -> str:
    """Return the digest by which this database counts a text.

    The key is the service's secret, or without one a key that the database stores.
    """
    return keyed(text, moment.secret or tables[LIMITS].key(moment.random))
