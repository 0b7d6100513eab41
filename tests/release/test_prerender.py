"""Every pre-rendered Call is answered before anyone asks: the files of a release, byte for byte."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.content import ROOT, SAMPLE, app, as_content, as_value, coupon, event, live, promotion, site, store, write
from harness.program import Content, Schemas
from shopwindow.interface.answering.answer import answer, value_of
from shopwindow.interface.formats import RESPONSE_FORMATS
from shopwindow.problems import Failure
from shopwindow.release.prerender import (
    File,
    PlannedAnswer,
    ViewFailed,
    planned_answers,
    planned_operations,
    prerender,
)
from shopwindow.shop import INTERFACE

Json = Any
URL = "https://www.shop.example"

EXAMPLE = {
    "site.yaml": site(lifetimes={"default": {"maxAge": 60}, "events_v1": {"maxAge": 900}}),
    "apps/phone.yaml": app("phone"),
    "stores/one.yaml": store(1),
    "events/one.yaml": event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00", links=[{"href": f"{URL}/e"}]),
    "promotions/one.yaml": promotion(5, channels=["SITE"], coupon=coupon("4001")),
}

# -- what is expected, written out -------------------------------------------------------------------------------


def tight(*parts: str) -> bytes:
    """Text written over several lines, as the one line that it stands for."""
    return "".join(line.strip() for part in parts for line in part.splitlines()).encode()


def xml(*parts: str) -> bytes:
    return b"<?xml version='1.0' encoding='UTF-8'?>\n" + tight(*parts)


SECTIONS = ("shop", "offers", "registry", "messages", "stores", "myAccount", "settings", "scan", "bag", "billpay")
FEATURES = ("shop", "scan", "registry", "categories", "offers", "checkout", "bag", "search", "stores", "myAccount")
SECTIONS_JSON = ",".join(
    f'"{name}":{{"appDisplayName":"{name}","appIcon":"{URL}/i","featureLayout":[]}}' for name in SECTIONS
)
SECTIONS_XML = "".join(
    f"<{name}><appDisplayName>{name}</appDisplayName><appIcon>{URL}/i</appIcon></{name}>" for name in SECTIONS
)
FEATURES_JSON = ",".join(
    f'"{name}":{{"pageTitle":"{name}","defaultTab":"{URL}/t","highlightedTab":"{URL}/t",'
    f'"landingUrl":"shop://{name}","analyticsPageTag":"","urlPatternMatch":"/{name}"}}'
    for name in FEATURES
)
FEATURES_XML = "".join(
    f"<{name}><pageTitle>{name}</pageTitle><defaultTab>{URL}/t</defaultTab><highlightedTab>{URL}/t</highlightedTab>"
    f"<landingUrl>shop://{name}</landingUrl><analyticsPageTag></analyticsPageTag>"
    f"<urlPatternMatch>/{name}</urlPatternMatch></{name}>"
    for name in FEATURES
)
MOBILEAPP_JSON = tight(
    f"""
    {{"configVersion":"1",
    "appVersionInfo":{{"appVersionNumber":"2.0","appStoreLink":"{URL}/app","supportedVersions":["2.0"]}},
    "appLayout":["shop"],
    "appConfig":{{{SECTIONS_JSON}}},
    "featureConfig":{{{FEATURES_JSON}}},
    "extraAssets":{{"appNavImage":"{URL}/i","appNavBGImage":"{URL}/i","homeContentBGImage":"{URL}/i",
    "appIcon":"{URL}/i"}},
    "serviceEndPoints":{{"signin":"{URL}","analyticsUrl":"{URL}","scan":"{URL}","coupons":"{URL}",
    "mobilelogs":"{URL}"}},
    "webServletEndPoints":{{"search":"{URL}/search?keyword=","addToBag":"{URL}"}},
    "urlInterception":{{"singleSignIn":[],"forcedSignOn":["/account"]}},
    "poorNetwork":{{"poorWifiMaxSecsLatency":5,"poorNonWifiMaxSecsLatency":9,"networkTimeIntervalCheck":30}},
    "loggingInfo":{{"logLevel":"ERROR","localEnabled":"TRUE","remoteEnabled":"FALSE","maxLogCount":"10"}},
    "errorMessages":{{"poorNetworkError":"Sorry","noNetworkError":"Sorry","configFileError":"Sorry"}}}}
    """
)
MOBILEAPP_XML = xml(
    f"""
    <response><configVersion>1</configVersion>
    <appVersionInfo><appVersionNumber>2.0</appVersionNumber><appStoreLink>{URL}/app</appStoreLink>
    <supportedVersions>2.0</supportedVersions></appVersionInfo>
    <appLayout>shop</appLayout>
    <appConfig>{SECTIONS_XML}</appConfig>
    <featureConfig>{FEATURES_XML}</featureConfig>
    <extraAssets><appNavImage>{URL}/i</appNavImage><appNavBGImage>{URL}/i</appNavBGImage>
    <homeContentBGImage>{URL}/i</homeContentBGImage><appIcon>{URL}/i</appIcon></extraAssets>
    <serviceEndPoints><signin>{URL}</signin><analyticsUrl>{URL}</analyticsUrl><scan>{URL}</scan>
    <coupons>{URL}</coupons><mobilelogs>{URL}</mobilelogs></serviceEndPoints>
    <webServletEndPoints><search>{URL}/search?keyword=</search><addToBag>{URL}</addToBag></webServletEndPoints>
    <urlInterception><forcedSignOn>/account</forcedSignOn></urlInterception>
    <poorNetwork><poorWifiMaxSecsLatency>5</poorWifiMaxSecsLatency>
    <poorNonWifiMaxSecsLatency>9</poorNonWifiMaxSecsLatency>
    <networkTimeIntervalCheck>30</networkTimeIntervalCheck></poorNetwork>
    <loggingInfo><logLevel>ERROR</logLevel><localEnabled>TRUE</localEnabled><remoteEnabled>FALSE</remoteEnabled>
    <maxLogCount>10</maxLogCount></loggingInfo>
    <errorMessages><poorNetworkError>Sorry</poorNetworkError><noNetworkError>Sorry</noNetworkError>
    <configFileError>Sorry</configFileError></errorMessages></response>
    """
)

EVENTS_V1_JSON = tight(
    """
    {"events":{"event":[{"id":20,"name":"Event 20","locationNumber":2001,
    "attributes":{"attribute":[{"name":"SHORT_DESC"},{"name":"START_TIME"},{"name":"END_TIME"}]},
    "link":[{"href":"https://www.shop.example/e"}]}]}}
    """
)
EVENTS_V1_XML = xml(
    """
    <events><event><id>20</id><name>Event 20</name><locationNumber>2001</locationNumber>
    <attributes><attribute><name>SHORT_DESC</name></attribute><attribute><name>START_TIME</name></attribute>
    <attribute><name>END_TIME</name></attribute></attributes>
    <link><href>https://www.shop.example/e</href></link></event></events>
    """
)
EVENTS_V2_JSON = tight(
    """
    {"storeEvents":[{"eventId":20,"storeId":1,"storeNumber":1001,"name":"Event 20","shortDesc":"About 20",
    "startDate":"12/04/2026 05:30 PM","finishDate":"12/04/2026 07:00 PM",
    "attributes":[{"name":"SHORT_DESC","values":["About 20"]},{"name":"START_TIME","values":["5:30PM"]},
    {"name":"END_TIME","values":["7PM"]}]}],"success":true}
    """
)
EVENTS_V2_XML = xml(
    """
    <response><storeEvents><eventId>20</eventId><storeId>1</storeId><storeNumber>1001</storeNumber>
    <name>Event 20</name><shortDesc>About 20</shortDesc>
    <startDate>12/04/2026 05:30 PM</startDate><finishDate>12/04/2026 07:00 PM</finishDate>
    <attributes><name>SHORT_DESC</name><values>About 20</values></attributes>
    <attributes><name>START_TIME</name><values>5:30PM</values></attributes>
    <attributes><name>END_TIME</name><values>7PM</values></attributes></storeEvents><success>true</success></response>
    """
)

STORES_JSON = tight(
    """
    {"stores":{"store":[{"name":"Store 1","locationNumber":2001,"storeNumber":1001,"storeId":1,
    "phoneNumber":"212-555-0100","mapUrl":"https://maps.shop.example/1",
    "address":{"line1":"1 Main St","city":"Boston","state":"MA","countryCode":"US","zipCode":"02116"},
    "location":{"latitude":42.35,"longitude":-71},
    "features":{"feature":["HAS_EVENTS"]},
    "attributes":{"attribute":[{"name":"TIMEZONE","values":["America/New_York"]}]},
    "schedule":{"workingHours":[
    {"date":"2026-11-23","storeopenhour":"10:00","storeclosehour":"21:00"},
    {"date":"2026-11-24"},{"date":"2026-11-25"},{"date":"2026-11-26"},
    {"date":"2026-11-27"},{"date":"2026-11-28"},{"date":"2026-11-29"},
    {"date":"2026-11-30","storeopenhour":"10:00","storeclosehour":"21:00"},
    {"date":"2026-12-01"},{"date":"2026-12-02"},{"date":"2026-12-03"},
    {"date":"2026-12-04"},{"date":"2026-12-05"},{"date":"2026-12-06"},
    {"date":"2026-12-07","storeopenhour":"10:00","storeclosehour":"21:00"},
    {"date":"2026-12-08"},{"date":"2026-12-09"},{"date":"2026-12-10"},
    {"date":"2026-12-11"},{"date":"2026-12-12"},{"date":"2026-12-13"}]}}]}}
    """
)
STORES_XML = xml(
    """
    <stores><store><name>Store 1</name><locationNumber>2001</locationNumber><storeNumber>1001</storeNumber>
    <storeId>1</storeId><phoneNumber>212-555-0100</phoneNumber><mapUrl>https://maps.shop.example/1</mapUrl>
    <address><line1>1 Main St</line1><city>Boston</city><state>MA</state><countryCode>US</countryCode>
    <zipCode>02116</zipCode></address>
    <location><latitude>42.35</latitude><longitude>-71</longitude></location>
    <features><feature>HAS_EVENTS</feature></features>
    <attributes><attribute><name>TIMEZONE</name><values>America/New_York</values></attribute></attributes>
    <schedule>
    <workingHours><date>2026-11-23</date><storeopenhour>10:00</storeopenhour>
    <storeclosehour>21:00</storeclosehour></workingHours>
    <workingHours><date>2026-11-24</date></workingHours><workingHours><date>2026-11-25</date></workingHours>
    <workingHours><date>2026-11-26</date></workingHours><workingHours><date>2026-11-27</date></workingHours>
    <workingHours><date>2026-11-28</date></workingHours><workingHours><date>2026-11-29</date></workingHours>
    <workingHours><date>2026-11-30</date><storeopenhour>10:00</storeopenhour>
    <storeclosehour>21:00</storeclosehour></workingHours>
    <workingHours><date>2026-12-01</date></workingHours><workingHours><date>2026-12-02</date></workingHours>
    <workingHours><date>2026-12-03</date></workingHours><workingHours><date>2026-12-04</date></workingHours>
    <workingHours><date>2026-12-05</date></workingHours><workingHours><date>2026-12-06</date></workingHours>
    <workingHours><date>2026-12-07</date><storeopenhour>10:00</storeopenhour>
    <storeclosehour>21:00</storeclosehour></workingHours>
    <workingHours><date>2026-12-08</date></workingHours><workingHours><date>2026-12-09</date></workingHours>
    <workingHours><date>2026-12-10</date></workingHours><workingHours><date>2026-12-11</date></workingHours>
    <workingHours><date>2026-12-12</date></workingHours><workingHours><date>2026-12-13</date></workingHours>
    </schedule></store></stores>
    """
)

PROMOTION_JSON = """
    "promotionName":"Promotion 5","description":"About 5","global":false,"promoId":"5","promotionType":"PERCENT_OFF",
    "effectiveDay":9,"effectiveMonth":11,"effectiveYear":2026,
    "expirationDay":0,"expirationMonth":0,"expirationYear":0,"promotionSourceCode":"B"
    """
COUPON_JSON = """
    "coupon":{"couponUrl":"https://www.shop.example/coupon/4001","couponHeading":"Heading",
    "couponDescription":"About the coupon","couponShortCode":"SHORT","couponNumber":"4001","couponType":"STORE_ONLY",
    "couponEffectiveDay":10,"couponEffectiveMonth":11,"couponEffectiveYear":2026,
    "couponExpirationDay":31,"couponExpirationMonth":12,"couponExpirationYear":2026,
    "displayStartDate":"2026-11-10T00:00:00-05:00","displayEndDate":"2026-12-31T23:59:59-05:00"}
    """
PROMOTION_XML = """
    <promotionName>Promotion 5</promotionName><description>About 5</description><global>false</global>
    <promoId>5</promoId><promotionType>PERCENT_OFF</promotionType>
    <effectiveDay>9</effectiveDay><effectiveMonth>11</effectiveMonth><effectiveYear>2026</effectiveYear>
    <expirationDay>0</expirationDay><expirationMonth>0</expirationMonth><expirationYear>0</expirationYear>
    <promotionSourceCode>B</promotionSourceCode>
    """
COUPON_XML = """
    <coupon><couponUrl>https://www.shop.example/coupon/4001</couponUrl><couponHeading>Heading</couponHeading>
    <couponDescription>About the coupon</couponDescription><couponShortCode>SHORT</couponShortCode>
    <couponNumber>4001</couponNumber><couponType>STORE_ONLY</couponType>
    <couponEffectiveDay>10</couponEffectiveDay><couponEffectiveMonth>11</couponEffectiveMonth>
    <couponEffectiveYear>2026</couponEffectiveYear>
    <couponExpirationDay>31</couponExpirationDay><couponExpirationMonth>12</couponExpirationMonth>
    <couponExpirationYear>2026</couponExpirationYear>
    <displayStartDate>2026-11-10T00:00:00-05:00</displayStartDate>
    <displayEndDate>2026-12-31T23:59:59-05:00</displayEndDate></coupon>
    """
PROMOTIONS_JSON = tight('{"promotionDetailsResponse":[{', PROMOTION_JSON, "}]}")
COUPONS_JSON = tight('{"promotionDetailsResponse":[{', PROMOTION_JSON, ",", COUPON_JSON, "}]}")
SORTED_JSON = tight('{"sortedPromotions":[{"fob":"Home","promotions":[{', PROMOTION_JSON, ",", COUPON_JSON, "}]}]}")
PROMOTIONS_XML = xml("<response><promotionDetailsResponse>", PROMOTION_XML, "</promotionDetailsResponse></response>")
COUPONS_XML = xml(
    "<response><promotionDetailsResponse>", PROMOTION_XML, COUPON_XML, "</promotionDetailsResponse></response>"
)
SORTED_XML = xml(
    "<response><sortedPromotions><fob>Home</fob><promotions>",
    PROMOTION_XML,
    COUPON_XML,
    "</promotions></sortedPromotions></response>",
)

EXPECTED = {
    "v2/utility/mobileapp/phone.json": MOBILEAPP_JSON,
    "v2/utility/mobileapp/phone.xml": MOBILEAPP_XML,
    "store/v1/events;storeId=1.json": EVENTS_V1_JSON,
    "store/v1/events;storeId=1.xml": EVENTS_V1_XML,
    "store/v1/events;storeNumber=1001.json": EVENTS_V1_JSON,
    "store/v1/events;storeNumber=1001.xml": EVENTS_V1_XML,
    "store/v1/events;locationNumber=2001.json": EVENTS_V1_JSON,
    "store/v1/events;locationNumber=2001.xml": EVENTS_V1_XML,
    "v2/store/event;storeId=1.json": EVENTS_V2_JSON,
    "v2/store/event;storeId=1.xml": EVENTS_V2_XML,
    "v2/store/event;storeNumber=1001.json": EVENTS_V2_JSON,
    "v2/store/event;storeNumber=1001.xml": EVENTS_V2_XML,
    "store/v2/stores.json": STORES_JSON,
    "store/v2/stores.xml": STORES_XML,
    "store/v2/stores/2001.json": STORES_JSON,
    "store/v2/stores/2001.xml": STORES_XML,
    "v2/promotions.json": PROMOTIONS_JSON,
    "v2/promotions.xml": PROMOTIONS_XML,
    "v3/promotions;show=promotions.json": PROMOTIONS_JSON,
    "v3/promotions;show=promotions.xml": PROMOTIONS_XML,
    "v3/promotions;show=coupons.json": COUPONS_JSON,
    "v3/promotions;show=coupons.xml": COUPONS_XML,
    "v3/promotions;show=promotions,coupons.json": COUPONS_JSON,
    "v3/promotions;show=promotions,coupons.xml": COUPONS_XML,
    "v3/promotions/sorted.json": SORTED_JSON,
    "v3/promotions/sorted.xml": SORTED_XML,
    "v3/promotions/sorted;channel=SITE.json": SORTED_JSON,
    "v3/promotions/sorted;channel=SITE.xml": SORTED_XML,
    "v3/promotions/sorted;channel=MOBILE.json": b"{}",
    "v3/promotions/sorted;channel=MOBILE.xml": xml("<response/>"),
}

# -- pre-rendering --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Content:
    return live(write(tmp_path_factory.mktemp("example"), EXAMPLE))


WRITTEN_OUT = {"mobileapp", "events_v1", "events_v2", "stores_by_location", "stores"}
WRITTEN_OUT |= {"promotions_v2", "promotions_v3", "promotions_sorted"}
"""The operations whose files stand above; what others have is compared with their own answers, further down."""


def askings(content: Content) -> list[PlannedAnswer]:
    """What these operations are asked."""
    every = planned_answers(planned_operations(INTERFACE, content))
    return [asking for asking in every if asking.operation.name in WRITTEN_OUT]


def prerendered(content: Content, schemas: Schemas, known: Mapping[str, bytes] | None = None) -> list[File]:
    """Every file of these operations, made in one part."""
    return list(prerender(askings(content), content, schemas, known or {}, {}))


def tree_of(files: Sequence[File]) -> dict[str, bytes]:
    """The files' bytes by path. A file without bytes has those of the one before it with its digest."""
    bodies = {file.entry["sha256"]: file.body for file in files if file.body is not None}
    return {file.entry["path"]: bodies[file.entry["sha256"]] for file in files}


