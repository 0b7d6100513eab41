"""Facts about the rules of the edge, and the configuration that is printed from them, without running it."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT, as_content, as_value
from harness.program import Content, for_nginx, program_schemas
from shopwindow import library
from shopwindow.edge.keys import read_keys
from shopwindow.edge.rules import APPLICATION, FileTarget, Rules, digest, rules
from shopwindow.interface.declaring.collections import schemas_with
from shopwindow.interface.declaring.operation import Call, FromContent
from shopwindow.interface.formats import RESPONSE_FORMATS, accepted_formats
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.release.stored import interface_of
from shopwindow.service.message import ACCEPTED_ID
from shopwindow.shop import INTERFACE

SAMPLE = ROOT / "content"
SCHEMAS = program_schemas()
KEY_HEADER = "x-svc-webservice-client-id"
HOST = "api.larkspurvane.example"
IPHONE, IPHONE_NEXT, ANDROID = (
    line.split()[1] for line in (SAMPLE / "sample-keys.txt").read_text().splitlines() if not line.startswith("#")
)

Json = Any


@pytest.fixture(scope="module")
def out(sample_out: Path) -> Path:
    """A release of the sample content."""
    return sample_out


@pytest.fixture(scope="module")
def content(out: Path) -> Content:
    return library.released_content(INTERFACE, out)


def rules_of(out: Path, content: Content) -> Rules:
    """The rules of a release, with those of its collections."""
    interface = interface_of((out / "current").resolve(), INTERFACE)
    return rules(interface, content, schemas_with(SCHEMAS, interface))


# -- the rules ---------------------------------------------------------------------------------------------------


def prerendered_calls(content: Content) -> Iterator[Call]:
    for operation in INTERFACE.operations:
        for arguments in operation.entries(content):
            for application in INTERFACE.application_names(content) if operation.by_application else [None]:
                for format in RESPONSE_FORMATS:
                    yield operation.call(format, arguments, application)


def file_of(rules: Rules, target: str, format: str, application: str | None) -> str | None:
    """The file that the rules give to a target."""
    found = [
        match.expand(each.stem).replace(APPLICATION, application or "") + f".{format}"
        for route in rules.routes
        for each in route.targets
        if (match := re.fullmatch(each.pattern, target))
    ]
    return found[0] if found else None


def test_the_rules_lead_every_prerendered_call_to_its_file(content: Content) -> None:
    made = rules(INTERFACE, content, SCHEMAS)
    calls = list(prerendered_calls(content))
    found = [file_of(made, call.target, call.format.name, call.application) for call in calls]
    assert found == [call.filename() for call in calls]


OTHER_SPELLINGS = (
    ("v3/promotions", "v3/promotions;show=promotions,coupons.json"),
    ("v3/promotions?show=coupons,promotions", "v3/promotions;show=promotions,coupons.json"),
    ("v3/promotions?show=promotions%2Ccoupons", "v3/promotions;show=promotions,coupons.json"),
    ("v3/promotions?show=promotions%2ccoupons", "v3/promotions;show=promotions,coupons.json"),
    ("v3/promotions?show=coupons%2Cpromotions", "v3/promotions;show=promotions,coupons.json"),
)


@pytest.mark.parametrize(("target", "name"), OTHER_SPELLINGS)
def test_another_spelling_leads_to_the_file_of_the_same_call(content: Content, target: str, name: str) -> None:
    path, _, query = target.partition("?")
    assert bind(Request(path, query), None, INTERFACE).filename() == name
    assert file_of(rules(INTERFACE, content, SCHEMAS), target, "json", None) == name


NOT_CANONICAL = (
    "store/v1/events",
    "store/v1/events?",
    "store/v1/events?storeId=0212",
    "store/v1/events?storeId=0",
    "store/v1/events?storeId=301,302",
    "store/v1/events?storeId=301&storeNumber=1",
    "store/v1/events?storeId=301&_fields=id",
    "store/v1/events?storeid=301",
    "store/v1/events/?storeId=301",
    "store/v1/events?storeId=12345678901234567",
    "store/v2/stores/301,302",
    "store/v2/stores/",
    "store/v2/stores?",
    "v2/promotions/",
    "v2/promotions?callback=f",
    "v2/Promotions",
    "v3/promotions?show=promotions,promotions",
    "v3/promotions?show=promotions&show=coupons",
    "v3/promotions/sorted?channel=site",
    "v3/promotions/sorted?channel=SITE&",
    "v2/promotions\n",
)


@pytest.mark.parametrize("target", NOT_CANONICAL)
def test_the_rules_know_no_other_target(content: Content, target: str) -> None:
    assert file_of(rules(INTERFACE, content, SCHEMAS), target, "json", None) is None


def test_a_format_is_what_negotiation_says(content: Content) -> None:
    accepts = rules(INTERFACE, content, SCHEMAS).accepts
    assert {"": "json", "*/*": "json", "application/json": "json", "application/xml": "xml"}.items() <= dict(
        accepts
    ).items()
    for value, name in accepts:
        for spelt in (value, value.upper(), value.title()):  # nginx compares without case
            format = accepted_formats(spelt).answer
            assert format is not None
            assert format.name == name


def test_operations_without_entries_and_writes_have_no_route(content: Content) -> None:
    views = [each.source.view for each in INTERFACE.operations if isinstance(each.source, FromContent)]
    live_only = [replace(INTERFACE.operations[0], source=FromContent(view)) for view in views]
    writes = [each for each in INTERFACE.operations if not isinstance(each.source, FromContent)]
    assert (
        rules(replace(INTERFACE, operations=(*live_only, *writes)), content, SCHEMAS).routes,
        len(live_only) > 3,
        len(writes) > 0,
    ) == (
        (),
        True,
        True,
    )


def test_a_call_with_more_than_one_parameter_keeps_its_groups_in_the_targets_order(content: Content) -> None:
    stores = next(each for each in INTERFACE.operations if each.name == "stores_by_location")
    events = next(each for each in INTERFACE.operations if each.name == "events_v1")
    assert isinstance(events.source, FromContent)
    entries = replace(events.source, entries=lambda content: iter([{"storeNumber": (1,), "storeId": (2,)}]))
    both = replace(events, path="{locationNumber}/events", source=entries)
    located = replace(
        both,
        source=replace(entries, entries=lambda content: iter([{"locationNumber": (3,), "storeId": (2,)}])),
    )
    id = "[1-9][0-9]{0,15}"
    assert [
        route.targets
        for route in rules(
            replace(INTERFACE, operations=(stores, replace(both, path="x"), located)), content, SCHEMAS
        ).routes
    ] == [
        (FileTarget(rf"store/v2/stores/({id})", r"store/v2/stores/\1"),),
        (FileTarget(rf"x\?storeId=({id})\&storeNumber=({id})", r"x;storeId=\1;storeNumber=\2"),),
        (FileTarget(rf"({id})/events\?storeId=({id})", r"\1/events;storeId=\2"),),
    ]


def changed(content: Content, **site: Json) -> Content:
    return as_content({**as_value(content), "site": {**as_value(content)["site"], **site}})


def test_the_digest_changes_with_what_the_edge_must_know_and_with_nothing_else(content: Content) -> None:
    def of(each: Content) -> str:
        each = each.with_indexes({"catalog": content.index("catalog")})  # from a file of its own
        return digest(rules(INTERFACE, each, SCHEMAS))

    value = as_value(content)
    withdrawn = [{**app, "apiKeys": app["apiKeys"][:1]} for app in value["apps"]]
    same = [
        content,
        as_content({**value, "stores": value["stores"][:3], "events": [], "promotions": value["promotions"][:1]}),
        as_content({**value, "apps": [{**app, "config": {}} for app in value["apps"]]}),
        changed(content, time_zone="Europe/Rome", names={}),
    ]
    others = [
        as_content({**value, "apps": withdrawn}),
        as_content({**value, "apps": value["apps"][:1]}),
        changed(content, base_url="https://api.larkspurvane.example/api"),
        changed(content, order_base_url="https://other.larkspurvane.example"),
        changed(content, origins=[]),
        changed(content, lifetimes={"default": {"maxAge": 7}}),
        changed(content, stale=7),
    ]
    assert {of(each) for each in same} == {of(content)}
    assert len({of(each) for each in others} | {of(content)}) == len(others) + 1


# -- keys --------------------------------------------------------------------------------------------------------


def test_a_key_that_the_content_does_not_list_is_left_out_with_a_warning(content: Content) -> None:
    text = f"# keys\n\niphone {IPHONE}\n  android\t{ANDROID}  \niphone {ANDROID}\niphone {'x' * 24}\nother {IPHONE}\n"
    assert read_keys(text, INTERFACE, content) == (
        {IPHONE: "iphone", ANDROID: "android"},
        [
            "line 5: left out, not among the apiKeys of iphone in the content",
            "line 6: left out, not among the apiKeys of iphone in the content",
            "line 7: left out, the content has no such application",
        ],
    )


def test_an_application_without_a_key_is_named(content: Content) -> None:
    words = "no key of android, whose requests the edge answers with 401"
    assert read_keys(f"iphone {IPHONE}\n", INTERFACE, content) == ({IPHONE: "iphone"}, [words])


@pytest.mark.parametrize(
    "line", [IPHONE, f"{IPHONE} iphone", f"iphone {IPHONE}x", f"iphone {IPHONE[:-1]}é", f"iphone {IPHONE} {ANDROID}"]
)
def test_a_malformed_line_of_keys_is_named_by_its_number_and_never_shown(content: Content, line: str) -> None:
    with pytest.raises(ValueError, match=r"^line 3: must be an application and a key of 24 letters and digits$"):
        read_keys(f"# keys\niphone {IPHONE}\n{line}\n", INTERFACE, content)


# -- the configuration -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "service", "listen"),
    [
        ("dist/current/files", "127.0.0.1:1", "80"),
        ("/files", "127.0.0.1:1;", "80"),
        ("/files", "a b", "80"),
        ("/files", "127.0.0.1:1", "80; }"),
        ("/files", "127.0.0.1:1", ""),
    ],
)
def test_an_address_that_is_none_is_refused(content: Content, files: str, service: str, listen: str) -> None:
    with pytest.raises(ValueError, match=r"path|address"):
        for_nginx(rules(INTERFACE, content, SCHEMAS), {}, Path(files), service, listen)


def test_the_same_rules_and_keys_make_the_same_configuration(content: Content) -> None:
    made = [
        for_nginx(rules(INTERFACE, content, SCHEMAS), keys, Path("/files"), "unix:/run/shopwindow.sock", "443 ssl")
        for keys in ({IPHONE: "iphone", ANDROID: "android"}, {ANDROID: "android", IPHONE: "iphone"})
    ]
    assert made[0] == made[1]


@pytest.mark.parametrize("template", ["nginx.conf", "worker.js"])
def test_an_edge_judges_an_id_as_the_service_does(template: str) -> None:
    text = (ROOT / "templates" / template).read_text(encoding="utf-8").replace("\\/", "/")
    assert f"^{ACCEPTED_ID.pattern}$" in text
