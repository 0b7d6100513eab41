"""The defaults that schemas state are those of the program: written out, they change no answer."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from facts.reference_pages import SCHEMAS, Schema, load, resolved
from harness.catalogs import SETTINGS, files
from harness.content import promotion, small, store, write
from harness.program import built, tree
from shopwindow.catalog.feeds.rows import LIMITED_QUANTITY
from shopwindow.interface.declaring.operation import Allowance, Rate
from shopwindow.retail.articles import MAX_QUANTITY
from shopwindow.retail.bags.operations import MAX_ITEMS
from shopwindow.retail.sharing.operations import MAIL_LIMITS, MAX_RECIPIENTS
from shopwindow.shop import INTERFACE

Json = Any
SITE_PARTS = sorted((SCHEMAS / "site").glob("*.json"))


def filled(value: Json, schema: Schema, path: Path) -> int:
    """Write out every default that a document leaves out; return how many these were."""
    schema, path = resolved(schema, path)
    count = 0
    for part in (schema, *schema.get("allOf", ()), *schema.get("anyOf", ())):
        part, at = resolved(part, path)
        if isinstance(value, list) and isinstance(part.get("items"), dict):
            count += sum(filled(item, part["items"], at) for item in value)
        for name, inner in part.get("properties", {}).items() if isinstance(value, dict) else ():
            if name in value:
                count += filled(value[name], inner, at)
            elif "default" in inner:
                value[name] = copy.deepcopy(inner["default"])
                count += 1
    return count


def shop() -> dict[str, Json]:
    """A content folder with a catalog of which every answer is a file."""
    documents = {**small(), **dict(files())}
    documents |= {"stores/three.yaml": store(3), "promotions/eleven.yaml": promotion(11)}  # which the catalog names
    documents["site.yaml"] |= {"catalog": {**SETTINGS, "prerender": "all"}, "mobile_log": {}, "bags": {}, "share": {}}
    return documents


def test_written_out_every_default_gives_the_same_files(tmp_path: Path) -> None:
    plain = copy.deepcopy(shop())
    full = copy.deepcopy(shop())
    counts: dict[str, int] = {}
    for place, file in (
        *(("site.yaml", part) for part in (SCHEMAS / "site.json", *SITE_PARTS)),
        *((name, SCHEMAS / "promotion.json") for name in full if name.startswith("promotions/")),
        ("catalog/categories.yaml", SCHEMAS / "catalog/category.json"),
        ("catalog/products.yaml", SCHEMAS / "catalog/product.json"),
    ):
        value, schema = full[place], load(file)
        documents = value if isinstance(value, list) else [value]
        counts[place] = counts.get(place, 0) + sum(filled(each, schema, file) for each in documents)
    assert min(counts.values()) > 0
    assert counts["catalog/products.yaml"] > 40

    for name, folder in (("plain", plain), ("full", full)):
        built(write(tmp_path / name / "content", folder), tmp_path / name / "dist")
    trees = [tree(tmp_path / name / "dist/current/files") for name in ("plain", "full")]
    assert trees[0] == trees[1]


def defaults(schema: Schema, path: Path, prefix: str = "") -> Iterator[tuple[str, Json]]:
    for name, inner in resolved(schema, path)[0].get("properties", {}).items():
        if "default" in inner:
            yield f"{prefix}{name}", inner["default"]
        yield from defaults(inner, path, f"{prefix}{name}/")


def rates(**by: Rate) -> Json:
    return {name: {"most": rate.most, "minutes": rate.minutes} for name, rate in by.items()}


def test_the_defaults_of_what_no_file_shows_are_the_programs_own() -> None:
    stated = {name: value for part in SITE_PARTS for name, value in defaults(load(part), part)}
    allowances = {
        operation.allowance.setting: operation.allowance
        for operation in INTERFACE.operations
        if isinstance(operation.allowance, Allowance)
    }
    assert stated == {
        "bags/max_quantity": MAX_QUANTITY,
        "bags/max_items": MAX_ITEMS,
        "catalog/limited_quantity": LIMITED_QUANTITY,
        "mobile_log/flush": "disk",
        "mobile_log/clientTimestamps": False,
        "share/maxRecipients": MAX_RECIPIENTS,
        "share/limits": {kind: limit._asdict() for kind, limit in MAIL_LIMITS.items()},
        **{
            f"limits/{name}": rates(address=allowance.address, application=allowance.application)
            for name, allowance in allowances.items()
        },
    }
