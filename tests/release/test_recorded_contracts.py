"""A recorded contract refuses what would break the app, stops nobody else, and holds as time passes."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.content import SAMPLE, Memory
from shopwindow import library
from shopwindow.content.documents.documents import boundaries
from shopwindow.shop import INTERFACE

AT = "2026-11-24 12:00"

READS = (
    "v2/utility/mobileapp",
    "v2/store/event?storeId=101",
    "store/v1/events?storeId=101",
    "v3/promotions",
    "v3/promotions?show=coupons",
    "v3/promotions?promoid=880302",
    "store/v2/stores",
    "v4/catalog/product/530100,530107(productdetails,upcs,reviews)",
    "v3/catalog/product/530100,530107",
    "v4/catalog/search?searchphrase=shoe",
    "v1/banners",
    "v1/banners/101",
)

APP, SHARED, BANNERS, BANNER_SCHEMA = (
    "apps/iphone.yaml",
    "apps/_shared.yaml",
    "banners/always.yaml",
    "schemas/banner.json",
)
PROMOTION, PRODUCTS = "promotions/beauty.yaml", "catalog/products/active.yaml"

Edit = tuple[str, str, str]
"""A file, and what of its text is replaced by what."""

LAST_BOUND = r'"type": "integer",\n(?=      "minimum": 1,\n      "maximum": 100)'


def banners(old: str, new: str) -> list[Edit]:
    return [(f"banners/{name}.yaml", old, new) for name in ("always", "black-friday", "cyber-monday")]


REFUSED: dict[str, tuple[str, list[Edit]]] = {
    "the page to sign in is TBD": (
        "serviceEndPoints.signin of v2/utility/mobileapp",
        [(SHARED, r"signin: .*", "signin: TBD")],
    ),
    "the address for statistics is TBD": (
        "serviceEndPoints.analyticsUrl of v2/utility/mobileapp",
        [(SHARED, r"analyticsUrl: .*", "analyticsUrl: TBD")],
    ),
    "the address of coupons is TBD": (
        "serviceEndPoints.coupons of v2/utility/mobileapp",
        [(SHARED, r"coupons: .*", "coupons: TBD")],
    ),
    "the address of the log is TBD": (
        "serviceEndPoints.mobilelogs of v2/utility/mobileapp",
        [(SHARED, r"mobilelogs: .*", "mobilelogs: TBD")],
    ),
    "the address to scan with is TBD": (
        "serviceEndPoints.scan of v2/utility/mobileapp",
        [(APP, r"scan: \"\{\{ base_url.*", "scan: TBD")],
    ),
    "a message without a network is TBD": (
        "errorMessages.noNetworkError of v2/utility/mobileapp",
        [(SHARED, r"noNetworkError: .*", "noNetworkError: TBD")],
    ),
    "a message of one app is TBD": (
        "errorMessages.configFileError of v2/utility/mobileapp",
        [(APP, r"configFileError: .*", "configFileError: TBD")],
    ),
    "no section is left": ("appLayout of v2/utility/mobileapp", [(APP, r"appLayout: .*", "appLayout: []")]),
    "a section has no feature left": (
        "featureLayout of v2/utility/mobileapp",
        [(SHARED, r"featureLayout: \[search, .*", "featureLayout: []")],
    ),
    "no page asks to sign in": (
        "urlInterception.singleSignIn of v2/utility/mobileapp",
        [(SHARED, r"singleSignIn:\n(?: +- .*\n)+", "singleSignIn: []\n")],
    ),
    "no page signs out": (
        "urlInterception.forcedSignOn of v2/utility/mobileapp",
        [(SHARED, r"forcedSignOn:\n(?: +- .*\n)+", "forcedSignOn: []\n")],
    ),
    "the version is not supported": ("iphone 5.8 is not supported", [(APP, r'\["5.8", ', "[")]),
    "the coupon of a promotion is gone": (
        "promotionDetailsResponse[].coupon",
        [(PROMOTION, r"  coupon:\n(?:    .*\n)+(?=\n- promoId: 880303)", "")],
    ),
    "the price of a product is gone": (
        "'price' is missing",
        [(PRODUCTS, "    regular: 84\n", "    regular: 84\n  active: false\n")],
    ),
    "a range of prices instead of a price": (
        "product[].price.current.value of v3/catalog/product/530100,530107: 'current' is missing",
        [(PRODUCTS, "regular: 84\n", "regular: {low: 84, high: 90}\n")],
    ),
    "a document that is asked for is gone": (
        "v1/banners/101 is refused with 404",
        [(BANNERS, "bannerId: 101", "bannerId: 901")],
    ),
    "a whole number has a fraction": (
        "priority of v1/banners: 20.5 is not a whole number",
        [
            (BANNER_SCHEMA, LAST_BOUND, '"type": "number",\n'),
            (BANNERS, "priority: 20", "priority: 20.5"),
        ],
    ),
    "a number is text": (
        "priority of v1/banners: '20' is not a whole number",
        [
            (BANNER_SCHEMA, LAST_BOUND + r".*\n.*100", '"type": "string"'),
            *banners(r"priority: (\d+)", r'priority: "\1"'),
        ],
    ),
    "a closed list of words has one more": (
        "placement of v1/banners: 'wall' is not one of the allowed values",
        [
            (BANNER_SCHEMA, '"stores", "bag"', '"stores", "bag", "wall"'),
            (BANNERS, "placement: shop", "placement: wall"),
        ],
    ),
    "a text that was always there is left out": (
        "headline of v1/banners: 'headline' is missing",
        [
            (BANNER_SCHEMA, '"headline", "placement", "priority"', '"placement", "priority"'),
            (BANNERS, r"  headline: Gifts.*\n", ""),
        ],
    ),
    "a value has another name": (
        "banners[] has no 'headline'",
        [
            (BANNER_SCHEMA, "headline", "title"),
            *banners("headline:", "title:"),
        ],
    ),
    "a text is an object": (
        "link of v1/banners: an object is not text",
        [
            (BANNER_SCHEMA, r'"format": "uri"\n    \}\n  \}', '"maxLength": 2000\n    }\n  }'),
            (BANNER_SCHEMA, r'"string",\n *"maxLength": 2000', '"object", "additionalProperties": {"type": "string"}'),
            *banners("link: (.*)", r"link: {href: \1}"),
        ],
    ),
}
"""Changes that content may have, and that break the app: what the contract says of each, and the edits."""

UNSEEN: dict[str, list[Edit]] = {
    "a section is gone from the layout": [(APP, "messages, myAccount, billpay", "myAccount, billpay")],
    "a feature is gone": [(SHARED, r"\[bag, checkout, offers\]", "[bag, checkout]")],
    "a type of promotion that the app does not know": [(PROMOTION, "Type: PERCENT_OFF", "Type: RAFFLE")],
    "a promotion is gone": [
        (PROMOTION, r"(?<=expiry: 2026-12-24\n)  promotionS", "  publish: {until: 2026-11-20}\n  promotionS")
    ],
    "the details of an event are hidden": [("events/windows-light-up.yaml", r"ENABLED: \[TRUE\]", "ENABLED: [FALSE]")],
}
"""Changes that a recorded contract cannot see: each is a row in docs/editors/contracts.md."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, with one contract: all that its requests answer."""
    folder = tmp_path_factory.mktemp("recorded") / "content"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("contracts"))
    library.record_contract(library.opened(INTERFACE, folder, jobs=1), "iphone", "5.8", READS, at=AT)
    return folder


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Memory:
    return Memory(tmp_path_factory.mktemp("memory"))


