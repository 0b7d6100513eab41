"""Signed releases: who may say what hosts serve, what is refused, and that the last good release stays."""

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from tuf.api.metadata import Metadata, MetaFile, Snapshot, TargetFile, Targets, Timestamp

from harness.program import Releases, shopwindow
from harness.servers import ADDRESS, free_port
from harness.stores import (
    KEYS,
    Bucket,
    FolderBucket,
    Headers,
    KeySource,
    Outgoing,
    Publication,
    PublishOptions,
    PullFault,
    SignedSource,
    Signing,
    Version,
    at,
    current,
    folder,
    in_force,
    memory,
    outgoing,
    pull,
    release,
)
from shopwindow.delivery import (
    layout,
    publishing,
    roots,
    signing,
    upkeep,
)
from shopwindow.delivery.bucket import Stored
from shopwindow.delivery.signing import SIGNED_AT
from shopwindow.problems import Failure
from shopwindow.release import pull_notes


def signed_publish(
    going: Outgoing, bucket: Bucket, signs: Signing, options: PublishOptions = publishing.BY_DEFAULT
) -> tuple[Publication, signing.Signature]:
    """Publish and sign."""
    done = publishing.publish(going, bucket, replace(options, signing=signs))
    assert done.signature
    return done, done.signature


def signed_roll_back(bucket: Bucket, id: str | None, signs: Signing) -> tuple[upkeep.MovedPointer, signing.Signature]:
    """Roll back and sign that."""
    moved = upkeep.activate(bucket, id, signs=signs, pin=True)
    assert moved.signature
    return moved, moved.signature


@dataclass(frozen=True)
class Shop:
    """A shop that signs, and a host that pulls from it."""

    work: Path
    bucket: Bucket

    @property
    def keys(self) -> Path:
        return self.work / "keys"

    @property
    def metadata(self) -> Path:
        return self.work / "target" / "metadata"

    @property
    def host(self) -> Releases:
        return Releases(self.work / "host")

    def signing(self, moment: datetime | None = None, keys: str = "keys") -> Signing:
        place = self.work / keys
        now = moment or datetime.now(UTC)
        return Signing(place, KeySource(place, {}), lambda: now)

    def publish(self, name: str = "First", *, moment: datetime | None = None, force: bool = True) -> str:
        id = release(self.work, name)
        going = outgoing(self.work / "dist")
        signed_publish(going, self.bucket, self.signing(moment), PublishOptions(force=force))
        return id

    def source(self, floor: int = 0, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> SignedSource:
        trusted = (self.keys / "1.root.json").read_bytes()
        return SignedSource(self.bucket, trusted, self.host.out / "trusted", floor, clock)

    def pull(self, floor: int = 0) -> str:
        return pull(self.source(floor), self.host).id

    def refusal(self, floor: int = 0) -> tuple[str, str]:
        """The kind and the sentence of the fault that a pull meets."""
        with pytest.raises(PullFault) as raised:
            self.pull(floor)
        return raised.value.kind, str(raised.value)


def shop_in(work: Path, bucket: Bucket) -> Shop:
    roots.init(work / "keys", keys=3, threshold=2, passphrase="", moment=datetime.now(UTC))
    return Shop(work, bucket)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return shop_in(tmp_path, folder(tmp_path / "target"))


# -- what is signed is served ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sort", ["memory", "file"])
def test_a_host_with_the_root_serves_what_is_signed(sort: str, tmp_path: Path) -> None:
    shop = shop_in(tmp_path, memory() if sort == "memory" else folder(tmp_path / "target"))
    first = shop.publish()
    assert (shop.pull(), shop.host.current()) == (first, first)
    second = shop.publish("Second")
    assert (shop.pull(), shop.host.current()) == (second, second)


def test_the_signed_targets_decide_and_not_current_json(shop: Shop) -> None:
    first = shop.publish()
    shop.pull()
    release(shop.work, "Second")
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)  # a thief of the bucket's password
    assert current(shop.bucket)["id"] != first
    assert (shop.pull(), shop.host.current()) == (first, first)


