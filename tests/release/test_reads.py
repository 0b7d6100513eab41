"""What an answer has read decides whether it is asked again: never too little is asked, and no more than is touched."""

import json
import shutil
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness import catalogs
from harness.content import (
    AT,
    ROOT,
    app,
    as_content,
    coupon,
    event,
    examples,
    live,
    promotion,
    site,
    small,
    store,
    write,
)
from harness.program import Content, current
from shopwindow import library
from shopwindow.interface.declaring.operation import FromContent
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.release import prerender
from shopwindow.release.reads import Digests, Read, ReadRecord, Recorded, load, returned, save
from shopwindow.retail.storefront import days, events_by_store, grid_of_stores
from shopwindow.shop import INTERFACE

Json = Any


def made(content: Path, out: Path, at: str = AT, *, fresh: bool = False, jobs: int = 1) -> Any:
    """What was built of a content folder, and switched to; None where the content has faults."""
    return library.build(INTERFACE, content, out, at=at, jobs=jobs, fresh=fresh).built


# -- the oracle: a build that asks everything --------------------------------------------------------------------

NUMBERS = {"storeId": 0, "storeNumber": 1000, "locationNumber": 2000}
INSTANTS = [AT, "2026-11-25T12:00:00-05:00", "2026-11-29T23:59:00-05:00", "2026-12-01T12:00:00-05:00"]
WINDOWS = st.sampled_from([{}, {"publish": {"from": "2026-11-25"}}, {"publish": {"until": "2026-11-24"}}])
GROUPS = {"home": {"city": ["Boston"]}, "first": {"storeId": [1, 2]}}
AWAY = {"line1": "1 Main St", "city": "Concord", "state": "NH", "countryCode": "US", "zipCode": "03301"}
NAMES = st.sampled_from(["Workshop", "Sale", "Sale, again", "1.0"])
STORES = st.integers(1, 4)


@st.composite
def events(draw: st.DrawFn) -> dict[str, Json]:
    id, by = draw(st.integers(10, 13)), draw(st.sampled_from(sorted(NUMBERS)))
    day = draw(st.sampled_from(["2026-12-04", "2026-12-05"]))
    numbers = [NUMBERS[by] + number for number in draw(st.lists(STORES, min_size=1, max_size=3, unique=True))]
    by_number = {by: numbers}
    stated = [by_number, by_number, {"group": "home"}, {"group": "first"} | by_number, "all"]
    at = {"stores": draw(st.sampled_from(stated)), "name": draw(NAMES), **draw(WINDOWS)}
    return {f"events/{id}.yaml": event(id, (), f"{day} 10:00", f"{day} 12:00") | at}


@st.composite
def stores(draw: st.DrawFn) -> dict[str, Json]:
    number = draw(STORES)
    more: dict[str, Json] = {"name": draw(NAMES), **draw(WINDOWS)}
    others = [{}, {"features": ["BOPS"]}, {"storeNumber": 1005}, {"storeId": 6}, {"address": AWAY}]
    more |= draw(st.sampled_from(others))
    return {f"stores/{number}.yaml": store(number, **more)}


@st.composite
def promotions(draw: st.DrawFn) -> dict[str, Json]:
    id = draw(st.integers(1, 3))
    more = {"description": draw(NAMES), "global": draw(st.booleans()), **draw(WINDOWS)}
    more |= draw(st.sampled_from([{}, {"coupon": coupon("4001")}, {"channels": ["SITE"]}]))
    return {f"promotions/{id}.yaml": promotion(id, **more)}


@st.composite
def apps(draw: st.DrawFn) -> dict[str, Json]:
    name = draw(st.sampled_from(["phone", "tablet", "_base"]))
    version = {"configVersion": draw(st.sampled_from(["1", "2", "3"]))}
    if name == "_base":
        return {"apps/_base.yaml": {"config": version}}
    whole = app(name, **version)
    based = {**whole, "extends": "_base.yaml", "config": {**whole["config"]}}
    del based["config"]["configVersion"]
    return {f"apps/{name}.yaml": draw(st.sampled_from([whole, based])), "apps/_base.yaml": {"config": version}}


@st.composite
def products(draw: st.DrawFn) -> dict[str, Json]:
    vase = {**catalogs.VASES[draw(st.integers(0, 1))], "name": draw(NAMES), "featured": draw(st.booleans())}
    rest = [product for product in catalogs.PRODUCTS if product["id"] != vase["id"]]
    return {"catalog/products.yaml": [*rest, vase]}


