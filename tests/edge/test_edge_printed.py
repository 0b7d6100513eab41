"""Facts about what is printed as a worker, without running it; tests/slow/test_edges.py runs it."""

import json
import re
import stat
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from edge.test_edge_rules import changed
from harness.content import ROOT
from harness.program import Content, for_worker, program_schemas, shopwindow
from shopwindow import library
from shopwindow.edge.rules import APPLICATION, Rules, place, rules
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import Refusal
from shopwindow.shop import INTERFACE

SCHEMAS = program_schemas()
KEYS = [line.split()[1] for line in (ROOT / "content/sample-keys.txt").read_text().splitlines() if line[:1] != "#"]


@pytest.fixture(scope="module")
def content(sample_out: Path) -> Content:
    return library.released_content(INTERFACE, sample_out)


@pytest.fixture(scope="module")
def made(content: Content) -> Rules:
    return rules(INTERFACE, content, SCHEMAS)


@cache
def table_of(made: Rules) -> Any:
    """The rules that a worker holds."""
    return json.loads(for_worker(made).partition("const RULES = ")[2].partition(";\n\nexport")[0])


# -- which parameters an edge drops ------------------------------------------------------------------------------


def file_by_worker(made: Rules, target: str) -> str | None:
    """The stem that a worker's expressions lead a target to, as `fileOf` in the template compares it.

    An escape that cannot be read leads to none: the service refuses it.
    """
    if re.search("%(00|(?![0-9A-Fa-f]{2}))", target):
        return None
    table = table_of(made)
    path, mark, query = f"/{target}".partition("?")
    for route, place_of_route in zip(table["routes"], table["places"], strict=True):
        if not re.fullmatch(table["base"] + place_of_route, path):
            continue
        read = path + mark + query
        if route["query"] is not None and len(query) <= table["max_dropped"]:
            parts = [part for part in query.split("&") if is_read(part.partition("=")[0], route["query"])]
            read = "?".join(filter(None, (path, "&".join(parts))))
        for file in route["targets"]:
            if match := re.fullmatch(table["base"] + file["pattern"], read):
                return match.expand(file["stem"])
    return None


def is_read(name: str, names: list[str]) -> bool:
    """Whether an operation may read a parameter: it has its name, or one that has to be decoded."""
    return name in names or not re.fullmatch("[A-Za-z0-9._~-]*", name)


def file_of_service(target: str) -> str | None:
    """The stem of the file that holds what the service answers; None: it refuses, or the answer has no file."""
    path, _, query = target.partition("?")
    try:
        name = bind(Request(path, query), "iphone", INTERFACE).filename()
    except Refusal:
        return None
    return name and name.removesuffix(".json").replace("/iphone", f"/{APPLICATION}")


PATHS = ("v2/promotions", "v3/promotions", "v3/promotions/sorted", "store/v1/events", "v2/utility/mobileapp")
NAMES = ("show", "storeId", "channel", "promoid", "callback", "_fields", "type", "utm_source", "_", "x", "Show", "")
PARTS = st.one_of(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from(("", "=", "=301", "=coupons", "=SITE", "=a%26b", "=x+y", "=1=2"))
    ),
    st.tuples(st.text("showID%2_+.=?-", max_size=6), st.just("")),
).map("".join)


@given(st.sampled_from(PATHS), st.lists(PARTS, max_size=4))
def test_what_a_worker_takes_for_a_files_question_is_one_to_the_service(
    made: Rules, path: str, parts: list[str]
) -> None:
    target = "?".join(filter(None, (path, "&".join(parts))))
    stem = file_by_worker(made, target)
    assert stem is None or stem == file_of_service(target)


@pytest.mark.parametrize(
    ("target", "stem"),
    [
        ("v2/promotions", "v2/promotions"),
        ("v2/promotions?", "v2/promotions"),
        ("v2/promotions?utm_source=a&utm_medium=b", "v2/promotions"),
        ("v3/promotions?_=1&show=coupons&x", "v3/promotions;show=coupons"),
        ("v3/promotions?&&show=coupons&&", "v3/promotions;show=coupons"),
        ("store/v1/events?x=%26&storeId=301", "store/v1/events;storeId=301"),
        ("v2/promotions?%70romoid=1", None),
        ("v2/promotions?x=%zz", None),
        ("v2/promotions?=%", None),
        ("v2/promotions?x=%00", None),
        ("v2/promotions?x=%001", None),
        ("v2/promotions?x=%100", "v2/promotions"),
        ("v2/promotions?promo+id=1", None),
        ("v2/promotions?promoid", None),
        ("v2/promotions?callback=f&x=1", None),
        (f"v2/promotions?x={'a' * 998}", "v2/promotions"),
        (f"v2/promotions?x={'a' * 999}", None),
    ],
)
def test_unread_parameters_are_dropped_and_no_others(made: Rules, target: str, stem: str | None) -> None:
    assert file_by_worker(made, target) == stem