def test_a_rollback_is_new_metadata_that_names_the_old_release(shop: Shop) -> None:
    first, _ = shop.publish(), shop.publish("Second")
    shop.pull()
    moved, signature = signed_roll_back(shop.bucket, None, shop.signing())
    assert (moved.id, signature.id, signature.targets) == (first, first, 3)
    assert (shop.pull(), shop.host.current()) == (first, first)


def test_hosts_follow_what_0_2_0_signed_which_names_one_release(shop: Shop) -> None:
    """Its targets list the current release alone, and have no property that says so."""
    first, second = shop.publish(), shop.publish("Second")
    path = layout.release_key(second)
    listing = TargetFile.from_data(path, (shop.work / "target" / path).read_bytes(), ["sha256"])
    signed(shop, "targets", targets={path: listing}, unrecognized_fields={})
    data = (shop.metadata / "2.targets.json").read_bytes()
    signed(shop, "snapshot", meta={"targets.json": MetaFile.from_data(2, data, ["sha256"])})
    data = (shop.metadata / "2.snapshot.json").read_bytes()
    signed(shop, "timestamp", snapshot_meta=MetaFile.from_data(2, data, ["sha256"]))
    assert (shop.pull(), shop.host.current()) == (second, second)
    third = shop.publish("Third")
    assert (shop.pull(), signed_roll_back(shop.bucket, None, shop.signing())[0].id) == (third, second)
    with pytest.raises(Failure, match=f"today's keys have signed names release {first[:12]}"):
        signed_roll_back(shop.bucket, first[:12], shop.signing())


def test_publishing_again_signs_nothing_and_a_renewal_the_timestamp_alone(shop: Shop) -> None:
    shop.publish()
    before = {path.name: path.read_bytes() for path in shop.metadata.iterdir()}
    shop.publish(force=False)
    assert {path.name: path.read_bytes() for path in shop.metadata.iterdir()} == before
    assert signing.sign(shop.bucket, shop.signing()).changed
    after = {path.name: path.read_bytes() for path in shop.metadata.iterdir()}
    assert {name for name in after if after[name] != before.get(name)} == {"timestamp.json"}


def test_a_renewal_signs_what_is_due_and_names_what_it_has_no_key_for(shop: Shop) -> None:
    id = shop.publish()
    (shop.work / "online").mkdir()
    for path in [*shop.keys.glob("*.json"), *shop.keys.glob("snapshot-*"), *shop.keys.glob("timestamp-*")]:
        shutil.copy(path, shop.work / "online")
    later = datetime.now(UTC) + timedelta(days=50)
    signature = signing.sign(shop.bucket, shop.signing(later, keys="online"))
    assert signature == signing.Signature(id, 1, True, ("targets",))
    ends = signing.ends(shop.bucket, roots.read(shop.keys).signed)
    assert {role: version for role, (version, _) in ends.items()} == {"timestamp": 2, "snapshot": 2, "targets": 1}


def test_a_pin_holds_and_the_pinned_release_stays_signed(shop: Shop) -> None:
    first = shop.publish()
    upkeep.activate(shop.bucket, "current", pin=True)
    release(shop.work, "Second")
    done, signature = signed_publish(outgoing(shop.work / "dist"), shop.bucket, shop.signing())
    assert (done.pinned, signature.id, shop.pull()) == (True, first, first)


def test_verify_compares_signatures_with_what_lies_there(shop: Shop) -> None:
    target = f"file://{shop.work}/target"

    def verified(*id: str) -> tuple[int, list[str]]:
        done = shopwindow("verify", *id, "--target", target, "--keys", shop.keys)
        return done.status, done.out.splitlines()

    first = shop.publish()
    assert verified() == (0, [f"release {first[:12]} is intact at {target}"])
    second = release(shop.work, "Second")
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)  # killed before it signed, or a thief
    unsigned = [
        f"{layout.release_key(second)}: no metadata that these keys have signed names it",
        "metadata/timestamp.json: does not lead to the current release; `shopwindow publish TARGET --keys "
        f"{shop.keys}` signs it",
    ]
    assert (verified(), verified(first[:12])[0]) == ((1, unsigned), 0)
    path = shop.work / "target" / layout.release_key(first)
    path.write_bytes(path.read_bytes() + b" ")
    assert verified(first[:12]) == (1, [f"{layout.release_key(first)}: not what was signed"])


