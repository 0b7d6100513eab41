"""Releases side by side: list, roll back, pin, activate, compare, prune and verify them."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, SAMPLE, app, coupon, promotion, site, small, store, write
from harness.program import Releases, aged, build, built, copied, current, history, manifest, point, shopwindow, verify
from shopwindow.problems import Failure
from shopwindow.release.changes import ValueChange, changes, longest_lifetime, opened, purged
from shopwindow.shop import INTERFACE

Json = Any
BASE = "https://api.shop.example"


@dataclass(frozen=True)
class Prepared:
    """Output directories made once, for copies: of one release of the small content, and of three, named A, B, C."""

    one: Path
    three: Path
    ids: tuple[str, str, str]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("prepared")
    content = write(folder / "content", small())
    built(content, folder / "one")
    first, second, third = (built(edited(content, name), folder / "three") for name in "ABC")
    return Prepared(folder / "one", folder / "three", (first, second, third))


def edited(content: Path, name: str) -> Path:
    """The content with another name for the first store."""
    return write(content, {"stores/one.yaml": store(1, name=name)})


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return write(tmp_path / "content", small())


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


@pytest.fixture
def one(prepared: Prepared, out: Path) -> str:
    """One release of the small content, current."""
    shutil.copytree(prepared.one, out, symlinks=True)
    return current(out)


@pytest.fixture
def three(prepared: Prepared, content: Path, out: Path) -> tuple[str, str, str]:
    """Three releases in the order in which they were built; the content is that of the last, which is current."""
    shutil.copytree(prepared.three, out, symlinks=True)
    edited(content, "C")
    return prepared.ids


def is_pinned(out: Path) -> bool:
    return Releases(out).pinned()


def switches(out: Path) -> list[tuple[str, str | None, str]]:
    return [(line["action"], line["from"], line["id"]) for line in history(out)]


def count_of(out: Path, id: str) -> int:
    """How many files a release has."""
    return len(manifest(out / "releases" / id)["files"])


# -- the list ----------------------------------------------------------------------------------------------------


def test_the_list_tells_id_time_size_and_which_is_current_the_newest_first(
    out: Path, three: tuple[str, str, str]
) -> None:
    assert shopwindow("rollback", three[0], "--out", out).status == 0
    lines = shopwindow("releases", "--out", out).out.splitlines()
    (files,) = {count_of(out, id) for id in three}
    time = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
    form = re.compile(rf"([0-9a-f]{{12}})  ({time})  +{files} files  +([0-9]+) KiB(.*)")
    found = [match.groups() for line in lines if (match := form.fullmatch(line))]
    marks = ["", "", " current pinned"]
    assert [(id, rest) for id, _, _, rest in found] == list(
        zip([id[:12] for id in reversed(three)], marks, strict=True)
    )
    assert [moment for _, moment, _, _ in found] == sorted((moment for _, moment, _, _ in found), reverse=True)
    sizes = [{entry["sha256"]: entry["size"] for entry in manifest(out / "releases" / id)["files"]} for id in three]
    assert [int(size) for _, _, size, _ in reversed(found)] == [round(sum(size.values()) / 1024) for size in sizes]


def test_a_damaged_release_hides_no_other_from_the_list(out: Path, three: tuple[str, str, str]) -> None:
    before = shopwindow("releases", "--out", out).out.splitlines()
    os.truncate(out / "releases" / three[1] / "manifest.json", 100)
    (out / "releases" / three[0] / "build.json").unlink()
    ran = shopwindow("releases", "--out", out)
    third, second, first = ran.out.splitlines()
    damaged = f"{before[1][:34]}{'damaged':>29}"
    assert (ran.status, ran.err, third, second) == (0, "", before[0], damaged)
    assert first == f"{before[2][:14]}(not recorded)      {before[2][34:]}"


def test_without_releases_the_list_is_empty(out: Path) -> None:
    ran = shopwindow("releases", "--out", out)
    words = f"{out}: there is no release; `shopwindow build` makes one\n"
    assert (ran.status, ran.out, ran.err, out.exists()) == (0, "", words, False)


# -- rolling back ------------------------------------------------------------------------------------------------


def test_a_rollback_goes_to_the_release_before_and_pins_it(out: Path, three: tuple[str, str, str]) -> None:
    _, second, third = three
    ran = shopwindow("rollback", "--out", out, "--reason", "wrong prices", env={"SHOPWINDOW_ACTOR": "somebody"})
    assert (ran.status, ran.out) == (
        0,
        f"current is {second[:12]}, previous {third[:12]}\n"
        "pinned: builds activate nothing until `shopwindow activate` does\n",
    )
    assert (current(out), is_pinned(out)) == (second, True)
    line = history(out)[-1]
    del line["when"]
    assert line == {"id": second, "from": third, "who": "somebody", "why": "wrong prices", "action": "rollback"}


def test_repeated_rollbacks_go_further_back_and_end_with_the_first(out: Path, three: tuple[str, str, str]) -> None:
    first, second, _ = three
    ended = [(shopwindow("rollback", "--out", out).status, current(out)) for _ in range(3)]
    assert ended == [(0, second), (0, first), (4, first)]
    ran = shopwindow("rollback", "--out", out)
    words = "the history names no release to roll back to; `shopwindow releases` lists what there is"
    assert (ran.status, ran.out, ran.err) == (4, "", f"shopwindow: {words}\n")


def test_a_rollback_never_goes_to_what_was_rolled_back_from(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    _, second, third = three
    assert shopwindow("rollback", "--out", out).status == 0
    assert build(edited(content, "D"), out).status == 3
    assert shopwindow("activate", "--latest", "--out", out).status == 0
    fourth = current(out)
    assert shopwindow("rollback", "--out", out).status == 0
    assert (fourth in three, current(out)) == (False, second)
    assert third not in [id for action, _, id in switches(out)[-2:]]


def test_a_rollback_may_name_the_release_by_eight_digits_or_more(out: Path, three: tuple[str, str, str]) -> None:
    first, second, third = three
    asked = [first[:8], second[:9].upper(), third, first[:12]]
    ended = [(shopwindow("rollback", id, "--out", out).status, current(out)) for id in asked]
    assert ended == [(0, first), (0, second), (0, third), (0, first)]


def test_a_release_that_is_gone_is_passed_over(out: Path, three: tuple[str, str, str]) -> None:
    first, second, _ = three
    shutil.rmtree(out / "releases" / second)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, first)


NAMES = {
    "1234567": "'1234567': an id needs at least 8 digits; `shopwindow releases` lists them",
    "00000000": "'00000000': no release has this id; `shopwindow releases` lists them",
    "../../..": "'../../..': no release has this id; `shopwindow releases` lists them",
}


@pytest.mark.parametrize(("id", "words"), NAMES.items())
@pytest.mark.parametrize("command", ["rollback", "activate", "verify"])
def test_an_id_that_names_no_release_is_refused(out: Path, one: str, command: str, id: str, words: str) -> None:
    ran = shopwindow(command, id, "--out", out)
    assert (ran.status, ran.out, ran.err, current(out)) == (4, "", f"shopwindow: {words}\n", one)


def test_digits_with_which_several_ids_begin_are_refused(out: Path, one: str) -> None:
    twin = one[:10] + one[11:] + "0"
    shutil.copytree(out / "releases" / one, out / "releases" / twin)
    ran = shopwindow("activate", one[:8], "--out", out)
    words = f"'{one[:8]}': several releases begin so; `shopwindow releases` lists them"
    assert (ran.status, ran.err) == (4, f"shopwindow: {words}\n")


@pytest.mark.parametrize(
    "arguments", [("rollback",), ("activate", "--latest"), ("verify",), ("diff", "current", "current")]
)
def test_where_there_is_no_release_a_command_says_so(out: Path, arguments: tuple[str, ...]) -> None:
    ran = shopwindow(*arguments, "--out", out)
    assert (ran.status, ran.out, ran.err.startswith("shopwindow: "), ran.err.count("\n")) == (4, "", True, 1)


def damage(release: Path) -> None:
    path = release / "files/store/v2/stores.json"
    path.unlink()
    path.write_bytes(b"{}")


@pytest.mark.parametrize("command", [["rollback"], ["activate", "SECOND"]])
def test_a_damaged_release_is_not_activated(out: Path, three: tuple[str, str, str], command: list[str]) -> None:
    _, second, third = three
    damage(out / "releases" / second)
    before = (out / "history.jsonl").read_bytes()
    ran = shopwindow(*(second if word == "SECOND" else word for word in command), "--out", out)
    words = "is damaged, nothing was activated: files/store/v2/stores.json: not the bytes that were built"
    assert (ran.status, ran.err) == (4, f"shopwindow: release {second[:12]} {words}\n")
    assert (current(out), (out / "history.jsonl").read_bytes()) == (third, before)


# -- the pin -----------------------------------------------------------------------------------------------------


def test_while_pinned_a_build_writes_its_release_and_does_not_switch(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    _, second, _ = three
    assert shopwindow("rollback", "--out", out).status == 0
    before = history(out)
    ran = build(edited(content, "D"), out)
    (fourth,) = {path.name for path in (out / "releases").iterdir()} - set(three)
    assert ran.status == 3
    assert (
        f"release {fourth[:12]}: {count_of(out, fourth)} files, not activated: `current` is pinned to {second[:12]}"
        in ran.out
    )
    assert f"`shopwindow activate {fourth[:12]}` activates and unpins" in ran.out
    assert (current(out), is_pinned(out), history(out)) == (second, True, before)
    assert shopwindow("verify", fourth, "--out", out).status == 0
    assert build(content, out).status == 3  # and again, though the release exists now


def test_while_pinned_a_build_of_what_is_current_is_no_failure(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    _, second, _ = three
    assert shopwindow("rollback", "--out", out).status == 0
    aged(edited(content, "B"))
    pinned = "`current` is pinned, builds activate nothing until `shopwindow activate` does"
    for _ in range(2):
        ran = build(content, out)
        words = f"release {second[:12]}: {count_of(out, second)} files, it is current already: nothing to do; {pinned}"
        assert (ran.status, ran.out.splitlines()[0], current(out), is_pinned(out)) == (0, words, second, True)


@pytest.mark.parametrize("latest", [False, True])
def test_a_switch_unpins(content: Path, out: Path, three: tuple[str, str, str], latest: bool) -> None:
    _, second, third = three
    assert shopwindow("rollback", "--out", out).status == 0
    ran = shopwindow("activate", "--latest" if latest else third[:8], "--out", out, "--reason", "fixed")
    assert (ran.status, ran.out) == (0, f"current is {third[:12]}, previous {second[:12]}\n")
    assert (current(out), is_pinned(out)) == (third, False)
    assert (switches(out)[-1], history(out)[-1]["why"]) == (("activate", second, third), "fixed")
    fourth = built(edited(content, "D"), out)
    assert (current(out), is_pinned(out)) == (fourth, False)


@pytest.mark.parametrize("command", [["activate", "--latest"], ["rollback", "current"]])
def test_what_changes_nothing_is_no_line_of_the_history(
    out: Path, three: tuple[str, str, str], command: list[str]
) -> None:
    ran = [shopwindow(*command, "--out", out) for _ in range(2)]
    assert ([each.status for each in ran], ran[0].out) == ([0, 0], ran[1].out)
    assert switches(out)[-1] == (command[0], three[2], three[2])
    assert [line["action"] for line in history(out)].count(command[0]) == 1
    assert shopwindow(*command, "--out", out, "--reason", "noted").status == 0
    assert [line["why"] for line in history(out)][-2:] == [command[0], "noted"]


def test_latest_is_the_release_that_was_built_last(content: Path, out: Path, three: tuple[str, str, str]) -> None:
    first, _, third = three
    assert shopwindow("activate", first, "--out", out).status == 0
    assert (shopwindow("activate", "--latest", "--out", out).status, current(out)) == (0, third)


@pytest.mark.parametrize("then", ["nothing", "the same again", "a build that fails"])
def test_latest_is_the_release_of_the_last_build_also_where_that_was_there_before(
    content: Path, out: Path, three: tuple[str, str, str], then: str
) -> None:
    _, second, _ = three
    assert shopwindow("rollback", "--out", out).status == 0
    assert built(aged(edited(content, "B")), out) == second
    if then == "the same again":
        (out / "last-build.json").unlink()
        assert built(content, out) == second
    elif then == "a build that fails":
        assert build(write(content, {"stores/two.yaml": {}}), out).status == 1
    ran = shopwindow("activate", "--latest", "--out", out)
    assert (ran.status, current(out), is_pinned(out)) == (0, second, False)


@pytest.mark.parametrize("arguments", [(), ("12345678", "--latest")])
def test_a_switch_names_one_release_or_the_latest(out: Path, arguments: tuple[str, ...]) -> None:
    assert shopwindow("activate", *arguments, "--out", out).status == 2


def test_a_switch_says_when_a_configured_edge_must_be_written_again(content: Path, out: Path) -> None:
    first = built(content, out)
    assert shopwindow("edge", "worker", "--out", out, "--content", content).status == 0
    second = built(edited(content, "B"), out)
    write(content, {"site.yaml": site(lifetimes={"default": {"maxAge": 61}})})
    third = built(content, out)
    said = {id: shopwindow("activate", id, "--out", out).out for id in (second, first, third)}
    again = "write it again, `shopwindow edge worker …`, with its options of then, and load it"
    words = f"  worker's configuration is of another release: {again}\n"
    assert said == {
        second: f"current is {second[:12]}, previous {third[:12]}\n",
        first: f"current is {first[:12]}, previous {second[:12]}\n",
        third: f"current is {third[:12]}, previous {first[:12]}\n{words}",
    }


@pytest.mark.parametrize("command", [["rollback"], ["activate", "SECOND"]])
@pytest.mark.parametrize("damage", [lambda path: os.truncate(path, 100), os.unlink], ids=["cut short", "gone"])
def test_a_release_without_its_manifest_is_left(
    out: Path, three: tuple[str, str, str], command: list[str], damage: Any
) -> None:
    _, second, third = three
    damage(out / "releases" / third / "manifest.json")
    ran = shopwindow(*(second if word == "SECOND" else word for word in command), "--out", out)
    said = f"current is {second[:12]}, previous {third[:12]}"
    assert (ran.status, ran.err, ran.out.splitlines()[0], current(out)) == (0, "", said, second)


# -- after a crash, on a host without links, on a fresh machine --------------------------------------------------


TORN = [b'{"when":"2026-11-2', b"\0\0\0\0", b"\n\n", b'{"when"\n{"id"']


@pytest.mark.parametrize("torn", TORN)
def test_a_torn_line_of_the_history_is_passed_over(out: Path, three: tuple[str, str, str], torn: bytes) -> None:
    first, second, _ = three
    whole = (out / "history.jsonl").read_bytes()
    with open(out / "history.jsonl", "ab") as file:
        file.write(torn)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, second)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, first)
    assert shopwindow("prune", "--keep", "1", "--out", out).status == 0
    data = (out / "history.jsonl").read_bytes()
    assert data.startswith(whole + torn)
    added = data[len(whole + torn) :].strip(b"\n").split(b"\n")
    assert [json.loads(line)["id"] for line in added] == [second, first]


def test_the_pointer_that_an_earlier_program_wrote_is_deleted(content: Path, out: Path, one: str) -> None:
    for name in ("current.json", ".current.json-1-before"):
        (out / name).write_text(f'{{"format":1,"id":"{one}","pinned":true}}')
    second = built(edited(content, "B"), out)
    assert (current(out), list(out.glob("*current.json*"))) == (second, [])


def cut_short(out: Path, *command: str) -> None:
    """Run a command, and take its move of the link back, as if it was killed before that."""
    before = current(out)
    assert shopwindow(*command, "--out", out).status == 0
    point(out, before)


def test_a_rollback_that_was_killed_before_the_link_moved_pins_nothing(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    _, second, third = three
    cut_short(out, "rollback")
    assert (current(out), is_pinned(out)) == (third, False)
    fourth = built(edited(content, "D"), out)
    assert switches(out)[-3:] == [("rollback", third, second), ("build", third, third), ("build", third, fourth)]
    line = history(out)[-2]
    assert (line["who"], line["why"]) == ("unknown", f"the activation of {second[:12]} was cut short")
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, third)


def test_a_release_whose_activation_was_killed_before_the_link_moved_is_not_rolled_back_to(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    first, second, third = three
    cut_short(out, "activate", first)
    assert built(edited(content, "D"), out) == current(out)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, third)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, second)


def test_a_release_that_is_pinned_where_it_is_may_be_rolled_back_to(content: Path, out: Path, one: str) -> None:
    assert shopwindow("rollback", one, "--out", out).status == 0
    assert shopwindow("activate", one, "--out", out).status == 0
    second = built(edited(content, "B"), out)
    assert (shopwindow("rollback", "--out", out).status, current(out)) == (0, one), second


def test_an_activation_that_was_killed_before_the_link_moved_leaves_the_pin(
    content: Path, out: Path, three: tuple[str, str, str]
) -> None:
    _, second, third = three
    assert shopwindow("rollback", "--out", out).status == 0
    cut_short(out, "activate", third)
    assert (current(out), is_pinned(out)) == (second, True)
    assert (build(edited(content, "D"), out).status, current(out), is_pinned(out)) == (3, second, True)
    assert switches(out)[-2:] == [("activate", second, third), ("rollback", second, second)]
    assert (shopwindow("activate", third, "--out", out).status, current(out), is_pinned(out)) == (0, third, False)


@pytest.mark.usefixtures("three")
def test_a_rollback_whose_link_is_refused_changes_nothing(out: Path) -> None:
    (out / "current").unlink()
    (out / "current/folder").mkdir(parents=True)
    ran = shopwindow("rollback", "--out", out)
    assert (ran.status, "nothing was published, `current` is as it was" in ran.err) == (4, True)
    assert (out / "current/folder").is_dir()


def test_where_the_history_cannot_be_written_nothing_moves(out: Path, three: tuple[str, str, str]) -> None:
    _, second, third = three
    (out / "history.jsonl").unlink()
    (out / "history.jsonl").mkdir()
    with pytest.raises(Failure, match="nothing was published, `current` is as it was"):
        Releases(out).activate(second, "activate", "", datetime.now(UTC))
    assert current(out) == third


@pytest.mark.usefixtures("one")
def test_without_a_history_there_is_nothing_to_roll_back_to(out: Path) -> None:
    for lost in ("history.jsonl", "current"):
        (out / lost).unlink()
        ran = shopwindow("rollback", "--out", out)
        assert (ran.status, "the history names no release to roll back to" in ran.err) == (4, True)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_fresh_machine_needs_the_link_the_history_and_the_last_manifest(
    content: Path, out: Path, tmp_path: Path, pinned: bool
) -> None:
    first = built(content, out)
    if pinned:
        assert shopwindow("rollback", first, "--out", out).status == 0
    fresh = tmp_path / "fresh"
    (fresh / "releases" / first).mkdir(parents=True)
    shutil.copyfile(out / "current", fresh / "current", follow_symlinks=False)
    shutil.copyfile(out / "history.jsonl", fresh / "history.jsonl")
    shutil.copyfile(out / "releases" / first / "manifest.json", fresh / "releases" / first / "manifest.json")
    (content / "apps/tablet.yaml").unlink()
    ran = build(edited(content, "B"), fresh, "--jobs", "1")
    (second,) = {path.name for path in (fresh / "releases").iterdir()} - {first}
    assert (ran.status, current(fresh), "2 removed" in ran.out) == (
        3 if pinned else 0,
        first if pinned else second,
        True,
    )
    assert shopwindow("verify", second, "--out", fresh).status == 0
    urls = shopwindow("diff", first, second, "--urls", "--out", fresh)
    assert (urls.status, urls.out.splitlines()) == (
        0,
        [f"{BASE}/store/v2/stores", f"{BASE}/store/v2/stores/2001", f"{BASE}/v2/utility/mobileapp"],
    )


# -- formats -----------------------------------------------------------------------------------------------------


def rewrite(path: Path, **members: Json) -> None:
    """Put members into a JSON file."""
    value = {**json.loads(path.read_bytes()), **members}
    path.unlink()
    path.write_text(json.dumps(value))


def renewed(out: Path, id: str, **members: Json) -> str:
    """Put members into a release's manifest, as a later program may; the id that it then has."""
    path = out / "releases" / id / "manifest.json"
    head, _, rest = path.read_text().partition("\n")
    value = {**json.loads(f"{head}]}}"), **members}
    more = json.dumps({name: value[name] for name in value if name != "files"})
    data = f'{more[:-1]},"files":[\n{rest}'.encode()
    path.chmod(0o644)
    path.write_bytes(data)
    new = sha256(data).hexdigest()
    (out / "releases" / id).rename(out / "releases" / new)
    point(out, new)
    return new


