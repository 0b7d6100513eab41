"""Facts about groups of stores, and about windows on the clocks of stores: each means what somebody would write out."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.content import (
    AT,
    Document,
    Documents,
    Shape,
    check,
    event,
    examples,
    live,
    place,
    promotion,
    site,
    small,
    store,
    write,
)
from harness.program import Checked, built, manifest, program_schemas, shopwindow
from shopwindow.content.documents import groups
from shopwindow.content.kinds import values_at
from shopwindow.problems import pointer_text
from shopwindow.retail.stores.kind import STORE, STORE_GROUPS
from shopwindow.shop import INTERFACE

Json = Any
SCHEMAS = program_schemas()
NEW_YORK, CHICAGO, PACIFIC = "America/New_York", "America/Chicago", "America/Los_Angeles"


def address(city: str, state: str) -> Json:
    return {"line1": "1 Main St", "city": city, "state": state, "countryCode": "US", "zipCode": "02116"}


STORES = {
    1: store(1, address=address("Boston", "MA"), features=["BOPS"]),
    2: store(2, address=address("Portland", "ME"), divisionId=2),
    3: store(3, address=address("Portland", "OR"), timeZone=PACIFIC, features=["BOPS", "BRIDAL"]),
    4: store(4, address=address("Oakland", "CA"), timeZone=PACIFIC, divisionId=2),
    5: store(5, address=address("Chicago", "IL"), timeZone=CHICAGO, publish={"from": "2027-03-01"}),
}
LIST = {"pacific": {"state": ["CA", "OR"]}}
TIMES = ("2026-12-24 10:00", "2026-12-24 12:00")


def shop(folder: Path, *events: Json, groups: Json = LIST, stores: Mapping[int, Json] = STORES) -> Path:
    files = {"site.yaml": site(**({"store_groups": groups} if groups else {})), "stores/all.yaml": [*stores.values()]}
    return write(folder, {**files, "events/all.yaml": [*events]})


def at(stated: Json, id: int = 1, **more: Json) -> Json:
    return event(id, (), *TIMES) | {"stores": stated} | more


def checked(folder: Path) -> Checked:
    return check(folder, SCHEMAS, INTERFACE, jobs=1)


def documents(folder: Path) -> Documents:
    found = checked(folder)
    assert found.documents is not None, found.problems
    return found.documents


def event_of(folder: Path) -> Document:
    (only,) = documents(folder).of("event")
    return only


def problems(folder: Path) -> list[tuple[str, str]]:
    return [(each.rule, pointer_text(each.pointer)) for each in checked(folder).problems]


def numbers(stores: Iterable[int]) -> list[int]:
    return [STORES[number]["locationNumber"] for number in stores]


# -- who is in a group -------------------------------------------------------------------------------------------

MEMBERS: list[tuple[Json, list[int]]] = [
    ({"state": ["CA", "OR"]}, [3, 4]),
    ({"city": ["Portland"]}, [2, 3]),
    ({"city": ["Portland"], "state": ["ME", "MA"]}, [2]),
    ({"divisionId": [2]}, [2, 4]),
    ({"timeZone": [PACIFIC, CHICAGO]}, [3, 4, 5]),
    ({"features": ["BRIDAL", "BOPS"]}, [1, 3]),
    ({"features": ["BOPS"], "timeZone": [PACIFIC]}, [3]),
    ({"storeId": [4, 1]}, [1, 4]),
    ({"storeNumber": [1002]}, [2]),
    ({"locationNumber": [2005, 2001], "state": ["IL", "MA"]}, [1, 5]),
]


@pytest.mark.parametrize(("group", "members"), MEMBERS, ids=[str(group) for group, _ in MEMBERS])
def test_a_group_is_the_stores_that_have_a_listed_value_of_every_property(
    tmp_path: Path, group: Json, members: list[int]
) -> None:
    folder = shop(tmp_path, at({"group": "these"}), groups={"these": group})
    assert event_of(folder).value["stores"] == {"locationNumber": numbers(members)}
    site_value = documents(folder).site.value
    assert {number: list(groups.containing(STORE, site_value, value)) for number, value in STORES.items()} == {
        number: ["these"] if number in members else [] for number in STORES
    }


@settings(max_examples=examples(50))
@given(
    st.dictionaries(
        st.sampled_from([name for name, _ in STORE_GROUPS.properties]),
        st.lists(st.sampled_from(["CA", "OR", "Portland", PACIFIC, "BOPS", 1, 2, 1003, 2005]), min_size=1, unique=True),
        min_size=1,
    )
)
def test_whatever_a_group_lists_its_members_are_those_of_the_definition(group: Json) -> None:
    """The oracle: of every property, the store has a value that the group lists."""
    pointers = dict(STORE_GROUPS.properties)
    for value in STORES.values():
        shares = [
            {stated for _, stated in values_at(value, pointers[name])} & set(listed) for name, listed in group.items()
        ]
        assert groups.contains(STORE_GROUPS, group, value) == all(shares)


def test_all_is_every_store_also_one_that_opens_later(tmp_path: Path) -> None:
    assert event_of(shop(tmp_path, at("all"))).value["stores"] == {"locationNumber": numbers(STORES)}


def test_a_group_stands_beside_numbers(tmp_path: Path) -> None:
    stated = {"group": "pacific", "storeId": [1], "locationNumber": [2004, 2002]}
    resolved = event_of(shop(tmp_path, at(stated))).value["stores"]
    assert resolved == {"storeId": [1], "locationNumber": [2004, 2002, 2003]}


def test_a_document_with_a_group_answers_as_one_with_the_numbers(tmp_path: Path) -> None:
    by_group = built(shop(tmp_path / "a", at({"group": "pacific"}), at("all", 2)), tmp_path / "out-a")
    listed = [at({"locationNumber": numbers([3, 4])}), at({"locationNumber": numbers(STORES)}, 2)]
    by_number = built(shop(tmp_path / "b", *listed), tmp_path / "out-b")
    assert by_group == by_number


# -- what is wrong -----------------------------------------------------------------------------------------------

Wrong = list[tuple[str, str]]
PROBLEMS: list[tuple[str, Json, Json, Wrong]] = [
    ("an unknown group", LIST, {"group": "pacfic"}, [("reference", "0/stores/group")]),
    ("no groups at all", None, {"group": "pacific"}, [("reference", "0/stores/group")]),
    ("an unknown group beside numbers", LIST, {"group": "x", "storeId": [1]}, [("reference", "0/stores/group")]),
    ("another word than all", LIST, "every", [("schema.pattern", "0/stores")]),
    ("a group of several names", LIST, {"group": ["pacific"]}, [("schema.type", "0/stores/group")]),
    ("a state without a store", {"g": {"state": ["CA", "XX"]}}, "all", [("group.value", "store_groups/g/state/1")]),
    ("a city without a store", {"g": {"city": ["Bostn"]}}, "all", [("group.value", "store_groups/g/city/0")]),
    ("a number of no store", {"g": {"storeId": [1, 77]}}, "all", [("reference", "store_groups/g/storeId/1")]),
    (
        "values of no one store",
        {"g": {"state": ["CA"], "city": ["Boston"]}},
        "all",
        [("group.empty", "store_groups/g")],
    ),
    ("nothing in a group", {"g": {}}, {"group": "g"}, [("schema.minProperties", "store_groups/g")]),
    ("an empty list", {"g": {"state": []}}, {"group": "g"}, [("schema.minItems", "store_groups/g/state")]),
    (
        "an unknown property",
        {"g": {"stat": ["CA"]}},
        {"group": "g"},
        [("schema.additionalProperties", "store_groups/g/stat")],
    ),
    ("an unknown feature", {"g": {"features": ["BOP"]}}, "all", [("schema.enum", "store_groups/g/features/0")]),
    ("a name that is none", {"1 g": {"state": ["CA"]}}, "all", [("schema.pattern", "store_groups/1 g")]),
]


@pytest.mark.parametrize(("groups", "stores", "wrong"), [rest for _, *rest in PROBLEMS], ids=[n for n, *_ in PROBLEMS])
def test_what_is_wrong_is_reported_once_where_it_stands(
    tmp_path: Path, groups: Json, stores: Json, wrong: Wrong
) -> None:
    assert problems(shop(tmp_path, at(stores), groups=groups)) == wrong


def test_a_group_at_fault_leaves_the_others_as_they_are(tmp_path: Path) -> None:
    both = {"faulty": {"state": "CA"}, "both": {"storeId": [1, 3]}}
    until = {"until": "2026-12-24 store"}
    events = at({"group": "both"}, publish=until), at({"group": "faulty"}, 2, publish=until)
    folder = shop(tmp_path, *events, groups=both)
    assert problems(folder) == [("time.zone", "0/publish/until"), ("schema.type", "store_groups/faulty/state")]


def test_an_unknown_group_or_city_comes_with_the_nearest(tmp_path: Path) -> None:
    folder = shop(tmp_path, at({"group": "pacfic"}), groups=LIST | {"east": {"city": ["Bostn"]}})
    assert [each.nearest for each in checked(folder).problems] == ["pacific", "Boston"]


def test_a_store_that_is_at_fault_makes_no_problem_of_its_group(tmp_path: Path) -> None:
    stores = {**STORES, 2: STORES[2] | {"address": address("Portland", "Maine")}}
    folder = shop(tmp_path, at({"group": "east"}), groups={"east": {"state": ["ME"]}}, stores=stores)
    assert problems(folder) == [("schema.pattern", "1/address/state")]


def test_a_problem_of_an_event_with_a_group_is_at_the_line_of_the_group(tmp_path: Path) -> None:
    folder = shop(tmp_path, stores={5: STORES[5]}, groups={"later": {"storeId": [5]}})
    text = f"id: 1\nname: E\nshortDesc: E\nstart: {TIMES[0]}\nfinish: {TIMES[1]}\nstores:\n  group: later\n"
    (folder / "events/all.yaml").write_text(f"{text}publish: {{until: 2026-12-31}}\n")
    (only,) = checked(folder).problems
    assert (only.rule, place(only)) == ("reference.live", "events/all.yaml:7:3")


# -- stores that come and go -------------------------------------------------------------------------------------

LIVE: list[tuple[Json, Json, Wrong]] = [
    # a number of a store that is not live is a problem; a group is whichever of its stores are live
    ({"storeId": [5]}, {}, [("reference.live", "0/stores")]),
    ({"group": "later"}, {}, []),
    ({"group": "later"}, {"publish": {"until": "2027-03-01"}}, []),
    ({"group": "later"}, {"publish": {"until": "2027-02-28"}}, [("reference.live", "0/stores")]),
    ("all", {"publish": {"until": "2027-02-28"}}, []),
]


@pytest.mark.parametrize(("stores", "more", "wrong"), LIVE)
def test_a_group_may_have_stores_that_open_later(tmp_path: Path, stores: Json, more: Json, wrong: Wrong) -> None:
    assert problems(shop(tmp_path, at(stores, **more), groups={"later": {"storeId": [5]}})) == wrong


def test_a_retired_store_stays_in_its_group(tmp_path: Path) -> None:
    folder = shop(tmp_path, at({"group": "pacific"}), at({"storeId": [4]}, 2), groups={"pacific": {"storeId": [3, 4]}})
    ran = shopwindow("retire", "store", "4", "--on", "2099-12-31", "--yes", "--content", folder)
    assert (ran.status, "it stays in store_groups/pacific of site.yaml" in ran.err) == (0, True), ran
    ends = {each.value["id"]: each.value.get("publish") for each in documents(folder).of("event")}
    assert ends == {1: None, 2: {"until": "2099-12-31"}}


def test_a_store_that_is_deleted_is_missed_where_a_group_lists_it(tmp_path: Path) -> None:
    stores = {number: value for number, value in STORES.items() if number != 4}
    folder = shop(tmp_path, at({"group": "pacific"}), groups={"pacific": {"storeId": [3, 4]}}, stores=stores)
    assert problems(folder) == [("reference", "store_groups/pacific/storeId/1")]


def test_uses_lists_the_groups_that_a_store_is_in(tmp_path: Path) -> None:
    folder = shop(
        tmp_path, at({"group": "pacific"}), groups=LIST | {"east": {"state": ["MA"]}, "four": {"storeId": [4]}}
    )
    ran = shopwindow("uses", "store", "4", "--content", folder)
    places = [line.partition(": ")[2].partition("  ")[0] for line in ran.out.splitlines() if line.startswith("  ")]
    assert places == ["store_groups/four", "store_groups/pacific", "stores"]


def test_why_shows_what_a_group_and_a_zone_stand_for_and_what_is_written(tmp_path: Path) -> None:
    folder = shop(tmp_path, at({"group": "pacific"}, publish={"from": "2026-12-01 9:00 store"}))
    number = shopwindow("why", "--content", folder, "event", "1", "stores/locationNumber/1").out.splitlines()
    assert number[0] == "the 2nd entry of stores/locationNumber of event 1: 2004"
    assert number[2] == '  written as  {"group":"pacific"}'
    opens = shopwindow("why", "--content", folder, "event", "1", "publish/from").out.splitlines()
    assert opens[0] == f"event 1 publish/from: 2026-12-01 09:00 {PACIFIC}"
    assert opens[2] == "  written as  2026-12-01 09:00 store"


def stores_of_event(content: Path, id: int) -> list[int]:
    only = live(content).document("event", "id", id)
    assert isinstance(only, dict)
    return list(only["stores"]["locationNumber"])


def test_a_store_that_joins_a_group_is_served_as_by_a_build_of_everything(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "out"
    files = small() | {"site.yaml": site(store_groups={"home": {"city": ["Boston"]}})}
    files["events/both.yaml"] |= {"stores": {"group": "home"}}
    built(write(content, files), out)
    before = stores_of_event(content, 30)
    write(content, {"stores/three.yaml": store(3)})
    changed = built(content, out)
    assert (before, stores_of_event(content, 30)) == ([2001, 2002], [2001, 2002, 2003])
    assert built(content, tmp_path / "fresh", "--no-cache") == changed
    fresh = tmp_path / "fresh" / "releases" / changed
    assert manifest(out / "releases" / changed) == manifest(fresh)


# -- windows on the clocks of stores -----------------------------------------------------------------------------


def window_of(folder: Path) -> Json:
    return event_of(folder).value["publish"]


@pytest.mark.parametrize(
    ("stores", "zone"),
    [
        ({"group": "pacific"}, PACIFIC),
        ({"storeId": [1, 2]}, NEW_YORK),
        ({"storeId": [1], "storeNumber": [1001]}, NEW_YORK),
    ],
)
def test_store_in_place_of_a_zone_is_that_of_the_stores(tmp_path: Path, stores: Json, zone: str) -> None:
    folder = shop(tmp_path, at(stores, publish={"from": "2026-12-01 9:00 store", "until": "2026-12-24 store"}))
    assert window_of(folder) == {"from": f"2026-12-01 09:00 {zone}", "until": f"2026-12-24 {zone}"}


def test_the_zone_follows_when_a_group_changes(tmp_path: Path) -> None:
    window = {"from": "2026-12-01 09:00 store"}
    for city, zone in (("Boston", NEW_YORK), ("Oakland", PACIFIC)):
        folder = shop(tmp_path / city, at({"group": "g"}, publish=window), groups={"g": {"city": [city]}})
        assert window_of(folder) == {"from": f"2026-12-01 09:00 {zone}"}


def test_stores_in_several_zones_are_named_by_their_zones(tmp_path: Path) -> None:
    (only,) = checked(shop(tmp_path, at("all", publish={"until": "2026-12-24 store"}))).problems
    assert (only.rule, pointer_text(only.pointer)) == ("time.zone", "0/publish/until")
    assert only.found == (
        f"the stores of this event lie in 3 zones: {CHICAGO} (1 store), {PACIFIC} (2 stores), {NEW_YORK} (2 stores)"
    )
    assert only.allowed == "one document a zone, or one zone's name in place of 'store'"


def test_a_store_has_its_own_zone(tmp_path: Path) -> None:
    stores = {**STORES, 4: STORES[4] | {"publish": {"from": "2026-11-01 9:00 store"}}}
    folder = shop(tmp_path, at("all"), stores=stores)
    assert documents(folder).of("store")[3].value["publish"] == {"from": f"2026-11-01 09:00 {PACIFIC}"}


@pytest.mark.parametrize("text", ["2026-12-01 09:00 store", "2026-12-01 store"])
def test_what_names_no_store_has_no_clocks_of_stores(tmp_path: Path, text: str) -> None:
    folder = shop(tmp_path, at("all"))
    write(folder, {"promotions/one.yaml": promotion(1, publish={"from": text})})
    (only,) = checked(folder).problems
    assert (only.rule, only.found) == ("time.zone", "a promotion names no store, so 'store' is no time zone here")


WINDOWS: list[tuple[Json, Wrong, str]] = [
    ({"from": f"2026-12-01 9:00 {PACIFIC}", "until": "2026-12-01 12:01"}, [], ""),
    ({"from": f"2026-12-01 9:00 {PACIFIC}", "until": "2026-12-01 12:00"}, [("window.order", "0/publish/from")], ""),
    ({"from": "2026-12-01 9:00 Los_Angeles"}, [("time.zone", "0/publish/from")], PACIFIC),
    ({"from": "2026-12-01 9:00 PT"}, [("time.zone", "0/publish/from")], PACIFIC),
    ({"from": "2026-12-01 9:00 america/chicago"}, [("time.zone", "0/publish/from")], CHICAGO),
    ({"from": "2026-12-01 9:00 stores"}, [("time.zone", "0/publish/from")], "store"),
    ({"until": "2027-02-29 9:00 America/Chicago"}, [("time.exists", "0/publish/until")], ""),
    ({"until": "2027-03-14 2:30 America/Chicago"}, [("time.exists", "0/publish/until")], ""),
    ({"until": "2027-03-14 2:30 store"}, [("time.exists", "0/publish/until")], ""),
    ({"until": "2027-03-14 2:30 America/Phoenix"}, [], ""),
    ({"until": "2027-11-07 1:30 America/Chicago"}, [("time.exists", "0/publish/until")], ""),
    ({"until": "2027-11-07 1:30"}, [], ""),
    ({"until": "2026-12-01 9:75 America/Chicago"}, [("schema.pattern", "0/publish/until")], ""),
]


@pytest.mark.parametrize(("publish", "wrong", "nearest"), WINDOWS)
def test_what_may_stand_in_a_window(tmp_path: Path, publish: Json, wrong: Wrong, nearest: str) -> None:
    outcome = checked(shop(tmp_path, at({"storeId": [4]}, publish=publish)))
    assert [(each.rule, pointer_text(each.pointer)) for each in outcome.problems] == wrong
    assert [each.nearest for each in outcome.problems] == [nearest] * len(wrong)


def test_a_time_that_occurs_twice_in_a_named_zone_is_written_with_its_offset(tmp_path: Path) -> None:
    (only,) = checked(shop(tmp_path, at({"storeId": [4]}, publish={"until": "2027-11-07 1:30 store"}))).problems
    assert only.found == f"2027-11-07 01:30 occurs twice in {PACIFIC}: the clock goes back"
    assert only.allowed == "2027-11-07T01:30:00-07:00 or 2027-11-07T01:30:00-08:00"


# -- nothing is said twice ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stores", "store", "wrong"),
    [
        ({"storeId": [9]}, {}, [("reference", "0/stores/storeId/0")]),
        ({"group": "none"}, {}, [("reference", "0/stores/group")]),
        ({"storeId": [4]}, {"timeZone": "Pacific"}, [("time.zone", "3/timeZone")]),
        ({"storeId": [4]}, {"timeZone": 8}, [("schema.type", "3/timeZone")]),
        ([4], {}, [("schema.type", "0/stores")]),
    ],
)
def test_a_window_whose_zone_hangs_on_a_problem_makes_no_other(
    tmp_path: Path, stores: Json, store: Json, wrong: Wrong
) -> None:
    all_stores = {**STORES, 4: STORES[4] | store}
    folder = shop(tmp_path, at(stores, publish={"from": "2026-12-01 9:00 store"}), stores=all_stores)
    assert problems(folder) == wrong


# -- hours of one digit ------------------------------------------------------------------------------------------


def nine(hour: str) -> dict[str, Json]:
    hours = {day: {"open": hour, "close": "21:00"} for day in ("monday", "friday")}
    exceptions = [{"date": "2026-11-27", "open": hour, "close": "22:00"}]
    opening = store(1, hours=hours, exceptions=exceptions, publish={"from": f"2026-11-01 {hour}"})
    window = {"from": f"2026-11-02 {hour}", "until": f"2026-12-24 {hour} {CHICAGO}"}
    at_nine = event(1, [1], f"2026-12-05 {hour}", "2026-12-05 11:00", publish=window)
    late = event(2, [2], "2026-12-05 01:00", f"2026-12-05 {hour}")
    events = {"events/first.yaml": at_nine, "events/both.yaml": late}
    return small() | {"stores/one.yaml": opening, **events}


def test_an_hour_of_one_digit_is_served_as_one_of_two(tmp_path: Path) -> None:
    one = built(write(tmp_path / "one", nine("9:00")), tmp_path / "out-one")
    two = built(write(tmp_path / "two", nine("09:00")), tmp_path / "out-two")
    assert one == two


def test_an_event_from_nine_to_eleven_ends_after_it_starts(tmp_path: Path) -> None:
    """As text, 9:00 would come after 11:00."""
    folder = shop(tmp_path, event(1, [1], "2026-12-05 9:00", "2026-12-05 11:00"))
    assert problems(folder) == []
    folder = shop(tmp_path, event(1, [1], "2026-12-05 11:00", "2026-12-05 9:00"))
    assert problems(folder) == [("time.order", "0/finish")]


def places(shape: Shape, pointer: tuple[Any, ...] = ()) -> Iterable[tuple[tuple[Any, ...], Shape]]:
    """Every place of a schema, with a pointer as kinds have it."""
    yield pointer, shape
    below = [(name, shape.property(name)) for name in shape.properties] + [("*", shape.items)]
    for step, part in below:
        if part is not None and len(pointer) < 6:
            yield from places(part, (*pointer, step))


@pytest.mark.parametrize("kind", [kind for kind in INTERFACE.kinds if not kind.streamed], ids=lambda kind: kind.name)
def test_every_place_that_takes_an_hour_of_one_digit_is_a_clock_of_its_kind(kind: Any) -> None:
    taking = {
        pointer
        for pointer, shape in places(SCHEMAS.shape(kind.schema))
        if (pattern := shape.keyword("pattern"))
        and not re.search(pattern, "any text")
        and any(re.search(pattern, text) for text in ("9:00", "2026-11-27 9:00"))
    }
    windows = {("publish", "from"), ("publish", "until")} if kind.scheduled else set()
    instants = {pointer for pointer, _ in kind.instants}
    assert taking - windows - instants == set(kind.clocks)


# -- on the command line -----------------------------------------------------------------------------------------


def test_at_takes_a_time_in_a_zone(tmp_path: Path) -> None:
    folder = shop(tmp_path, at({"storeId": [4]}, publish={"from": "2026-12-01 9:00 store"}))
    ask = ("show", "store/v1/events?storeId=4&_fields=id", "--content", folder, "--at")
    answers = {
        text: shopwindow(*ask, text).out for text in (f"2026-12-01 8:59 {PACIFIC}", f"2026-12-01 9:00 {PACIFIC}")
    }
    assert ['"id":1' in answer for answer in answers.values()] == [False, True]
    wrong = shopwindow(*ask, "2026-12-01 9:00 Pacific")
    assert (wrong.status, f"did you mean {PACIFIC}?" in wrong.err) == (2, True), wrong


def test_the_calendar_shows_a_window_at_its_instant(tmp_path: Path) -> None:
    folder = shop(
        tmp_path, at({"storeId": [4]}, publish={"from": "2026-12-01 9:00 store", "until": "2026-12-24 store"})
    )
    lines = shopwindow("calendar", "--content", folder, "--from", AT).out.splitlines()
    assert [line for line in lines if "goes" in line] == [
        "2026-12-01 12:00 EST  event 1 goes live: Event 1",
        "2026-12-25 03:00 EST  event 1 goes off: Event 1",
    ]