# -- publishers ------------------------------------------------------------------------------------------------------


def test_what_a_killed_publisher_did_not_sign_the_next_run_signs(shop: Shop) -> None:
    shop.publish()
    second = release(shop.work, "Second")
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)  # killed before it signed
    (shop.metadata / "2.targets.json").write_bytes(b"of a publisher that was killed later")
    assert shop.publish("Second", force=False) == second
    assert (shop.pull(), (shop.metadata / "3.targets.json").exists()) == (second, True)


def test_a_second_publisher_wins_or_says_so_and_both_leave_whole_metadata(shop: Shop) -> None:
    class Meanwhile(FolderBucket):
        """A target at which somebody renews, right before the timestamp is replaced."""

        renewals = 2

        def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
            if key == layout.TIMESTAMP and self.renewals:
                self.renewals -= 1
                signing.sign(shop.bucket, shop.signing())
            return super().replace(key, data, headers, version)

    shop.publish()
    second = release(shop.work, "Second")
    bucket = Meanwhile(shop.work / "target")
    signed_publish(outgoing(shop.work / "dist"), bucket, shop.signing())
    assert (bucket.renewals, shop.pull()) == (0, second)


def test_a_publisher_that_is_overtaken_does_not_sign_its_release(shop: Shop) -> None:
    class Overtaken(FolderBucket):
        """A target at which somebody else publishes, right before the timestamp is replaced."""

        overtaken = False

        def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
            if key == layout.TIMESTAMP and not self.overtaken:
                self.overtaken = True
                shop.publish("Third")
            return super().replace(key, data, headers, version)

    shop.publish()
    release(shop.work, "Second")
    going = outgoing(shop.work / "dist")
    with pytest.raises(Failure, match=r"was not signed\. If the current one lacks your change, build again"):
        signed_publish(going, Overtaken(shop.work / "target"), shop.signing())
    assert shop.pull() == current(shop.bucket)["id"] == release(shop.work, "Third")


def test_a_release_that_anybody_may_have_written_is_not_signed_without_force(shop: Shop) -> None:
    first = release(shop.work)
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)
    path = shop.work / "target" / layout.release_key(first)
    path.write_bytes(path.read_bytes().replace(b'"built":"2', b'"built":"3'))
    with pytest.raises(Failure, match=r"so it may be anybody's; nothing was signed. With --force"):
        shop.publish(force=False)
    assert not shop.metadata.exists()
    assert (shop.publish(), shop.pull()) == (first, first)


def test_another_build_of_a_release_that_was_signed_is_current_already(shop: Shop) -> None:
    first = shop.publish()
    path = shop.work / "dist/releases" / first / "build.json"
    path.write_bytes(path.read_bytes().replace(b'"version":"', b'"version":"9'))  # built again, elsewhere
    assert (shop.publish(force=False), shop.pull()) == (first, first)


def test_no_release_is_rolled_back_to_that_nobody_signed(shop: Shop) -> None:
    first = release(shop.work)
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)
    second = shop.publish("Second")
    with pytest.raises(Failure, match=f"today's keys have signed names release {first[:12]}"):
        signed_roll_back(shop.bucket, first[:12], shop.signing())
    assert (current(shop.bucket)["id"], shop.pull()) == (second, second)


def forged(shop: Shop, name: str, id: str, **properties: object) -> None:
    """Add a release to what the targets name, and lead timestamp and snapshot there, without a key of the shop."""
    path = layout.release_key(id)
    data = (shop.work / "target" / path).read_bytes()
    targets = Metadata[Targets].from_file(str(shop.metadata / "2.targets.json"))
    targets.signed.targets[path] = TargetFile.from_data(path, data, ["sha256"])
    targets.signed.version = int(name.partition(".")[0])
    targets.signed.unrecognized_fields.update(properties)
    targets.to_file(str(shop.metadata / name))
    snapshot = Metadata[Snapshot].from_file(str(shop.metadata / "2.snapshot.json"))
    snapshot.signed.meta["targets.json"] = MetaFile.from_data(targets.signed.version, targets.to_bytes(), ["sha256"])
    snapshot.signed.version = 9
    snapshot.to_file(str(shop.metadata / "9.snapshot.json"))
    timestamp = Metadata[Timestamp].from_file(str(shop.metadata / "timestamp.json"))
    timestamp.signed.snapshot_meta = MetaFile.from_data(9, snapshot.to_bytes(), ["sha256"])
    timestamp.to_file(str(shop.metadata / "timestamp.json"))


