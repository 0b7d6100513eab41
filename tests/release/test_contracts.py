"""Contracts: every way to break a shipped app is a problem at the value's place, and whatever else changes is none."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from harness.content import app, promotion, small
from shopwindow import library
from shopwindow.problems import Level, sentence
from shopwindow.shop import INTERFACE

Json = Any
Files = dict[str, Json]
Edit = Callable[[Files], object]

AT = "2026-11-24"
LABEL = {"type": "object", "properties": {"size": {"type": "integer"}}, "additionalProperties": False}
NOTICE: Json = {
    "noticeId": 1,
    "value": {"text": "red", "count": 3, "ratio": 1.5, "open": True, "rows": [{"n": 1}, {"n": 2}], "tags": ["a", "b"]},
    "labels": {"a.b": {"size": 1}, "c": {"size": 2}},
}

PHONE, TABLET = "contracts/phone.yaml", "contracts/tablet.yaml"
CONFIG, NOTICES = "v2/utility/mobileapp", "v1/notices"
NOTICE_FILE = "notices/1.yaml"


def contract(name: str, *fields: Json, request: str = CONFIG, version: str = "2.0") -> Json:
    return {"app": name, "version": version, "reads": [{"request": request, "fields": list(fields)}]}


TYPE_NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", dict: "object", list: "array"}


def schema_of(value: Json) -> Json:
    """Return a schema that admits a value and others like it: who changes a type changes the schema, too."""
    schema: Json = {"type": TYPE_NAMES[type(value)]}
    if isinstance(value, dict):
        schema["properties"] = {key: schema_of(part) for key, part in value.items()}
        schema["additionalProperties"] = False
    if isinstance(value, list):
        schema |= {"items": schema_of(value[0]), "minItems": 1}
    return schema


def notice_schema(notice: Json) -> Json:
    """Return the schema of the notice: what it lacks may be there."""
    value = notice.get("value", NOTICE["value"])
    if isinstance(value, dict):
        value = NOTICE["value"] | value
    schema = schema_of({"noticeId": 1, "value": value})
    schema["properties"]["labels"] = {"type": "object", "additionalProperties": LABEL}
    schema["properties"]["publish"] = {"$ref": "publish.json"}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "required": ["noticeId"]}


def folder_of(folder: Path, files: Files) -> Path:
    """Write a content folder, a value a line, so that places can be read."""
    files = {**files, "schemas/notice.json": notice_schema(files[NOTICE_FILE])}
    for path, value in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return folder


def files_of(**more: Json) -> Files:
    """The small shop, with a collection that admits anything."""
    return {
        **deepcopy(small()),
        "collections.yaml": {
            "notice": {"folder": "notices", "schema": "notice.json", "id": "noticeId", "path": NOTICES}
        },
        NOTICE_FILE: deepcopy(NOTICE),
        **{f"promotions/{name}.yaml": promotion(id, legalDisclaimer="Once.") for name, id in (("a", 11), ("b", 12))},
        **more,
    }


def checked(folder: Path, **more: Any) -> list[str]:
    """Check a folder; its problems, each with its place."""
    found = library.check(INTERFACE, folder, at=AT, jobs=1, **more)
    return [
        f"{one.path}:{one.place.line if one.place else 0}: {one.rule}: {sentence(one)}"
        for one in (*found.problems, *found.warnings)
        if one.level is Level.ERROR or one.rule.startswith("contract")
    ]


def config(files: Files, name: str = "phone") -> Json:
    return files[f"apps/{name}.yaml"]["config"]


def value(files: Files) -> Json:
    return files[NOTICE_FILE]["value"]


def setting(*steps: str, to: Json) -> Edit:
    """Return an edit of the notice's value."""

    def edit(files: Files) -> None:
        at = value(files)
        for step in steps[:-1]:
            at = at[step]
        at[steps[-1]] = to

    return edit


def without(*steps: str) -> Edit:
    def edit(files: Files) -> None:
        at = value(files)
        for step in steps[:-1]:
            at = at[step]
        del at[steps[-1]]

    return edit


