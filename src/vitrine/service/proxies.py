"""Whose address a request comes from, where proxies stand in front of the service."""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

LOCAL = "127.0.0.0/8,::1"
"""The proxies that are believed unless told otherwise: those on this machine."""


@dataclass(frozen=True)
class Proxies:
    """The proxies whose X-Forwarded-For is believed."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    def client(self, address: str, forwarded: str | None) -> str:
        """The client's address: the last that was forwarded and is no proxy of ours. Before it, anyone may have lied.

        ``address`` is that of the connection; a connection without one (a Unix socket) is a proxy's.
        """
        for each in reversed((forwarded or "").split(",") if forwarded else []):
            if address and not self._ours(address):
                break
            address = each.strip() or address
        return address

    def _ours(self, text: str) -> bool:
        address = _parsed(text)
        return address is not None and any(address in network for network in self.networks)


def read_proxies(text: str) -> Proxies:
    """Addresses and networks by comma; nothing: nobody is believed. Raises ValueError."""
    parts = (part.strip() for part in text.split(","))
    return Proxies(tuple(ip_network(part, strict=False) for part in parts if part))


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