@pytest.mark.parametrize(("name", "kept"), [("2.targets.json", ["First"]), ("9.targets.json", ["First", "Second"])])
def test_only_releases_that_keys_of_today_have_signed_are_named_again(shop: Shop, name: str, kept: list[str]) -> None:
    """A thief of the bucket has put a release there, and names it in metadata, in place of the shop's or after it."""
    ids = {"First": shop.publish(), "Second": shop.publish("Second"), "Third": release(shop.work, "Third")}
    publishing.publish(outgoing(shop.work / "dist"), shop.bucket)
    forged(shop, name, ids["Third"])
    fourth = shop.publish("Fourth")
    assert shop.pull() == fourth
    named = Metadata[Targets].from_file(str(shop.host.out / "trusted/targets.json")).signed.targets
    assert named.keys() == {layout.release_key(id) for id in [fourth, *(ids[one] for one in kept)]}
    with pytest.raises(Failure, match=f"today's keys have signed names release {ids['Third'][:12]}"):
        signed_roll_back(shop.bucket, ids["Third"][:12], shop.signing())


@pytest.mark.parametrize("verb", ["publish", "rollback"])
def test_nothing_is_written_where_somebody_else_keeps_something(shop: Shop, verb: str) -> None:
    release(shop.work, "First")
    place = shop.work / "letters"
    place.mkdir()
    (place / "letter.txt").write_text("Dear")
    changes: dict[str, Callable[[], object]] = {
        "publish": lambda: signed_publish(outgoing(shop.work / "dist"), folder(place), shop.signing()),
        "rollback": lambda: signed_roll_back(folder(place), None, shop.signing()),
    }
    with pytest.raises(Failure, match=r"holds something else \(letter.txt\); publish to a prefix of its own"):
        changes[verb]()
    assert [path.name for path in place.rglob("*")] == ["letter.txt"]


def test_a_rollback_at_a_wrong_address_writes_nothing_there(shop: Shop) -> None:
    with pytest.raises(Failure, match="nothing was published there yet"):
        signed_roll_back(folder(shop.work / "typo"), None, shop.signing())
    assert not list((shop.work / "typo").rglob("*"))


def test_a_publisher_whose_clock_is_a_day_behind_is_told_so(shop: Shop) -> None:
    shop.publish()
    before = (shop.metadata / "timestamp.json").read_bytes()
    with pytest.raises(Failure, match=r"this machine's clock says .*; set this machine's clock. If it is right"):
        signing.ready(shop.bucket, shop.signing(datetime.now(UTC) - timedelta(days=1)))
    assert (shop.metadata / "timestamp.json").read_bytes() == before


def test_a_publisher_whose_clock_is_a_day_ahead_of_the_disk_signs_nothing(shop: Shop) -> None:
    shop.publish()

    def lying() -> dict[Path, bytes]:
        return {path: path.read_bytes() for path in (shop.work / "target").rglob("*") if path.is_file()}

    before = lying()
    release(shop.work, "Second")
    ahead = shop.signing(datetime.now(UTC) + timedelta(days=1))
    with pytest.raises(Failure, match="so nothing was changed; set the one that is wrong"):
        signed_publish(outgoing(shop.work / "dist"), shop.bucket, ahead)
    assert lying() == before