def of_notice(path: str, **more: Json) -> Files:
    return {PHONE: contract("phone", {"path": f"notices[].{path}", **more}, request=NOTICES)}


def of_config(path: str, *, request: str = CONFIG, **more: Json) -> Files:
    return {PHONE: contract("phone", {"path": path, **more}, request=request)}


def base_of_both(files: Files) -> None:
    """Both apps take their configuration from one base."""
    base = {"config": deepcopy(config(files))}
    for name in ("phone", "tablet"):
        files[f"apps/{name}.yaml"] = {
            **{key: part for key, part in app(name).items() if key != "config"},
            "extends": "_base.yaml",
            "config": {"configVersion": name},
        }
    files["apps/_base.yaml"] = base
    base["config"]["appLayout"] = ["shop", "bag"]


Way = tuple[Files, Edit, list[str]]

WAYS: dict[str, Way] = {
    "a section that the app does not know": (
        of_config("config.appLayout[]", enum=["shop", "offers"]),
        lambda files: config(files)["appLayout"].append("bag"),
        [
            (
                "apps/phone.yaml:18: contract.broken: the 2nd entry of config/appLayout of app phone: this "
                "breaks phone 2.0: appLayout[] of v2/utility/mobileapp: 'bag' is not one of the allowed values "
                "(contracts/phone.yaml:8) (Name of a section); allowed: shop, offers"
            )
        ],
    ),
    "a word that the app does not know": (
        of_config("loggingInfo.remoteEnabled", enum=["FALSE"]),
        lambda files: config(files)["loggingInfo"].update(remoteEnabled="TRUE"),
        [
            (
                "apps/phone.yaml:184: contract.broken: config/loggingInfo/remoteEnabled: this breaks phone 2.0: "
                "loggingInfo.remoteEnabled of v2/utility/mobileapp: 'TRUE' is not one of the allowed values "
                "(contracts/phone.yaml:8) (Whether the app sends its log to the service: TRUE or FALSE); "
                "allowed: FALSE"
            )
        ],
    ),
    "one value of a map that the app does not know": (
        of_config("featureConfig.*.landingUrl", enum=[f"shop://{key}" for key in config(small())["featureConfig"]]),
        lambda files: config(files)["featureConfig"]["scan"].update(landingUrl="shop://camera"),
        [
            (
                "apps/phone.yaml:84: contract.broken: config/featureConfig/scan/landingUrl: this breaks phone "
                "2.0: featureConfig.*.landingUrl of v2/utility/mobileapp: 'shop://camera' is not one of the "
                "allowed values (contracts/phone.yaml:8) (Where the feature opens: a page of the website, or a "
                "screen of the app by its own scheme); allowed: shop://shop, shop://scan, shop://registry, "
                "shop://categories, shop://offers, shop://checkout, shop://bag, shop://search, shop://stores, "
                "shop://myAccount; did you mean shop://scan?"
            )
        ],
    ),
    "a value of a base breaks both apps that build on it": (
        of_config("appLayout[]", enum=["shop"])
        | {TABLET: contract("tablet", {"path": "appLayout[]", "enum": ["shop"]})},
        base_of_both,
        [
            (
                "apps/_base.yaml:13: contract.broken: the 2nd entry of config/appLayout: this breaks phone 2.0, "
                "tablet 2.0: appLayout[] of v2/utility/mobileapp: 'bag' is not one of the allowed values "
                "(contracts/phone.yaml:8, contracts/tablet.yaml:8) (Name of a section); allowed: shop"
            )
        ],
    ),
    "a value that a view puts into an object of its own": (
        of_config(
            "promotionDetailsResponse[].coupon.couponNumber", enum=["4001"], request="v3/promotions?show=coupons"
        ),
        lambda files: files["promotions/coupon.yaml"]["coupon"].update(couponNumber="4003"),
        [
            (
                "promotions/coupon.yaml:22: contract.broken: coupon/couponNumber: this breaks phone 2.0: "
                "promotionDetailsResponse[].coupon.couponNumber of v3/promotions?show=coupons: '4003' is not one"
                " of the allowed values (contracts/phone.yaml:8) (Number below the bar code, in quotes; no other"
                " coupon has it); allowed: 4001; did you mean 4001?"
            )
        ],
    ),
    "an optional property is gone": (
        of_config("promotionDetailsResponse[].legalDisclaimer", request="v3/promotions?promoid=11"),
        lambda files: files["promotions/a.yaml"].pop("legalDisclaimer"),
        [
            (
                "promotions/a.yaml:1: contract.broken: this breaks phone 2.0: "
                "promotionDetailsResponse[].legalDisclaimer of v3/promotions?promoid=11: 'legalDisclaimer' is "
                "missing (contracts/phone.yaml:8); allowed: a value"
            )
        ],
    ),
    "text where a number was": (
        of_notice("value.count", type="integer"),
        setting("count", to="three"),
        [
            (
                "notices/1.yaml:5: contract.broken: value/count: this breaks phone 2.0: notices[].value.count of"
                " v1/notices: 'three' is not a whole number (contracts/phone.yaml:8); allowed: a whole number"
            )
        ],
    ),
    "a fraction where a whole number was": (
        of_notice("value.count", type="integer"),
        setting("count", to=3.5),
        [
            (
                "notices/1.yaml:5: contract.broken: value/count: this breaks phone 2.0: notices[].value.count of"
                " v1/notices: 3.5 is not a whole number (contracts/phone.yaml:8); allowed: a whole number"
            )
        ],
    ),
    "a point where a whole number was": (
        of_notice("value.count", type="integer"),
        setting("count", to=3.0),
        [
            (
                "notices/1.yaml:5: contract.broken: value/count: this breaks phone 2.0: notices[].value.count of"
                " v1/notices: 3.0 has a fraction (contracts/phone.yaml:8); allowed: a whole number without a "
                "fraction: 3"
            )
        ],
    ),
    "a number where text was": (
        of_notice("value.text", type="string"),
        setting("text", to=5),
        [
            (
                "notices/1.yaml:4: contract.broken: value/text: this breaks phone 2.0: notices[].value.text of "
                'v1/notices: 5 is not text (contracts/phone.yaml:8); allowed: text: put it in quotes, "5"'
            )
        ],
    ),
    "text where true or false was": (
        of_notice("value.open", type="boolean"),
        setting("open", to="yes"),
        [
            (
                "notices/1.yaml:7: contract.broken: value/open: this breaks phone 2.0: notices[].value.open of "
                "v1/notices: 'yes' is not true or false (contracts/phone.yaml:8); allowed: true or false: `open:"
                " true`"
            )
        ],
    ),
    "true where a number was": (
        of_notice("value.ratio", type="number"),
        setting("ratio", to=True),
        [
            (
                "notices/1.yaml:6: contract.broken: value/ratio: this breaks phone 2.0: notices[].value.ratio of"
                " v1/notices: true is not a number (contracts/phone.yaml:8); allowed: a number"
            )
        ],
    ),
    "a list where an object was": (
        of_notice("value", type="object"),
        lambda files: files[NOTICE_FILE].update(value=[1]),
        [
            (
                "notices/1.yaml:3: contract.broken: value: this breaks phone 2.0: notices[].value of v1/notices:"
                " a list is not an object (contracts/phone.yaml:8); allowed: an object: lines of `key: value` "
                "below, indented"
            )
        ],
    ),
    "an object where a list was": (
        of_notice("value.rows", type="array"),
        setting("rows", to={"a": 1}),
        [
            (
                "notices/1.yaml:8: contract.broken: value/rows: this breaks phone 2.0: notices[].value.rows of "
                "v1/notices: an object is not a list (contracts/phone.yaml:8); allowed: a list: entries in "
                "brackets, `[a, b]`, or below with `- `"
            )
        ],
    ),
    "an object where items are read": (
        of_notice("value.rows[].n", type="integer"),
        setting("rows", to={"a": 1}),
        [
            (
                "contracts/phone.yaml:9: contract.path: the path of the 1st field of the 1st read: "
                "notices[].value.rows has no '[]' (The way to the value in the JSON "
                "answer); allowed: [] behind a list; nothing behind a value"
            )
        ],
    ),
    "text in the items of a list": (
        of_notice("value.tags[]", type="string"),
        setting("tags", to=[1, 2]),
        [
            (
                "notices/1.yaml:17: contract.broken: the 1st entry of value/tags of notice 1: this breaks phone "
                "2.0: notices[].value.tags[] of v1/notices: 1 is not text (contracts/phone.yaml:8); allowed: "
                'text: put it in quotes, "1"'
            ),
            (
                "notices/1.yaml:18: contract.broken: the 2nd entry of value/tags of notice 1: this breaks phone "
                "2.0: notices[].value.tags[] of v1/notices: 2 is not text (contracts/phone.yaml:8); allowed: "
                'text: put it in quotes, "2"'
            ),
        ],
    ),
    "one item lacks a value": (
        of_notice("value.rows[].n", type="integer"),
        setting("rows", to=[{"n": 1}, {}]),
        [
            (
                "notices/1.yaml:12: contract.broken: the 2nd entry of value/rows of notice 1: this breaks phone "
                "2.0: notices[].value.rows[].n of v1/notices: 'n' is missing (contracts/phone.yaml:8); allowed: "
                "a value"
            )
        ],
    ),
    "text where an object was": (
        of_notice("value.rows[].n"),
        setting("rows", to=["one"]),
        [
            (
                "contracts/phone.yaml:9: contract.path: the path of the 1st field of the 1st read: "
                "notices[].value.rows[] has no 'n' (The way to the value in the JSON "
                "answer); allowed: [] behind a list; nothing behind a value"
            )
        ],
    ),
    "a value is gone": (
        of_notice("value.text", type="string"),
        without("text"),
        [
            (
                "notices/1.yaml:3: contract.broken: value: this breaks phone 2.0: notices[].value.text of "
                "v1/notices: 'text' is missing (contracts/phone.yaml:8); allowed: a value"
            )
        ],
    ),
    "a value is gone, whatever its type": (
        of_notice("value.count"),
        without("count"),
        [
            (
                "notices/1.yaml:3: contract.broken: value: this breaks phone 2.0: notices[].value.count of "
                "v1/notices: 'count' is missing (contracts/phone.yaml:8); allowed: a value"
            )
        ],
    ),
    "what is around a value is gone": (
        of_notice("value.text"),
        lambda files: files[NOTICE_FILE].pop("value"),
        [
            (
                "notices/1.yaml:1: contract.broken: this breaks phone 2.0: notices[].value.text of v1/notices: "
                "'value' is missing (contracts/phone.yaml:8); allowed: a value"
            )
        ],
    ),
    "a value in one of many objects is gone": (
        of_notice("labels.*.size", type="integer"),
        lambda files: files[NOTICE_FILE]["labels"]["c"].clear(),
        [
            (
                "notices/1.yaml:25: contract.broken: labels/c: this breaks phone 2.0: notices[].labels.*.size of"
                " v1/notices: 'size' is missing (contracts/phone.yaml:8); allowed: a value"
            )
        ],
    ),
    "a name with a dot": (
        of_notice('labels."a.b".size', enum=[1]),
        lambda files: files[NOTICE_FILE]["labels"]["a.b"].update(size=7),
        [
            (
                "notices/1.yaml:23: contract.broken: labels/a.b/size: this breaks phone 2.0: "
                'notices[].labels."a.b".size of v1/notices: 7 is not one of the allowed values '
                "(contracts/phone.yaml:8); allowed: 1"
            )
        ],
    ),
    "a number that the app does not know": (
        of_notice("value.count", enum=[3, 4]),
        setting("count", to=5),
        [
            (
                "notices/1.yaml:5: contract.broken: value/count: this breaks phone 2.0: notices[].value.count of"
                " v1/notices: 5 is not one of the allowed values (contracts/phone.yaml:8); allowed: 3, 4"
            )
        ],
    ),
    "true where 1 is listed": (
        of_notice("value.count", enum=[1, 3]),
        setting("count", to=True),
        [
            (
                "notices/1.yaml:5: contract.broken: value/count: this breaks phone 2.0: notices[].value.count of"
                " v1/notices: true is not one of the allowed values (contracts/phone.yaml:8); allowed: 1, 3"
            )
        ],
    ),
    "a document that is asked for by its id is gone": (
        of_config("notices[].noticeId", request=f"{NOTICES}/1"),
        lambda files: files[NOTICE_FILE].update(noticeId=2),
        [
            (
                "contracts/phone.yaml:6: contract.refused: the request of the 1st read: this breaks phone 2.0: "
                "v1/notices/1 is refused with 404: noticeId: there is no notice with this noticeId (A read, by "
                "its path and query below base_url, as `shopwindow show` takes it); allowed: an answer; without "
                "the request, if the app sends it no more"
            )
        ],
    ),
    "a document that is asked for by its id is not live": (
        of_config("notices[].noticeId", request=f"{NOTICES}/1"),
        lambda files: files[NOTICE_FILE].update(publish={"from": "2026-12-01"}),
        [
            (
                "contracts/phone.yaml:6: contract.refused: the request of the 1st read: this breaks phone 2.0: "
                "v1/notices/1 is refused with 404: noticeId: there is no notice with this noticeId (A read, by "
                "its path and query below base_url, as `shopwindow show` takes it); allowed: an answer; without "
                "the request, if the app sends it no more"
            )
        ],
    ),
    "a masked answer lacks a field": (
        of_config("notices[].labels", request=f"{NOTICES}?_fields=labels"),
        lambda files: files[NOTICE_FILE].pop("labels"),
        [
            (
                "contracts/phone.yaml:8: contract.broken: the 1st field of the 1st read: this breaks phone 2.0: "
                "notices[].labels of v1/notices?_fields=labels: 'labels' is missing (One value of the answer, or"
                " all values that a path with [] or * leads to, with keywords of JSON Schema for them); allowed:"
                " a value"
            )
        ],
    ),
}
"""Each with a contract, an edit that breaks it, and the problems."""


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_breaks_a_shipped_app_is_a_problem_at_the_value_s_place(tmp_path: Path, way: Way) -> None:
    contracts, edit, expected = way
    files = files_of(**contracts)
    assert checked(folder_of(tmp_path, files)) == []
    edit(files)
    assert checked(folder_of(tmp_path, files)) == expected