def test_a_manifest_of_a_later_program_is_refused(content: Path, out: Path, one: str) -> None:
    id = renewed(out, one, format=2)
    against = ["check", "--content", str(content), "--against", str(out / "releases" / id)]
    ran = [
        shopwindow(*command) for command in (against, ["releases", "--out", str(out)], ["verify", "--out", str(out)])
    ]
    words = "a manifest of format 2; this program reads up to 1: update it"
    assert [(one.status, one.out, words in one.err) for one in ran] == [(4, "", True)] * 3


@pytest.mark.parametrize("format", [1, 3])
def test_content_in_a_format_of_another_version_is_not_read(content: Path, out: Path, one: str, format: int) -> None:
    release = out / "releases" / one
    rewrite(release / "content.json", format=format)
    words = f"content of format {format}, and this program reads 2: build the release again with this version\n"
    ran = shopwindow("diff", "--out", out, one, one)
    assert (ran.status, ran.err) == (4, f"shopwindow: {release}: content.json cannot be read: {words}")
    ran = shopwindow("check", "--content", content, "--against", release)
    assert (ran.status, ran.err.endswith(words)) == (2, True)


def test_unknown_members_are_ignored(content: Path, out: Path, one: str) -> None:
    first = renewed(out, one, more=1)
    rewrite(out / "releases" / first / "content.json", more=1)
    second = built(edited(content, "B"), out)
    assert shopwindow("diff", first, second, "--out", out).status == 0


