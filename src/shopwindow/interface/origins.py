"""Whom a network address stands for, where something is counted by address.

One customer has all addresses of an IPv6 network of 64 bits (RFC 4291 §2.5.1), and a
site gets up to 48 bits (RFC 6177 §2), which are 65,536 such networks. So an IPv6
address is counted twice: by its /64, and more generously by its /48, which may as well
be a part of a mobile carrier's, with one customer in each /64.
"""

from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address, ip_network
from typing import NamedTuple

NETWORK_TIMES = 8
"""A /48 may do so many times what a /64 may: enough for a carrier's customers, too
little for who turns through it.
"""


class Origin(NamedTuple):
    """An address or network in its one spelling, and how many times a single address's
    limit it may use.
    """

    name: str
    times: int


@lru_cache(
    maxsize=1024
)  # one customer's requests follow each other, and parsing takes 3 µs
def origins(address: str) -> Sequence[Origin]:
    """What an address is counted by, the narrowest first.

    Args:
        address: of IPv4 or IPv6, with or without a zone; any other text, such as none, is counted by itself.
    """
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return (Origin(address, 1),)
    mapped = parsed.ipv4_mapped if parsed.version == 6 else parsed
    if mapped is not None:
        return (Origin(str(mapped), 1),)
    network, site = (str(ip_network((parsed, bits), strict=False)) for bits in (64, 48))
    return Origin(network, 1), Origin(site, NETWORK_TIMES)