def test_what_was_signed_in_the_future_is_replaced_with_force_and_hosts_follow(shop: Shop) -> None:
    first = shop.publish()
    shop.pull()
    signed(shop, "timestamp", unrecognized_fields={SIGNED_AT: (datetime.now(UTC) + timedelta(days=1)).isoformat()})
    assert shop.refusal()[0] == "expired"
    release(shop.work, "Second")
    going = outgoing(shop.work / "dist")
    with pytest.raises(Failure, match=r"that of the last publisher was wrong: .* --renew --force` signs anew"):
        signed_publish(going, shop.bucket, shop.signing())
    done = shopwindow("publish", f"file://{shop.work}/target", "--keys", shop.keys, "--renew", "--force")
    assert (done.status, shop.pull()) == (0, first), done.err
    _, signature = signed_publish(going, shop.bucket, shop.signing())
    assert shop.pull() == signature.id == in_force(going).id


def test_keys_of_another_shop_change_nothing(shop: Shop) -> None:
    shop.publish()
    roots.init(shop.work / "others", keys=1, threshold=1, passphrase="", moment=datetime.now(UTC))
    with pytest.raises(Failure, match="was signed with other keys than those of"):
        signed_publish(outgoing(shop.work / "dist"), shop.bucket, shop.signing(keys="others"))


def test_keys_of_another_shop_change_nothing_however_often_they_were_replaced(shop: Shop) -> None:
    shop.publish()
    others = shop.work / "others"
    roots.init(others, keys=1, threshold=1, passphrase="", moment=datetime.now(UTC))
    for _ in range(2):
        roots.change(others, "targets", KeySource(others, {}), add=True, remove="", moment=datetime.now(UTC))
    before = names(shop)
    with pytest.raises(Failure, match="was signed with other keys than those of"):
        signed_publish(outgoing(shop.work / "dist"), shop.bucket, shop.signing(keys="others"))
    assert names(shop) == before


def test_a_folder_without_a_version_of_the_root_that_hosts_need_is_refused(shop: Shop) -> None:
    shop.publish()
    for _ in range(2):
        roots.change(shop.keys, "targets", KeySource(shop.keys, {}), add=True, remove="", moment=datetime.now(UTC))
    path = (shop.keys / "2.root.json").rename(shop.work / "2.root.json")
    with pytest.raises(Failure, match=r"2.root.json: missing, and hosts follow the root version by version"):
        shop.publish("Second")
    path.rename(shop.keys / "2.root.json")
    assert shop.publish("Second") == shop.pull()


def test_a_signed_target_is_not_published_to_without_keys(shop: Shop) -> None:
    shop.publish()
    done = shopwindow("publish", f"file://{shop.work}/target", "--out", shop.work / "dist")
    assert (done.status, "is signed, so hosts with a root would not follow; say --keys DIR" in done.err) == (4, True)


# -- prunes ----------------------------------------------------------------------------------------------------------


def aged(shop: Shop) -> None:
    """Let all that is at the target have been there for three days, and what is current as long."""
    old = datetime.now(UTC).timestamp() - 3 * 86400
    for number, path in enumerate(
        sorted((shop.work / "target").rglob("*.json"), key=lambda path: path.stat().st_mtime)
    ):
        os.utime(path, (old + number, old + number))
    pointed = orjson.loads((shop.work / "target/current.json").read_bytes())
    stale = [{**entry, "when": "2020-01-01T00:00:00+00:00"} for entry in pointed["history"]]
    (shop.work / "target/current.json").write_bytes(orjson.dumps({**pointed, "history": stale}))


def names(shop: Shop) -> set[str]:
    """What lies in the folder of metadata."""
    return {path.name for path in shop.metadata.iterdir()}


def test_a_prune_spares_what_is_signed(shop: Shop) -> None:
    first = shop.publish()
    for name in ("Second", "Third"):
        release(shop.work, name)
        publishing.publish(outgoing(shop.work / "dist"), shop.bucket)
    aged(shop)
    assert len(upkeep.prune(shop.bucket, 1).deleted) == 1
    assert shop.pull() == first


def test_metadata_that_nobody_signed_lets_a_prune_spare_a_release_and_delete_none(shop: Shop) -> None:
    first, _, third = (shop.publish(name) for name in ("First", "Second", "Third"))
    forged(shop, "9.targets.json", first, **{signing.CHAIN: [{"id": first, "from": "2026-01-01T00:00:00+00:00"}]})
    aged(shop)
    second = release(shop.work, "Second")
    assert (upkeep.prune(shop.bucket, 1).deleted, current(shop.bucket)["id"]) == ([second], third)
    assert upkeep.verify(shop.bucket, first[:12]) == ([first], [])
    assert upkeep.verify(shop.bucket) == ([third], [])