# -- what differs ------------------------------------------------------------------------------------------------

EVENTS_OF_1 = (
    f"{BASE}/store/v1/events?locationNumber=2001",
    f"{BASE}/store/v1/events?storeId=1",
    f"{BASE}/store/v1/events?storeNumber=1001",
    f"{BASE}/v2/store/event?storeId=1",
    f"{BASE}/v2/store/event?storeNumber=1001",
)
EVENTS_OF_2 = (
    f"{BASE}/store/v1/events?locationNumber=2002",
    f"{BASE}/store/v1/events?storeId=2",
    f"{BASE}/store/v1/events?storeNumber=1002",
    f"{BASE}/v2/store/event?storeId=2",
    f"{BASE}/v2/store/event?storeNumber=1002",
)
PROMOTIONS = (
    f"{BASE}/v2/promotions",
    f"{BASE}/v3/promotions/sorted",
    f"{BASE}/v3/promotions/sorted?channel=MOBILE",
    f"{BASE}/v3/promotions/sorted?channel=SITE",
    f"{BASE}/v3/promotions?show=promotions",
    f"{BASE}/v3/promotions?show=promotions,coupons",
)
STORE_1 = (f"{BASE}/store/v2/stores", f"{BASE}/store/v2/stores/2001")
FIRST = small()["events/first.yaml"]
SECOND = small()["events/second.yaml"]
CONFIG = ("config", "appVersionInfo", "supportedVersions")
REST = (f"{BASE}/store/v2/stores/2002", f"{BASE}/v2/utility/mobileapp", f"{BASE}/v3/promotions?show=coupons")
ALL = (*EVENTS_OF_1, *EVENTS_OF_2, *PROMOTIONS, *STORE_1, *REST)