def as_known(files: Iterable[File]) -> dict[str, bytes]:
    """The files' lines of the manifest, by path."""
    return {file.entry["path"]: orjson.dumps(file.entry) for file in files}


def test_freeze_gives_every_file_byte_for_byte(example: Content, schemas: Schemas) -> None:
    assert tree_of(prerendered(example, schemas)) == EXPECTED


def test_each_file_has_its_entry_in_the_manifest(example: Content, schemas: Schemas) -> None:
    entries = {file.entry["path"]: file.entry for file in prerendered(example, schemas)}
    base = "https://api.shop.example"
    assert entries.keys() == EXPECTED.keys()
    assert entries["v2/utility/mobileapp/phone.xml"] == {
        "path": "v2/utility/mobileapp/phone.xml",
        "url": f"{base}/v2/utility/mobileapp",
        "operation": "mobileapp",
        "application": "phone",
        "arguments": {},
        "mediaType": "application/xml",
        "lifetime": 60,
        "size": len(MOBILEAPP_XML),
        "sha256": sha256(MOBILEAPP_XML).hexdigest(),
    }
    assert entries["store/v1/events;storeNumber=1001.json"] == {
        "path": "store/v1/events;storeNumber=1001.json",
        "url": f"{base}/store/v1/events?storeNumber=1001",
        "operation": "events_v1",
        "arguments": {"storeNumber": "1001"},
        "mediaType": "application/json",
        "lifetime": 900,
        "size": len(EVENTS_V1_JSON),
        "sha256": sha256(EVENTS_V1_JSON).hexdigest(),
    }
    assert entries["store/v2/stores/2001.json"] == {
        "path": "store/v2/stores/2001.json",
        "url": f"{base}/store/v2/stores/2001",
        "operation": "stores_by_location",
        "arguments": {"locationNumber": "2001"},
        "mediaType": "application/json",
        "lifetime": 60,
        "size": len(STORES_JSON),
        "sha256": sha256(STORES_JSON).hexdigest(),
    }
    assert entries["v3/promotions;show=promotions,coupons.xml"] == {
        "path": "v3/promotions;show=promotions,coupons.xml",
        "url": f"{base}/v3/promotions?show=promotions,coupons",
        "operation": "promotions_v3",
        "arguments": {"show": "promotions,coupons"},
        "mediaType": "application/xml",
        "lifetime": 60,
        "size": len(COUPONS_XML),
        "sha256": sha256(COUPONS_XML).hexdigest(),
    }