def test_a_host_in_the_middle_of_an_update_does_not_notice_a_prune(shop: Shop) -> None:
    class Slow(FolderBucket):
        """A host between whose first two requests somebody publishes and prunes."""

        pruned = False

        def stream(self, key: str) -> Iterator[bytes] | None:
            bits = super().stream(key)
            if key == layout.TIMESTAMP and not self.pruned:
                self.pruned = True
                bits = iter(list(bits or ()))
                shop.publish("Second")
                upkeep.prune(shop.bucket, 1)
            return bits

    shop.publish("Third")
    first = shop.publish()
    aged(shop)
    before = names(shop)
    slow = Slow(shop.work / "target")
    source = SignedSource(slow, (shop.keys / "1.root.json").read_bytes(), shop.host.out / "trusted")
    assert (pull(source, shop.host).id, slow.pruned) == (first, True)
    assert names(shop) == before | {"3.targets.json", "3.snapshot.json"}  # nobody verifies it, so none is deleted


# -- what attackers do -----------------------------------------------------------------------------------------------

Attack = Callable[[Shop], None]


def replayed(shop: Shop) -> None:
    """Yesterday's timestamp, whose signature is good and which has not expired."""
    shutil.copy(shop.work / "yesterday/timestamp.json", shop.metadata)


def frozen(shop: Shop) -> None:
    """Nobody lets a newer timestamp through, until the last one has expired: here it was signed four days ago."""
    signed(shop, "timestamp", expires=datetime.now(UTC).replace(microsecond=0) - timedelta(days=1))


def mixed(shop: Shop) -> None:
    """The targets of one day under the number of another."""
    shutil.copy(shop.metadata / "1.targets.json", shop.metadata / "2.targets.json")


def mixed_snapshots(shop: Shop) -> None:
    shutil.copy(shop.metadata / "1.snapshot.json", shop.metadata / "2.snapshot.json")


def endless_timestamp(shop: Shop) -> None:
    os.truncate(shop.metadata / "timestamp.json", 1 << 40)


def endless_root(shop: Shop) -> None:
    path = shop.metadata / "2.root.json"
    path.touch()
    os.truncate(path, 1 << 40)


def endless_list(shop: Shop) -> None:
    os.truncate(shop.work / "target" / layout.release_key(current(shop.bucket)["id"]), 1 << 40)


def old_root(shop: Shop) -> None:
    """The first root under the number of the next."""
    shutil.copy(shop.metadata / "1.root.json", shop.metadata / "2.root.json")


def changed_targets(shop: Shop) -> None:
    path = shop.metadata / "2.targets.json"
    path.write_bytes(path.read_bytes().replace(b'"length":', b'"length":1'))


def changed_list(shop: Shop) -> None:
    path = shop.work / "target" / layout.release_key(current(shop.bucket)["id"])
    path.write_bytes(path.read_bytes().replace(b'"offset"', b'"0ffset"').replace(b"[0", b"[1") + b" ")


def changed_object(shop: Shop) -> None:
    for path in (shop.work / "target/objects").rglob("*"):
        if path.is_file():
            path.write_bytes(path.read_bytes()[:-1] + b"!")


def wrong_keys(shop: Shop) -> None:
    """A whole repository, signed by keys of the attacker's own."""
    shutil.rmtree(shop.metadata)
    roots.init(shop.work / "attacker", keys=1, threshold=1, passphrase="", moment=datetime.now(UTC))
    for name in ("Fourth", "First", "Third"):  # so that its numbers are higher
        release(shop.work, name)
        signed_publish(
            outgoing(shop.work / "dist"), shop.bucket, shop.signing(keys="attacker"), PublishOptions(force=True)
        )


def stolen_timestamp_key(shop: Shop) -> None:
    """With this key alone: a timestamp that names a snapshot of the attacker's own."""
    wrong_keys(shop)
    shutil.copy(shop.keys / "1.root.json", shop.metadata)
    signed(shop, "timestamp", version=9)