def backwards(value: Json) -> Json:
    """An object with its keys in the opposite order."""
    return dict(reversed(value.items()))


DIFFERENCES: dict[str, tuple[Mapping[str, Json | None], list[ValueChange]]] = {
    "nothing": ({}, []),
    "an event's name": (
        {"events/first.yaml": {**FIRST, "name": "Renamed"}},
        [ValueChange("event", "20", ("name",), "Event 20", "Renamed", EVENTS_OF_1)],
    ),
    "two values of an event, one of them new": (
        {"events/first.yaml": {**FIRST, "finish": "2026-12-04 20:00", "attributes": {"WC_EVENT": ["TRUE"]}}},
        [
            ValueChange("event", "20", ("finish",), "2026-12-04 19:00", "2026-12-04 20:00", EVENTS_OF_1),
            ValueChange("event", "20", ("attributes",), None, {"WC_EVENT": ["TRUE"]}, EVENTS_OF_1),
        ],
    ),
    "an event that disappears": (
        {"events/second.yaml": None},
        [ValueChange("event", "10", (), {**SECOND}, None, EVENTS_OF_2)],
    ),
    "an event that moves to the other store": (
        {"events/first.yaml": {**FIRST, "stores": {"storeId": [2]}}},
        [ValueChange("event", "20", ("stores", "storeId", 0), 1, 2, tuple(sorted((*EVENTS_OF_1, *EVENTS_OF_2))))],
    ),
    "a promotion that appears, and is not told of by coupons": (
        {"promotions/more.yaml": promotion(9)},
        [ValueChange("promotion", "9", (), None, promotion(9), PROMOTIONS)],
    ),
    "a coupon's heading": (
        {
            "promotions/coupon.yaml": {
                **small()["promotions/coupon.yaml"],
                "coupon": coupon("4001", couponHeading="New"),
            }
        },
        [
            ValueChange(
                "promotion",
                "5",
                ("coupon", "couponHeading"),
                "Heading",
                "New",
                (
                    f"{BASE}/v3/promotions/sorted",
                    f"{BASE}/v3/promotions/sorted?channel=MOBILE",
                    f"{BASE}/v3/promotions/sorted?channel=SITE",
                    f"{BASE}/v3/promotions?show=coupons",
                    f"{BASE}/v3/promotions?show=promotions,coupons",
                ),
            )
        ],
    ),
    "a store's address": (
        {"stores/one.yaml": store(1, address={**store(1)["address"], "city": "Salem"})},
        [ValueChange("store", "2001", ("address", "city"), "Boston", "Salem", STORE_1)],
    ),
    "a number that is written otherwise": (
        {"stores/one.yaml": store(1, location={"latitude": 42.35, "longitude": -71.0})},
        [ValueChange("store", "2001", ("location", "longitude"), -71, -71.0, STORE_1)],
    ),
    "keys in another order": (
        {"stores/one.yaml": store(1, address=backwards(store(1)["address"]))},
        [ValueChange("store", "2001", ("address",), store(1)["address"], backwards(store(1)["address"]), STORE_1)],
    ),
    "a document's keys in another order": (
        {"stores/one.yaml": backwards(store(1))},
        [ValueChange("store", "2001", (), store(1), backwards(store(1)), ())],
    ),
    "keys in another order, and another value": (
        {"stores/one.yaml": store(1, location={"longitude": -70, "latitude": 42.35})},
        [
            ValueChange("store", "2001", ("location", "longitude"), -71, -70, STORE_1),
            ValueChange(
                "store",
                "2001",
                ("location",),
                {"latitude": 42.35, "longitude": -71},
                {"longitude": -70, "latitude": 42.35},
                STORE_1,
            ),
        ],
    ),
    "a list of another length": (
        {
            "apps/phone.yaml": app(
                "phone", appVersionInfo={**app("x")["config"]["appVersionInfo"], "supportedVersions": ["1.0", "2.0"]}
            )
        },
        [ValueChange("app", "phone", CONFIG, ["2.0"], ["1.0", "2.0"], (f"{BASE}/v2/utility/mobileapp",))],
    ),
    "a setting that no answer shows": (
        {"site.yaml": site(names={"unused": "text"})},
        [ValueChange("site", "site.yaml", ("names",), None, {"unused": "text"})],
    ),
    "how long an answer may be kept": (
        {"site.yaml": site(lifetimes={"default": {"maxAge": 60}, "promotions_v2": {"maxAge": 61}})},
        [
            ValueChange(
                "site", "site.yaml", ("lifetimes", "promotions_v2"), None, {"maxAge": 61}, (f"{BASE}/v2/promotions",)
            )
        ],
    ),
}