def test_bytes_of_one_operation_are_given_once(example: Content, schemas: Schemas) -> None:
    given = [file.entry["path"] for file in prerendered(example, schemas) if file.body is not None]
    assert [path for path in given if path.endswith(".json")] == [
        "v2/utility/mobileapp/phone.json",
        "store/v1/events;storeId=1.json",
        "v2/store/event;storeId=1.json",
        "store/v2/stores/2001.json",
        "v2/promotions.json",
        "v3/promotions;show=promotions.json",
        "v3/promotions;show=coupons.json",
        "v3/promotions/sorted.json",
        "v3/promotions/sorted;channel=MOBILE.json",
    ]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_the_files_are_the_same_in_however_many_parts(example: Content, schemas: Schemas, size: int) -> None:
    asked = askings(example)
    parts = [asked[start : start + size] for start in range(0, len(asked), size)]
    files = [file for part in parts for file in prerender(part, example, schemas, {}, {})]
    assert (len(files), tree_of(files)) == (len(EXPECTED), EXPECTED)


# -- known files -------------------------------------------------------------------------------------------------


def test_what_is_known_is_not_written_again(example: Content, schemas: Schemas) -> None:
    first = prerendered(example, schemas)
    again = prerendered(example, schemas, as_known(first))
    assert [file.entry for file in again] == [file.entry for file in first]
    assert [file.entry["path"] for file in again if file.body is not None] == []


