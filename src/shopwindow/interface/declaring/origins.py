"""What a client is counted by, where requests are limited by network address.

An IPv4 address is counted by itself. An IPv6 address is counted twice, by its /64 and
by its /48. All addresses of a /64 belong to one customer (RFC 4291 §2.5.1), so counting
single addresses would limit nobody. A site may get a /48 (RFC 6177 §2), which contains
65,536 such networks. But a /48 may also be a part of a mobile carrier's network, with
another customer in each /64, so its limit is more generous.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import NamedTuple

NETWORK_TIMES = 8
"""How many times the limit of a /64 a /48 may use.

It is enough for a carrier's customers, and too little for a client that takes one /64
after another.
"""


class Origin(NamedTuple):
    """An address or a network that something is counted by.

    ``name`` is its canonical text. ``times`` is how many times the limit of a single
    address it may use.
    """

    name: str
    times: int


# Parsing takes 3 µs, and the requests of one customer follow each other.
@lru_cache(maxsize=1024)
def origins(address: str) -> Sequence[Origin]:
    """Return what an address is counted by, the narrowest first.

    ``address`` is one of IPv4 or IPv6, with or without a zone. Any other text, such as
    the empty one, is counted by itself.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return (Origin(address, 1),)
    mapped = parsed.ipv4_mapped if parsed.version == 6 else parsed
    if mapped is not None:
        return (Origin(str(mapped), 1),)
    network = ip_network((parsed, 64), strict=False)
    site = ip_network((parsed, 48), strict=False)
    return Origin(str(network), 1), Origin(str(site), NETWORK_TIMES)
