"""`why`: the file, line and commit that set a value, what that hides, and what it means."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.content import Document, Layer
from harness.program import shopwindow
from shopwindow.content.check.places import Files
from shopwindow.content.kinds import Kind
from shopwindow.content.lookup.shelf import Held, pointer_in
from shopwindow.content.reading.listing import Source
from shopwindow.problems import Misuse

SAMPLE = Path(__file__).parent.parent.parent / "content"
LATENCY = "config/poorNetwork/poorWifiMaxSecsLatency"
AUTHOR = ("-c", "user.name=Ada Vane", "-c", "user.email=ada@shop.example", "-c", "commit.gpgsign=false")


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", folder, *AUTHOR, *arguments], check=True, capture_output=True)


def line_of(path: Path, text: str) -> int:
    """The number of the first line that holds ``text``."""
    return 1 + next(n for n, line in enumerate(path.read_text().splitlines()) if text in line)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    """The sample's files without its catalog, which has nothing to do with these facts, in a repository."""
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("catalog", "promotions"))
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "Patience with slow networks")
    return folder


def why(content: Path, *names: str) -> list[str]:
    ran = shopwindow("why", *names, "--content", content)
    assert (ran.status, ran.err) == (0, ""), ran
    return ran.out.replace(str(content), "content").splitlines()


def test_a_value_of_a_base_is_set_by_the_base(content: Path) -> None:
    line = line_of(content / "apps/_shared.yaml", "poorWifiMaxSecsLatency")
    first, stated, about = why(content, "iphone", LATENCY)
    assert first == f"app iphone {LATENCY}: 6"
    assert stated.startswith(f"  set by      content/apps/_shared.yaml:{line}  (")
    assert stated.endswith(", Ada Vane: Patience with slow networks)")
    assert about == "  means       Whole seconds before Wi-Fi counts as poor."


def test_an_app_of_its_own_mind_hides_the_base(content: Path) -> None:
    own = line_of(content / "apps/android.yaml", "poorWifiMaxSecsLatency")
    base = line_of(content / "apps/_shared.yaml", "poorWifiMaxSecsLatency")
    _, stated, hidden, _ = why(content, "app", "android", "/" + LATENCY)
    assert stated.startswith(f"  set by      content/apps/android.yaml:{own}  (")
    assert hidden.startswith(f"  hides       content/apps/_shared.yaml:{base}: 6  (")


def test_a_changed_line_is_not_committed_yet(content: Path) -> None:
    file = content / "apps/android.yaml"
    file.write_text(file.read_text().replace("poorWifiMaxSecsLatency: 4", "poorWifiMaxSecsLatency: 5"))
    first, stated, hidden, _ = why(content, "android", LATENCY)
    assert first.endswith(": 5")
    assert stated.endswith("  (not committed yet)")
    assert hidden.endswith("Patience with slow networks)")


def test_without_a_repository_the_commit_is_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("catalog", "promotions"))
    line = line_of(folder / "apps/_shared.yaml", "poorWifiMaxSecsLatency")
    assert why(folder, "iphone", LATENCY)[1] == f"  set by      content/apps/_shared.yaml:{line}"


def test_an_expression_is_shown_as_it_is_written(content: Path) -> None:
    first, _, written, _ = why(content, "store", "403", "mapUrl")
    assert first == "store 403 mapUrl: https://maps.larkspurvane.example/stores/40131"
    assert written == "  written as  {{ maps }}/stores/40131"


def test_a_setting_that_was_left_out_is_not_written_as_the_whole_file(tmp_path: Path) -> None:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("catalog", "promotions"))
    site = folder / "site.yaml"
    site.write_text(re.sub("order_base_url: .*\n", "", site.read_text("utf-8")), "utf-8")
    value, place, means = why(folder, "site", "order_base_url")
    assert (value, place) == (
        "site order_base_url: https://api.larkspurvane.example",
        f"  set by      content/site.yaml:{line_of(site, 'base_url:')}",
    )
    assert means.endswith(" Left out: it is base_url.")


def test_an_object_is_merged_from_all_its_files(content: Path) -> None:
    lines = why(content, "android", "config/poorNetwork")
    assert [line[2:13] for line in lines if "content/" in line] == ["merged from", "merged from"]


def test_json_says_the_same(content: Path) -> None:
    ran = shopwindow("why", "android", LATENCY, "--content", content, "--format", "json")
    (explained,) = json.loads(ran.out)
    assert (explained["value"], [each["value"] for each in explained["statements"]]) == (4, [4, 6])
    assert explained["statements"][0]["commit"]["author"] == "Ada Vane"


def test_site_and_documents_of_feeds_are_explained_too(content: Path) -> None:
    assert why(content, "site", "names/brand")[0] == "site names/brand: Larkspur & Vane"
    lines = {
        name: shopwindow("why", *name.split(), "--content", SAMPLE).out.splitlines()
        for name in ("inventory 474396002540 site", "category 5210 name", "banner 101 link")
    }
    line = line_of(SAMPLE / "catalog/inventory/apparel.jsonl", '"474396002540"')
    assert f"catalog/inventory/apparel.jsonl:{line}" in lines["inventory 474396002540 site"][1]
    assert lines["banner 101 link"][2] == "  written as  {{ www }}/gifts"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ("iphone", "why needs an ID and a POINTER, and a KIND before them where it is no app"),
        ("ipone config", "no app has the name ipone; did you mean iphone?"),
        ("stor 403 name", "'stor' is no kind; the kinds are app, store, "),
        ("store 406 name", "no store has the locationNumber, storeNumber or storeId 406; did you mean 405?"),
        ("store 403 adress/city", "there is no 'adress' in it; there are storeId, "),
        ("store 403 name/first", "name/first: name is one value and holds no others"),
        ("event 520001 stores/storeId/7", "stores/storeId/7: there is no '7' in stores/storeId; there are 0, 1, 2"),
        ("synonym 1 x", "a synonym has no id by which it could be named"),
    ],
)
def test_what_does_not_exist_is_one_sentence_with_what_comes_nearest(names: str, words: str) -> None:
    ran = shopwindow("why", *names.split(), "--content", SAMPLE)
    assert (ran.status, words in ran.err, ran.out) == (2, True, ""), ran.err