def test_only_what_differs_from_the_known_is_made_anew(example: Content, schemas: Schemas, tmp_path: Path) -> None:
    renamed = event(20, [1], "2026-12-04 17:30", "2026-12-04 19:00", name="Renamed")
    changed = live(write(tmp_path, {**EXAMPLE, "events/one.yaml": renamed}))
    first = prerendered(example, schemas)
    made = [file for file in prerendered(changed, schemas, as_known(first)) if file.body is not None]
    assert {file.entry["path"]: file.body for file in made} == {
        "store/v1/events;storeId=1.json": EVENTS_V1_JSON.replace(b"Event 20", b"Renamed").replace(
            b'[{"href":"https://www.shop.example/e"}]', b"[]"
        ),
        "store/v1/events;storeId=1.xml": EVENTS_V1_XML.replace(b"Event 20", b"Renamed").replace(
            b"<link><href>https://www.shop.example/e</href></link>", b""
        ),
        "v2/store/event;storeId=1.json": EVENTS_V2_JSON.replace(b"Event 20", b"Renamed"),
        "v2/store/event;storeId=1.xml": EVENTS_V2_XML.replace(b"Event 20", b"Renamed"),
    }


def test_a_known_file_without_its_other_format_is_made_anew(example: Content, schemas: Schemas) -> None:
    known = dict(as_known(prerendered(example, schemas)))
    del known["store/v2/stores.xml"]
    made = {file.entry["path"]: file.body for file in prerendered(example, schemas, known) if file.body is not None}
    assert made == {"store/v2/stores.json": STORES_JSON, "store/v2/stores.xml": STORES_XML}


