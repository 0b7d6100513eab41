"""Targets that site.yaml configures: commands take a name, and know who signs there and how caches are purged."""

from pathlib import Path

import pytest

from harness.program import Ran, shopwindow
from harness.stores import current, folder, parse, release
from shopwindow.delivery import layout, pointer
from shopwindow.delivery.targets import ConfiguredTarget, configured
from shopwindow.problems import Failure, Misuse


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A folder with keys, releases and a target that is signed and purged."""
    (tmp_path / "content").mkdir()
    assert shopwindow("keys", "init", tmp_path / "keys").status == 0
    return said_of_targets(
        tmp_path, f"{{to: 'file://{tmp_path}/target', keys: keys, purge: 'command:cat', follow: 0s}}"
    )


def said_of_targets(work: Path, production: str) -> Path:
    (work / "content/site.yaml").write_text(f"targets:\n  production: {production}\n")
    return work


def ran(work: Path, *command: str) -> Ran:
    done = shopwindow(*command, cwd=work)
    assert (done.status, done.err) == (0, ""), done
    return done


def test_every_command_takes_the_name_and_signs_and_purges_as_configured(shop: Path) -> None:
    first = release(shop)
    assert f"release {first[:12]}: signed, targets number 1" in ran(shop, "publish", "production").out
    second = release(shop, "Second")
    published = ran(shop, "publish", "production").out
    assert (f"release {second[:12]}: signed, targets number 2" in published, "URLs purged" in published) == (True, True)
    listed = [line.split()[0] for line in ran(shop, "releases", "--target", "production").out.splitlines()]
    assert sorted(listed) == sorted([first[:12], second[:12]])

    moved = ran(shop, "rollback", "--target", "production").out
    assert (f"release {first[:12]}: signed, targets number 3" in moved, "URLs purged" in moved) == (True, True)
    assert "the next publication" in ran(shop, "activate", "current", "--target", "production").out
    assert ran(shop, "activate", second[:12], "--target", "production").out.startswith(f"current is {second[:12]}")
    assert f"release {second[:12]} is intact" in ran(shop, "verify", "--target", "production").out
    assert "2 releases kept" in ran(shop, "prune", "--keep", "1", "--target", "production").out
    assert f"release {second[:12]}: signed" in ran(shop, "publish", "production", "--renew").out
    assert "timestamp: version 5" in ran(shop, "keys", "status", "keys", "production").out
    assert (
        f"release {second[:12]}: " in ran(shop, "pull", "production", "--root", "keys/root.json", "--out", "host").out
    )
    assert current(folder(shop / "target"))["id"] == second


def test_a_signature_that_is_wrong_is_a_fault_of_a_target_that_has_keys(shop: Path) -> None:
    id = release(shop)
    ran(shop, "publish", "production")
    listing = shop / "target" / layout.release_key(id)
    listing.write_bytes(listing.read_bytes() + b" ")
    done = shopwindow("verify", "--target", "production", cwd=shop)
    assert (done.status, done.out) == (1, f"{layout.release_key(id)}: not what was signed\n")


def test_keys_on_the_command_line_replace_those_of_the_name(shop: Path) -> None:
    release(shop)
    ran(shop, "publish", "production")
    release(shop, "Second")
    assert shopwindow("keys", "init", shop / "others").status == 0
    refused = shopwindow("publish", "production", "--keys", "others", cwd=shop)
    assert (refused.status, "was signed with other keys than those of others" in refused.err) == (4, True)


def test_what_a_target_does_not_say_is_an_address_that_nobody_signs_and_purges(tmp_path: Path) -> None:
    content = tmp_path / "content"
    content.mkdir()
    place = parse("s3://larkspurvane-api/releases")
    for text in (str(place), f"{{to: '{place}'}}"):
        said_of_targets(tmp_path, text)
        assert configured("production", content) == ConfiguredTarget(place, "", (), 30.0)
    said_of_targets(tmp_path, f"{{to: '{place}', keys: keys, purge: [fastly, 'http://cache:6081'], follow: 0.5s}}")
    expected = ConfiguredTarget(place, str(tmp_path / "keys"), ("fastly", "http://cache:6081"), 0.5)
    assert configured("production", content) == expected
    assert configured(str(place), content) == ConfiguredTarget(place)
    said_of_targets(tmp_path, f"{{to: '{place}', hosts: ['http://10.0.0.11:8001', 'http://10.0.0.12:8001']}}")
    named = ("http://10.0.0.11:8001", "http://10.0.0.12:8001")
    assert configured("production", content) == ConfiguredTarget(place, hosts=named)


@pytest.mark.parametrize("odd", ["5", "[]", "{}", "{keys: keys}", "{to: 7}", "{to: 's3://x', follow: soon}"])
def test_a_target_that_check_refuses_is_a_sentence(tmp_path: Path, odd: str) -> None:
    (tmp_path / "content").mkdir()
    said_of_targets(tmp_path, odd)
    with pytest.raises(
        Failure, match="target production is not as it has to be; `shopwindow check` says what is wrong"
    ):
        configured("production", tmp_path / "content")
    with pytest.raises(Misuse, match="names are production; did you mean production"):
        configured("prodution", tmp_path / "content")


def test_without_a_target_the_same_commands_mean_the_output_directory(shop: Path) -> None:
    id = release(shop)
    assert f"current is {id[:12]}" in ran(shop, "activate", id[:12]).out
    refused = shopwindow("activate", "--latest", "--target", "production", cwd=shop)
    assert (refused.status, "--latest is of builds, not of a target" in refused.err) == (2, True)
    assert pointer.read(folder(shop / "target")) is None