def test_what_a_file_removes_is_said_with_the_file(tmp_path: Path) -> None:
    (tmp_path / "_base.yaml").write_text("color: {wall: red}\n")
    (tmp_path / "own.yaml").write_text("extends: _base.yaml\n\ncolor: {wall: null}\n")
    room = Kind("room", "", "room.json", layered=True)
    sources = {path.name: Source(path.name, room, path.stat().st_size, 0, 0) for path in tmp_path.iterdir()}
    layers = (
        Layer("_base.yaml", None, {"color": {"wall": "red"}}),
        Layer("own.yaml", None, {"extends": "_base.yaml", "color": {"wall": None}}),
    )
    held = Held(Document("room", {"color": {}}, layers))
    with pytest.raises(Misuse, match=r"^color/wall: own\.yaml:3 removes it with null$"):
        pointer_in(held, Files(tmp_path, sources), "color/wall")


# -- values of answers -----------------------------------------------------------------

EVENTS = "v2/store/event?storeId=101"


def test_a_value_of_an_answer_is_set_at_a_line_and_column_by_somebody(content: Path) -> None:
    file = content / "events/personal-shoppers.yaml"
    line = line_of(file, "name: An Hour with a Personal Shopper")
    first, named, stated, about = why(content, EVENTS, "storeEvents/0/name")
    assert first == f"storeEvents/0/name of {EVENTS}: An Hour with a Personal Shopper"
    assert named == "  is          event 530001 name"
    assert stated.startswith(f"  set by      content/events/personal-shoppers.yaml:{line}:3  (")
    assert stated.endswith(", Ada Vane: Patience with slow networks)")
    assert about == "  means       Name of the event as the customer reads it."


def test_a_whole_address_and_a_leading_slash_mean_the_same(content: Path) -> None:
    base = "https://api.larkspurvane.example/"
    assert why(content, base + EVENTS, "/storeEvents/0/name")[1:] == why(content, EVENTS, "storeEvents/0/name")[1:]


def test_true_is_taken_where_what_stands_beside_it_is(content: Path) -> None:
    file = content / "promotions/holiday.yaml"
    file.parent.mkdir()
    shutil.copyfile(SAMPLE / "promotions/holiday.yaml", file)
    places = {number: line for number, line in enumerate(file.read_text().splitlines(), 1) if "global:" in line}
    answer = json.loads(shopwindow("show", "v2/promotions", "--content", content).out)
    for number, promotion in enumerate(answer["promotionDetailsResponse"]):
        pointer = f"promotionDetailsResponse/{number}/global"
        first, named, stated, *_ = why(content, "v2/promotions", pointer)
        assert named == f"  is          promotion {promotion['promoId']} global"
        line = places[int(stated.partition("holiday.yaml:")[2].partition(":")[0])]
        assert f"global: {first.rpartition(': ')[2]}" in line


def test_a_computed_value_lists_what_the_answer_reads(content: Path) -> None:
    first, computed, *read = why(content, EVENTS, "success")
    assert first == f"success of {EVENTS}: true"
    assert computed == "  computed    from what the answer reads"
    line = line_of(content / "events/personal-shoppers.yaml", "- id: 530001")
    assert f"  reads       content/events/personal-shoppers.yaml:{line}  (event 530001)" in read
    assert read[-2:] == [
        "  reads       content/site.yaml:1  (site)",
        "  reads       content/stores/foundry-square.yaml:1  (store 10118)",
    ]


def test_a_value_of_an_answer_for_programs(content: Path) -> None:
    ran = shopwindow("why", EVENTS, "storeEvents/0/eventId", "--content", content, "--format", "json")
    answered = json.loads(ran.out)
    assert (answered["value"], answered["read"]) == (530001, [])
    stated = answered["set_by"]["statements"][0]
    line = line_of(content / "events/personal-shoppers.yaml", "- id: 530001")
    assert (stated["path"], stated["line"], stated["column"]) == ("events/personal-shoppers.yaml", line, 3)
    assert stated["commit"]["author"] == "Ada Vane"


@pytest.mark.parametrize(
    ("request_", "pointer", "said"),
    [
        ("v2/nothing", "a", "v2/nothing is refused with 404: path: is not one of the interface"),
        ("v2/store/event", "a", "v2/store/event is refused with 400: storeId: one of storeId, storeNumber is required"),
        (
            EVENTS,
            "storeEvent/0/name",
            f"the JSON answer to {EVENTS}: storeEvent: there is no 'storeEvent' in it; "
            "there are storeEvents, success; did you mean storeEvents?",
        ),
        # as XML has it, where a list is its elements
        (
            EVENTS,
            "response/storeEvents/name",
            f"the JSON answer to {EVENTS}: response: there is no 'response' in it; there are storeEvents, success",
        ),
        ("order/v1/bags", "a", "order/v1/bags is answered by the running service only (`shopwindow serve`)"),
    ],
)
def test_what_no_answer_has_is_refused_in_a_sentence(content: Path, request_: str, pointer: str, said: str) -> None:
    ran = shopwindow("why", request_, pointer, "--content", content)
    assert (ran.status, ran.out, ran.err) == (2, "", f"Error: {said}\n")