# -- what breaks nobody --------------------------------------------------------------------------------------------

HARMLESS: dict[str, tuple[Files, Edit]] = {
    "a field that nobody reads": (of_notice("value.text", type="string"), setting("more", to="new")),
    "another type of what nobody reads": (of_notice("value.text"), setting("count", to="three")),
    "items in another order": (
        of_config("appLayout[]", enum=["shop", "bag"]),
        lambda files: config(files).update(appLayout=["bag", "shop"]),
    ),
    "keys in another order": (
        of_notice("value.text", type="string"),
        lambda files: files[NOTICE_FILE].update(value=dict(reversed(value(files).items()))),
    ),
    "a value that another app does not know": (
        {TABLET: contract("tablet", {"path": "appLayout[]", "enum": ["shop"]})},
        lambda files: config(files)["appLayout"].append("bag"),
    ),
    "a value that the contract lists": (
        of_config("appLayout[]", enum=["shop", "bag"]),
        lambda files: config(files)["appLayout"].append("bag"),
    ),
    "a value that is gone, and that the app does without": (
        of_notice("value.text", type="string", required=False),
        without("text"),
    ),
    "a list that is left out when it is empty": (
        of_config("promotionDetailsResponse[].promoId", request="v3/promotions?show=coupons"),
        lambda files: files["promotions/coupon.yaml"].update(publish={"until": "2026-11-01"}),
    ),
    "null where the contract has it": (
        of_notice("value.text", type=["string", "null"]),
        without("count"),
    ),
    "what the app does without, with what is in it": (
        {
            PHONE: contract(
                "phone",
                {"path": "notices[].value", "required": False},
                {"path": "notices[].value.text"},
                request=NOTICES,
            )
        },
        lambda files: files[NOTICE_FILE].pop("value"),
    ),
    "a list that is empty": (
        of_config("appLayout[]", type="string"),
        lambda files: config(files).update(appLayout=[]),
    ),
    "another text, and another number": (
        {
            PHONE: contract(
                "phone",
                {"path": "notices[].value.text", "type": "string"},
                {"path": "notices[].value.ratio", "type": "number"},
                request=NOTICES,
            )
        },
        lambda files: value(files).update(text="blue " * 20, ratio=7),
    ),
    "another document": (
        of_notice("value.text", type="string"),
        lambda files: files.update({"notices/2.yaml": {**NOTICE, "noticeId": 2}}),
    ),
    "a document of a list is gone": (
        of_notice("value.text", type="string"),
        lambda files: files[NOTICE_FILE].update(publish={"from": "2027-01-01"}),
    ),
}


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS)
def test_what_a_contract_does_not_name_may_change(tmp_path: Path, change: tuple[Files, Edit]) -> None:
    contracts, edit = change
    files = files_of(**contracts)
    assert checked(folder_of(tmp_path, files)) == []
    edit(files)
    assert checked(folder_of(tmp_path, files)) == []