def another(content: Path, out: Path, documents: Mapping[str, Json | None], at: str = AT) -> tuple[Path, Path]:
    """The release that is current, and one of the content with some documents replaced or deleted."""
    old = out / "releases" / current(out)
    for path, document in documents.items():
        if document is None:
            (content / path).unlink()
    write(content, {path: document for path, document in documents.items() if document is not None})
    return old, out / "releases" / built(content, out, at=at)


def changed(old: Path, new: Path) -> list[ValueChange]:
    return changes(opened(old, INTERFACE), opened(new, INTERFACE))


@pytest.mark.usefixtures("one")
@pytest.mark.parametrize(("documents", "found"), DIFFERENCES.values(), ids=DIFFERENCES.keys())
def test_each_change_is_told_with_both_values_and_the_urls_to_purge(
    content: Path, out: Path, documents: Mapping[str, Json | None], found: list[ValueChange]
) -> None:
    old, new = another(content, out, documents)
    told = changed(old, new)
    assert (told, [repr(change.new) for change in told]) == (found, [repr(change.new) for change in found])
    back = [
        ValueChange(change.kind, change.id, change.pointer, change.new, change.old, change.urls) for change in found
    ]
    assert changed(new, old) == back
    assert purged(old, new) == sorted({url for change in found for url in change.urls})