def stolen_targets_key(shop: Shop) -> None:
    """With this key alone: targets that name another release, which no snapshot names."""
    path = layout.release_key("0" * 64)
    signed(shop, "targets", targets={path: TargetFile(1, {"sha256": "0" * 64}, path)})


def fewer_than_the_threshold(shop: Shop) -> None:
    """With one root key of the two that are needed: a root with keys of the attacker's own."""
    stolen = shop.work / "stolen"
    stolen.mkdir()
    shutil.copy(sorted(shop.keys.glob("root-*"))[0], stolen)
    shutil.copytree(shop.keys, shop.work / "copy")
    for path in (shop.work / "copy").glob("*.pem"):
        path.unlink()
    roots.change(shop.work / "copy", "targets", KeySource(stolen, {}), add=True, remove="", moment=datetime.now(UTC))
    shutil.copy(shop.work / "copy/draft.root.json", shop.metadata / "2.root.json")


def revoked(shop: Shop) -> None:
    """What a key has signed that the shop has replaced meanwhile."""
    before = (shop.metadata / "timestamp.json").read_bytes()
    roots.change(shop.keys, "timestamp", KeySource(shop.keys, {}), add=True, remove="", moment=datetime.now(UTC))
    shop.publish("Third")
    (shop.metadata / "timestamp.json").write_bytes(before)


def deleted(shop: Shop) -> None:
    (shop.metadata / "2.snapshot.json").unlink()


def unsigned(shop: Shop) -> None:
    shutil.rmtree(shop.metadata)


def signed(shop: Shop, role: str, **changes: object) -> None:
    """Sign metadata with the real key of a role, as whoever has stolen it does."""
    kinds = {"timestamp": Timestamp, "snapshot": Snapshot, "targets": Targets}
    name = "timestamp.json" if role == "timestamp" else f"2.{role}.json"
    metadata = Metadata.from_file(str(shop.metadata / name))
    assert isinstance(metadata.signed, kinds[role])
    metadata.signed.version += 1 if role == "timestamp" else 0
    for field, value in changes.items():
        setattr(metadata.signed, field, value)
    root = roots.read(shop.keys).signed
    (id,) = root.roles[role].keyids
    signer = KeySource(shop.keys, {}).signer(role, root.get_key(id))
    assert signer
    metadata.sign(signer)
    draft = shop.work / name
    metadata.to_file(str(draft))
    os.replace(draft, shop.metadata / name)  # no host reads a half of it