def test_a_version_that_is_not_supported_any_more_is_a_problem_with_its_way_out(tmp_path: Path) -> None:
    files = files_of(**{PHONE: contract("phone", {"path": "appLayout[]"})})
    versions = config(files)["appVersionInfo"]
    versions["supportedVersions"] = ["2.1", "2.0"]
    assert checked(folder_of(tmp_path, files)) == []
    versions.update(appVersionNumber="2.1", supportedVersions=["2.1"])
    assert checked(folder_of(tmp_path, files)) == [
        "contracts/phone.yaml:3: contract.version: version: phone 2.0 is not supported, and its contract is here"
        " (The version of the application, in quotes when it looks like a number. The contract counts while this"
        " version is supported); allowed: 2.1; or delete this file; did you mean 2.1?"
    ]
    (tmp_path / PHONE).unlink()
    assert checked(tmp_path) == []


KEYWORDS: dict[str, tuple[Json, Edit, str]] = {
    "not": (
        {"path": "notices[].value.text", "not": {"const": "TBD"}},
        setting("text", to="TBD"),
        "'TBD' may not stand here (contracts/phone.yaml:8); allowed: anything but 'TBD'",
    ),
    "contains": (
        {"path": "notices[].value.tags", "contains": {"const": "a"}},
        setting("tags", to=["b"]),
        "no entry of the list fits (contracts/phone.yaml:8); allowed: at least one entry like 'a'",
    ),
    "minItems": (
        {"path": "notices[].value.tags", "minItems": 2},
        setting("tags", to=["b"]),
        "a list of 1 is too short (contracts/phone.yaml:8); allowed: at least 2",
    ),
    "pattern": (
        {"path": "notices[].value.text", "pattern": "^re"},
        setting("text", to="blue"),
        "'blue' does not have the right form (contracts/phone.yaml:8); allowed: text of the form ^re",
    ),
    "oneOf": (
        {"path": "notices[].value", "oneOf": [{"required": ["text"]}, {"type": "null"}]},
        without("text"),
        'an object does not fit (contracts/phone.yaml:8); allowed: one of [{"required":["text"]},{"type":"null"}]',
    ),
    "properties": (
        {"path": "notices[].value", "properties": {"text": {"const": "red"}}},
        setting("text", to="blue"),
        "'blue' is not one of the allowed values (contracts/phone.yaml:8); allowed: red",
    ),
}


