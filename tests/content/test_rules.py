"""Facts about what no schema states. Each case is an edit of the smallest valid tree, or one that it allows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import (
    APP,
    DIGEST,
    EVENT,
    PROMOTION,
    STORE,
    Edit,
    check,
    edit,
    found,
    problems,
    unmark,
    warned,
    warnings,
    write_files,
)
from harness.program import Schemas
from shopwindow.problems import pointer_text
from shopwindow.shop import INTERFACE

ONE = {"site": "site.yaml", **{f"{kind}": f"{kind}s/one.yaml" for kind in ("app", "store", "event", "promotion")}}

LAYOUT = "appLayout: [shop, bag]"
VERSIONS = 'supportedVersions: ["2.0"]'
LANDING = "landingUrl: shopapp://bag"
IMAGE = "appNavImage: https://i.example/nav.png"
SEARCH = 'search: "https://www.example/search?keyword="'
HOURS = "open: 10:00, close: 20:00"
FINISH = "finish: 2026-11-27 12:00"
DAYS = "\neffective: 2026-11-01\nexpiry: 2026-12-31"
COUPON_DAYS = "  effective: 2026-11-01\n  expiry: 2026-12-31"
SHOWN = "2026-12-31T23:59:59-05:00"
PATTERN = "schema.pattern config/"

# The kind of document, what stands there, what to put instead, and what is found at each mark: rule and pointer.
# Without a mark the edit is allowed.
CASES: list[tuple[str, str, str, tuple[str, ...]]] = [
    # site.yaml
    ("site", "America/New_York", "‸America/New_Yrok", ("time.zone time_zone",)),
    ("site", "America/New_York", "‸Europe", ("time.zone time_zone",)),
    ("site", "America/New_York", "‸EST", ("time.zone time_zone",)),
    ("site", "America/New_York", "EST5EDT", ()),
    ("site", "America/New_York", "Asia/Kolkata", ()),
    ("site", "  www:", "  ‸time_zone: UTC\n  www:", ("site.name names/time_zone",)),
    # applications
    ("app", LAYOUT, "appLayout: [shop, ‸begs]", ("app.layout config/appLayout/1",)),
    ("app", LAYOUT, "appLayout: [shop, ‸Bag]", ("app.layout config/appLayout/1",)),
    ("app", LAYOUT, "appLayout: [shop, bag, ‸shop]", ("schema.uniqueItems config/appLayout/2",)),
    ("app", LAYOUT, "appLayout: []", ()),
    ("app", LAYOUT, "appLayout: [billpay, bag, shop, scan]", ()),
    (
        "app",
        "bag.png, featureLayout: [shop]",
        "bag.png, featureLayout: [shop, ‸messages]",
        ("app.layout config/appConfig/bag/featureLayout/1",),
    ),
    ("app", "bag.png, featureLayout: [shop]", "bag.png, featureLayout: [search, shop]", ()),
    (
        "app",
        VERSIONS,
        'supportedVersions: ‸["1.9", "2.00"]',
        ("app.version config/appVersionInfo/supportedVersions",),
    ),
    ("app", VERSIONS, "supportedVersions: ‸[]", ("app.version config/appVersionInfo/supportedVersions",)),
    ("app", VERSIONS, 'supportedVersions: ["1.9", "2.0"]', ()),
    ("app", LANDING, "landingUrl: ‸javascript:x", (f"{PATTERN}featureConfig/bag/landingUrl",)),
    ("app", LANDING, "landingUrl: https://www.example/bag", ()),
    ("app", IMAGE, "appNavImage: ‸shopapp://nav", (f"{PATTERN}extraAssets/appNavImage",)),
    ("app", IMAGE, "appNavImage: http://i.example/nav.png", ()),
    ("app", IMAGE, "appNavImage: ‸TBD", (f"{PATTERN}extraAssets/appNavImage",)),
    ("app", "signin: https://www.example/in", "signin: TBD", ()),
    ("app", "noNetworkError: Offline.", "noNetworkError: TBD", ()),
    ("app", "signin: https://www.example/in", "signin: ‸tbd", (f"{PATTERN}serviceEndPoints/signin",)),
    ("app", SEARCH, 'search: ‸"https://www.example/s?keyword=coat"', (f"{PATTERN}webServletEndPoints/search",)),
    ("app", SEARCH, "search: ‸https://www.example/s", (f"{PATTERN}webServletEndPoints/search",)),
    ("app", SEARCH, 'search: "https://www.example/s?in=all&keyword="', ()),
    ("app", "[/account]", "[‸account]", (f"{PATTERN}urlInterception/singleSignIn/0",)),
    ("app", "[/account]", "[/account, /bag?x=y]", ()),
    ("app", "logLevel: ERROR|WARN", "logLevel: ‸ERROR|WARN|ERROR", (f"{PATTERN}loggingInfo/logLevel",)),
    ("app", "logLevel: ERROR|WARN", 'logLevel: ‸"ERROR,WARN"', (f"{PATTERN}loggingInfo/logLevel",)),
    ("app", "logLevel: ERROR|WARN", "logLevel: DEBUG|INFO|ERROR|WARN", ()),
    ("app", "localEnabled: TRUE", "localEnabled: ‸true", ("schema.enum config/loggingInfo/localEnabled",)),
    ("app", "remoteEnabled: FALSE", "remoteEnabled: ‸NO", ("schema.enum config/loggingInfo/remoteEnabled",)),
    ("app", 'maxLogCount: "500"', "maxLogCount: ‸500", ("schema.type config/loggingInfo/maxLogCount",)),
    ("app", 'maxLogCount: "500"', 'maxLogCount: ‸"5e2"', (f"{PATTERN}loggingInfo/maxLogCount",)),
    ("app", 'maxLogCount: "500"', 'maxLogCount: "0"', ()),
    # stores
    ("store", "timeZone: America/New_York", "timeZone: ‸America/Boston", ("time.zone timeZone",)),
    ("store", "timeZone: America/New_York", "timeZone: ‸MST", ("time.zone timeZone",)),
    ("store", "timeZone: America/New_York", "timeZone: America/Phoenix", ()),
    ("store", HOURS, "open: 10:00, close: ‸10:00", ("time.order hours/monday/close",)),
    ("store", HOURS, "open: 20:00, close: ‸10:00", ("time.order hours/monday/close",)),
    ("store", HOURS, "open: 10:00, close: 10:01", ()),
    (
        "store",
        "hours:\n",
        "exceptions:\n- {date: 2026-11-26}\n- {date: 2026-11-27, open: 10:00, close: ‸09:00}\nhours:\n",
        ("time.order exceptions/1/close",),
    ),
    (
        "store",
        "hours:\n",
        "exceptions:\n- {date: 2026-11-26}\n- {date: ‸2026-11-26, open: 10:00, close: 12:00}\nhours:\n",
        ("unique exceptions/1/date",),
    ),
    ("store", "hours:\n", "exceptions: [{date: 2028-02-29}, {date: 2026-11-26}]\nhours:\n", ()),
    ("store", "hours:\n", "exceptions: [{date: ‸2026-02-29}]\nhours:\n", ("schema.format exceptions/0/date",)),
    # events
    ("event", FINISH, "finish: ‸2026-11-27 06:00", ("time.order finish",)),
    ("event", FINISH, "finish: ‸2026-11-26 23:00", ("time.order finish",)),
    ("event", FINISH, "finish: 2026-11-27 06:01", ()),
    ("event", FINISH, "finish: 2027-01-01 00:00", ()),
    ("event", FINISH, "finish: ‸2026-11-31 12:00", ("time.exists finish",)),
    ("event", "start: 2026-11-27 06:00", "start: ‸2026-02-29 06:00", ("time.exists start",)),
    ("event", "storeId: [1]", "storeId: [1, ‸2]", ("reference stores/storeId/1",)),
    ("event", "storeId: [1]", "storeNumber: [‸1]", ("reference stores/storeNumber/0",)),
    ("event", "storeId: [1]", "locationNumber: [‸10, 100]", ("reference stores/locationNumber/0",)),
    ("event", "storeId: [1]", "storeId: [1]\n  storeNumber: [10]\n  locationNumber: [100]", ()),
    # promotions
    ("promotion", DAYS, "\neffective: 2026-11-01\nexpiry: ‸2026-10-31", ("time.order expiry",)),
    ("promotion", DAYS, "\neffective: 2026-11-01\nexpiry: 2026-11-01", ()),
    ("promotion", DAYS, "\neffective: 2026-11-01", ()),
    (
        "promotion",
        COUPON_DAYS,
        "  effective: 2026-11-01\n  expiry: ‸2025-12-31",
        ("time.order coupon/expiry",),
    ),
    ("promotion", COUPON_DAYS, "  effective: 2026-12-31\n  expiry: 2026-12-31", ()),
    ("promotion", SHOWN, "‸2026-11-01T04:00:00Z", ("time.order coupon/displayEndDate",)),
    ("promotion", SHOWN, "2026-11-01T04:00:01Z", ()),
    ("promotion", SHOWN, "2026-12-31", ()),
    ("promotion", SHOWN, "2026-12-31 6:00", ()),
    ("promotion", SHOWN, "2026-12-31 06:00 America/Los_Angeles", ()),
    ("promotion", SHOWN, "‸2026-12-31 06:00 America/Los_Angles", ("time.zone coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2026-12-31 06:00 EST", ("time.zone coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2026-12-31 06:00 store", ("time.zone coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2027-03-14 02:30", ("time.exists coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2027-11-07 01:30 America/New_York", ("time.exists coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2026-10-30", ("time.order coupon/displayEndDate",)),
    ("promotion", SHOWN, "2026-11-01", ()),
    ("promotion", SHOWN, "‸2026-12-32T23:59:59-05:00", ("schema.pattern coupon/displayEndDate",)),
    ("promotion", SHOWN, "‸2026-11-31T23:59:59-05:00", ("time.exists coupon/displayEndDate",)),
    ("promotion", DAYS, "\neffective: ‸2026-02-29\nexpiry: 2026-12-31", ("schema.format effective",)),
    ("promotion", COUPON_DAYS, "  effective: 2026-11-01\n  expiry: ‸2026-11-31", ("schema.format coupon/expiry",)),
    # text that XML cannot carry
    (
        "promotion",
        "Half off.\nglobal",
        'Half off.\nofferDescription: ‸"half\\x0B\\x00"\nglobal',
        ("text.xml offerDescription",),
    ),
    ("promotion", "[Men]", '[Men, ‸"Women\\uFFFF"]', ("text.xml categories/1",)),
    ("promotion", "[Men]", "[Men, ‸\"{{ '\\\\x01' }}\"]", ("text.xml categories/1",)),
    ("promotion", "[Men]", '["Men\\t\\n\\r\\u0085\\uFFFD\\U0001F381é"]', ()),
    (
        "store",
        "hours:",
        'attributes: {‸‸"A\\x01": [B]}\nhours:',
        ("schema.pattern attributes/A\x01", "text.xml attributes/A\x01"),
    ),
    ("promotion", "global: true", "singleUse: true\nglobal: true", ()),
    (
        "promotion",
        "global: true",
        "singleUse: true\n‸promotionCode: HALF\n‸promotionCodeIds: ['1']\nglobal: true",
        ("schema.not promotionCode", "schema.not promotionCodeIds"),
    ),
    ("promotion", "global: true", "singleUse: false\npromotionCode: HALF\npromotionCodeIds: ['1']\nglobal: true", ()),
    # windows
    ("store", "hours:", "publish: {from: ‸2026-11-27, until: 2026-11-26}\nhours:", ("window.order publish/from",)),
    ("promotion", "global:", "publish: {from: 2026-11-27, until: 2026-11-27}\nglobal:", ()),  # a day
    (
        "promotion",
        "global:",
        "publish: {from: ‸2026-11-27 06:00, until: 2026-11-27 06:00}\nglobal:",
        ("window.order publish/from",),
    ),
    ("promotion", "global:", "publish: {from: 2026-11-27 06:00, until: 2026-11-27 06:01}\nglobal:", ()),
    (
        "promotion",
        "global:",
        "publish: {from: ‸2026-11-27T12:00:00Z, until: 2026-11-27T06:00:00-06:00}\nglobal:",
        ("window.order publish/from",),
    ),
    ("promotion", "global:", "publish: {from: ‸2026-02-29}\nglobal:", ("time.exists publish/from",)),
    ("promotion", "global:", "publish: {until: ‸2026-11-31 10:00}\nglobal:", ("time.exists publish/until",)),
    ("promotion", "global:", "publish: {until: ‸2026-11-31T10:00:00Z}\nglobal:", ("time.exists publish/until",)),
    # the clock jumps from 2:00 to 3:00 on 14 March 2027, and back on 7 November
    ("promotion", "global:", "publish: {from: ‸2027-03-14 02:30}\nglobal:", ("time.exists publish/from",)),
    ("promotion", "global:", "publish: {from: 2027-03-14 03:00}\nglobal:", ()),
    ("promotion", "global:", "publish: {from: 2027-11-07 01:30, until: 2027-11-07 02:00}\nglobal:", ()),
    ("promotion", "global:", "publish: {from: 2027-11-07 01:30, until: 2027-11-07T01:30:00-05:00}\nglobal:", ()),
    (
        "promotion",
        "global:",
        "publish: {from: ‸2027-11-07 01:30, until: 2027-11-07T01:30:00-04:00}\nglobal:",
        ("window.order publish/from",),
    ),
]


@pytest.mark.parametrize(
    ("kind", "old", "new", "told"), CASES, ids=[f"{kind}: {new.strip()[-50:]}" for kind, _, new, _ in CASES]
)
def test_what_is_allowed_and_what_is_not(
    minimal: Path, schemas: Schemas, kind: str, old: str, new: str, told: tuple[str, ...]
) -> None:
    places = edit(minimal, (ONE[kind], old, new))
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, told, strict=True)]


# -- several documents -------------------------------------------------------------------------------------------


def other(document: str, *edits: tuple[str, str]) -> str:
    """Another document like this one."""
    for old, new in edits:
        assert document.count(old) == 1, old
        document = document.replace(old, new)
    return document


STORE_2 = (
    ("storeId: 1", "storeId: 2"),
    ("storeNumber: 10", "storeNumber: 20"),
    ("locationNumber: 100", "locationNumber: 200"),
)
PROMOTION_2 = (("promoId: 8", "promoId: 9"), ('couponNumber: "4000"', 'couponNumber: "4001"'))
APP_2 = (("name: one", "name: two"), (DIGEST, "b" * 64))

# A file, a document like the first but for some edits, and the rule that is broken at the mark.
PAIRS: list[tuple[str, str, str | None]] = [
    ("stores/two.yaml", other(STORE, *STORE_2), None),
    ("stores/two.yaml", other(STORE, *STORE_2[1:], ("storeId: 1", "storeId: ‸1")), "unique storeId"),
    ("stores/two.yaml", other(STORE, STORE_2[0], STORE_2[2], ("ber: 10\n", "ber: ‸10\n")), "unique storeNumber"),
    ("stores/two.yaml", other(STORE, *STORE_2[:2], ("Number: 100", "Number: ‸100")), "unique locationNumber"),
    # numbers of different kinds may be alike
    ("stores/two.yaml", other(STORE, ("storeId: 1", "storeId: 10"), *STORE_2[1:]), None),
    ("events/two.yaml", other(EVENT, ("id: 5", "id: 6")), None),
    ("events/two.yaml", other(EVENT, ("id: 5", "id: ‸5")), "unique id"),
    ("promotions/two.yaml", other(PROMOTION, *PROMOTION_2), None),
    ("promotions/two.yaml", other(PROMOTION, *PROMOTION_2[1:], ("promoId: 8", "promoId: ‸8")), "unique promoId"),
    (
        "promotions/two.yaml",
        other(PROMOTION, *PROMOTION_2[:1], ('Number: "4000"', 'Number: ‸"4000"')),
        "unique coupon/couponNumber",
    ),
    ("apps/two.yaml", other(APP, *APP_2), None),
    ("apps/two.yaml", other(APP, *APP_2[1:], ("name: one", "name: ‸one")), "unique name"),
    ("apps/two.yaml", other(APP, *APP_2[:1], (f"[{DIGEST}]", f"[{'b' * 64}, ‸{DIGEST}]")), "unique apiKeys/1"),
]


@pytest.mark.parametrize(("path", "document", "rule"), PAIRS)
def test_an_id_is_used_once_across_files(
    minimal: Path, schemas: Schemas, path: str, document: str, rule: str | None
) -> None:
    places = unmark(write_files(minimal, {path: document}), path)
    assert found(minimal, schemas) == [f"{place} {rule}" for place in places]


def test_an_id_is_used_once_within_a_file_too(minimal: Path, schemas: Schemas) -> None:
    entries = [EVENT, other(EVENT, ("id: 5", "id: 6")), other(EVENT, ("id: 5", "id: ‸5"))]
    write_files(
        minimal, {"events/one.yaml": "".join("- " + entry.replace("\n", "\n  ").rstrip(" ") for entry in entries)}
    )
    (expected,) = unmark(minimal, "events/one.yaml")
    assert found(minimal, schemas) == [f"{expected} unique 2/id"]
    (problem,) = problems(minimal, schemas)
    assert problem.found == "the id 5 is also that of the event in events/one.yaml:1"


# Two windows in New York, and whether they overlap.
WINDOWS: list[tuple[str, str, bool]] = [
    ("", "", True),
    ("", "{from: 2026-12-01}", True),
    ("{until: 2026-12-01}", "{from: 2026-12-01}", True),  # until the end of the day
    ("{until: 2026-11-30}", "{from: 2026-12-01}", False),
    ("{until: 2026-12-01 00:00}", "{from: 2026-12-01}", False),
    ("{until: 2026-12-01T05:00:00Z}", "{from: 2026-12-01}", False),
    ("{until: 2026-12-01T05:00:00.000001Z}", "{from: 2026-12-01}", True),
    ("{until: 2026-12-01 10:00}", "{from: 2026-12-01 10:00}", False),  # half open
    ("{until: 2026-12-01 10:01}", "{from: 2026-12-01 10:00}", True),
    ("{from: 2026-12-01, until: 2026-12-31}", "{from: 2026-12-05, until: 2026-12-06}", True),
    ("{from: 2026-12-01, until: 2026-12-04}", "{from: 2026-12-05, until: 2026-12-06}", False),
    # 1:30 occurs twice on 7 November 2027, and the first is meant
    ("{until: 2027-11-07 01:30}", "{from: 2027-11-07T05:30:00Z}", False),
    ("{until: 2027-11-07 01:30}", "{from: 2027-11-07T05:29:59Z}", True),
    # the day on which the clock jumps has 23 hours
    ("{until: 2027-03-14}", "{from: 2027-03-15T04:00:00Z}", False),
    ("{until: 2027-03-14}", "{from: 2027-03-15T03:59:59Z}", True),
]


def published(document: str, window: str) -> str:
    return document + (f"publish: {window}\n" if window else "")


@pytest.mark.parametrize(("first", "second", "overlap"), WINDOWS)
@pytest.mark.parametrize("swapped", [False, True], ids=["", "swapped"])
def test_two_documents_may_share_an_id_if_their_windows_do_not_overlap(
    minimal: Path, schemas: Schemas, first: str, second: str, overlap: bool, swapped: bool
) -> None:
    if swapped:
        first, second = second, first
    promotion = other(PROMOTION, ("promoId: 8", "promoId: ‸8"), ('couponNumber: "4000"', 'couponNumber: ‸"4000"'))
    files = {"promotions/one.yaml": published(PROMOTION, first), "promotions/two.yaml": published(promotion, second)}
    write_files(minimal, files)
    places = unmark(minimal, "promotions/two.yaml")
    rules = ("unique promoId",) if overlap else ()  # what else the copy has in common follows from that
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=False)]


# The windows of two stores and of an event in both, and from when on no store is live, if ever.
COVER: list[tuple[str, str, str, str | None]] = [
    ("", "", "", None),
    ("{from: 2026-12-01}", "", "", None),
    ("{from: 2026-12-01}", "{from: 2026-12-01}", "", "the beginning"),
    ("{from: 2026-12-01}", "{from: 2027-01-01}", "{from: 2026-12-01}", None),
    ("{from: 2026-12-01}", "{from: 2027-01-01}", "{from: 2026-11-30 23:59}", "2026-11-30 23:59"),
    ("{from: 2026-12-01}", "{from: 2027-01-01}", "{from: 2026-12-01T05:00:00Z}", None),
    ("{until: 2026-12-01}", "{from: 2026-12-02}", "", None),  # the one takes over from the other
    ("{until: 2026-12-01 23:59}", "{from: 2026-12-02}", "", "2026-12-01 23:59"),
    ("{until: 2026-12-01 23:59}", "{from: 2026-12-02}", "{until: 2026-12-01 23:59}", None),
    ("{until: 2026-12-01 23:59}", "{from: 2026-12-02}", "{from: 2026-12-02}", None),
    ("{until: 2026-12-01}", "{until: 2026-12-10}", "{until: 2026-12-10}", None),
    ("{until: 2026-12-01}", "{until: 2026-12-10}", "{from: 2026-11-01, until: 2026-12-11}", "2026-12-11 00:00"),
    ("{until: 2026-12-01}", "{until: 2026-12-10}", "", "2026-12-11 00:00"),
]


@pytest.mark.parametrize(("one", "two", "event", "gap"), COVER)
def test_an_event_is_live_while_one_of_its_stores_is(
    minimal: Path, schemas: Schemas, one: str, two: str, event: str, gap: str | None
) -> None:
    files = {
        "stores/one.yaml": published(STORE, one),
        "stores/two.yaml": published(other(STORE, *STORE_2), two),
        "events/one.yaml": published(other(EVENT, ("  storeId: [1]", "  ‸locationNumber: [100, 200]")), event),
    }
    (expected,) = unmark(write_files(minimal, files), "events/one.yaml")
    words = f"from {gap} the event is live while none of its stores is"
    assert found(minimal, schemas) == ([f"{expected} reference.live stores"] if gap else [])
    assert [problem.found for problem in problems(minimal, schemas)] == ([words] if gap else [])


def test_an_event_may_name_a_store_that_another_takes_over_from(minimal: Path, schemas: Schemas) -> None:
    files = {
        "stores/one.yaml": published(STORE, "{until: 2026-11-30}"),
        "stores/two.yaml": published(STORE, "{from: 2026-12-01}"),
    }
    assert found(write_files(minimal, files), schemas) == []


def test_a_store_that_is_not_there_is_told_with_the_nearest_number(minimal: Path, schemas: Schemas) -> None:
    (expected,) = edit(minimal, ("events/one.yaml", "storeId: [1]", "locationNumber: [‸1000]"))
    (problem,) = problems(minimal, schemas)
    assert found(minimal, schemas) == [f"{expected} reference stores/locationNumber/0"]
    assert (problem.found, problem.allowed, problem.nearest) == (
        "no store has the locationNumber 1000",
        "the locationNumber of a store",
        "100",
    )


@pytest.mark.parametrize(
    ("edits", "about"),
    [
        (("events/one.yaml", "storeId: [1]", "storeId: [3]"), "Stores by their identifiers."),
        (
            ("events/one.yaml", FINISH, "finish: 2026-11-26 12:00"),
            "When the event ends, in the local time of the store; after start.",
        ),
        (("events/one.yaml", "id: 5", "id: 5\nid: 6"), "Identifier of the event, the same at all its stores."),
        (("events/one.yaml", "name: Opening", "name: '{{ nothing }}'"), "Name of the event as the customer reads it."),
        (("events/one.yaml", "name: Opening", 'name: "\\b"'), "Name of the event as the customer reads it."),
        (("apps/one.yaml", "appLayout: [shop, bag]", "appLayout: [begs]"), "Name of a section."),
        (
            ("site.yaml", "America/New_York", "Europe"),
            "Time zone in which publish windows, promotion days and coupon days are read.",
        ),
    ],
)
def test_a_problem_tells_what_the_property_means_whoever_finds_it(
    minimal: Path, schemas: Schemas, edits: Edit, about: str
) -> None:
    edit(minimal, edits)
    assert [problem.about for problem in problems(minimal, schemas)] == [about]


# -- rules and what else is wrong --------------------------------------------------------------------------------

# Everything that is wrong is told in one run, and nothing that only follows from it.
TOGETHER: list[tuple[tuple[Edit, ...], tuple[str, ...]]] = [
    # a rule looks at what the schema has nothing to say about
    (
        (
            ("events/one.yaml", "name: Opening", "name: ‸5"),
            ("events/one.yaml", FINISH, "finish: ‸2026-11-26 12:00"),
            ("events/one.yaml", "storeId: [1]", "storeId: [‸3]"),
        ),
        ("reference stores/storeId/0", "schema.type name", "time.order finish"),
    ),
    (
        (("events/one.yaml", "start: 2026", "start: ‸26"), ("events/one.yaml", FINISH, "finish: 2026-11-26 12:00")),
        ("schema.pattern start",),
    ),
    (
        (
            ("promotions/one.yaml", "  couponHeading: Half\n", ""),
            ("promotions/one.yaml", "coupon:\n", "‸coupon:\n"),
            ("promotions/one.yaml", COUPON_DAYS, "  effective: 2026-11-01\n  expiry: ‸2025-12-31"),
            ("promotions/one.yaml", SHOWN, "‸2026-11-01T04:00:00Z"),
        ),
        ("schema.required coupon", "time.order coupon/expiry", "time.order coupon/displayEndDate"),
    ),
    (
        (
            ("stores/one.yaml", "name: First", "name: ‸[]"),
            ("stores/one.yaml", "open: 10:00, close: 20:00", "open: 10:00, close: ‸09:00"),
            ("stores/one.yaml", "timeZone: America/New_York", "timeZone: ‸America/Boston"),
        ),
        ("schema.type name", "time.zone timeZone", "time.order hours/monday/close"),
    ),
    (
        (
            ("apps/one.yaml", 'configVersion: "1"', "configVersion: ‸1"),
            ("apps/one.yaml", LAYOUT, "appLayout: [‸shp]"),
            ("apps/one.yaml", VERSIONS, "supportedVersions: ‸[]"),
            ("apps/one.yaml", "bag.png, featureLayout: [shop]", "bag.png, featureLayout: [‸shp]"),
        ),
        (
            "schema.type config/configVersion",
            "app.version config/appVersionInfo/supportedVersions",
            "app.layout config/appLayout/0",
            "app.layout config/appConfig/bag/featureLayout/0",
        ),
    ),
    (
        (
            ("apps/one.yaml", "https://i.example/scan.png, feature", "‸scan.png, feature"),
            ("apps/one.yaml", LANDING, "landingUrl: ‸/bag"),
            ("apps/one.yaml", LAYOUT, "appLayout: [‸shp]"),
            ("apps/one.yaml", "bag.png, featureLayout: [shop]", "bag.png, featureLayout: [‸shp]"),
        ),
        (
            "app.layout config/appLayout/0",
            "schema.pattern config/appConfig/scan/appIcon",
            "app.layout config/appConfig/bag/featureLayout/0",
            "schema.pattern config/featureConfig/bag/landingUrl",
        ),
    ),
    # an entry that the schema refuses hides no other entry of its list
    (
        (
            (
                "events/one.yaml",
                "  storeId: [1]",
                "  storeId: [‸one, 1, ‸7]\n  ‸storNumber: []\n  storeNumber: [10, ‸11]",
            ),
        ),
        (
            "schema.type stores/storeId/0",
            "reference stores/storeId/2",
            "schema.additionalProperties stores/storNumber",
            "reference stores/storeNumber/1",
        ),
    ),
    (
        (
            ("apps/one.yaml", LAYOUT, "appLayout: [‸5, shop, ‸shp, ‸shop]"),
            ("apps/one.yaml", "bag.png, featureLayout: [shop]", "bag.png, featureLayout: [‸5, ‸shp]"),
        ),
        (
            "schema.type config/appLayout/0",
            "app.layout config/appLayout/2",
            "schema.uniqueItems config/appLayout/3",
            "schema.type config/appConfig/bag/featureLayout/0",
            "app.layout config/appConfig/bag/featureLayout/1",
        ),
    ),
    (
        (("stores/one.yaml", HOURS, "open: 10:00, close: ‸09:00}\n  ‸mondai: {open: 09:00, close: 20:00"),),
        ("time.order hours/monday/close", "schema.additionalProperties hours/mondai"),
    ),
    (
        (
            (
                "stores/one.yaml",
                "hours:\n",
                "exceptions: [{date: 2026-12-24, open: ‸9, close: 12:00}, "
                "{date: 2026-12-25, open: 12:00, close: ‸11:00}, "
                "{date: ‸2026-12-24, close: ‸24:00, open: 09:00}]\nhours:\n",
            ),
        ),
        (
            "schema.type exceptions/0/open",
            "time.order exceptions/1/close",
            "unique exceptions/2/date",
            "schema.pattern exceptions/2/close",
        ),
    ),
    (
        (
            ("events/one.yaml", "start:", "publish: {‸form: 1, until: ‸2027-02-29}\nstart:"),
            ("events/one.yaml", "start: 2026-11-27", "start: ‸20261127"),
            ("events/one.yaml", FINISH, "finish: ‸2026-02-30 12:00"),
        ),
        (
            "schema.additionalProperties publish/form",
            "time.exists publish/until",
            "schema.pattern start",
            "time.exists finish",
        ),
    ),
    (
        (("site.yaml", "  www: https", "  ‸Www: x\n  ‸base_url: y\n  www: https"),),
        ("schema.pattern names/Www", "site.name names/base_url"),
    ),
    # a section that lacks something is a section all the same
    (
        (
            ("apps/one.yaml", "    bag: {appDisplayName: bag, ", "    ‸bag: {"),
            ("apps/one.yaml", LAYOUT, "appLayout: [bag, ‸x]"),
        ),
        ("app.layout config/appLayout/1", "schema.required config/appConfig/bag"),
    ),
    # a section that is misspelt is told once, not again wherever it is named
    (
        (("apps/one.yaml", "    bag: {app", "    ‸bga: {app"),),
        ("schema.additionalProperties config/appConfig/bga",),
    ),
    # a store whose number is wrong is no reason to doubt the events that name it
    ((("stores/one.yaml", "storeId: 1", "storeId: ‸one"),), ("schema.type storeId",)),
    ((("stores/one.yaml", "storeId: 1", "storeId: ‸1.0"),), ("schema.fraction storeId",)),
    ((("stores/one.yaml", "storeId: 1\nstoreNumber", "‸storeNumber"),), ("schema.required",)),
    ((("stores/one.yaml", "name: First", "name: ‸% no"),), ("yaml.syntax",)),
    (
        (("stores/one.yaml", "storeId: 1", "storeId: ‸one"), ("events/one.yaml", "storeId: [1]", "storeNumber: [‸11]")),
        ("reference stores/storeNumber/0", "schema.type storeId"),
    ),
    # a window that does not exist opens and closes for nobody
    (
        (
            ("stores/one.yaml", "hours:", "publish: {from: 2026-12-01}\nhours:"),
            ("events/one.yaml", "start:", "publish: {from: ‸soon}\nstart:"),
        ),
        ("schema.pattern publish/from",),
    ),
    (
        (
            ("stores/one.yaml", "hours:", "publish: {from: ‸2026-02-29}\nhours:"),
            ("events/one.yaml", "start:", "publish: {from: ‸2026-02-30}\nstart:"),
        ),
        ("time.exists publish/from", "time.exists publish/from"),
    ),
    (
        (
            ("stores/one.yaml", "hours:", "publish: {from: ‸soon}\nhours:"),
            ("events/one.yaml", "start:", "publish: {from: ‸2026-11-28, until: 2026-11-20}\nstart:"),
        ),
        ("window.order publish/from", "schema.pattern publish/from"),
    ),
]


@pytest.mark.parametrize(("edits", "told"), TOGETHER)
def test_everything_is_told_at_once_and_nothing_twice(
    minimal: Path, schemas: Schemas, edits: tuple[Edit, ...], told: tuple[str, ...]
) -> None:
    places = edit(minimal, *edits)
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, told, strict=True)]


def test_a_store_that_cannot_be_read_may_be_the_one_that_an_event_names(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("events/one.yaml", "storeId: [1]", "storeId: [1, 2]"))
    (expected,) = unmark(write_files(minimal, {"stores.jsonl": '{"storeId": 2‸;}\n'}), "stores.jsonl")
    assert found(minimal, schemas) == [f"{expected} feed.syntax"]


def test_a_digest_used_twice_is_told_beside_one_that_is_none(minimal: Path, schemas: Schemas) -> None:
    two = APP.replace("name: one", "name: two").replace(f"[{DIGEST}]", f"[‸x, ‸{DIGEST}]")
    places = unmark(write_files(minimal, {"apps/two.yaml": two}), "apps/two.yaml")
    rules = ("schema.pattern apiKeys/0", "unique apiKeys/1")
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=True)]


def test_ids_are_compared_with_those_of_documents_that_have_other_faults(minimal: Path, schemas: Schemas) -> None:
    first = other(EVENT, ("name: Opening", "name: ‸5"))
    third = other(EVENT, ("id: 5", "id: ‸5"), ("name: Opening", "name: ‸5"))
    write_files(
        minimal, {"events/a.yaml": first, "events/one.yaml": EVENT.replace("id: 5", "id: ‸5"), "events/z.yaml": third}
    )
    places = unmark(minimal, "events/a.yaml", "events/one.yaml", "events/z.yaml")
    rules = ("schema.type name", "unique id", "unique id", "schema.type name")
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=True)]


# What is wrong in site.yaml is told there, and what is wrong elsewhere is told as well.
SITE_FAULTS: list[tuple[str, str, tuple[str, ...]]] = [
    ("base_url: https://api.example", "base_url: ‸htps://api.example", ("schema.pattern base_url",)),
    ("base_url: https://api.example\norder_base_url", "‸order_base_url", ("schema.required",)),
    ("www: https://www.example", "www: ‸'{{ home }}'", ("expression names/www",)),
    ("www: https://www.example", "www: ‸5", ("schema.type names/www",)),
    ("www: https://www.example", "home: ‸'{{ hom }}'\n  www: '{{ home }}'", ("expression names/home",)),
    ("names:", "‸nams:", ("schema.additionalProperties nams",)),
    ("names:\n  www: https://www.example", "names: ‸[]", ("schema.type names",)),
    ("{maxAge: 300}", "{maxAge: ‸soon}", ("schema.type lifetimes/default/maxAge",)),
    ("time_zone: America/New_York", "time_zone: ‸America/New_Yrok", ("time.zone time_zone",)),
    ("time_zone: America/New_York", "time_zone: ‸5", ("schema.type time_zone",)),
    ("lifetimes:", "‸lifetimes", ("yaml.syntax",)),
    ("www: https://www.example", 'www: ‸"https://www\\x01"', ("text.xml names/www",)),
]


def test_without_an_order_host_the_base_url_stands_for_it(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("site.yaml", "order_base_url: https://orders.example\n", ""))
    edit(minimal, ("site.yaml", "www: https://www.example", 'www: "{{ order_base_url }}/www"'))
    documents = check(minimal, schemas, INTERFACE).documents
    assert documents is not None
    settings = documents.site.value
    assert settings["order_base_url"] == settings["base_url"] == "https://api.example"
    assert settings["names"] == {"www": "https://api.example/www"}


def test_a_faulty_base_url_is_one_problem_without_an_order_host(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("site.yaml", "order_base_url: https://orders.example\n", ""))
    (place,) = edit(minimal, ("site.yaml", "base_url: https://api.example", "base_url: ‸htps://api.example"))
    assert found(minimal, schemas) == [f"{place} schema.pattern base_url"]


@pytest.mark.parametrize(("old", "new", "told"), SITE_FAULTS)
def test_a_fault_in_site_yaml_hides_nothing_and_spreads_nowhere(
    minimal: Path, schemas: Schemas, old: str, new: str, told: tuple[str, ...]
) -> None:
    edit(
        minimal,
        ("stores/one.yaml", "https://maps.example/1", '"{{ www }}/maps"'),
        ("promotions/one.yaml", "https://www.example/half", '"{{ base_url }}/half"'),
        ("promotions/one.yaml", "global:", "publish: {from: 2026-11-01}\nglobal:"),
    )
    promotion = (minimal / "promotions/one.yaml").read_text()
    write_files(minimal, {"promotions/two.yaml": promotion.replace("{from: 2026-11-01}", "{until: 2026-10-31}")})
    places = edit(minimal, ("events/one.yaml", FINISH, "finish: ‸2026-11-26 12:00"), ("site.yaml", old, new))
    rules = ("time.order finish", *told)
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=True)]


def test_a_missing_site_yaml_is_told_and_the_rest_is_looked_at(minimal: Path, schemas: Schemas) -> None:
    (minimal / "site.yaml").unlink()
    (event,) = edit(minimal, ("events/one.yaml", FINISH, "finish: ‸2026-11-26 12:00"))
    assert found(minimal, schemas) == [f"{event} time.order finish", "site.yaml tree.site"]


# -- after the rules ---------------------------------------------------------------------------------------------


def listed(folder: Path, schemas: Schemas) -> list[str]:
    """The values that still say TBD: `path:line:column pointer`."""
    told = check(folder, schemas, INTERFACE).placeholders
    return [f"{path}:{at.line}:{at.column} {pointer_text(pointer)}" for path, at, pointer in told if at]


UNSET = ("analyticsUrl", "scan", "coupons", "mobilelogs", "addToBag", "configFileError")


def test_places_that_still_say_tbd_are_listed(minimal: Path, schemas: Schemas) -> None:
    places = edit(minimal, *(("apps/one.yaml", f"{name}: TBD", f"{name}: ‸TBD") for name in UNSET))
    groups = ["serviceEndPoints"] * 4 + ["webServletEndPoints", "errorMessages"]
    expected = zip(places, groups, UNSET, strict=True)
    assert listed(minimal, schemas) == [f"{place} config/{group}/{name}" for place, group, name in expected]


def test_places_are_listed_beside_an_expression_that_cannot_be_evaluated(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("apps/one.yaml", "poorNetworkError: Slow.", "poorNetworkError: '{{ nope }}'"))
    assert [place.rpartition("/")[2] for place in listed(minimal, schemas)] == [*UNSET]


def test_what_a_base_leaves_open_is_listed_once_and_there(minimal: Path, schemas: Schemas) -> None:
    head, config = (minimal / "apps/one.yaml").read_text().split("config:", 1)
    one = f"{head}extends: _a.yaml\n"
    two = (
        one.replace("name: one", "name: two").replace(DIGEST, "b" * 64)
        + "config: {errorMessages: {noNetworkError: ‸TBD}}\n"
    )
    both = "".join("- " + text.rstrip().replace("\n", "\n  ") + "\n" for text in (one, two))
    base = "config:" + config.replace("TBD", "https://www.example/x", 5).replace("TBD", "‸TBD")
    write_files(minimal, {"apps/_a.yaml": base, "apps/one.yaml": both})
    in_base, own = unmark(minimal, "apps/_a.yaml", "apps/one.yaml")
    assert listed(minimal, schemas) == [
        f"{in_base} config/errorMessages/configFileError",
        f"{own} 1/config/errorMessages/noNetworkError",
    ]


def test_a_changed_configuration_needs_a_version_not_released_before(minimal: Path, schemas: Schemas) -> None:
    documents = check(minimal, schemas, INTERFACE).documents
    assert documents is not None
    released = {"app": {"one": documents.of("app")[0].value, "gone": {}}}
    against: dict[str, Any] = {"released": released}
    assert warned(minimal, schemas, **against) == []
    (expected,) = edit(
        minimal,
        ("apps/one.yaml", LAYOUT, "appLayout: [bag]"),
        ("apps/one.yaml", 'configVersion: "1"', 'configVersion: ‸"1"'),
    )
    assert warned(minimal, schemas, **against) == [f"{expected} app.configVersion config/configVersion"]
    assert warned(minimal, schemas, released={"app": {"other": {}}}) == []
    edit(minimal, ("apps/one.yaml", "platform: iPhone", "platform: iPhon"))
    assert found(minimal, schemas, **against) == ["apps/one.yaml:2:11 schema.enum platform"]
    assert warned(minimal, schemas, **against) == [f"{expected} app.configVersion config/configVersion"]
    edit(minimal, ("apps/one.yaml", "platform: iPhon", "platform: iPhone"))
    edit(minimal, ("apps/one.yaml", 'configVersion: "1"', 'configVersion: "2"'))
    assert warned(minimal, schemas, **against) == []


def test_the_order_of_keys_is_part_of_a_configuration(minimal: Path, schemas: Schemas) -> None:
    documents = check(minimal, schemas, INTERFACE).documents
    assert documents is not None
    released = {"app": {"one": documents.of("app")[0].value}}
    poor = "    poorWifiMaxSecsLatency: 6\n    poorNonWifiMaxSecsLatency: 10\n"
    turned = "    poorNonWifiMaxSecsLatency: 10\n    poorWifiMaxSecsLatency: 6\n"
    edit(minimal, ("apps/one.yaml", poor, turned))
    (problem,) = warnings(minimal, schemas, released=released)
    assert problem.rule == "app.configVersion"


def test_the_version_is_told_where_the_base_says_it(minimal: Path, schemas: Schemas) -> None:
    app = (minimal / "apps/one.yaml").read_text()
    head, config = app.split("config:", 1)
    base = "config:" + config.replace('"1"', '‸"1"', 1)
    write_files(minimal, {"apps/_a.yaml": base, "apps/one.yaml": head + "extends: _a.yaml\n"})
    (expected,) = unmark(minimal, "apps/_a.yaml")
    (problem,) = warnings(minimal, schemas, released={"app": {"one": {"config": {"configVersion": "1"}}}})
    assert (f"{problem.path}:{problem.place.line}:{problem.place.column}" if problem.place else "") == expected
    assert problem.used_by == ("apps/one.yaml",)


BY_FILE = replace(
    INTERFACE,
    kinds=tuple(replace(kind, named_by_file=kind.name == "app") for kind in INTERFACE.kinds),
)


@pytest.mark.parametrize(
    ("file", "text", "found"),
    [
        ("one.yaml", APP, []),
        ("two.yaml", APP, [("name", "'one' stands in the file two.yaml", "a file of its own that is named one.yaml")]),
        (
            "one.yaml",
            "- " + APP.replace("\n", "\n  "),
            [("0/name", "'one' stands in a file with other documents", "a file of its own that is named one.yaml")],
        ),
    ],
    ids=["named as its file", "in another file", "in a list"],
)
def test_a_kind_that_is_named_by_its_file_has_a_file_for_each_document(
    minimal: Path, schemas: Schemas, file: str, text: str, found: list[tuple[str, str, str]]
) -> None:
    (minimal / "apps/one.yaml").unlink()
    write_files(minimal, {f"apps/{file}": text})
    listed = check(minimal, schemas, BY_FILE).problems
    assert [(pointer_text(each.pointer), each.found, each.allowed) for each in listed] == found


@pytest.mark.parametrize(
    ("start", "end", "shown"),
    [
        ("2026-11-09", "2026-12-06", ("2026-11-09T00:00:00-05:00", "2026-12-07T00:00:00-05:00")),
        ("2026-10-09 6:00", "2026-12-06 18:00", ("2026-10-09T06:00:00-04:00", "2026-12-06T18:00:00-05:00")),
        (
            "2026-11-09 06:00 America/Los_Angeles",
            "2026-12-06 Asia/Tokyo",
            ("2026-11-09T06:00:00-08:00", "2026-12-07T00:00:00+09:00"),
        ),
        (
            "2026-11-09T06:00:00Z",
            "2026-12-06T18:00:00.5-03:00",
            ("2026-11-09T06:00:00Z", "2026-12-06T18:00:00.5-03:00"),
        ),
    ],
)
def test_a_coupon_is_displayed_between_instants_that_are_written_as_those_of_a_window(
    minimal: Path, schemas: Schemas, start: str, end: str, shown: tuple[str, str]
) -> None:
    edit(minimal, ("promotions/one.yaml", "2026-11-01T00:00:00-04:00", start), ("promotions/one.yaml", SHOWN, end))
    checked = check(minimal, schemas, INTERFACE, jobs=1)
    assert checked.problems == []
    assert checked.documents is not None
    (promotion,) = checked.documents.of("promotion")
    coupon = promotion.value["coupon"]
    assert (coupon["displayStartDate"], coupon["displayEndDate"]) == shown


def test_each_clash_of_numbers_is_offered_another_that_is_free(minimal: Path, schemas: Schemas) -> None:
    two = EVENT.replace("id: 5", "id: 8").replace("Opening", "Closing")
    again = EVENT.replace("Opening", "Tasting")
    write_files(
        minimal, {"events/two.yaml": two, "events/x.yaml": again, "events/y.yaml": two.replace("Closing", "Carols")}
    )
    offered = {problem.path: problem.allowed.rpartition("; ")[2] for problem in problems(minimal, schemas)}
    assert offered == {"events/x.yaml": "9 is free", "events/y.yaml": "10 is free"}
    write_files(
        minimal, {"events/x.yaml": again.replace("id: 5", "id: 9"), "events/y.yaml": two.replace("id: 8", "id: 10")}
    )
    assert problems(minimal, schemas) == []


def test_a_clash_of_names_is_offered_no_other(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"apps/two.yaml": APP.replace(DIGEST, "b" * 64)})
    assert [(problem.rule, problem.allowed) for problem in problems(minimal, schemas)] == [("unique", "each once")]