def a_schema() -> Json:
    schema = json.loads((ROOT / "schemas" / "responses/stores.json").read_bytes())
    return {"schemas/responses/stores.json": {**schema, "description": "Of this shop."}}


def grouped(**more: Json) -> Json:
    return site(store_groups=GROUPS, **more)


SITES = [
    grouped(),
    grouped(lifetimes={"default": {"maxAge": 60}, "events_v1": {"maxAge": 900}}),
    grouped(base_url="https://other.shop.example"),
    grouped(time_zone="Asia/Tokyo"),
    grouped(bags={"max_quantity": 5}),
    site(store_groups=GROUPS | {"home": {"divisionId": [1], "storeId": [1, 3]}}),
]
WITH_CATALOG = {f"catalog/{name}": value for name, value in catalogs.FILES.items()}
WITH_CATALOG["promotions/eleven.yaml"] = promotion(11)


@st.composite
def edits(draw: st.DrawFn) -> Callable[[dict[str, Json]], dict[str, Json]]:
    """What an editor may do next: documents by path become others."""
    if draw(st.integers(0, 5)) == 0:  # take one away
        number = draw(st.integers(0, 20))
        return lambda now: without(now, sorted(now)[number % len(now)])
    settings = [{"site.yaml": each} for each in SITES]
    new = draw(st.one_of(events(), events(), stores(), promotions(), apps(), products(), st.sampled_from(settings)))
    if draw(st.integers(0, 9)) == 0:
        new |= a_schema()
    return lambda now: now | new


def without(now: dict[str, Json], gone: str) -> dict[str, Json]:
    return {path: value for path, value in now.items() if path != gone or path == "site.yaml"}


