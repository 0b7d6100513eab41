"""The keys that sign releases: who may read them, where they come from, and who has to sign a change of them."""

import shutil
import stat
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.program import shopwindow
from harness.stores import KeySource, PublishOptions, Signing, folder, outgoing, publish, release
from shopwindow.delivery import roots, signing
from shopwindow.delivery.keys import PASSPHRASE
from shopwindow.delivery.roots import DEFAULT_DAYS, ROLES, status
from shopwindow.problems import Failure, Misuse

NOW = datetime.now(UTC)


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    roots.init(tmp_path / "keys", keys=3, threshold=2, passphrase="", moment=NOW)
    return tmp_path / "keys"


@pytest.fixture
def target(tmp_path: Path, keys: Path) -> str:
    """A target at which a release is signed."""
    release(tmp_path)
    going, bucket = outgoing(tmp_path / "dist"), folder(tmp_path / "target")
    publish(going, bucket, PublishOptions(signing=Signing(keys, KeySource(keys, {}))))
    return f"file://{tmp_path}/target"


def sticks(keys: Path) -> list[Path]:
    """Move each root key to a stick of its owner."""
    moved = []
    for number, path in enumerate(sorted(keys.glob("root-*.pem"))):
        stick = keys.parent / f"stick{number}"
        stick.mkdir()
        shutil.move(path, stick)
        moved.append(stick)
    return moved


def role_keys(keys: Path, role: str) -> set[str]:
    return set(roots.read(keys).signed.roles[role].keyids)


# -- where they are --------------------------------------------------------------------------------------------------


def test_init_writes_keys_for_their_owner_alone_and_a_root_for_all(tmp_path: Path) -> None:
    done = shopwindow("keys", "init", tmp_path / "keys")
    modes = {path.name.partition("-")[0]: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    private = dict.fromkeys(("root", "targets", "snapshot", "timestamp"), 0o600)
    public = {name: modes.get(name) for name in ("root.json", "1.root.json", ".gitignore")}
    assert (done.status, modes) == (0, {**private, **public})
    assert all(mode is not None and mode & stat.S_IRUSR for mode in public.values())
    text = done.out + done.err
    assert [line for line in text.splitlines() if "PRIVATE" in line] == []
    again = shopwindow("keys", "init", tmp_path / "keys")
    assert (again.status, "has keys already, and nothing was changed" in again.err) == (4, True)


def test_more_signatures_than_keys_are_refused(tmp_path: Path) -> None:
    done = shopwindow("keys", "init", tmp_path / "keys", "--root-keys", "1", "--threshold", "2")
    assert (done.status, "--threshold 2 of 1 keys cannot sign" in done.err) == (2, True)
    assert not (tmp_path / "keys").exists()


def test_a_key_that_others_may_read_is_refused(tmp_path: Path, keys: Path, target: str) -> None:
    (path,) = keys.glob("targets-*.pem")
    path.chmod(0o640)
    release(tmp_path, "Second")
    before = (tmp_path / "target/current.json").read_bytes()
    done = shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys)
    assert (done.status, f"{path}: others may read this private key (mode 640)" in done.err) == (4, True)
    assert (tmp_path / "target/current.json").read_bytes() == before


def test_keys_come_from_variables_and_no_output_has_them(tmp_path: Path, keys: Path, target: str) -> None:
    online = {path.name.partition("-")[0]: path for path in keys.glob("*.pem") if not path.name.startswith("root")}
    variables = {f"SHOPWINDOW_KEY_{role.upper()}": path.read_text() for role, path in online.items()}
    for path in online.values():
        path.unlink()
    bare = shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys)
    assert (bare.status, "of targets is neither here nor in SHOPWINDOW_KEY_TARGETS" in bare.err) == (4, True)

    id = release(tmp_path, "Second")
    done = shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys, env=variables)
    assert (done.status, f"release {id[:12]}: signed" in done.out) == (0, True), done.err
    secrets = [text.splitlines()[1] for text in variables.values()]
    assert [secret for secret in secrets if secret in done.out + done.err] == []


def test_a_key_may_be_a_single_line_for_pipelines_that_hide_nothing_else(keys: Path) -> None:
    root = roots.read(keys).signed
    (id,) = root.roles["targets"].keyids
    (path,) = keys.glob("targets-*.pem")
    line = b64encode(path.read_bytes()).decode()
    path.unlink()
    assert KeySource(keys, {}).signer("targets", root.get_key(id)) is None
    assert KeySource(keys, {"SHOPWINDOW_KEY_TARGETS": line}).signer("targets", root.get_key(id)) is not None


