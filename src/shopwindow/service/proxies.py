"""The client's address behind proxies: X-Forwarded-For is believed as far as known proxies
wrote it.
"""

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from shopwindow.problems import Failure

LOOPBACK = "127.0.0.0/8,::1"


@dataclass(frozen=True)
class Proxies:
    """The networks of proxies whose word is taken."""

    networks: tuple[IPv4Network | IPv6Network, ...]

    def client(self, peer: str, forwarded: str) -> str:
        """Who asked: ``peer`` is who connected, ``forwarded`` the header's value.

        Each proxy appends whom it was asked by, so the list is read from its end, as long as
        who wrote is trusted; what stands further left may be the client's invention.
        """
        address = peer
        for text in reversed(forwarded.split(",")):
            if not self.trusts(address) or (found := _address(text)) is None:
                break
            address = str(found)
        return address

    def trusts(self, text: str) -> bool:
        """Whether an address is one of these; what is no address is a Unix socket, and is."""
        address = _address(text)
        return address is None or any(address in network for network in self.networks)


NOBODY = Proxies(())
"""No address is trusted."""


def proxies(text: str) -> Proxies:
    """Addresses and networks, comma-separated, such as `127.0.0.0/8,10.1.2.3`. Raises Failure."""
    try:
        return Proxies(
            tuple(
                ip_network(part.strip(), strict=False)
                for part in text.split(",")
                if part.strip()
            )
        )
    except ValueError as error:
        raise Failure(
            f"SHOPWINDOW_TRUSTED_PROXIES: {error}; it lists addresses and networks: {LOOPBACK}"
        ) from None


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """An address, with or without a port; None where it is none."""
    bare = text.strip().strip('"')
    if bare.startswith("["):
        bare = bare[1:].partition("]")[0]
    elif bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        address = ip_address(bare.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped or address) if isinstance(address, IPv6Address) else address