def rewritten(folder: Path, files: dict[str, Json]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    if any(path.startswith("catalog/") for path in files):
        files = files | {"site.yaml": files["site.yaml"] | {"catalog": catalogs.SETTINGS}}
    return write(folder, files)


def looks(release: Path) -> dict[str, tuple[bytes, int, float]]:
    """Every file of a release but the note outside its id: bytes, mode and time."""
    paths = [path for path in release.rglob("*") if path.is_file() and path.name != "build.json"]
    return {
        path.relative_to(release).as_posix(): (path.read_bytes(), path.stat().st_mode, path.stat().st_mtime)
        for path in paths
        if path.suffix != ".sqlite"  # whose bytes may lie otherwise; its rows are in the manifest
    }


def copies(release: Path) -> dict[bytes, set[int]]:
    """The inodes of all that holds the same bytes."""
    found: dict[bytes, set[int]] = {}
    for path in (release / "files").rglob("*"):
        if path.is_file():
            found.setdefault(path.read_bytes(), set()).add(path.stat().st_ino)
    return found


STEPS = st.lists(st.tuples(edits(), st.sampled_from([AT, AT, *INSTANTS])), min_size=2, max_size=6)


@settings(max_examples=examples(10), deadline=None, suppress_health_check=list(HealthCheck))
@given(steps=STEPS, start=st.sampled_from([small(), small() | WITH_CATALOG]), jobs=st.sampled_from([1, 1, 2]))
def test_whatever_is_edited_a_release_is_that_of_a_build_that_asks_everything(
    steps: list[tuple[Callable[[dict[str, Json]], dict[str, Json]], str]], start: dict[str, Json], jobs: int
) -> None:
    with TemporaryDirectory() as folder:
        content, out, whole = (Path(folder) / name for name in ("content", "dist", "whole"))
        now = {path: value for path, value in start.items() if not path.startswith("stores/")}
        now |= {f"stores/{number}.yaml": store(number) for number in range(1, 5)} | {"site.yaml": grouped()}
        made(rewritten(content, now), out)
        for edit, at in steps:
            if (result := made(rewritten(content, edit(now)), out, at, jobs=jobs)) is None:
                continue  # what has faults is never built
            now = edit(now)
            expected = made(content, whole, at, fresh=True)
            assert expected is not None
            assert (result.id, result.files) == (expected.id, expected.files)
            release = out / "releases" / result.id
            assert looks(release) == looks(whole / "releases" / result.id)
            assert {len(inodes) for inodes in copies(release).values()} == {1}
            assert library.verify(out, result.id, INTERFACE) == (result.id, [])
            shutil.rmtree(whole)


# -- what is asked -----------------------------------------------------------------------------------------------

VIEWS = {
    operation.source.view.__code__ for operation in INTERFACE.operations if isinstance(operation.source, FromContent)
}


def asked(work: Callable[[], object]) -> list[str]:
    """The files whose answers views make meanwhile, in this process."""
    names = []

    def look(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and frame.f_code in VIEWS:
            names.append(frame.f_locals["call"].filename())

    sys.setprofile(look)
    try:
        work()
    finally:
        sys.setprofile(None)
    return sorted(names)


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return write(tmp_path / "content", small() | {"stores/three.yaml": store(3)})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


def spelt(content: Path) -> list[tuple[int, int]]:
    """For each pre-rendered read: how many Calls its entries are, in each format, and in how many spellings."""
    shown = live(content)
    return [
        (
            len(list(source.entries(shown))) * (len(INTERFACE.application_names(shown)) if each.by_application else 1),
            source.spellings,
        )
        for each in INTERFACE.operations
        if isinstance(source := each.source, FromContent) and source.entries
    ]


def everything(content: Path) -> int:
    """How many questions the interface has of a content."""
    return sum(calls // spellings for calls, spellings in spelt(content))


EVENTS_2 = ["store/v1/events;storeId=2.json", "v2/store/event;storeId=2.json"]
STORE_2 = sorted([*EVENTS_2, "store/v2/stores.json", "store/v2/stores/2002.json"])
PROMOTIONS = [
    "v2/promotions.json",
    "v3/promotions/sorted.json",
    "v3/promotions/sorted;channel=MOBILE.json",
    "v3/promotions/sorted;channel=SITE.json",
    "v3/promotions;show=coupons.json",
    "v3/promotions;show=promotions,coupons.json",
    "v3/promotions;show=promotions.json",
]
RENAMED = event(10, [2], "2026-12-06 09:00", "2026-12-06 10:00", name="Renamed")
ASKED: dict[str, tuple[dict[str, Json], list[str]]] = {
    "an event": ({"events/second.yaml": RENAMED}, EVENTS_2),
    "a store": ({"stores/two.yaml": store(2, name="Renamed")}, STORE_2),
    "a promotion": ({"promotions/plain.yaml": promotion(7, description="Renamed")}, sorted(PROMOTIONS)),
    "an application": ({"apps/tablet.yaml": app("tablet", configVersion="7")}, ["v2/utility/mobileapp/tablet.json"]),
    "nothing that is live": ({"events/later.yaml": {**event(40, [1], "2027-01-04 10:00", "2027-01-04 11:00")}}, []),
}
ASKED["nothing that is live"][0]["events/later.yaml"]["publish"] = {"from": "2026-12-01"}


@pytest.mark.parametrize(("documents", "expected"), ASKED.values(), ids=ASKED.keys())
def test_only_what_a_change_touches_is_asked(
    content: Path, out: Path, documents: dict[str, Json], expected: list[str]
) -> None:
    made(content, out)
    write(content, documents)
    assert asked(lambda: made(content, out)) == expected


def test_an_event_that_moves_is_asked_for_where_it_was_and_where_it_is(content: Path, out: Path) -> None:
    made(content, out)
    write(content, {"events/second.yaml": event(10, [3], "2026-12-06 09:00", "2026-12-06 10:00")})
    there = [name.replace("2.json", "3.json") for name in EVENTS_2]
    of_stores = ["store/v2/stores.json", "store/v2/stores/2003.json"]  # which has events only now
    assert asked(lambda: made(content, out)) == sorted(EVENTS_2 + there + of_stores)


def test_what_is_taken_over_is_counted_as_linked(content: Path, out: Path) -> None:
    made(content, out)
    write(content, {"events/second.yaml": RENAMED})
    result = made(content, out)
    assert result is not None
    files = len(RESPONSE_FORMATS) * sum(calls for calls, _ in spelt(content))
    assert (result.files, result.written, result.removed) == (files, 4, 0)
    assert result.documents == {"event": ["10"]}


CHANGES: dict[str, Callable[[Path, Path], object]] = {
    "a setting": lambda content, out: write(content, {"site.yaml": site(base_url="https://b.example")}),
    "the questions": lambda content, out: write(content, {"stores/four.yaml": store(4)}),
    "the record is deleted": lambda content, out: record_of(out).unlink(),
    "the record is empty": lambda content, out: record_of(out).write_bytes(b""),
    "the record is cut off": lambda content, out: record_of(out).write_bytes(record_of(out).read_bytes()[:-10]),
    "the record is damaged": lambda content, out: record_of(out).write_bytes(
        record_of(out).read_bytes().replace(b'events_by_store",2001]', b'events_by_store",2003]')
    ),
    "the record is of another release": lambda content, out: changed_record(out, 0),
    "the record is of another program": lambda content, out: changed_record(out, 1),
    "the record is of other schemas": lambda content, out: changed_record(out, 2),
    "the record is of other questions": lambda content, out: changed_record(out, 3),
}


def record_of(out: Path) -> Path:
    (record,) = (out / ".cache").glob("reads*")
    return record


def changed_record(out: Path, place: int) -> None:
    """A whole record which belongs to something else."""
    _, state, record = record_of(out).read_bytes().split(b"\n")
    value = orjson.loads(state)
    value[place] = "0" * 64
    data = b"\n".join([orjson.dumps(value), record])
    record_of(out).write_bytes(sha256(data).hexdigest().encode() + b"\n" + data)


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_everything_is_asked_after_a_change_of(
    content: Path, out: Path, tmp_path: Path, change: Callable[[Path, Path], object]
) -> None:
    made(content, out)
    write(content, {"events/second.yaml": RENAMED})
    change(content, out)
    assert len(asked(lambda: made(content, out))) >= everything(content)
    expected = made(content, tmp_path / "whole", fresh=True)
    assert expected is not None
    assert current(out) == expected.id
    assert asked(lambda: made(content, out)) == []


def test_a_build_without_the_cache_asks_everything_and_the_next_one_does_not(content: Path, out: Path) -> None:
    made(content, out)
    assert len(asked(lambda: made(content, out, fresh=True))) == everything(content)
    write(content, {"events/second.yaml": RENAMED})
    assert asked(lambda: made(content, out)) == EVENTS_2


def test_a_release_that_another_program_built_is_asked_for_once(content: Path, out: Path) -> None:
    first = made(content, out)
    assert first is not None
    path = out / "releases" / first.id / "build.json"
    path.write_bytes(orjson.dumps({**orjson.loads(path.read_bytes()), "program": "an older program"}))
    record_of(out).unlink()
    assert len(asked(lambda: made(content, out))) == everything(content)
    assert asked(lambda: made(content, out)) == []


def test_after_a_rollback_everything_is_asked(content: Path, out: Path) -> None:
    first = made(content, out)
    write(content, {"events/second.yaml": RENAMED})
    made(content, out)
    assert first is not None
    library.activate(out, first.id)
    assert len(asked(lambda: made(content, out))) == everything(content)


# -- what is recorded --------------------------------------------------------------------------------------------

BY_STORE = "shopwindow.retail.storefront:events_by_store"
READS: dict[str, tuple[Callable[[Content], object], Read]] = {
    "a setting": (lambda content: content.setting("base_url"), ("setting", "base_url")),
    "a lifetime": (lambda content: content.lifetime("stores"), ("lifetime", "stores")),
    "a kind": (lambda content: content.documents("store"), ("documents", "store")),
    "a document": (lambda content: content.document("store", "storeId", 1), ("document", "store", "storeId", 1)),
    "no document": (lambda content: content.document("store", "storeId", 99), ("document", "store", "storeId", 99)),
    "a clock": (lambda content: content.clock("week"), ("clock", "week")),
    "a key": (lambda content: content.derived(events_by_store)[2001], ("derived", BY_STORE, 2001)),
    "no key": (lambda content: content.derived(events_by_store).get(1), ("derived", BY_STORE, 1)),
    "whether a key is there": (lambda content: 2001 in content.derived(events_by_store), ("has", BY_STORE, 2001)),
    "a table": (lambda content: list(content.derived(events_by_store)), ("table", BY_STORE)),
    "an index": (lambda content: content.index("catalog"), ("index", "catalog")),
    "a derivation": (lambda content: content.derived_whole(days), ("clock", "week")),
    "another derivation": (
        lambda content: content.derived_whole(grid_of_stores).near(42, -71, 9),
        ("documents", "store"),
    ),
}


@pytest.mark.parametrize(("ask", "read"), READS.values(), ids=READS.keys())
def test_what_is_asked_of_content_is_answered_as_it_is_and_recorded(
    content: Path, ask: Callable[[Content], object], read: Read
) -> None:
    plain = live(content)
    recorded = Recorded(plain)
    assert ask(recorded) == ask(plain)
    assert recorded.seen == {read}


class ByParts:
    """An index that tells its parts apart."""

    def __init__(self, **parts: str) -> None:
        self.parts = parts

    def following(self, report: Callable[[str], None]) -> "Followed":
        return Followed(self, report)

    def part_digest(self, part: str) -> str:
        return self.parts[part]


class Followed:
    """What a view may ask of it."""

    def __init__(self, index: ByParts, report: Callable[[str], None]) -> None:
        self.index, self.report = index, report

    def part(self, name: str) -> str:
        self.report(name)
        return self.index.parts[name]

    def all(self) -> dict[str, str]:
        self.report("")
        return self.index.parts


def test_an_index_is_recorded_by_its_parts(content: Path) -> None:
    plain = live(content).with_indexes({"catalog": ByParts(shoes="one", lamps="two")})
    recorded = Recorded(plain)
    assert recorded.index("catalog").part("shoes") == "one"
    assert recorded.seen == {("index", "catalog", "exists"), ("index", "catalog", "shoes")}
    assert recorded.index("catalog").all() == {"shoes": "one", "lamps": "two"}
    assert ("index", "catalog") in recorded.seen


def test_a_part_of_an_index_has_a_digest_of_its_own(content: Path) -> None:
    reads = [("index", "catalog"), *(("index", "catalog", part) for part in ("exists", "shoes", "gone"))]

    def digests(index: ByParts | None, rows: dict[str, str]) -> list[str]:
        found = Digests(live(content).with_indexes({"catalog": index} if index else {}), rows)
        return [found.of(read) for read in reads]

    assert digests(ByParts(shoes="one"), {"catalog": "rows"}) == ["rows", "exists", "one", ""]
    assert digests(ByParts(shoes="one"), {"catalog": "others"}) == ["others", "exists", "one", ""]
    assert digests(None, {}) == ["none", "none", "none", "none"]


def test_everything_that_content_offers_to_views_is_recorded() -> None:
    engines_own = {"with_indexes", "site", "clocks", "kinds", "identities", "encode"}
    offered = {name for name in vars(Content) if not name.startswith("_")} - engines_own
    assert offered <= vars(Recorded).keys()


def test_a_read_returns_what_the_content_does(content: Path) -> None:
    plain = live(content)
    assert returned(plain, ("derived", BY_STORE, 2001)) == plain.derived(events_by_store)[2001]
    assert returned(plain, ("has", BY_STORE, 1)) is False
    assert returned(plain, ("table", BY_STORE)) == dict(plain.derived(events_by_store))
    assert returned(plain, ("document", "store", "storeId", 1)) == plain.document("store", "storeId", 1)


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    digests = Digests(as_content({"site": {"name": "Shop"}, "promotions": []}), {"catalog": "digest"})
    record = ReadRecord()
    record.note(1, {("setting", "name"), ("documents", "promotion")}, digests)
    record.note(2, {("documents", "promotion")}, digests)
    record.note(3, {("index", "catalog"), ("documents", "promotion")}, digests)
    save(tmp_path / "reads", ["id", "program"], record)
    found = load(tmp_path / "reads", ["id", "program"])
    assert (found and vars(found)) == vars(record)
    assert (load(tmp_path / "reads", ["id", "other"]), load(tmp_path / "none", ["id", "program"])) == (None, None)


def test_records_of_the_same_content_are_merged() -> None:
    digests = Digests(as_content({"site": {"name": "Shop"}, "promotions": []}), {"catalog": "digest"})
    first, second, whole = ReadRecord(), ReadRecord(), ReadRecord()
    for record, question, seen in (
        (first, 1, [("setting", "name"), ("documents", "promotion")]),
        (second, 2, [("documents", "promotion")]),
        (second, 3, [("index", "catalog"), ("documents", "promotion")]),
    ):
        record.note(question, seen, digests)
        whole.note(question, seen, digests)
    first.merge(second)
    assert vars(first) == vars(whole)
    assert list(whole.readers.values()) == [[1], [2], [3]]


def test_every_question_has_a_number_of_its_own(content: Path) -> None:
    listed = prerender.planned_operations(INTERFACE, live(content))
    asked = prerender.planned_answers(listed)
    assert sorted(asking.number for asking in asked) == list(range(everything(content)))
    last = everything(content) - 1
    some = {asking.number: asking for asking in prerender.planned_answers(listed, {0, 7, last})}
    assert some == {asking.number: asking for asking in asked if asking.number in some}
    assert sorted(some) == [0, 7, last]
