"""The nights when a key is lost: the commands of the page, as they stand there, after a thief has used the key."""

import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tuf.api.metadata import Metadata

from harness.commands import SOURCES
from harness.program import Releases, shopwindow
from harness.stores import KeySource, PublishOptions, Signing, folder, outgoing, release, signed_publish
from shopwindow.delivery import roots

PAGE = SOURCES.parent / "docs/operate/signing.md"
ONLINE = ("targets", "snapshot", "timestamp")


def night(heading: str) -> list[str]:
    """The commands below a heading of the page, without their comments."""
    _, _, section = PAGE.read_text().partition(f"\n### {heading}\n")
    block = re.search(r"```sh\n(.*?)```", section.partition("\n### ")[0], re.DOTALL)
    assert block, heading
    return [line.partition("#")[0].strip() for line in block[1].splitlines()]


class Shop:
    """A shop whose root keys are on three sticks, and which has published and been pulled from."""

    def __init__(self, work: Path) -> None:
        self.work = work
        assert shopwindow("keys", "init", "keys", cwd=work).status == 0
        self.sticks = [work / f"stick{number}" for number in range(3)]
        for stick, path in zip(self.sticks, sorted(self.keys.glob("root-*.pem")), strict=True):
            stick.mkdir()
            shutil.move(path, stick)
        shutil.copytree(self.keys, work / "stolen")
        self.first_root = shutil.copy(self.keys / "root.json", work / "first-root.json")
        release(work)
        (work / "content").mkdir()
        (work / "content/site.yaml").write_text(f"targets: {{production: {{to: '{self.target}', keys: keys}}}}\n")
        self.run("shopwindow publish production")

    @property
    def keys(self) -> Path:
        return self.work / "keys"

    @property
    def target(self) -> str:
        return f"file://{self.work}/target"

    def run(self, command: str) -> None:
        done = shopwindow(*command.split()[1:], cwd=self.work)
        assert done.status == 0, done

    def follow(self, commands: list[str], holders: list[Path], **words: str) -> None:
        """Do what a page says; each holder of a root key signs, until that suffices."""
        for command in commands:
            for word, actual in words.items():
                command = command.replace(word, actual)
            for holder in self.until_signed(holders) if "/media/stick" in command else [Path()]:
                self.run(command.replace("/media/stick", str(holder)))

    def until_signed(self, holders: list[Path]) -> Iterator[Path]:
        for holder in holders:
            if (self.keys / roots.DRAFT).exists():
                yield holder

    def pulled(self, host: str = "host") -> str | None:
        """What a host has as current after it has pulled; it was given the first root."""
        self.run(f"shopwindow pull {self.target} --root {self.first_root} --out {host}")
        return Releases(self.work / host).current()

    def thief(self, *roles: str) -> Signing:
        """Somebody with the password of the bucket, and the keys of some roles."""
        for path in (self.work / "stolen").glob("*.pem"):
            if path.name.partition("-")[0] not in roles:
                path.unlink()
        return Signing(self.work / "stolen", KeySource(self.work / "stolen", {}))


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_the_night_of_the_timestamp_ends_what_a_thief_has_frozen(shop: Shop) -> None:
    """With this key, a timestamp of a number that no other can exceed."""
    first = shop.pulled()
    thief = shop.thief("timestamp")
    path = shop.work / "target/metadata/timestamp.json"
    timestamp = Metadata.from_file(str(path))
    timestamp.signed.version = 2**31
    root = roots.read(thief.folder).signed
    signer = thief.source.signer("timestamp", root.get_key(root.roles["timestamp"].keyids[0]))
    assert signer
    timestamp.sign(signer)
    timestamp.to_file(str(path))
    assert shop.pulled() == first
    second = release(shop.work, "Second")
    shop.follow(night("timestamp or snapshot"), shop.sticks)
    assert (shop.pulled(), shop.pulled("another")) == (second, second)


def test_the_same_commands_help_where_the_metadata_was_deleted(shop: Shop) -> None:
    for name in ("Second", "Third"):
        release(shop.work, name)
        shop.run(f"shopwindow publish {shop.target} --keys keys")
    third = shop.pulled()
    shutil.rmtree(shop.work / "target/metadata")
    shop.run(f"shopwindow publish {shop.target} --keys keys --force")
    refused = shopwindow("pull", shop.target, "--root", shop.first_root, "--out", "host", cwd=shop.work)
    assert (refused.status, Releases(shop.work / "host").current()) == (4, third)
    second = release(shop.work, "Second")
    shop.follow(night("timestamp or snapshot"), shop.sticks)
    assert shop.pulled() == second


def test_the_night_of_the_targets_ends_what_a_thief_has_published(shop: Shop) -> None:
    shop.pulled()
    stolen = release(shop.work, "Fourth")
    thief = shop.thief(*ONLINE)
    signed_publish(outgoing(shop.work / "dist"), folder(shop.work / "target"), thief, PublishOptions(force=True))
    assert shop.pulled() == stolen
    second = release(shop.work, "Second")
    shop.follow(night("targets"), shop.sticks)
    assert (shop.pulled(), shop.pulled("another")) == (second, second)
    refused = shopwindow("rollback", stolen[:12], "--target", shop.target, "--keys", "keys", cwd=shop.work)
    assert (refused.status, "no metadata that today's keys have signed names release" in refused.err) == (4, True)


def test_the_night_of_a_root_key_leaves_three_of_which_two_sign(shop: Shop) -> None:
    first = shop.pulled()
    lost, *others = shop.sticks
    (pem,) = lost.iterdir()
    id = pem.stem.removeprefix("root-")
    shop.follow(night("one root key"), others, **{"14359a4a": id})
    root = roots.read(shop.keys).signed.roles["root"]
    assert (len(root.keyids), root.threshold, [key for key in root.keyids if key.startswith(id)]) == (3, 2, [])
    assert (shop.pulled(), shop.pulled("another")) == (first, first)
    assert roots.read(shop.work / "host/trusted").signed.version == 2
    assert roots.read(shop.keys).signed.expires > datetime.now(UTC)