@pytest.mark.parametrize("keyword", KEYWORDS)
def test_a_keyword_of_json_schema_holds_what_a_path_leads_to(tmp_path: Path, keyword: str) -> None:
    field, edit, expected = KEYWORDS[keyword]
    files = files_of(**{PHONE: contract("phone", field, request=NOTICES)})
    assert checked(folder_of(tmp_path, files)) == []
    edit(files)
    (only,) = checked(folder_of(tmp_path, files))
    assert only.endswith(f"of v1/notices: {expected}")


# -- contracts that are wrong --------------------------------------------------------------------------------------

REQUEST = "(A read, by its path and query below base_url, as `shopwindow show` takes it)"
READS = "allowed: a read that the content answers, as `shopwindow build --list` names them"
PATH = "(The way to the value in the JSON answer)"
FORM = 'allowed: names with dots between them, [] for items, * for values: events[].id, sections.*.title, "a.b".c'


def with_request(request: str) -> Json:
    return contract("phone", {"path": "a"}, request=request)


def with_path(path: str) -> Json:
    return contract("phone", {"path": path})


WRONG: dict[str, tuple[Json, str]] = {
    "an app that does not exist": (
        contract("phnoe", {"path": "appLayout"}),
        "2: reference: app: no app has the name phnoe (The application that reads, by its name);"
        " allowed: phone, tablet; did you mean phone?",
    ),
    "a request that does not exist": (
        with_request("v2/utility/mobilap"),
        "6: contract.request: the request of the 1st read: the content answers no 'v2/utility/mobilap'"
        f" {REQUEST}; {READS}; did you mean v2/utility/mobileapp?",
    ),
    "an operation that writes": (
        with_request("v3/promotions/share"),
        "6: contract.request: the request of the 1st read: the content answers no 'v3/promotions/share'"
        f" {REQUEST}; {READS}; did you mean v3/promotions/sorted?",
    ),
    "a GET that writes": (
        with_request("v2/utility/mobilelog"),
        "6: contract.request: the request of the 1st read: the content answers no 'v2/utility/mobilelog'"
        f" {REQUEST}; {READS}; did you mean v2/utility/mobileapp?",
    ),
    "an operation that needs the database": (
        with_request("order/v1/bags?bagGuid=1"),
        f"6: contract.request: the request of the 1st read: the content answers no 'order/v1/bags' {REQUEST}; {READS}",
    ),
    "a parameter that is missing": (
        with_request("store/v1/events"),
        "6: contract.request: the request of the 1st read: "
        "storeId: one of storeId, storeNumber, locationNumber is required"
        f" {REQUEST}; allowed: a request that the interface admits",
    ),
    "a whole address": (
        with_request("https://api.shop.example/v2/utility/mobileapp"),
        "6: schema.pattern: the request of the 1st read: "
        "'https://api.shop.example/v2/utility/mobileapp' does not have the right"
        f" form {REQUEST}; allowed: a path and query below base_url without spaces, such as v2/utility/mobileapp",
    ),
    "a path with two dots": (
        with_path("appConfig..shop"),
        "9: contract.path: the path of the 1st field of the 1st read: "
        "the path 'appConfig..shop' cannot be read from character 10 on"
        f" {PATH}; {FORM}",
    ),
    "a path that no answer has": (
        with_path("appConfig.shop.appDisplayNmae"),
        "9: contract.path: the path of the 1st field of the 1st read: "
        "appConfig.shop has no"
        f" 'appDisplayNmae' {PATH}; allowed: appDisplayName, appIcon, featureLayout; did you mean appDisplayName?",
    ),
    "items of what is no list": (
        with_path("configVersion[]"),
        (
            "9: contract.path: the path of the 1st field of the 1st read: configVersion "
            "has no '[]' (The way to the value in the JSON answer); allowed: [] behind "
            "a list; nothing behind a value"
        ),
    ),
    "values of what is no object": (
        with_path("appLayout.*"),
        (
            "9: contract.path: the path of the 1st field of the 1st read: appLayout "
            "has no '*' (The way to the value in the JSON answer); allowed: [] behind a"
            " list; nothing behind a value"
        ),
    ),
    "a name within a list": (
        with_path("appLayout.shop"),
        (
            "9: contract.path: the path of the 1st field of the 1st read: appLayout "
            "has no 'shop' (The way to the value in the JSON answer); allowed: [] "
            "behind a list; nothing behind a value"
        ),
    ),
    "an unknown type": (
        contract("phone", {"path": "appLayout[]", "type": "txt"}),
        (
            "10: contract.keyword: the type of the 1st field of the 1st read: 'txt' is not valid under any "
            "of the given schemas (under type) (What the value is, in JSON Schema's words: string, integer, "
            "number, boolean, object, array or null, or a list of these); allowed: object, array, string, "
            "integer, number, boolean, null, or a list of these"
        ),
    ),
    "a keyword that JSON Schema does not have": (
        contract("phone", {"path": "appLayout", "minItem": 1}),
        (
            "10: schema.additionalProperties: the minItem of the 1st field of the 1st read: 'minItem' is not"
            " known here (One value of the answer, or all values that a path with [] or * leads to, with "
            "keywords of JSON Schema for them); allowed: path, required, type, enum, const, not, pattern, "
            "format, minLength, maxLength, minimum, maximum, minItems, maxItems, uniqueItems, contains, "
            "items, properties, anyOf, oneOf, allOf; did you mean minItems?"
        ),
    ),
    "a schema within that is none": (
        contract("phone", {"path": "appLayout", "contains": {"minimum": "one"}}),
        (
            "11: contract.keyword: contains/minimum of the 1st field of the 1st read: 'one' is not of type "
            "'number' (under minimum) (What at least one entry of the list fits, as a schema); allowed: a "
            "number"
        ),
    ),
    "a pattern that no linear engine runs": (
        contract("phone", {"path": "appLayout[]", "pattern": "^(?=a)"}),
        (
            "10: contract.keyword: the pattern of the 1st field of the 1st read: the pattern '^(?=a)' cannot"
            " be read (A regular expression that the text satisfies); allowed: a regular expression without "
            "(?=…), (?!…), (?<…) and \\1, whose time grows with the text alone"
        ),
    ),
    "a reference": (
        contract("phone", {"path": "appLayout", "contains": {"$ref": "#"}}),
        (
            "8: contract.keyword: the 1st field of the 1st read: a $ref, which is not read here (One value "
            "of the answer, or all values that a path with [] or * leads to, with keywords of JSON Schema "
            "for them); allowed: the schema itself"
        ),
    ),
    "no request": (
        {"app": "phone", "version": "2.0", "reads": []},
        "4: schema.minItems: reads: nothing is written here (The requests that the application sends, and the fields of"
        " each answer that it needs); allowed: at least 1 in the list",
    ),
    "more than 200 requests": (
        {"app": "phone", "version": "2.0", "reads": contract("phone", {"path": "appLayout"})["reads"] * 201},
        "4: schema.maxItems: reads: a list of 201 is too long (The requests that the application sends, and the fields"
        " of each answer that it needs); allowed: at most 200",
    ),
}


@pytest.mark.parametrize(("wrong", "expected"), WRONG.values(), ids=WRONG)
def test_a_contract_that_cannot_be_meant_is_a_problem_at_its_place(tmp_path: Path, wrong: Json, expected: str) -> None:
    files = files_of(**{PHONE: wrong})
    assert checked(folder_of(tmp_path, files)) == [f"contracts/phone.yaml:{expected}"]


def test_two_contracts_of_one_version_are_a_problem(tmp_path: Path) -> None:
    one = contract("phone", {"path": "appLayout"})
    assert checked(folder_of(tmp_path, files_of(**{PHONE: one, TABLET: one}))) == [
        "contracts/tablet.yaml:3: unique: version: the version phone 2.0 is also that of the contract in"
        " contracts/phone.yaml:3 (The version of the application, in quotes when it looks like a number. The contract"
        " counts while this version is supported); allowed: each once"
    ]


def test_where_a_collection_is_declared_with_a_fault_its_requests_are_no_second_problem(tmp_path: Path) -> None:
    files = files_of(**of_notice("value.text"))
    files["collections.yaml"]["notice"]["id"] = "noticeIt"
    (only,) = checked(folder_of(tmp_path, files))
    assert only.startswith("collections.yaml:")