@pytest.fixture
def edited(folder: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """The folder with one change, for one test."""
    texts: dict[Path, str] = {}
    for path, old, new in request.param:
        file = folder / path
        text = file.read_text()
        texts.setdefault(file, text)
        changed = re.sub(old, new, text)
        assert changed != text, (path, old)
        file.write_text(changed)
    yield folder
    for file, text in texts.items():
        file.write_text(text)


def problems(folder: Path, memory: Memory, at: str = AT) -> list[str]:
    checked = library.check(INTERFACE, folder, at=at, jobs=1, memory=memory)
    return [f"{one.path}: {one.rule}: {one.found}" for one in checked.problems]


@pytest.mark.parametrize(("said", "edited"), REFUSED.values(), ids=REFUSED, indirect=["edited"])
def test_a_change_that_breaks_the_app_is_refused(said: str, edited: Path, memory: Memory) -> None:
    found = problems(edited, memory)
    assert said in "\n".join(found)
    assert [one for one in found if ": contract." not in one] == []


@pytest.mark.parametrize("edited", UNSEEN.values(), ids=UNSEEN, indirect=True)
def test_a_change_that_a_recorded_contract_cannot_see_is_described(
    edited: Path, memory: Memory, request: pytest.FixtureRequest
) -> None:
    assert problems(edited, memory) == []
    page = (SAMPLE.parent / "docs/editors/contracts.md").read_text()
    assert f"| {request.node.callspec.id.capitalize()} |" in page


def test_there_are_27_changes_and_22_are_refused() -> None:
    assert (len(REFUSED) + len(UNSEEN), len(REFUSED)) == (27, 22)


HARMLESS: dict[str, list[Edit]] = {
    "a price with cents": [(PRODUCTS, "    regular: 84\n", "    regular: 279.50\n")],
    "another price and a sale": [(PRODUCTS, "    regular: 84\n", "    regular: 84\n    sale: 60\n")],
    "a text that the schema makes optional": [(PROMOTION, r"  legalDisclaimer: One pouch.*\n", "")],
    "a promotion ends": [(PROMOTION, "until: 2026-12-31", "until: 2026-12-30")],
}  # fmt: skip


@pytest.mark.parametrize("edited", HARMLESS.values(), ids=HARMLESS, indirect=True)
def test_a_change_that_breaks_nothing_stops_nobody(edited: Path, memory: Memory) -> None:
    assert problems(edited, memory) == []


def test_what_is_recorded_comes_from_the_schema(folder: Path) -> None:
    text = (folder / "contracts/iphone-5.8.yaml").read_text()
    for line in (
        "{path: appLayout, type: array, minItems: 1}",
        "{path: serviceEndPoints.signin, type: string, not: {const: TBD}}",
        "{path: loggingInfo.localEnabled, type: string, enum: [TRUE, FALSE]}",
        '{path: "promotionDetailsResponse[].coupon", type: object, required: false}',
        '{path: "promotionDetailsResponse[].coupon.couponNumber", type: string}',
        '{path: "product[].productDetails.price.retail.pricevalue.low", type: number}',
        '{path: "product[].price.regular.value", type: number, required: false}',
    ):
        assert f"      - {line}\n" in text
    assert "{path: storeEvents," not in text


def test_no_check_of_the_same_content_fails_because_time_passed(folder: Path, memory: Memory) -> None:
    opened = library.opened(INTERFACE, folder, jobs=1)
    later = boundaries(opened.documents, opened.interface.kinds)
    instants = [AT, *(each.isoformat() for each in later[:: len(later) // 8]), "2030-01-01"]
    assert {at: found for at in instants if (found := problems(folder, memory, at))} == {}


def test_the_sample_can_be_published_at_every_later_instant(tmp_path: Path) -> None:
    opened = library.opened(INTERFACE, SAMPLE, jobs=1)
    later = [each.isoformat() for each in boundaries(opened.documents, opened.interface.kinds)]
    memory = Memory(tmp_path)
    instants = [*later[::5], "2027-01-16", "2030-01-01"]
    assert {at: found for at in instants if (found := problems(SAMPLE, memory, at))} == {}
