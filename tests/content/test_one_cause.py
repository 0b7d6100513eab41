"""Facts about single mistakes: each is one problem, at the place where it is mended."""

import shutil
from pathlib import Path

import pytest

from harness.content import ROOT, Memory
from harness.program import aged
from shopwindow import library
from shopwindow.shop import INTERFACE

SAMPLE = ROOT / "content"
MINIMAL = ROOT / "src/shopwindow/starter/minimal"

Edit = tuple[str, str | None, str | None]
"""A file, what is replaced in it (None: all of it), and what stands there instead (None: the file is deleted;
"= …": a copy of that file)."""

MISTAKES: list[tuple[str, Path, tuple[Edit, ...], str, str]] = [
    (
        "misspelt key",
        MINIMAL,
        (("events/1-open-house.yaml", "name: Open", "nmae: Open"),),
        "schema.additionalProperties",
        "events/1-open-house.yaml:5",
    ),
    (
        "misspelt nested",
        MINIMAL,
        (("stores/main-street.yaml", "  city:", "  citty:"),),
        "schema.additionalProperties",
        "stores/main-street.yaml:11",
    ),
    (
        "renamed key far",
        MINIMAL,
        (("events/1-open-house.yaml", "name: Open", "headline: Open"),),
        "schema.additionalProperties",
        "events/1-open-house.yaml:5",
    ),
    (
        "misspelt optional",
        MINIMAL,
        (("events/1-open-house.yaml", "links:", "lnks:"),),
        "schema.additionalProperties",
        "events/1-open-house.yaml:9",
    ),
    (
        "misspelt key base",
        MINIMAL,
        (("apps/_shared.yaml", "  appLayout:", "  appLayuot:"),),
        "schema.additionalProperties",
        "apps/_shared.yaml:4",
    ),
    (
        "misspelt key in base deep",
        MINIMAL,
        (("apps/_shared.yaml", "      pageTitle: Search", "      pagetitle: Search"),),
        "schema.additionalProperties",
        "apps/_shared.yaml:101",
    ),
    (
        "misspelt identity",
        MINIMAL,
        (("stores/main-street.yaml", "storeId: 1", "storeID: 1"),),
        "schema.additionalProperties",
        "stores/main-street.yaml:2",
    ),
    (
        "misspelt identity2",
        MINIMAL,
        (("stores/main-street.yaml", "locationNumber: ", "location_number: "),),
        "schema.additionalProperties",
        "stores/main-street.yaml:4",
    ),
    (
        "misspelt object key",
        MINIMAL,
        (("stores/main-street.yaml", "location:", "locaton:"),),
        "schema.additionalProperties",
        "stores/main-street.yaml:15",
    ),
    (
        "misspelt stores",
        MINIMAL,
        (("events/1-open-house.yaml", "stores:", "store:"),),
        "schema.additionalProperties",
        "events/1-open-house.yaml:3",
    ),
    (
        "misspelt storeId inside",
        MINIMAL,
        (("events/1-open-house.yaml", "  storeId: [1]", "  storeid: [1]"),),
        "schema.additionalProperties",
        "events/1-open-house.yaml:4",
    ),
    (
        "key in capital",
        MINIMAL,
        (("promotions/1-welcome.yaml", "promotionName:", "PromotionName:"),),
        "schema.additionalProperties",
        "promotions/1-welcome.yaml:3",
    ),
    (
        "missing key",
        MINIMAL,
        (("promotions/1-welcome.yaml", "promotionName: Welcome to {{ brand }}\n", ""),),
        "schema.required",
        "promotions/1-welcome.yaml:2",
    ),
    (
        "duplicate key",
        MINIMAL,
        (("promotions/1-welcome.yaml", "global: true", "global: true\nglobal: false"),),
        "yaml.duplicate",
        "promotions/1-welcome.yaml:6",
    ),
    (
        "start twice",
        MINIMAL,
        (("events/1-open-house.yaml", "finish: 2027-05-01 18:00", "start: 2027-05-01 18:00"),),
        "yaml.duplicate",
        "events/1-open-house.yaml:8",
    ),
    (
        "map to text",
        MINIMAL,
        (("stores/main-street.yaml", "  latitude: 40.7544\n  longitude: -73.9917", "  latitude 40.7544"),),
        "schema.type",
        "stores/main-street.yaml:16",
    ),
    (
        "map to text 2",
        MINIMAL,
        (("stores/main-street.yaml", "  latitude: 40.7544\n  longitude: -73.9917", "  40.7544 -73.9917"),),
        "schema.type",
        "stores/main-street.yaml:16",
    ),
    (
        "no indentation under key",
        MINIMAL,
        (
            (
                "stores/main-street.yaml",
                "  latitude: 40.7544\n  longitude: -73.9917",
                "latitude: 40.7544\nlongitude: -73.9917",
            ),
        ),
        "schema.type",
        "stores/main-street.yaml:15",
    ),
    (
        "one key outdented",
        MINIMAL,
        (("stores/main-street.yaml", "  longitude: -73.9917", "longitude: -73.9917"),),
        "schema.additionalProperties",
        "stores/main-street.yaml:17",
    ),
    (
        "one key too far",
        MINIMAL,
        (("stores/main-street.yaml", "  longitude: -73.9917", "    longitude: -73.9917"),),
        "yaml.syntax",
        "stores/main-street.yaml:17",
    ),
    (
        "following key indented",
        MINIMAL,
        (("stores/main-street.yaml", "timeZone:", "  timeZone:"),),
        "schema.additionalProperties",
        "stores/main-street.yaml:18",
    ),
    (
        "address outdented",
        MINIMAL,
        (
            (
                "stores/main-street.yaml",
                '  line1: 1 Main Street\n  city: New York\n  state: NY\n  countryCode: US\n  zipCode: "10018"\n',
                'line1: 1 Main Street\ncity: New York\nstate: NY\ncountryCode: US\nzipCode: "10018"\n',
            ),
        ),
        "schema.type",
        "stores/main-street.yaml:9",
    ),
    (
        "stores key outdented",
        MINIMAL,
        (("events/1-open-house.yaml", "  storeId: [1]", "storeId: [1]"),),
        "schema.pattern",
        "events/1-open-house.yaml:3",
    ),
    (
        "publish outdented",
        MINIMAL,
        (("events/1-open-house.yaml", "  until:", "until:"),),
        "schema.type",
        "events/1-open-house.yaml:15",
    ),
    (
        "hours outdented",
        MINIMAL,
        (("stores/main-street.yaml", "  monday:", "monday:"),),
        "yaml.syntax",
        "stores/main-street.yaml:23",
    ),
    ("tab", MINIMAL, (("stores/main-street.yaml", "  city:", "\tcity:"),), "yaml.syntax", "stores/main-street.yaml:11"),
    (
        "text at top",
        MINIMAL,
        (("events/1-open-house.yaml", None, "Open House\n"),),
        "schema.type",
        "events/1-open-house.yaml:1",
    ),
    (
        "number at top",
        MINIMAL,
        (("events/1-open-house.yaml", None, "12\n"),),
        "schema.type",
        "events/1-open-house.yaml:1",
    ),
    (
        "list of text",
        MINIMAL,
        (("events/1-open-house.yaml", None, "- a\n"),),
        "schema.type",
        "events/1-open-house.yaml:1",
    ),
    ("null top", MINIMAL, (("events/1-open-house.yaml", None, "null\n"),), "schema.type", "events/1-open-house.yaml:1"),
    ("empty file", MINIMAL, (("events/1-open-house.yaml", None, ""),), "yaml.empty", "events/1-open-house.yaml:1"),
    (
        "list of list",
        MINIMAL,
        (("events/1-open-house.yaml", None, "- - id: 1\n"),),
        "schema.type",
        "events/1-open-house.yaml:1",
    ),
    (
        "store text at top",
        MINIMAL,
        (("stores/main-street.yaml", None, "Main Street\n"),),
        "schema.type",
        "stores/main-street.yaml:1",
    ),
    (
        "app is a list",
        MINIMAL,
        (("apps/iphone.yaml", "name: iphone", "- name: iphone"),),
        "yaml.syntax",
        "apps/iphone.yaml:3",
    ),
    (
        "list for object",
        MINIMAL,
        (("events/1-open-house.yaml", "stores:\n  storeId: [1]", "stores: [1]"),),
        "schema.type",
        "events/1-open-house.yaml:3",
    ),
    (
        "number for object",
        MINIMAL,
        (("events/1-open-house.yaml", "stores:\n  storeId: [1]", "stores: 1"),),
        "schema.type",
        "events/1-open-house.yaml:3",
    ),
    (
        "scalar for list",
        MINIMAL,
        (("events/1-open-house.yaml", "  storeId: [1]", "  storeId: 1"),),
        "schema.type",
        "events/1-open-house.yaml:4",
    ),
    (
        "object for list",
        MINIMAL,
        (("events/1-open-house.yaml", "links:\n  - {", "links: {"),),
        "schema.type",
        "events/1-open-house.yaml:9",
    ),
    (
        "text for number",
        MINIMAL,
        (("stores/main-street.yaml", "storeId: 1", "storeId: one"),),
        "schema.type",
        "stores/main-street.yaml:2",
    ),
    (
        "null store id",
        MINIMAL,
        (("stores/main-street.yaml", "storeId: 1", "storeId:"),),
        "schema.type",
        "stores/main-street.yaml:2",
    ),
    (
        "date wrong",
        MINIMAL,
        (("events/1-open-house.yaml", "start: 2027-05-01 10:00", "start: 2027-02-30 10:00"),),
        "time.exists",
        "events/1-open-house.yaml:7",
    ),
    (
        "start form",
        MINIMAL,
        (("events/1-open-house.yaml", "start: 2027-05-01 10:00", "start: May 1"),),
        "schema.pattern",
        "events/1-open-house.yaml:7",
    ),
    (
        "start after finish",
        MINIMAL,
        (("events/1-open-house.yaml", "start: 2027-05-01 10:00", "start: 2027-05-02 10:00"),),
        "time.order",
        "events/1-open-house.yaml:8",
    ),
    (
        "hours reversed",
        MINIMAL,
        (("stores/main-street.yaml", "monday: {open: 10:00, close: 20:00}", "monday: {open: 20:00, close: 10:00}"),),
        "time.order",
        "stores/main-street.yaml:22",
    ),
    (
        "zone",
        MINIMAL,
        (("stores/main-street.yaml", "timeZone: America/New_York", "timeZone: America/NewYork"),),
        "time.zone",
        "stores/main-street.yaml:18",
    ),
    (
        "publish bad",
        MINIMAL,
        (("events/1-open-house.yaml", "  until: 2027-05-01", "  until: soon"),),
        "schema.pattern",
        "events/1-open-house.yaml:16",
    ),
    (
        "publish string",
        MINIMAL,
        (("events/1-open-house.yaml", "publish:\n  until: 2027-05-01", "publish: 2027-05-01"),),
        "schema.type",
        "events/1-open-house.yaml:15",
    ),
    (
        "neg",
        MINIMAL,
        (("stores/main-street.yaml", "latitude: 40.7544", "latitude: 400"),),
        "schema.maximum",
        "stores/main-street.yaml:16",
    ),
    (
        "renamed store id",
        MINIMAL,
        (("stores/main-street.yaml", "storeId: 1", "storeId: 2"),),
        "reference",
        "events/1-open-house.yaml:4",
    ),
    ("deleted store", MINIMAL, (("stores/main-street.yaml", None, None),), "reference", "events/1-open-house.yaml:4"),
    (
        "renamed store id sample",
        SAMPLE,
        (("stores/foundry-square.yaml", "storeId: 101", "storeId: 999"),),
        "reference",
        "events/2026-11-november.yaml:58",
    ),
    (
        "locationNumber",
        SAMPLE,
        (("stores/foundry-square.yaml", "locationNumber: 10118", "locationNumber: 10119"),),
        "reference",
        "events/2026-11-november.yaml:37",
    ),
    ("broken store file", SAMPLE, (("stores/west.yaml", "name:", "name"),), "yaml.syntax", "stores/west.yaml:7"),
    (
        "store outdated id type",
        SAMPLE,
        (("stores/west.yaml", "storeId: ", "storeId: x"),),
        "schema.type",
        "stores/west.yaml:3",
    ),
    (
        "category id changed",
        SAMPLE,
        (("catalog/categories.yaml", "id: 111\n", "id: 9111\n"),),
        "reference",
        "catalog/products/women.yaml:10",
    ),
    (
        "promo id changed",
        SAMPLE,
        (("promotions/beauty.yaml", "promoId: 880301", "promoId: 880399"),),
        "reference",
        "catalog/products/beauty.yaml:130",
    ),
    (
        "product id changed",
        SAMPLE,
        (("catalog/products/kids.yaml", "- id: 522100", "- id: 9522100"),),
        "reference",
        "catalog/recommendations.yaml:31",
    ),
    (
        "product upc misspelt",
        SAMPLE,
        (("catalog/products/kids.yaml", "  upcs:", "  ups:"),),
        "schema.additionalProperties",
        "catalog/products/kids.yaml:22",
    ),
    (
        "product broken file",
        SAMPLE,
        (("catalog/products/kids.yaml", "  price:\n", "  price\n"),),
        "yaml.syntax",
        "catalog/products/kids.yaml:20",
    ),
    (
        "brands file broken",
        SAMPLE,
        (("catalog/brands.yaml", "- name:", "- nam"),),
        "yaml.syntax",
        "catalog/brands.yaml:3",
    ),
    (
        "categories broken",
        SAMPLE,
        (("catalog/categories.yaml", "  name: Women\n", '  name: "Women\n'),),
        "yaml.quote",
        "catalog/categories.yaml:5",
    ),
    (
        "category list to map",
        SAMPLE,
        (("catalog/categories.yaml", "  categories:\n    - id: 110", "  categories:\n      id: 110"),),
        "yaml.syntax",
        "catalog/categories.yaml:33",
    ),
    ("broken base", MINIMAL, (("apps/_shared.yaml", "config:", "config"),), "yaml.syntax", "apps/_shared.yaml:4"),
    (
        "broken base quote",
        MINIMAL,
        (
            (
                "apps/_shared.yaml",
                'appIcon: "{{ images }}/app/sections/shop.png"',
                'appIcon: "{{ images }}/app/sections/shop.png',
            ),
        ),
        "yaml.quote",
        "apps/_shared.yaml:10",
    ),
    (
        "base feature removed",
        SAMPLE,
        (("apps/_shared.yaml", "    shop:\n      appDisplayName: Shop\n", "    shopp:\n      appDisplayName: Shop\n"),),
        "schema.additionalProperties",
        "apps/_shared.yaml:8",
    ),
    (
        "base renamed",
        SAMPLE,
        (
            ("apps/iphone.yaml", "extends: _shared.yaml", "extends: _share.yaml"),
            ("apps/android.yaml", "extends: _shared.yaml", "extends: _share.yaml"),
        ),
        "extends.missing",
        "apps/android.yaml:3",
    ),
    (
        "one extends misspelt",
        MINIMAL,
        (("apps/iphone.yaml", "extends: _shared.yaml", "extends: _share.yaml"),),
        "extends.missing",
        "apps/iphone.yaml:6",
    ),
    (
        "extends key misspelt",
        MINIMAL,
        (("apps/iphone.yaml", "extends: _shared.yaml", "extend: _shared.yaml"),),
        "schema.additionalProperties",
        "apps/iphone.yaml:6",
    ),
    (
        "extends removed",
        MINIMAL,
        (("apps/iphone.yaml", "extends: _shared.yaml\n", ""),),
        "extends.forgotten",
        "apps/iphone.yaml:2",
    ),
    (
        "base config misspelt",
        MINIMAL,
        (("apps/_shared.yaml", "config:", "confg:"),),
        "schema.additionalProperties",
        "apps/_shared.yaml:2",
    ),
    (
        "base type wrong",
        SAMPLE,
        (("apps/_shared.yaml", "appLayout: [shop", "appLayout: shop #"),),
        "schema.type",
        "apps/_shared.yaml:4",
    ),
    (
        "base config misspelt sample",
        SAMPLE,
        (("apps/_shared.yaml", "config:\n", "confg:\n"),),
        "schema.additionalProperties",
        "apps/_shared.yaml:3",
    ),
    (
        "base key missing sample",
        SAMPLE,
        (("apps/_shared.yaml", "  appLayout: ", "  appLayot: "),),
        "schema.additionalProperties",
        "apps/_shared.yaml:4",
    ),
    ("base is list", SAMPLE, (("apps/_shared.yaml", None, "- a: 1\n"),), "extends.base", "apps/_shared.yaml:1"),
    ("base deleted", SAMPLE, (("apps/_shared.yaml", None, None),), "extends.missing", "apps/android.yaml:3"),
    (
        "section missing",
        MINIMAL,
        (("apps/_shared.yaml", "[shop, offers, stores, bag, settings]", "[shop, offer, stores, bag, settings]"),),
        "app.layout",
        "apps/_shared.yaml:4",
    ),
    ("site broken", MINIMAL, (("site.yaml", "base_url:", "base_url"),), "yaml.syntax", "site.yaml:7"),
    ("site broken s", SAMPLE, (("site.yaml", "names:", "names"),), "yaml.syntax", "site.yaml:77"),
    ("site deleted", SAMPLE, (("site.yaml", None, None),), "tree.site", "site.yaml"),
    (
        "site name misspelt",
        SAMPLE,
        (("site.yaml", "  brand: Lark", "  brnd: Lark"),),
        "expression",
        "apps/_shared.yaml:52",
    ),
    (
        "site names misspelt",
        SAMPLE,
        (("site.yaml", "names:\n", "nmes:\n"),),
        "schema.additionalProperties",
        "site.yaml:77",
    ),
    (
        "site zone",
        SAMPLE,
        (("site.yaml", "time_zone: America/New_York", "time_zone: America/NewYork"),),
        "time.zone",
        "site.yaml:11",
    ),
    (
        "site zone letters",
        SAMPLE,
        (("site.yaml", "time_zone: America/New_York", "time_zone: EST"),),
        "time.zone",
        "site.yaml:11",
    ),
    (
        "site quote",
        SAMPLE,
        (("site.yaml", "  brand: Larkspur & Vane", '  brand: "Larkspur & Vane'),),
        "yaml.quote",
        "site.yaml:78",
    ),
    (
        "site catalog misspelt",
        SAMPLE,
        (("site.yaml", "catalog:", "catalogue:"),),
        "schema.additionalProperties",
        "site.yaml:49",
    ),
    (
        "site name www removed",
        SAMPLE,
        (("site.yaml", "  www: https://www.larkspurvane.example\n", ""),),
        "expression",
        "apps/_shared.yaml:55",
    ),
    ("site base_url", SAMPLE, (("site.yaml", "base_url: https", "base_url: htps"),), "schema.pattern", "site.yaml:4"),
    ("site list", SAMPLE, (("site.yaml", None, "- a\n"),), "schema.type", "site.yaml:1"),
    (
        "site tz misspelt",
        MINIMAL,
        (("site.yaml", "time_zone:", "timezone:"),),
        "schema.additionalProperties",
        "site.yaml:10",
    ),
    (
        "collections schema misspelt",
        SAMPLE,
        (("collections.yaml", "schema: banner.json", "schema: banners.json"),),
        "collection.schema",
        "collections.yaml:5",
    ),
    (
        "collections id misspelt",
        SAMPLE,
        (("collections.yaml", "  id: bannerId", "  id: bannerID"),),
        "collection.property",
        "collections.yaml:6",
    ),
    ("collections broken", SAMPLE, (("collections.yaml", "banner:", "banner"),), "yaml.syntax", "collections.yaml:3"),
    ("collections deleted", SAMPLE, (("collections.yaml", None, None),), "tree.unclaimed", "banners"),
    ("schema deleted", SAMPLE, (("schemas/banner.json", None, None),), "collection.schema", "collections.yaml:5"),
    ("schema broken", SAMPLE, (("schemas/banner.json", "{", ""),), "schema.file", "schemas/banner.json:2"),
    (
        "collections folder",
        SAMPLE,
        (("collections.yaml", "folder: banners", "folder: banner"),),
        "tree.unclaimed",
        "banners",
    ),
    (
        "key misspelt in collections",
        SAMPLE,
        (("collections.yaml", "folder: banners", "foldr: banners"),),
        "schema.additionalProperties",
        "collections.yaml:4",
    ),
    (
        "duplicate doc",
        MINIMAL,
        (
            (
                "events/2.yaml",
                None,
                "= events/1-open-house.yaml",
            ),
        ),
        "unique",
        "events/2.yaml:2",
    ),
    (
        "duplicate store doc",
        MINIMAL,
        (
            (
                "stores/2.yaml",
                None,
                "= stores/main-street.yaml",
            ),
        ),
        "unique",
        "stores/main-street.yaml:2",
    ),
    (
        "duplicate promo doc",
        MINIMAL,
        (
            (
                "promotions/2.yaml",
                None,
                "= promotions/1-welcome.yaml",
            ),
        ),
        "unique",
        "promotions/2.yaml:2",
    ),
    (
        "dup app",
        MINIMAL,
        (
            (
                "apps/copy.yaml",
                None,
                "= apps/iphone.yaml",
            ),
        ),
        "unique",
        "apps/iphone.yaml:2",
    ),
    ("unknown folder", MINIMAL, (("evnts/a.yaml", None, "id: 1\n"),), "tree.unclaimed", "evnts"),
    (
        "wrong folder doc",
        MINIMAL,
        (
            (
                "promotions/x.yaml",
                None,
                "= events/1-open-house.yaml",
            ),
        ),
        "tree.kind",
        "promotions/x.yaml:2",
    ),
    (
        "conflict",
        MINIMAL,
        (
            (
                "events/1-open-house.yaml",
                "name: Open House",
                "<<<<<<< HEAD\nname: Open House\n=======\nname: Open\n>>>>>>> x",
            ),
        ),
        "yaml.syntax",
        "events/1-open-house.yaml:5",
    ),
    (
        "expr",
        MINIMAL,
        (("promotions/1-welcome.yaml", "{{ brand }}", "{{ brnd }}"),),
        "expression",
        "promotions/1-welcome.yaml:3",
    ),
    (
        "expr brace",
        MINIMAL,
        (("promotions/1-welcome.yaml", "{{ brand }}", "{{ brand }"),),
        "expression",
        "promotions/1-welcome.yaml:3",
    ),
    (
        "price text",
        SAMPLE,
        (("catalog/products/kids.yaml", "    regular: 58", '    regular: "58"'),),
        "schema.type",
        "catalog/products/kids.yaml:21",
    ),
    (
        "price range",
        SAMPLE,
        (("catalog/products/kids.yaml", "    regular: 58", "    regular: {low: 58}"),),
        "schema.required",
        "catalog/products/kids.yaml:21",
    ),
    (
        "price list",
        SAMPLE,
        (("catalog/products/kids.yaml", "    regular: 58", "    regular: [58]"),),
        "schema.type",
        "catalog/products/kids.yaml:21",
    ),
    (
        "upc numbers",
        SAMPLE,
        (("catalog/products/kids.yaml", 'upc: "475062002321"', "upc: 475062002321"),),
        "schema.type",
        "catalog/products/kids.yaml:23",
    ),
    (
        "color id changed",
        SAMPLE,
        (("catalog/products/kids.yaml", "{id: 1, name: Duckling", "{id: 3, name: Duckling"),),
        "product.color",
        "catalog/products/kids.yaml:23",
    ),
    (
        "colors misspelt",
        SAMPLE,
        (("catalog/products/kids.yaml", "  colors:", "  colours:"),),
        "schema.additionalProperties",
        "catalog/products/kids.yaml:10",
    ),
    (
        "jsonl quote",
        SAMPLE,
        (("catalog/reviews.jsonl", '"id":"LV88000"', '"id":"LV88000'),),
        "feed.syntax",
        "catalog/reviews.jsonl:1",
    ),
    (
        "coupon misspelt",
        SAMPLE,
        (("promotions/beauty.yaml", "    couponUrl:", "    couponURL:"),),
        "schema.additionalProperties",
        "promotions/beauty.yaml:17",
    ),
    (
        "coupon indentation",
        SAMPLE,
        (("promotions/beauty.yaml", "  coupon:\n    couponUrl", "  coupon:\n  couponUrl"),),
        "yaml.syntax",
        "promotions/beauty.yaml:18",
    ),
    (
        "promo list dash lost",
        SAMPLE,
        (("promotions/beauty.yaml", "- promoId: 880302", "  promoId: 880302"),),
        "yaml.duplicate",
        "promotions/beauty.yaml:32",
    ),
    (
        "event list dash lost",
        SAMPLE,
        (("events/2026-11-november.yaml", "- id: 510103", "  id: 510103"),),
        "yaml.duplicate",
        "events/2026-11-november.yaml:19",
    ),
]


