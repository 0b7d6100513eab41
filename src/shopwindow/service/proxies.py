"""The client's address behind proxies: how far X-Forwarded-For is believed."""

from dataclasses import dataclass
from functools import lru_cache
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from shopwindow.problems import Failure

LOOPBACK = "127.0.0.0/8,::1"
"""The proxies that are trusted unless others are named."""


@dataclass(frozen=True)
class Proxies:
    """The networks of proxies that are trusted to name their client."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    def client(self, peer: str, forwarded: str) -> str:
        """Return the client's address.

        ``peer`` is the address that connected, ``forwarded`` the value of
        X-Forwarded-For. Each proxy appends the address of its own peer, so the list is
        read from its end, for as long as the address that appended is trusted. What is
        further left may be invented by the client.
        """
        address = peer
        for text in reversed(forwarded.split(",")):
            if not self.trusts(address):
                break
            previous = _address(text)
            if previous is None:
                break
            address = str(previous)
        return address

    def trusts(self, text: str) -> bool:
        """Return whether an address is in one of the networks, or is that of a Unix
        socket.

        A text that is no address stands for a Unix socket: only this host can use that.
        """
        address = _address(text)
        return address is None or any(address in network for network in self.networks)


def proxies(text: str) -> Proxies:
    """Parse addresses and networks, such as `127.0.0.0/8,10.1.2.3`. Raises Failure."""
    parts = [part.strip() for part in text.split(",")]
    try:
        return Proxies(tuple(ip_network(part, strict=False) for part in parts if part))
    except ValueError as error:
        raise Failure(
            f"SHOPWINDOW_TRUSTED_PROXIES: {error}; it lists addresses and networks: {LOOPBACK}"
        ) from None


@lru_cache(
    maxsize=1024
)  # requests come from the same few proxies, and parsing takes 3 µs
def _address(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address with or without a port; return None for anything else.

    An IPv4 address that is mapped into IPv6 (::ffff:10.0.0.1) is returned as IPv4.
    """
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (
        (address.ipv4_mapped or address)
        if isinstance(address, IPv6Address)
        else address
    )