@pytest.mark.usefixtures("one")
def test_another_base_url_purges_every_address(content: Path, out: Path) -> None:
    base = "https://api2.shop.example"
    old, new = another(content, out, {"site.yaml": site(base_url=base)})
    urls = tuple(sorted({entry["url"] for release in (old, new) for entry in manifest(release)["files"]}))
    assert {url.replace(BASE, each) for url in ALL for each in (BASE, base)} <= set(urls)
    assert changed(old, new) == [ValueChange("site", "site.yaml", ("base_url",), BASE, base, urls)]
    assert changed(new, old) == [ValueChange("site", "site.yaml", ("base_url",), base, BASE, urls)]
    assert purged(old, new) == list(urls)


@pytest.mark.usefixtures("one")
def test_another_week_changes_the_opening_hours(content: Path, out: Path) -> None:
    old, new = another(content, out, {}, "2026-12-01T12:00:00-05:00")
    stores = (*STORE_1, f"{BASE}/store/v2/stores/2002")
    assert changed(old, new) == [
        ValueChange("site", "site.yaml", ("opening hours from",), "2026-11-23", "2026-11-30", stores)
    ]


@pytest.mark.usefixtures("one")
def test_another_publish_boundary_is_a_change_though_nothing_comes_or_goes(content: Path, out: Path) -> None:
    old, new = another(content, out, {"events/first.yaml": {**FIRST, "publish": {"from": "2026-11-24"}}})
    never, then = "1970-01-01T00:00:00.000+00:00", "2026-11-24T05:00:00.000+00:00"
    assert changed(old, new) == [ValueChange("site", "site.yaml", ("latest publish boundary",), never, then, ())]


@pytest.mark.usefixtures("one")
def test_changes_stand_by_kind_and_id(content: Path, out: Path) -> None:
    documents = {
        "events/first.yaml": {**FIRST, "name": "Renamed"},
        "events/second.yaml": {**SECOND, "name": "Renamed"},
        "stores/two.yaml": store(2, name="Renamed"),
        "promotions/plain.yaml": promotion(7, description="Renamed"),
        "apps/tablet.yaml": app("tablet", configVersion="3"),
    }
    found = [(change.kind, change.id) for change in changed(*another(content, out, documents))]
    assert found == [("app", "tablet"), ("store", "2002"), ("event", "10"), ("event", "20"), ("promotion", "7")]


@pytest.mark.usefixtures("one")
def test_diff_puts_the_changes_into_words(content: Path, out: Path) -> None:
    old, new = another(
        content,
        out,
        {
            "events/first.yaml": {**FIRST, "name": "Renamed"},
            "events/second.yaml": None,
            "promotions/more.yaml": promotion(9),
            "stores/one.yaml": store(1, address=backwards(store(1)["address"])),
            "stores/two.yaml": backwards(store(2)),
        },
    )
    urls = sorted({*EVENTS_OF_1, *EVENTS_OF_2, *PROMOTIONS, *STORE_1})
    ran = shopwindow("diff", old.name[:8], "current", "--out", out)
    assert (ran.status, ran.err, ran.out.splitlines()) == (
        0,
        "",
        [
            "store 2001: address: its keys stand in another order",
            "store 2002: its keys stand in another order",
            "event 10: disappears",
            'event 20: name: "Event 20" -> "Renamed"',
            "promotion 9: appears",
            f"{len(urls)} URLs to purge:",
            *(f"  {url}" for url in urls),
            "dynamic responses, to other queries, leave the caches by themselves within 60 s",
        ],
    )
    assert shopwindow("diff", new.name, old.name, "--urls", "--out", out).out.splitlines() == urls


def test_a_build_names_edited_documents_that_no_file_shows(content: Path, out: Path) -> None:
    later = {**promotion(9), "publish": {"from": "2026-11-25 06:00"}}
    over = {**promotion(10), "publish": {"until": "2026-11-20"}}
    write(content, {"promotions/more.yaml": [later, over]})

    def named() -> list[str]:
        ran = build(content, out)
        assert ran.status == 0, ran
        return [line.strip() for line in ran.out.splitlines() if "in no file" in line]

    assert [named(), named()] == [[], []]
    changed = {**later, "description": "Other words."}
    write(content, {"promotions/more.yaml": [changed, over]})
    assert named() == ["edited, and in no file: promotion 9, which is live from 2026-11-25 06:00 (America/New_York)"]
    write(content, {"promotions/more.yaml": [later, {**over, "description": "Other words."}]})
    assert named() == ["edited, and in no file: promotion 10, which was live until 2026-11-21 00:00 (America/New_York)"]
    write(content, {"promotions/more.yaml": [{**later, "publish": {"from": "2026-11-24 06:00"}}, over]})
    assert named() == []


def test_without_arguments_the_current_release_is_compared_with_the_one_before_it(content: Path, out: Path) -> None:
    first = built(content, out)
    ran = shopwindow("diff", "--out", out)
    assert (ran.status, ran.out) == (4, "")
    assert f"no release was current before {first[:12]}; `shopwindow releases`" in ran.err
    (content / "events/second.yaml").unlink()
    second = built(content, out)
    write(content, {"events/first.yaml": {**FIRST, "name": "Renamed"}})
    third = built(content, out)

    def printed(*arguments: str) -> str:
        ran = shopwindow("diff", *arguments, "--out", out)
        assert (ran.status, ran.err) == (0, "")
        return ran.out

    assert printed() == printed(second, third) != printed(first, second)
    assert printed(first) == printed(first, third)
    assert shopwindow("rollback", first, "--out", out).status == 0
    assert printed() == printed(third, first)
    assert printed("--urls") == printed(third, first, "--urls")
    shutil.rmtree(out / "releases" / third)
    assert (
        f"release {third[:12]}, which was current before {first[:12]}, was deleted"
        in shopwindow("diff", "--out", out).err
    )