def plant(content: Path, edits: tuple[Edit, ...]) -> None:
    for path, old, new in edits:
        file = content / path
        if new is None:
            file.unlink()
            continue
        text = (content / new[2:]).read_text(encoding="utf-8") if new.startswith("= ") else new
        if old is not None:
            text = file.read_text(encoding="utf-8")
            assert old in text
            text = text.replace(old, new, 1)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")


def mend(folder: Path, content: Path, edits: tuple[Edit, ...]) -> None:
    """Make a folder what it was before the edits: a copy of the content."""
    for path, _, _ in edits:
        if (content / path).exists():
            shutil.copy2(content / path, folder / path)
            continue
        (folder / path).unlink()
        if not (content / path).parent.exists():
            (folder / path).parent.rmdir()


SENTENCES = dict(
    line.split(": ", 1) for line in (Path(__file__).parent / "mistakes.txt").read_text(encoding="utf-8").splitlines()
)
"""What an editor reads of each mistake, by its name."""


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, tuple[Path, Memory]]:
    """A copy of each content, and a memory of its files: only what a mistake has edited is read again."""
    copies = {}
    for content in (SAMPLE, MINIMAL):
        folder = tmp_path_factory.mktemp("mistakes")
        copies[content] = shutil.copytree(content, folder / "content"), Memory(folder / "memory")
        aged(folder / "content")
    return copies


@pytest.mark.parametrize(
    ("name", "content", "edits", "rule", "where"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES]
)
def test_one_mistake_is_one_problem_in_one_sentence(
    memories: dict[Path, tuple[Path, Memory]],
    name: str,
    content: Path,
    edits: tuple[Edit, ...],
    rule: str,
    where: str,
) -> None:
    folder, memory = memories[content]
    plant(folder, edits)
    try:
        (problem,) = library.check(INTERFACE, folder, jobs=1, memory=memory).problems
    finally:
        mend(folder, content, edits)
    place = f"{problem.path}:{problem.place.line}" if problem.place else problem.path
    assert (problem.rule, place) == (rule, where)
    near = f"; did you mean {problem.nearest}?" if problem.nearest else ""
    assert f"{problem.found}; allowed: {problem.allowed}{near}" == SENTENCES[name]