# -- what holds of every file ------------------------------------------------------------------------------------


def test_every_file_of_the_sample_is_the_answer_to_its_call_and_satisfies_its_schema(schemas: Schemas) -> None:
    content = live(SAMPLE)
    asked = planned_answers(planned_operations(INTERFACE, content))
    calls = [call for asking in asked for format in RESPONSE_FORMATS for call in asking.calls(format)]
    expected = {str(call.filename()): answer(call, content, schemas).body for call in calls}
    assert tree_of(list(prerender(asked, content, schemas, {}, {}))) == expected
    assert [call for call in calls if not schemas.valid(call.operation.schema, value_of(call, content))] == []


def test_an_answer_that_its_schema_refuses_stops_the_build(example: Content, tmp_path: Path) -> None:
    narrow = json.loads((ROOT / "schemas" / "responses/promotions_v2.json").read_text())
    narrow["$defs"]["promotion"]["properties"]["promotionType"] = {"description": "Its kind.", "type": "integer"}
    (tmp_path / "responses").mkdir()
    (tmp_path / "responses/promotions_v2.json").write_text(json.dumps(narrow))
    with pytest.raises(Failure) as raised:
        prerendered(example, Schemas(ROOT / "schemas").under(tmp_path))
    assert str(raised.value) == (
        "v2/promotions: the answer does not satisfy responses/promotions_v2.json: "
        "promotionDetailsResponse/0/promotionType: 'PERCENT_OFF' is not a whole number"
    )


def test_a_view_that_fails_is_a_traceback_with_its_call(example: Content, schemas: Schemas) -> None:
    content = as_content({**as_value(example), "promotions": [{"promoId": 5}]})
    asked = planned_answers(planned_operations(INTERFACE, content))
    promotions = [asking for asking in asked if asking.operation.name == "promotions_v2"]
    with pytest.raises(ViewFailed, match="promotions_v2: its view failed for v2/promotions") as raised:
        list(prerender(promotions, content, schemas, {}, {}))
    assert isinstance(raised.value.__cause__, KeyError)