def test_where_nobody_can_list_the_parameters_none_is_dropped(made: Rules) -> None:
    (route,) = [route for route in made.routes if route.operation == "promotions_v2"]
    unlisted = replace(made, routes=(replace(route, query=None),))
    assert file_by_worker(unlisted, "v2/promotions") == "v2/promotions"
    assert file_by_worker(unlisted, "v2/promotions?x=1") is None
    assert table_of(unlisted)["routes"][0]["query"] is None


def test_every_read_parameter_of_an_operation_is_listed(made: Rules) -> None:
    operations = {operation.name: operation for operation in INTERFACE.operations}
    for route in made.routes:
        assert route.query is not None
        assert set(route.query) == operations[route.operation].in_query


def test_a_place_matches_the_paths_of_its_targets(made: Rules) -> None:
    for route in made.routes:
        path = re.sub(r"\{.*?\}", "17", route.path)
        assert re.fullmatch(place(route), path)
        assert not re.fullmatch(place(route), f"{path}/x")


# -- keys --------------------------------------------------------------------------------------------------------


def test_a_worker_says_how_stale_an_answer_may_be(content: Content) -> None:
    said = {
        stale: {
            route["cache_control"]
            for route in table_of(rules(INTERFACE, changed(content, stale=stale), SCHEMAS))["routes"]
        }
        for stale in (0, 60)
    }
    assert all(each.startswith("max-age=") and "," not in each for each in said[0])
    assert said[60] == {f"{each}, stale-while-revalidate=60, stale-if-error=60" for each in said[0]}


def test_what_is_printed_holds_digests_of_keys_and_no_key(made: Rules) -> None:
    printed = for_worker(made)
    assert [key for key in KEYS if key in printed] == []
    assert [key for key in KEYS if sha256(key.encode()).hexdigest() not in printed] == []


def test_what_a_client_sends_is_looked_up_in_pairs(made: Rules) -> None:
    """An object of JavaScript has more names than were written into it, such as `constructor`."""
    table = table_of(made)
    assert dict(table["accepts"])["application/json"] == "json"
    assert isinstance(table["accepts"], list)
    assert isinstance(table["applications"], list)


# -- the command -------------------------------------------------------------------------------------------------


def test_the_command_writes_what_it_prints(sample_out: Path, tmp_path: Path) -> None:
    printed = shopwindow("edge", "worker", "--out", sample_out)
    target = tmp_path / "edge"
    written = shopwindow("edge", "worker", "--out", sample_out, "--write", target)
    assert (printed.status, printed.err, written.status, written.err) == (0, "", 0, "")
    assert target.read_text() == printed.out
    assert written.out == f"{target}: written; Cloudflare takes it with `wrangler deploy`\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o644


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("worker", "--templates", "."), 2, "there is no worker.js in it"),
        (("worker", "--rate", "5"), 2, "--rate is of nginx, and a worker has none"),
        (("worker", "--api-keys", "f"), 2, "--api-keys is of nginx, and a worker has none"),
        (("varnish",), 2, "'varnish' is not one of 'nginx', 'worker'"),
        (("worker", "--write", "."), 4, ". is not a file"),
        (("worker", "--write", "none/x"), 4, "none/x cannot be written: there is no folder "),
    ],
)
def test_a_mistake_is_said_in_a_line(
    sample_out: Path, tmp_path: Path, arguments: tuple[str, ...], status: int, said: str
) -> None:
    ran = shopwindow("edge", *arguments, "--out", sample_out, cwd=tmp_path)
    assert (ran.status, ran.out) == (status, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_a_template_of_ones_own_is_used(sample_out: Path, tmp_path: Path) -> None:
    (tmp_path / "worker.js").write_text("// {{ rules.base_host }}\n")
    ran = shopwindow("edge", "worker", "--templates", tmp_path, "--out", sample_out)
    assert (ran.status, ran.out) == (0, "// api.larkspurvane.example\n")
