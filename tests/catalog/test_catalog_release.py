"""Facts about the catalog in a release: made or taken over, told apart, verified; and how a build's end is noted."""

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from catalog.test_catalog_content import FILES, SMALL
from harness.catalogs import CATALOG
from harness.content import AT, edit, write_files
from harness.program import Releases, aged, build, built, current, manifest, shopwindow, tree
from shopwindow import library
from shopwindow.catalog.index.file import PAGE_SIZE
from shopwindow.content.reading import yaml
from shopwindow.problems import Failure
from shopwindow.release.build_notes import last_build
from shopwindow.shop import INTERFACE

Json = Any
NAME = CATALOG.file
PRODUCTS, INVENTORY = FILES["products"], FILES["inventory"]


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A content folder with a small catalog, settled for an hour."""
    return aged(write_files(tmp_path / "content", SMALL))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "dist"


def note(out: Path, id: str) -> Json:
    return json.loads((out / "releases" / id / "build.json").read_bytes())


def catalog(out: Path, id: str) -> Path:
    return out / "releases" / id / NAME


def changed(folder: Path, *edits: tuple[str, str, str]) -> Path:
    """The folder, edited and settled again."""
    edit(folder, *edits)
    return aged(folder)


PRICE = (PRODUCTS, "price: {regular: 150}", "price: {regular: 140}")
PHONE = ("stores/one.yaml", "212-555-0101", "212-555-0102")


def test_a_release_has_the_catalog_by_the_digest_of_its_rows(small: Path, out: Path) -> None:
    id = built(small, out)
    private = manifest(out / "releases" / id)["private"]
    assert private[NAME].keys() == {"format", "rows"}
    assert (private[NAME]["format"], len(private[NAME]["rows"])) == (CATALOG.format, 64)
    assert note(out, id)["catalog"]["sha256"] == sha256(catalog(out, id).read_bytes()).hexdigest()
    assert not [path for path in tree(out / "releases" / id) if path.startswith("files/") and "sqlite" in path]
    content = library.released_content(INTERFACE, out, id)
    index = content.index("catalog")
    assert index.product(501)["name"] == "Paddock Boot"
    assert index.availability(["4006381333931"], [100]) == {("4006381333931", 100): "LIMITED"}


FEEDS: dict[str, tuple[str, str, str]] = {
    "categories": (FILES["categories"], "name: Loafers", "name: Flats"),
    "brands": (FILES["brands"], "id: 7", "id: 8"),
    "products": (PRODUCTS, "description: A boot.", "description: A warm boot."),
    "inventory": (INVENTORY, '"100":2', '"100":0'),
    "reviews": (FILES["reviews"], '"Feet."', '"Dry feet."'),
    "recommendations": (FILES["recommendations"], "{product: 501, products: [502]}", "{product: 502, products: [501]}"),
}


def test_the_release_id_covers_every_document(small: Path, out: Path) -> None:
    ids = [built(small, out), *(built(changed(small, each), out) for each in FEEDS.values())]
    assert len(set(ids)) == 1 + len(FEEDS)


def test_a_release_without_a_catalog_has_no_file_for_it(minimal: Path, out: Path) -> None:
    id = built(minimal, out)
    assert manifest(out / "releases" / id)["private"].keys() == {"content.json"}
    assert not catalog(out, id).exists()
    assert library.released_content(INTERFACE, out, id).index("catalog") is None


def test_a_catalog_that_did_not_change_is_linked(small: Path, out: Path) -> None:
    first = built(small, out)
    second = built(changed(small, PHONE), out)
    assert first != second
    assert catalog(out, first).samefile(catalog(out, second))
    assert note(out, first)["catalog"] == note(out, second)["catalog"]


def test_releases_ahead_share_a_catalog_that_no_instant_changes(small: Path, out: Path) -> None:
    changed(small, ("events/one.yaml", "name: Opening", "publish: {from: 2026-11-25 06:00}\nname: Opening"))
    assert build(small, out, "--ahead", "2").status == 0
    first, second = (link.id for link in Releases(out).chain().links)
    assert catalog(out, first).samefile(catalog(out, second))


@pytest.mark.parametrize(
    ("edits", "kept"),
    [
        ([PRICE], False),
        ([(INVENTORY, '"site":3', '"site":0')], False),
        ([("site.yaml", "https://i.example", "https://j.example")], True),
        ([("promotions/one.yaml", "promotionName: Half Price", "promotionName: Half")], True),
        ([("site.yaml", "www: https://www.example", "www: https://www2.example")], False),
        ([("site.yaml", "\ncatalog:", "\nbags: {max_quantity: 5}\ncatalog:")], True),
        ([("events/one.yaml", "name: Opening", "name: Doors")], True),
    ],
)
def test_a_catalog_is_made_anew_when_something_in_it_may_differ(
    small: Path, out: Path, edits: list[tuple[str, str, str]], kept: bool
) -> None:
    first = built(small, out)
    second = built(changed(small, *edits), out)
    assert catalog(out, first).samefile(catalog(out, second)) == kept


def test_without_the_cache_the_catalog_is_made_anew_and_is_the_same(small: Path, out: Path) -> None:
    first = built(small, out)
    second = built(changed(small, PHONE), out, "--no-cache")
    assert not catalog(out, first).samefile(catalog(out, second))
    assert catalog(out, first).read_bytes() == catalog(out, second).read_bytes()


@pytest.mark.parametrize(
    "edits", [PRICE, (INVENTORY, '"site":3', '"site":0'), (PRODUCTS, "name: Paddock Boot", "name: Oxford")]
)
def test_a_catalog_of_which_a_part_changed_is_the_one_made_anew(
    small: Path, out: Path, edits: tuple[str, str, str]
) -> None:
    built(small, out)
    second = built(changed(small, edits), out)
    data = catalog(out, second).read_bytes()
    assert built(small, out, "--no-cache") == second
    assert catalog(out, second).read_bytes() == data
    assert shopwindow("verify", "--out", out).status == 0


WWW = ("site.yaml", "www: https://www.example", "www: https://www2.example")


def test_another_name_changes_the_products_that_use_it_and_no_others(small: Path, out: Path) -> None:
    edit(small, (PRODUCTS, "description: A boot.\n", 'description: "A boot of {{ www }}."\n'))
    built(small, out)
    second = built(changed(small, WWW), out)
    index = library.released_content(INTERFACE, out, second).index("catalog")
    texts = [index.product(id)["description"] for id in (501, 502)]
    assert texts == ["A boot of https://www2.example.", "A boot, and what keeps it."]
    data = catalog(out, second).read_bytes()
    assert built(small, out, "--no-cache") == second
    assert catalog(out, second).read_bytes() == data


def test_a_catalog_of_lines_is_linked_whatever_expressions_may_use(tmp_path: Path, out: Path) -> None:
    written = dict(SMALL)
    for part in ("categories", "brands", "products", "recommendations"):
        documents = yaml.load(written.pop(FILES[part]))
        written[f"catalog/{part}.jsonl"] = "".join(f"{json.dumps(one)}\n" for one in documents)
    folder = aged(write_files(tmp_path / "content", written))
    first = built(folder, out)
    second = built(changed(folder, WWW), out)
    assert catalog(out, first).samefile(catalog(out, second))


def test_nothing_of_a_catalog_whose_bytes_a_disk_changed_is_in_the_next_one(small: Path, out: Path) -> None:
    path = catalog(out, built(small, out))
    data = path.read_bytes()
    assert b"Cobbold" in data
    overwritten(path, data.replace(b"Cobbold", b"Lootfox"))
    second = built(changed(small, (INVENTORY, '"site":3', '"site":0')), out)
    assert b"Lootfox" not in catalog(out, second).read_bytes()
    assert second == built(small, out.with_name("fresh"), "--no-cache")


def overwritten(path: Path, data: bytes) -> None:
    """Write a file as a disk does that loses bytes: it has the time that it had."""
    times = path.stat()
    path.chmod(0o644)
    path.write_bytes(data)
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))


def test_a_second_build_has_nothing_to_do_and_a_file_of_the_catalog_gives_it_some(small: Path, out: Path) -> None:
    first = built(small, out)
    assert build(small, out).out.splitlines()[0].endswith(" files, it is current already: nothing to do")
    assert built(changed(small, (INVENTORY, '"site":3', '"site":0')), out) != first


BOOTS = (FILES["categories"], "name: Boots", "name: High Boots")


def test_a_build_says_which_products_and_categories_changed(small: Path, out: Path) -> None:
    built(small, out)
    ran = build(changed(small, PRICE, (FILES["categories"], "name: Loafers", "name: Flats")), out)
    assert "  changed: category 3\n  changed: product 502\n" in ran.out
    ran = build(changed(small, (FILES["categories"], "name: Flats", "name: Slips"), BOOTS), out)
    assert "  changed: categories 2, 3\n" in ran.out


REVIEWS, BRANDS = FILES["reviews"], FILES["brands"]
CATEGORIES_AND_PRODUCTS = ["category 1", "category 2", "category 3", "category 4", "product 501", "product 502"]
DIFFERING = {
    "a category": ((FILES["categories"], "name: Loafers", "name: Flats"), ["category 3"]),
    "a price": (PRICE, ["product 502"]),
    "how many stars a review gives": ((REVIEWS, '"rating":5', '"rating":4'), ["product 501"]),
    "the words of a review": ((REVIEWS, "Feet", "Toes"), []),
    "no review": ((REVIEWS, SMALL[REVIEWS], ""), ["product 501"]),
    "the id of a brand": ((BRANDS, "id: 7", "id: 8"), ["product 501", "product 502"]),
    "the page of a brand": ((BRANDS, "example/cobbold", "example/other"), []),
    "no brand": ((BRANDS, SMALL[BRANDS], "[]\n"), ["product 501", "product 502"]),
    "the site has none of a UPC": ((INVENTORY, '"site":3', '"site":0'), ["product 501"]),
    "the site has fewer of a UPC": ((INVENTORY, '"site":3', '"site":2'), []),
    "a store has none of a UPC": ((INVENTORY, '"100":2', '"100":0'), []),
    "nobody says what there is of a UPC": ((INVENTORY, SMALL[INVENTORY], ""), []),
    "what is recommended": (
        (FILES["recommendations"], "{product: 501, products: [502]}", "{product: 502, products: [501]}"),
        [],
    ),
}


@pytest.mark.parametrize(("edits", "differing"), DIFFERING.values(), ids=DIFFERING.keys())
def test_the_products_and_categories_that_differ_are_those_of_which_responses_do(
    small: Path, out: Path, edits: tuple[str, str, str], differing: list[str]
) -> None:
    ids = [built(small, out), built(changed(small, edits), out)]
    old, new = (library.released_content(INTERFACE, out, id).index("catalog") for id in ids)
    for pair, expected in [
        ((old, new), differing),
        ((new, old), differing),
        ((old, old), []),
        ((None, new), CATEGORIES_AND_PRODUCTS),
        ((old, None), CATEGORIES_AND_PRODUCTS),
        ((None, None), []),
    ]:
        assert [f"{kind} {id}" for kind, id in CATALOG.differences(*pair)] == expected


def test_diff_tells_the_catalog_by_product_and_category(small: Path, out: Path) -> None:
    first = built(small, out)
    gone = ("catalog/recommendations.yaml", "- {product: 501, products: [502]}\n", "[]\n")
    third = "- id: 503\n  name: Loafer\n  description: A loafer.\n  typeName: SHOE\n  brand: Cobbold\n"
    third += "  categories: [3]\n  images: {primary: l.jpg}\n  price: {regular: 99}\n"
    cut = SMALL[PRODUCTS][SMALL[PRODUCTS].index("- id: 502") :]
    category = (FILES["categories"], "name: Loafers", "name: Flats")
    second = built(changed(small, (PRODUCTS, cut, third), gone, category), out)
    told = shopwindow("diff", first[:12], second[:12], "--out", out).out
    assert told.splitlines()[:3] == [
        'category 3: name: "Loafers" -> "Flats"',
        "product 502: disappears",
        "product 503: appears",
    ]
    assert "  https://api.example/v3/catalog/category/3\n" in told
    assert shopwindow("diff", first[:12], first[:12], "--out", out).out == "0 URLs to purge\n"


def test_a_catalog_that_was_changed_is_damaged(small: Path, out: Path) -> None:
    id = built(small, out)
    assert shopwindow("verify", "--out", out).out == f"release {id[:12]} is intact\n"
    catalog(out, id).chmod(0o644)
    with sqlite3.connect(catalog(out, id)) as database:
        database.execute("UPDATE brand SET url = 'https://elsewhere.example'")
    ran = shopwindow("verify", "--out", out)
    faults = ("not the bytes that were built", "not the rows that the release id covers")
    assert (ran.status, ran.out) == (1, "".join(f"{NAME}: {fault}\n" for fault in faults))
    catalog(out, id).unlink()
    assert shopwindow("verify", "--out", out).out.startswith(f"{NAME}: No such file or directory\n")


CHANGES = {"nothing changed": (), "a store changed": (PHONE,), "a price changed": (PRICE,)}
HARMS: dict[str, Callable[[Path], object]] = {
    "gone": lambda path: path.unlink(),
    "empty": lambda path: path.write_bytes(b""),
    "another file": lambda path: path.write_bytes(b"no catalog"),
}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS.keys())
@pytest.mark.parametrize("edits", CHANGES.values(), ids=CHANGES.keys())
def test_a_build_upon_a_catalog_that_is_gone_or_changed_ends_in_advice(
    small: Path, out: Path, harm: Callable[[Path], object], edits: tuple[tuple[str, str, str], ...]
) -> None:
    first = built(small, out)
    path = catalog(out, first)
    path.chmod(0o644)
    harm(path)
    ran = build(changed(small, *edits), out)
    assert (ran.status, current(out)) == (4, first)
    linked = "gone or changed since it was built; `shopwindow build --no-cache` writes every file again\n"
    compared = "cannot be read as a catalog: "
    assert ran.err.startswith(f"shopwindow: {path}: {compared if edits == (PRICE,) else linked}")
    assert "; `shopwindow build --no-cache` writes " in ran.err
    built(small, out, "--no-cache")
    assert shopwindow("verify", "--out", out).status == 0


LOST: dict[str, tuple[str, tuple[str, str, str], str]] = {
    "a view reads what is lost": ("category", PHONE, "is damaged: database disk image is malformed"),
    "no view can open it": ("", PHONE, "cannot be read as a catalog: file is not a database"),
    "a build compares with it": ("category", PRICE, "is damaged: database disk image is malformed"),
}


@pytest.mark.parametrize(("table", "edits", "words"), LOST.values(), ids=LOST.keys())
def test_a_build_upon_a_catalog_that_lost_a_page_and_has_its_time_ends_in_advice(
    small: Path, out: Path, table: str, edits: tuple[str, str, str], words: str
) -> None:
    first = built(small, out)
    path = catalog(out, first)
    page = 1
    if table:
        with closing(sqlite3.connect(path)) as database:
            ((page,),) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table])
    data = bytearray(path.read_bytes())
    data[(page - 1) * PAGE_SIZE : page * PAGE_SIZE] = bytes(PAGE_SIZE)
    overwritten(path, bytes(data))
    ran = build(changed(small, edits), out)
    said = f"shopwindow: {path}: {words}; `shopwindow build --no-cache` writes "
    assert (ran.status, ran.err[: len(said)], current(out)) == (4, said, first)
    built(small, out, "--no-cache")
    assert shopwindow("verify", "--out", out).status == 0


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("UPDATE meta SET value = 99 WHERE name = 'format'", f"its format is 99, not {CATALOG.format}"),
        ("DROP TABLE meta", "no such table: meta"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_once_with_the_next_step(
    small: Path, out: Path, statement: str, why: str
) -> None:
    path = catalog(out, built(small, out))
    path.chmod(0o644)
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    with pytest.raises(Failure) as refused:
        library.released_content(INTERFACE, out).index("catalog")
    build = "`shopwindow build --no-cache` writes it again"
    pull = "where releases are pulled, `shopwindow pull SOURCE` fetches it again"
    assert str(refused.value) == f"{path}: cannot be read as a catalog: {why}; {build}; {pull}"
    with pytest.raises(Failure) as recorded:
        CATALOG.open(path, lambda kind, identity: None)
    assert str(recorded.value) == str(refused.value)


ALL = "catalog.sqlite: build.json has no digest of it"
MISSING = "build.json: missing, or not what a build wrote"
BROKEN: dict[str, tuple[Callable[[Json], Json], list[str]]] = {
    "nothing": (lambda told: None, [ALL, MISSING]),
    "no object": (lambda told: [], [ALL, MISSING]),
    "an empty object": (lambda told: {}, [ALL, MISSING]),
    "a list for the catalog": (lambda told: {**told, "catalog": []}, [ALL]),
    "the catalog without a digest": (lambda told: {**told, "catalog": {**told["catalog"], "sha256": None}}, [ALL]),
}


@pytest.mark.parametrize(("harm", "words"), BROKEN.values(), ids=BROKEN.keys())
@pytest.mark.parametrize("edits", [PHONE, PRICE], ids=["the catalog is as it was", "the catalog is another"])
def test_a_build_beside_a_release_whose_build_json_is_broken_takes_nothing_from_it(
    small: Path, out: Path, harm: Callable[[Json], Json], words: list[str], edits: tuple[str, str, str]
) -> None:
    first = built(small, out)
    told = harm(note(out, first))
    path = out / "releases" / first / "build.json"
    path.unlink()
    if told is not None:
        path.write_text(json.dumps(told))
    ran = shopwindow("verify", "--out", out)
    assert (ran.status, ran.out.splitlines()) == (1, words)
    assert built(changed(small, edits), out) != first
    assert shopwindow("verify", "--out", out).status == 0


def test_the_catalog_of_another_format_is_not_looked_into(small: Path, out: Path) -> None:
    before = replace(CATALOG, format=CATALOG.format - 1)
    older = library.build(replace(INTERFACE, indexes=(before,)), small, out, at=AT, jobs=1).built
    assert older is not None
    assert older.id != built(small, out)
    assert library.released_content(INTERFACE, out).index("catalog").product(501)["name"] == "Paddock Boot"


def test_an_old_release_goes_with_its_catalog(small: Path, out: Path) -> None:
    first = built(small, out)
    second = built(changed(small, PRICE), out)
    history = (out / "history.jsonl").read_text().replace("2026-", "2016-")
    (out / "history.jsonl").write_text(history)
    assert library.prune(out, 1) == ([first], 1)
    assert not catalog(out, first).exists()
    assert catalog(out, second).exists()


def test_what_an_app_would_get_of_the_catalog_is_shown_from_the_working_tree(small: Path) -> None:
    ran = shopwindow("show", "v3/catalog/product/502", "--content", small)
    assert json.loads(ran.out)["product"][0]["summary"]["name"] == "Boot and Tree"


def test_featured_products_are_prerendered_and_all_where_the_site_says_so(small: Path, out: Path) -> None:
    def prerendered(id: str) -> set[str]:
        files = manifest(out / "releases" / id)["files"]
        return {entry["arguments"]["productId"] for entry in files if entry["operation"].startswith("product_v")}

    assert prerendered(built(small, out)) == set()
    featured = (PRODUCTS, "- id: 502\n", "- id: 502\n  featured: true\n")
    assert prerendered(built(changed(small, featured), out)) == {"502"}
    all_of_them = ("site.yaml", "catalog: {", "catalog: {prerender: all, ")
    assert prerendered(built(changed(small, all_of_them), out)) == {"501", "502"}


def test_more_files_than_are_allowed_are_not_written(small: Path, out: Path) -> None:
    edit(small, ("site.yaml", "time_zone:", "max_files: 10\ntime_zone:"))
    ran = build(small, out)
    count = int(ran.err.split()[1])
    assert (ran.status, ran.err) == (
        4,
        f"shopwindow: {count} files would be written, and 10 are allowed; "
        f"`max_files: {count}` in site.yaml allows them, or pre-render fewer: category has the most, 8\n",
    )
    assert not (out / "releases").exists()
    edit(small, ("site.yaml", "max_files: 10", f"max_files: {count}"))
    assert build(small, out).status == 0


# -- how the last build ended ------------------------------------------------------------------------------------


def last(out: Path) -> Json:
    """last-build.json without its times, which must be in order."""
    told = json.loads((out / "last-build.json").read_bytes())
    started, ended = (datetime.fromisoformat(told.pop(name)) for name in ("started", "ended"))
    assert started.utcoffset() is not None
    assert started <= ended
    return told


def test_a_release_says_when_its_build_began_and_ended(small: Path, out: Path) -> None:
    id = built(small, out)
    told = note(out, id)
    assert datetime.fromisoformat(told["started"]) <= datetime.fromisoformat(told["ended"])
    assert last(out) == {"format": 1, "status": "SUCCESS", "release": id}


def test_a_build_of_faulty_content_leaves_a_note_and_the_next_good_one_another(small: Path, out: Path) -> None:
    first = built(small, out)
    edit(small, (PRODUCTS, "price: {regular: 150}", "price: {regular: free}"))
    assert build(small, out).status == 1
    assert last(out) == {
        "format": 1,
        "status": "FAILED",
        "cause": "content",
        "description": "1 problem in the content, the first in catalog/products.yaml:25: "
        "price/regular of the 2nd product: 'free' is not a number "
        "(Regular price, or the range of the regular prices of its variants); "
        "allowed: an amount such as 49.99, or a range such as {low: 19.99, high: 49.99}",
        "release": first,
    }
    assert current(out) == first
    assert shopwindow("releases", "--out", out).out.count("\n") == 1
    edit(small, (PRODUCTS, "price: {regular: free}", "price: {regular: 150}"))
    assert built(aged(small), out) == first
    assert last(out) == {"format": 1, "status": "SUCCESS", "release": first}


FEW = ("site.yaml", "time_zone:", "max_files: 1\ntime_zone:")


def test_a_build_that_failed_leaves_a_note_even_if_then_there_is_nothing_to_do(small: Path, out: Path) -> None:
    built(small, out)
    assert build(changed(small, PHONE, FEW), out).status == 4
    assert last(out)["status"] == "FAILED"
    edit(small, ("stores/one.yaml", "212-555-0102", "212-555-0101"), (FEW[0], FEW[2], FEW[1]))
    built(aged(small), out)
    assert build(changed(small, PHONE, FEW), out).status == 4
    assert last(out)["description"].endswith(
        " 1 are allowed; `max_files: 48` in site.yaml allows them, or pre-render fewer: category has the most, 8"
    )
    edit(small, ("stores/one.yaml", "212-555-0102", "212-555-0101"), (FEW[0], FEW[2], FEW[1]))
    id = built(aged(small), out)
    assert last(out) == {"format": 1, "status": "SUCCESS", "release": id}


def test_a_build_whose_words_nobody_reads_has_not_failed(small: Path, out: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(small), "--out", str(out)]
    with os.fdopen(writing, "wb") as nobody:
        assert subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, check=False).returncode != 0
    assert last(out) == {"format": 1, "status": "SUCCESS", "release": current(out)}


def test_a_build_that_finds_another_at_work_leaves_its_note_alone(small: Path, out: Path) -> None:
    built(small, out)
    before = (out / "last-build.json").read_bytes()
    with Releases(out).lock():
        assert build(changed(small, PHONE), out).status == 4
    assert (out / "last-build.json").read_bytes() == before


@pytest.mark.parametrize("data", [b"", b"[]", b"{"])
def test_a_note_that_cannot_be_read_is_none(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "last-build.json").write_bytes(data)
    assert last_build(tmp_path) == {}


def test_synonyms_find_one_another(small: Path) -> None:
    write_files(small, {"catalog/synonyms.yaml": "- [boot, wellington]\n"})
    ran = shopwindow("show", "v4/catalog/search?searchphrase=wellington", "--content", small)
    assert json.loads(ran.out)["searchresultgroups"][0]["totalproducts"] == 2