@pytest.mark.parametrize(
    ("attack", "kind"),
    [
        (replayed, "stale"),
        (frozen, "expired"),
        (mixed, "unsigned"),
        (mixed_snapshots, "unsigned"),
        (endless_timestamp, "source"),
        (endless_root, "unsigned"),
        (endless_list, "unsigned"),
        (old_root, "stale"),
        (changed_targets, "unsigned"),
        (changed_list, "unsigned"),
        (changed_object, "damaged"),
        (wrong_keys, "unsigned"),
        (stolen_timestamp_key, "unsigned"),
        (stolen_targets_key, "unsigned"),
        (fewer_than_the_threshold, "unsigned"),
        (revoked, "unsigned"),
        (deleted, "damaged"),
        (unsigned, "unsigned"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_attack_is_refused_and_the_last_good_release_stays(shop: Shop, attack: Attack, kind: str) -> None:
    shop.publish()
    shutil.copytree(shop.metadata, shop.work / "yesterday")
    signing.sign(shop.bucket, shop.signing())
    good = shop.pull()
    shop.publish("Second")
    attack(shop)
    refused, sentence = shop.refusal()
    assert (refused, shop.host.current()) == (kind, good), sentence
    note = pull_notes.read(shop.host.out)
    assert note is not None
    assert (note.kind, note.fault, note.faults) == (kind, sentence, {kind: 1})


def test_after_an_attack_the_next_publication_is_followed(shop: Shop) -> None:
    shop.publish()
    shop.pull()
    shop.publish("Second")
    changed_targets(shop)
    assert shop.refusal()[0] == "unsigned"
    third = shop.publish("Third")
    assert (shop.pull(), shop.host.current()) == (third, third)


def test_a_new_host_refuses_what_is_below_its_floor(shop: Shop) -> None:
    shop.publish()
    yesterday = shutil.copytree(shop.metadata, shop.work / "yesterday")
    second = shop.publish("Second")
    shutil.copy(yesterday / "timestamp.json", shop.metadata)  # all of it is signed, and nothing has expired
    assert shop.refusal(floor=2)[0] == "stale"
    assert shop.host.current() is None
    assert (shop.publish("Second"), shop.pull(floor=2)) == (second, second)


def test_a_network_that_breaks_before_a_signed_list_is_read_is_no_attack(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"AWS_ENDPOINT_URL": f"http://{ADDRESS}:{free_port()}", **KEYS}.items():
        monkeypatch.setenv(name, text)
    away = at("nowhere")

    class Breaking(FolderBucket):
        def read(self, key: str) -> Stored | None:
            return away.read(key) if key.startswith(layout.RELEASES) else super().read(key)

    shop.publish()
    kind, said = replace(shop, bucket=Breaking(shop.work / "target")).refusal()
    assert (kind, "the store is not reached" in said) == ("source", True)


def test_a_follower_notices_that_the_timestamp_has_expired_though_nothing_changes(shop: Shop) -> None:
    shop.publish()
    times = [datetime.now(UTC)]
    source = shop.source(clock=lambda: times[0])
    done = pull(source, shop.host)
    assert source.is_still(done.wanted.version)
    times[0] += timedelta(days=3)
    assert not source.is_still(done.wanted.version)


def test_a_sentence_about_what_has_expired_has_both_times(shop: Shop) -> None:
    shop.publish()
    end = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    shop.publish("Second")
    signed(shop, "timestamp", expires=end)
    kind, sentence = shop.refusal()
    assert (kind, f"since {end:%Y-%m-%d %H:%MZ}, if this host's clock is right, which says" in sentence) == (
        "expired",
        True,
    )


def test_a_host_whose_clock_is_a_day_behind_says_so(shop: Shop) -> None:
    shop.publish()
    yesterday = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(PullFault, match="so it would not notice what has expired; set the clock") as raised:
        pull(shop.source(clock=lambda: yesterday), shop.host)
    assert raised.value.kind == "expired"


# -- rotation --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["timestamp", "snapshot", "targets"])
def test_a_host_with_the_first_root_follows_two_changes_of_keys(shop: Shop, role: str) -> None:
    shop.publish()
    shop.pull()
    for _ in range(2):
        roots.change(shop.keys, role, KeySource(shop.keys, {}), add=True, remove="", moment=datetime.now(UTC))
    second = shop.publish("Second")
    assert (shop.pull(), roots.read(shop.host.out / "trusted").signed.version) == (second, 3)


def test_between_a_new_root_and_its_timestamp_hosts_wait_and_the_next_run_ends_that(shop: Shop) -> None:
    class Killed(FolderBucket):
        """A target whose publisher is killed right before the timestamp is replaced."""

        def replace(self, key: str, data: bytes, headers: Headers, version: Version | None) -> bool:
            if key == layout.TIMESTAMP:
                raise KeyboardInterrupt
            return super().replace(key, data, headers, version)

    first = shop.publish()
    shop.pull()
    roots.change(shop.keys, "timestamp", KeySource(shop.keys, {}), add=True, remove="", moment=datetime.now(UTC))
    second = release(shop.work, "Second")
    with pytest.raises(KeyboardInterrupt):
        signed_publish(outgoing(shop.work / "dist"), Killed(shop.work / "target"), shop.signing())
    assert (shop.refusal()[0], shop.host.current()) == ("unsigned", first)
    assert (shop.publish("Second", force=False), shop.pull()) == (second, second)


def test_after_a_change_of_the_online_keys_what_was_signed_can_still_be_rolled_back_to(shop: Shop) -> None:
    first, _ = shop.publish(), shop.publish("Second")
    roots.change(shop.keys, "timestamp", KeySource(shop.keys, {}), add=True, remove="", moment=datetime.now(UTC))
    moved, _ = signed_roll_back(shop.bucket, None, shop.signing())
    assert (moved.id, shop.pull()) == (first, first)
