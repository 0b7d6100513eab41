"""`uses`: every place that names a document, a name of site.yaml or an attribute."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from harness.program import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
STORES = ("storeId", "storeNumber", "locationNumber")


def uses(content: Path, what: str, name: str) -> list[str]:
    ran = shopwindow("uses", what, name, "--content", content)
    assert (ran.status, ran.err) == (0, ""), ran
    return ran.out.replace(str(content), "content").splitlines()


def test_a_store_is_named_by_each_of_its_numbers_and_by_feeds() -> None:
    """Counted here by the text of the files: 403, 4316 and 40131 are one store."""
    feeds = {
        "catalog/inventory/apparel.jsonl": (SAMPLE / "catalog/inventory/apparel.jsonl").read_text(),
        "catalog/inventory/home.jsonl.gz": gzip.decompress(
            (SAMPLE / "catalog/inventory/home.jsonl.gz").read_bytes()
        ).decode(),
    }
    counts = {path: sum('"40131":' in line for line in text.splitlines()) for path, text in feeds.items()}
    lines = uses(SAMPLE, "store", "403")
    assert lines[0] == f"store 403: 11 documents and {sum(counts.values())} lines of 2 feeds"
    assert lines[1] == "event"
    assert lines[-3:] == ["inventory", *(f"  content/{path}: {count} lines" for path, count in counts.items())]
    for number in ("4316", "40131"):
        same = uses(SAMPLE, "store", number)
        assert same[1:] == lines[1:], number


def test_each_place_is_where_the_number_stands() -> None:
    ran = shopwindow("uses", "store", "403", "--content", SAMPLE, "--format", "json")
    places = json.loads(ran.out)["places"]
    for place in places:
        text = (SAMPLE / place["path"]).read_text().splitlines()[place["line"] - 1]
        name = place["pointer"].split("/")[1]
        assert (place["kind"], name in STORES) == ("event", True)
        assert any(number in text for number in ("403", "4316", "40131")), (place, text)


def test_products_promotions_and_categories_are_named_by_the_catalog() -> None:
    recommended = uses(SAMPLE, "product", "520100")
    assert recommended[0] == "product 520100: 1 document and 3 lines of 1 feed"
    assert any("catalog/recommendations.yaml" in line for line in recommended)


def test_a_name_of_site_yaml_is_used_by_expressions(tmp_path: Path) -> None:
    content = tmp_path / "content"
    shutil.copytree(SAMPLE, content, ignore=shutil.ignore_patterns("catalog", "promotions"))
    banners = content / "banners/always.yaml"
    banners.write_text(banners.read_text().replace("New arrivals", "\"{{ brand | upper }} and {{ 'card' }}\""))
    lines = uses(content, "setting", "brand")
    number = 1 + next(n for n, line in enumerate(banners.read_text().splitlines()) if "brand" in line)
    assert [line.split("  (")[0] for line in lines if "always" in line] == [
        f"  content/banners/always.yaml:{number}: headline"
    ]
    assert not any("always" in line for line in uses(content, "setting", "card"))


def test_an_attribute_is_listed_where_documents_have_it() -> None:
    lines = uses(SAMPLE, "attribute", "SL_RESTAURANT")
    written = sum(
        line.strip().startswith("SL_RESTAURANT:")
        for path in (SAMPLE / "stores").iterdir()
        for line in path.read_text().splitlines()
    )
    assert (lines[0], lines[1]) == (f"attribute SL_RESTAURANT: {written} documents", "store")
    assert len(lines) == written + 2


def test_what_nothing_names_is_said_in_a_sentence() -> None:
    assert uses(SAMPLE, "event", "510101") == ["nothing names event 510101"]


def test_a_contract_names_its_app() -> None:
    counted, kind, use = uses(SAMPLE, "app", "iphone")
    assert (counted, kind.strip()) == ("app iphone: 1 document", "contract")
    assert use.strip().endswith("content/contracts/iphone-5.8.yaml:2: app  (iphone 5.8)")


@pytest.mark.parametrize(
    ("what", "name", "words"),
    [
        ("stor", "403", "did you mean store?"),
        ("store", "406", "no store has the locationNumber, storeNumber or storeId 406; did you mean 405?"),
        ("setting", "brnd", "site.yaml has no name 'brnd'; the names are base_url, order_base_url, time_zone, brand, "),
        ("attribute", "SL_BRIDALS", "no document has the attribute 'SL_BRIDALS'; did you mean SL_BRIDAL?"),
    ],
)
def test_what_does_not_exist_is_one_sentence(what: str, name: str, words: str) -> None:
    ran = shopwindow("uses", what, name, "--content", SAMPLE)
    assert (ran.status, words in ran.err, ran.out) == (2, True, ""), ran.err