def test_the_longest_lifetime_is_that_of_any_operation_that_is_kept(content: Path, out: Path) -> None:
    lifetimes = {"default": {"maxAge": 60}, "stores": {"maxAge": 600}, "search": {"maxAge": 7200}}
    write(content, {"site.yaml": {**small()["site.yaml"], "lifetimes": lifetimes}})
    assert longest_lifetime(opened(out / "releases" / built(content, out), INTERFACE)) == 7200


@pytest.mark.usefixtures("one")
def test_a_release_does_not_differ_from_itself(out: Path) -> None:
    ran = shopwindow("diff", "current", "current", "--out", out)
    assert (ran.status, ran.out) == (0, "0 URLs to purge\n")


# -- pruning -----------------------------------------------------------------------------------------------------


def test_what_was_current_in_the_last_hour_is_kept(out: Path, three: tuple[str, str, str]) -> None:
    ran = shopwindow("prune", "--keep", "1", "--out", out)
    assert (ran.status, ran.out) == (0, "0 releases deleted, 3 kept; what was current in the last hour stays\n")
    assert {path.name for path in (out / "releases").iterdir()} == set(three)


def test_the_newest_are_kept(out: Path, three: tuple[str, str, str]) -> None:
    first, second, third = three
    releases = Releases(out)
    later = datetime.now(UTC) + timedelta(hours=2)
    assert [releases.prune(keep, later) for keep in (3, 2, 1)] == [[], [first], [second]]
    assert [path.name for path in (out / "releases").iterdir()] == [third]
    assert (verify(releases, third), any((out / ".trash").glob("*"))) == ([], False)


def test_the_current_release_is_kept_however_old(out: Path, three: tuple[str, str, str]) -> None:
    first, second, third = three
    assert shopwindow("rollback", first, "--out", out).status == 0
    releases = Releases(out)
    assert releases.prune(1, datetime.now(UTC) + timedelta(hours=2)) == [second]
    assert (releases.ids(), verify(releases, first)) == ([third, first], [])


def test_a_release_is_kept_for_an_hour_after_it_was_switched_away_from(out: Path, three: tuple[str, str, str]) -> None:
    first, second, third = three
    (out / "history.jsonl").unlink()
    releases = Releases(out)
    switched = datetime(2026, 11, 1, 12, tzinfo=UTC)
    releases.activate(first, "activate", "", switched - timedelta(days=1))
    releases.activate(third, "activate", "", switched)
    assert releases.prune(1, switched + timedelta(minutes=60)) == [second]
    assert releases.prune(1, switched + timedelta(minutes=60, seconds=1)) == [first]


@pytest.mark.usefixtures("one")
def test_at_least_one_release_is_kept(out: Path) -> None:
    assert [shopwindow("prune", *keep, "--out", out).status for keep in ((), ("--keep", "0"), ("--keep", "x"))] == [
        2
    ] * 3


def test_after_pruning_a_build_writes_the_release_again(content: Path, out: Path, three: tuple[str, str, str]) -> None:
    first, _, _ = three
    Releases(out).prune(1, datetime.now(UTC) + timedelta(hours=2))
    assert built(edited(content, "A"), out) == first
    assert shopwindow("verify", "--out", out).status == 0


# -- verifying ---------------------------------------------------------------------------------------------------


def rewritten(path: Path, data: bytes) -> None:
    moment = path.stat().st_mtime
    path.unlink()
    path.write_bytes(data)
    os.utime(path, (moment, moment))


def linked(path: Path, elsewhere: Path) -> None:
    """Let a link stand in a file's or directory's place, to what it was."""
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


STORES = "files/store/v2/stores"
DAMAGES: dict[str, tuple[Any, str]] = {
    "a byte changed": (
        lambda release: rewritten(release / f"{STORES}.json", (release / f"{STORES}.json").read_bytes().swapcase()),
        f"{STORES}.json: not the bytes that were built",
    ),
    "a file cut short": (
        lambda release: rewritten(release / f"{STORES}.xml", b""),
        f"{STORES}.xml: not the bytes that were built",
    ),
    "a file is missing": (
        lambda release: (release / f"{STORES}.json").unlink(),
        f"{STORES}.json: No such file or directory",
    ),
    "a file too many": (
        lambda release: (release / f"{STORES}.html").write_bytes(b"x"),
        f"{STORES}.html: not in the manifest",
    ),
    "a link too many": (
        lambda release: (release / f"{STORES}.html").symlink_to("nowhere"),
        f"{STORES}.html: not in the manifest",
    ),
    "another time": (
        lambda release: os.utime(release / f"{STORES}.json", (1, 1)),
        f"{STORES}.json: another modification time than its bytes give; its ETag would differ",
    ),
    "the content changed": (
        lambda release: rewritten(release / "content.json", b"{}"),
        "content.json: not the bytes that were built",
    ),
    "the content is missing": (
        lambda release: (release / "content.json").unlink(),
        "content.json: No such file or directory",
    ),
    "a directory too many": (
        lambda release: (release / "files/more").symlink_to(release / "files/store"),
        "files/more: not in the manifest",
    ),
    "a directory that is a link": (
        lambda release: linked(release / "files/store/v2", release.parent / "elsewhere"),
        "files/store/v2: not in the manifest",
    ),
    "all directories that are a link": (
        lambda release: linked(release / "files", release.parent / "elsewhere"),
        "files: not in the manifest",
    ),
    "a file that is a link": (
        lambda release: linked(release / f"{STORES}.json", release.parent / "elsewhere"),
        f"{STORES}.json: not a regular file",
    ),
    "a pipe": (
        lambda release: piped(release / f"{STORES}.json"),
        f"{STORES}.json: not a regular file",
    ),
    "a file that may be written": (
        lambda release: (release / f"{STORES}.json").chmod(0o644),
        f"{STORES}.json: mode 0644, not 0444",
    ),
    "content that may be written": (
        lambda release: (release / "content.json").chmod(0o644),
        "content.json: mode 0644, not 0444",
    ),
    "what its build wrote about it is missing": (
        lambda release: (release / "build.json").unlink(),
        "build.json: missing, or not what a build wrote",
    ),
    "the manifest is missing": (
        lambda release: (release / "manifest.json").unlink(),
        "manifest.json: No such file or directory",
    ),
    "the manifest changed": (
        lambda release: rewritten(release / "manifest.json", (release / "manifest.json").read_bytes() + b" "),
        "manifest.json: not the one of this id",
    ),
}


