"""Signed releases: who may say what hosts serve, and what is refused."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from delivered import folder, memory, release
from shopwindow.delivery import roots, signed_publishing
from shopwindow.delivery.bucket import Bucket
from shopwindow.delivery.keys import KeySource
from shopwindow.delivery.outgoing import outgoing
from shopwindow.delivery.pulling import pull
from shopwindow.delivery.signing import Signing
from shopwindow.delivery.verifying import SignedSource
from shopwindow.release.publish import Releases


@dataclass(frozen=True)
class Shop:
    """A shop that signs, and a host that pulls from it."""

    work: Path
    bucket: Bucket

    @property
    def keys(self) -> Path:
        return self.work / "keys"

    @property
    def host(self) -> Releases:
        return Releases(self.work / "host")

    def signing(self, moment: datetime | None = None) -> Signing:
        source = KeySource(self.keys, {})
        return Signing(self.keys, source, (lambda: moment) if moment else Signing.clock)

    def publish(self, name: str = "First", moment: datetime | None = None) -> str:
        id = release(self.work, name)
        signed_publishing.publish(outgoing(self.work / "dist"), self.bucket, self.signing(moment), force=True)
        return id

    def pull(self, root: bytes | None = None, floor: int = 0) -> str:
        trusted = root or (self.keys / "1.root.json").read_bytes()
        source = SignedSource(self.bucket, trusted, self.host.out / "trusted", floor)
        return pull(source, self.host).id


@pytest.fixture(params=["memory", "file"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    roots.init(tmp_path / "keys", keys=3, threshold=2, passphrase="", moment=datetime.now(UTC))
    return Shop(tmp_path, memory() if request.param == "memory" else folder(tmp_path / "target"))


def test_a_host_with_the_root_serves_what_is_signed(shop: Shop) -> None:
    first = shop.publish()
    assert (shop.pull(), shop.host.current()) == (first, first)
    second = shop.publish("Second")
    assert (shop.pull(), shop.host.current()) == (second, second)