def test_a_passphrase_opens_a_root_key_and_a_wrong_one_says_so(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    roots.init(keys, keys=1, threshold=1, passphrase="of the safe", moment=NOW)
    (path,) = keys.glob("root-*.pem")
    assert "ENCRYPTED" in path.read_text().splitlines()[0]
    for passphrase, words in (("", "has a passphrase; set"), ("guessed", "the passphrase is not the right one")):
        with pytest.raises(Failure, match=words):
            roots.sign(keys, KeySource(keys, {PASSPHRASE: passphrase}), renew=True, moment=NOW)
    change = roots.sign(keys, KeySource(keys, {PASSPHRASE: "of the safe"}), renew=True, moment=NOW)
    assert (change.version, change.missing) == (2, ())


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
def test_what_is_no_key_is_named_without_its_bytes(keys: Path, text: str) -> None:
    source = KeySource(keys, {"SHOPWINDOW_KEY_TARGETS": text})
    root = roots.read(keys).signed
    (id,) = root.roles["targets"].keyids
    if not text:
        assert source.signer("targets", root.get_key(id)) is None
        return
    with pytest.raises(Failure) as raised:
        source.signer("targets", root.get_key(id))
    assert str(raised.value) == "SHOPWINDOW_KEY_TARGETS: is no private key in PEM, as `keys init` writes it"


# -- changes of keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("role", ["targets", "snapshot", "timestamp"])
def test_a_change_is_in_force_when_as_many_as_the_threshold_have_signed(keys: Path, role: str) -> None:
    first, second, _ = sticks(keys)
    before = role_keys(keys, role)
    change = roots.change(keys, role, KeySource(keys, {}), add=True, remove="", moment=NOW)
    assert ([len(change.missing), list(change.replaced)], role_keys(keys, role)) == ([1, list(before)], before)
    change = roots.sign(keys, KeySource(first, {}), moment=NOW)
    assert ([line[:2] for line in change.missing], role_keys(keys, role)) == (["1 "], before)
    change = roots.sign(keys, KeySource(first, {}), moment=NOW)  # the same person again
    assert len(change.missing) == 1
    change = roots.sign(keys, KeySource(second, {}), moment=NOW)
    assert (change.missing, roots.read(keys).signed.version, (keys / roots.DRAFT).exists()) == ((), 2, False)
    assert len(role_keys(keys, role)) == 1
    assert role_keys(keys, role).isdisjoint(before)


def test_a_lost_root_key_is_replaced_by_the_two_others(keys: Path) -> None:
    lost, *others = sticks(keys)
    (pem,) = lost.iterdir()
    id = pem.stem.removeprefix("root-")
    with pytest.raises(Misuse, match="names the key that is replaced; root has "):
        roots.change(keys, "root", KeySource(keys, {}), add=True, remove="", moment=NOW)
    roots.change(keys, "root", KeySource(keys, {}), add=True, remove=id, moment=NOW)
    for stick in others:
        change = roots.sign(keys, KeySource(stick, {}), moment=NOW)
    assert (change.missing, change.version) == ((), 2)
    assert [key for key in role_keys(keys, "root") if key.startswith(id)] == []
    assert len(role_keys(keys, "root")) == 3


def test_nothing_is_signed_where_nothing_was_begun(keys: Path) -> None:
    done = shopwindow("keys", "sign", keys)
    assert (done.status, "nothing is to be signed; --renew begins a root that lasts longer" in done.err) == (4, True)


# -- how many, and for how long --------------------------------------------------------------------------------------


def ends(keys: Path, target: str) -> dict[str, float]:
    """For how many days each role's signature at a target is good, to a tenth."""
    listed = signing.ends(folder(Path(target.removeprefix("file://"))), roots.read(keys).signed)
    now = datetime.now(UTC)
    return {role: round((end - now) / timedelta(days=1), 1) for role, (_, end) in listed.items()}


def test_lifetimes_that_were_chosen_hold_for_every_later_signature(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    assert shopwindow("keys", "init", keys).status == 0
    for role, days in (("timestamp", "7"), ("root", "500")):
        assert shopwindow("keys", "rotate", keys, role, "--expires", days).status == 0
    release(tmp_path)
    target = f"file://{tmp_path}/target"
    assert shopwindow("publish", target, "--out", tmp_path / "dist", "--keys", keys).status == 0
    assert ends(keys, target) == {"targets": 90.0, "snapshot": 30.0, "timestamp": 7.0}
    left = roots.read(keys).signed.expires - datetime.now(UTC)
    assert timedelta(days=499) < left <= timedelta(days=500)
    lines = shopwindow("keys", "status", keys, target).out.splitlines()
    lasting = {line.partition(":")[0]: line.rpartition("for ")[2] for line in lines if not line.startswith(" ")}
    assert lasting == {"root": "500 days", "targets": "90 days", "snapshot": "30 days", "timestamp": "7 days"}


@pytest.mark.parametrize("days", [1, 10])
def test_another_lifetime_holds_from_the_next_publication_or_renewal_on(keys: Path, target: str, days: int) -> None:
    done = shopwindow("keys", "rotate", keys, "timestamp", "--expires", str(days))
    assert (done.status, "root.json: version 2, signed" in done.out) == (0, True), done.err
    renewal = () if days < 3 else ("--renew",)  # what is shorter counts at once
    out = keys.parent / "dist"
    assert shopwindow("publish", target, "--out", out, "--keys", keys, *renewal).status == 0
    assert ends(keys, target) == {"targets": 90.0, "snapshot": 30.0, "timestamp": float(days)}


@pytest.mark.parametrize("days", [0, -1, 3651, "7", None, [7]])
def test_a_root_with_no_number_of_days_signs_nothing_and_says_what_to_change(keys: Path, days: object) -> None:
    root = roots.read(keys)
    root.signed.unrecognized_fields[roots.ROLE_DAYS] = {"timestamp": days}
    with pytest.raises(Failure, match="shopwindow keys rotate DIR timestamp --expires DAYS"):
        roots.lifetime(root.signed, "timestamp")
    assert roots.lifetime(root.signed, "snapshot") == timedelta(days=30)


def test_a_threshold_is_raised_by_as_many_as_it_needs_from_then_on(keys: Path) -> None:
    first, second, third = sticks(keys)
    change = roots.change(keys, "root", KeySource(first, {}), threshold=3, moment=NOW)
    assert [line[:2] for line in change.missing] == ["1 ", "2 "]  # by the old threshold, and by the new one
    change = roots.sign(keys, KeySource(second, {}), moment=NOW)
    assert ([line[:2] for line in change.missing], roots.read(keys).signed.version) == (["1 "], 1)
    change = roots.sign(keys, KeySource(third, {}), moment=NOW)
    assert (change.missing, roots.read(keys).signed.roles["root"].threshold) == ((), 3)


def test_a_threshold_that_the_keys_cannot_reach_is_refused_and_no_key_is_made(keys: Path) -> None:
    before = sorted(keys.iterdir())
    lost = role_keys(keys, "timestamp").pop()
    for options, words in (
        (("root", "--threshold", "4"), "4 of 3 keys cannot sign"),
        (("targets", "--add", "--threshold", "3"), "3 of 2 keys cannot sign"),
        (("timestamp", "--threshold", "1"), "one key of timestamp signs; it is for root and targets"),
        (("snapshot", "--add", "--threshold", "2"), "one key of snapshot signs; it is for root and targets"),
        (("timestamp", "--remove", lost[:8]), "1 of 0 keys cannot sign"),
        (("timestamp", "--remove", "ffffffffffff"), "timestamp has "),
    ):
        done = shopwindow("keys", "rotate", keys, *options)
        assert (done.status, words in done.err) == (2, True), done
    assert sorted(keys.iterdir()) == before


def test_a_renewal_job_has_a_key_of_its_own_which_can_be_taken_away(keys: Path, target: str) -> None:
    (publishers,) = role_keys(keys, "timestamp")
    done = shopwindow("keys", "rotate", keys, "timestamp", "--add")
    (jobs,) = role_keys(keys, "timestamp") - {publishers}
    assert (done.status, roots.read(keys).signed.roles["timestamp"].threshold) == (0, 1)
    (keys / f"timestamp-{publishers[:8]}.pem").unlink()
    assert shopwindow("publish", target, "--keys", keys, "--renew").status == 0
    done = shopwindow("keys", "rotate", keys, "timestamp", "--remove", jobs[:8])
    assert (done.status, role_keys(keys, "timestamp")) == (0, {publishers})
    done = shopwindow("publish", target, "--keys", keys, "--renew")
    assert (done.status, f"the private key {publishers[:8]} of timestamp is neither here nor" in done.err) == (4, True)


# -- what is due -----------------------------------------------------------------------------------------------------


def test_status_lists_roles_and_ends_and_says_with_its_status_that_something_is_due(keys: Path, target: str) -> None:
    done = shopwindow("keys", "status", keys, target)
    heads = [line.partition(" until ")[0] for line in done.out.splitlines() if not line.startswith(" ")]
    assert (done.status, heads) == (
        0,
        ["root: version 1,", "targets: version 1,", "snapshot: version 1,", "timestamp: version 1,"],
    )
    shopwindow("keys", "rotate", keys, "timestamp", "--held", sticks(keys)[0])
    done = shopwindow("keys", "status", keys, target)
    assert (done.status, "due: draft.root.json waits for signatures: shopwindow keys sign" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("later", "due"),
    [
        (timedelta(days=1), {}),
        (timedelta(days=2, hours=1), {"timestamp": "expires soon"}),
        (timedelta(days=20), {"timestamp": "has expired", "snapshot": "expires soon"}),
        (
            timedelta(days=310),
            {"root": "expires soon", **dict.fromkeys(("targets", "snapshot", "timestamp"), "has expired")},
        ),
    ],
)
def test_each_role_is_due_in_time(keys: Path, later: timedelta, due: dict[str, str]) -> None:
    ends = {role: (1, NOW + timedelta(days=DEFAULT_DAYS[role])) for role in ROLES[1:]}
    listed = status(keys, ends, NOW + later)
    assert {role.role: role.due.partition(":")[0] for role in listed if role.due} == due


def test_a_root_that_has_expired_signs_nothing_and_the_clock_is_named(tmp_path: Path) -> None:
    roots.init(tmp_path / "keys", keys=1, threshold=1, passphrase="", moment=NOW - timedelta(days=366))
    release(tmp_path)
    where = f"file://{tmp_path}/target"
    done = shopwindow("publish", where, "--out", tmp_path / "dist", "--keys", tmp_path / "keys")
    assert (done.status, "if this machine's clock is right, which says" in done.err) == (4, True)
    assert not (tmp_path / "target").exists()