@pytest.mark.parametrize(("damage", "words"), DAMAGES.values(), ids=DAMAGES.keys())
def test_verify_finds_what_is_wrong(out: Path, one: str, damage: Any, words: str) -> None:
    damage(out / "releases" / one)
    ran = shopwindow("verify", "--out", out)
    said = (
        f"release {one[:12]} is damaged: `shopwindow build --no-cache` writes every file again; what was copied here, "
        "copy again with times and modes (`rsync -a`)\n"
    )
    assert (ran.status, ran.out, ran.err) == (1, f"{words}\n", said)


def test_verify_finds_everything_that_is_wrong(out: Path, one: str) -> None:
    release = out / "releases" / one
    (release / f"{STORES}.json").unlink()
    rewritten(release / f"{STORES}.xml", b"x")
    (release / "files/index.html").write_bytes(b"x")
    ran = shopwindow("verify", release.name[:10], "--out", out)
    assert (ran.status, ran.out.splitlines()) == (
        1,
        [
            f"{STORES}.json: No such file or directory",
            f"{STORES}.xml: not the bytes that were built",
            "files/index.html: not in the manifest",
        ],
    )


def test_a_whole_release_is_said_to_be_whole(out: Path, three: tuple[str, str, str]) -> None:
    ran = [shopwindow("verify", *id, "--out", out) for id in ((), (three[0],), ("current",))]
    assert [(one.status, one.out) for one in ran] == [
        (0, f"release {id[:12]} is intact\n") for id in (three[2], three[0], three[2])
    ]


# -- keys --------------------------------------------------------------------------------------------------------


def test_a_new_key_is_printed_once_with_its_digest_for_the_content() -> None:
    made = [shopwindow("new", "key", "iphone", "--content", SAMPLE) for _ in range(2)]
    keys = []
    for ran in made:
        match = re.fullmatch("iphone ([A-Za-z0-9]{24})\n", ran.out)
        assert (ran.status, match is not None) == (0, True)
        keys.append(match[1] if match else "")
        assert f"  - {sha256(keys[-1].encode()).hexdigest()}\n" in ran.err
        assert keys[-1] not in ran.err
    assert keys[0] != keys[1]


def test_a_new_key_is_what_the_content_and_the_keys_file_take(tmp_path: Path, out: Path) -> None:
    content = copied(SAMPLE, tmp_path / "content")
    ran = shopwindow("new", "key", "android", "--content", content)
    path = content / "apps" / "android.yaml"
    digest = ran.err.split("  - ")[1]
    path.write_text(path.read_text().replace("apiKeys:\n", f"apiKeys:\n  - {digest}"))
    assert build(content, out).status == 0
    assert digest.strip() in (out / "current/content.json").read_text()


def test_a_key_for_an_unknown_application_is_refused() -> None:
    ran = shopwindow("new", "key", "iphon", "--content", SAMPLE)
    words = "Error: 'iphon': the applications are android, iphone; did you mean iphone?"
    assert (ran.status, ran.out, ran.err.splitlines()[-1]) == (2, "", words)


def test_a_keys_file_may_begin_with_a_byte_order_mark(tmp_path: Path, sample_out: Path) -> None:
    lines = [line for line in (SAMPLE / "sample-keys.txt").read_text().splitlines() if not line.startswith("#")]
    keys = tmp_path / "keys"
    ran = []
    for encoding in ("utf-8", "utf-8-sig"):
        keys.write_text("\n".join(lines), encoding=encoding)
        ran.append(shopwindow("edge", "nginx", "--content", SAMPLE, "--out", sample_out, "--api-keys", keys))
    assert (ran[0].status, ran[0].err, ran[1]) == (0, "", ran[0])


def test_a_key_made_beside_faulty_content_says_that_nobody_looked_for_the_application(sample: Path) -> None:
    path = sample / "apps/iphone.yaml"
    path.write_text(path.read_text().replace("apiKeys:", "apiKey:"))
    ran = shopwindow("new", "key", "iphone", "--content", sample)
    words = "the content has problems (`shopwindow check`), so 'iphone' was not looked up among the applications"
    assert (ran.status, ran.out[:7], ran.err.splitlines()[0]) == (0, "iphone ", f"shopwindow: {words}")


@pytest.mark.usefixtures("one")
def test_lines_of_the_history_that_are_no_switch_are_passed_over(out: Path) -> None:
    with open(out / "history.jsonl", "a", encoding="utf-8") as file:
        file.write('1\n{"id": "x"}\n[]\nnull\n{"when": 5, "id": 7}\n{"when": "2026", "id": "x", "from": []}\n')
    assert shopwindow("prune", "--keep", "1", "--out", out).status == 0
    assert shopwindow("rollback", "--out", out).status == 4


@pytest.mark.parametrize("command", [["rollback"], ["activate", "--latest"], ["prune", "--keep", "1"]])
def test_only_a_build_makes_the_output_directory(out: Path, command: list[str]) -> None:
    ran = shopwindow(*command, "--out", out)
    words = f"shopwindow: {out}: there is no such folder; `shopwindow build` makes one\n"
    assert (ran.status, ran.out, ran.err, out.exists()) == (4, "", words, False)


def test_the_output_directory_is_no_part_of_the_content(content: Path) -> None:
    ran = build(content, content / "dist")
    assert (ran.status, (content / "dist").exists()) == (2, False)
