"""A catalog's bad input, at the command: one sentence, or Problems with their lines; the last release stays."""

import gzip
import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest
import zstandard

from facts.index_edits import EDITS
from harness.catalogs import EditedCatalog
from harness.content import AT
from harness.program import Ran, build, built, current, shopwindow
from slow.test_build_disks import state

Json = Any
SIZE = 150
ROOT = Path(__file__).resolve().parents[2]
MOVES = ("many_prices", "add_several", "remove_many", "best_sellers_again", "upc_moved", "category_moved", "reviewed")
"""Edits after which rows of all tables of the previous index are others."""


@pytest.fixture
def shop() -> EditedCatalog:
    return EditedCatalog(1, SIZE)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of such a shop, and a release of it."""
    folder = tmp_path_factory.mktemp("base")
    built(EditedCatalog(1, SIZE).as_content(folder / "content"), folder / "dist")
    return folder


@pytest.fixture
def content(base: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(base / "content", tmp_path / "content"))


@pytest.fixture
def out(base: Path, tmp_path: Path) -> Path:
    """Where a release of the catalog is current."""
    return Path(shutil.copytree(base / "dist", tmp_path / "dist", symlinks=True))


def edited(shop: EditedCatalog, content: Path) -> Path:
    for name in MOVES:
        EDITS[name](shop)
    return shop.as_content(content)


def reported(ran: Ran) -> list[str]:
    """The problems that a build reports, without warnings, from the folder of content on."""
    lines = [line for line in (ran.out + ran.err).splitlines() if ": warning: " not in line]
    return [line.partition("/content/catalog/")[2] for line in lines if "/content/catalog/" in line]


def refused(content: Path, out: Path) -> list[str]:
    """What a build reports that publishes nothing."""
    before = state(out)
    ran = build(content, out)
    assert ran.status == 1, ran
    assert state(out) == before
    assert shopwindow("verify", "--out", out).status == 0
    return reported(ran)


# -- feeds that break off ----------------------------------------------------------------------------------------

PACKED: dict[str, Callable[[bytes], bytes]] = {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}


@pytest.mark.parametrize("ending", PACKED)
@pytest.mark.parametrize("name", ["products", "inventory", "reviews"])
def test_a_feed_that_breaks_off_is_reported_with_its_line(content: Path, out: Path, ending: str, name: str) -> None:
    plain = content / "catalog" / f"{name}.jsonl"
    data = plain.read_bytes()
    plain.unlink()
    packed = PACKED[ending](data)
    half = packed[: len(packed) // 2] if ending else data[: data.index(b"\n", len(data) // 2) - 9]
    (content / "catalog" / f"{name}.jsonl{ending}").write_bytes(half)
    fault = "the compressed feed is damaged: " if ending else "no JSON: "
    line = 1 if ending else half.count(b"\n") + 1
    place = rf"{name}\.jsonl{re.escape(ending)}:{line}:\d+: "
    assert [each for each in refused(content, out) if re.match(place + fault, each)] != []


# -- ids that collide --------------------------------------------------------------------------------------------


def entry(product: Json) -> Json:
    return next(iter(product["upcs"]))


def with_upc(first: Json, second: Json) -> Json:
    return {**second, "id": 99_999, "upcs": [{**entry(first), "sku": 99_999}]}


def with_sku(first: Json, second: Json) -> Json:
    return {**second, "id": 99_999, "upcs": [{"upc": "012345678905", "sku": entry(first)["sku"]}]}


COLLISIONS: dict[str, tuple[str, Callable[[Json, Json], Json], str]] = {
    "product": ("product", lambda first, second: {**second, "id": first["id"]}, "id"),
    "UPC": ("product", with_upc, "the upc of the 1st upc"),
    "sku": ("product", with_sku, "the sku of the 1st upc"),
    "category": ("category", lambda first, second: {**second, "id": first["id"]}, "id"),
    "brand": ("brand", lambda first, second: {**second, "id": 77, "name": first["name"]}, "name"),
    "inventory": ("inventory", lambda first, second: {**second, "upc": first["upc"]}, "upc"),
    "review": ("review", lambda first, second: {**second, "id": first["id"]}, "id"),
    "recommendation": ("recommendation", lambda first, second: {**second, "product": first["product"]}, "product"),
}
"""The kind, a document with a value of another, and the place of the value."""

FOLDERS = {"product": "products", "category": "categories", "brand": "brands", "inventory": "inventory"}


@pytest.mark.parametrize("what", COLLISIONS)
def test_ids_that_collide_across_parts_are_reported_with_both_lines(
    shop: EditedCatalog, content: Path, out: Path, what: str
) -> None:
    """The part that was there when the release was built is not read again; the new part is, and collides."""
    kind, colliding, place = COLLISIONS[what]
    documents = [each for each in shop.feeds()[kind] if kind != "product" or "upcs" in each]
    folder = content / "catalog" / FOLDERS.get(kind, f"{kind}s")
    whole = folder.with_suffix(".jsonl")
    line = 1 + whole.read_bytes().splitlines().index(orjson.dumps(documents[0]))
    folder.mkdir()
    (folder / "more.jsonl").write_bytes(orjson.dumps(colliding(documents[0], documents[-1])) + b"\n")
    found = rf"{folder.name}/more\.jsonl:1:\d+: {place}: .* is also that of .* in catalog/{whole.name}:{line} "
    lines = refused(content, out)
    assert [each for each in lines if re.match(found, each)] != [], lines


# -- a disk that is full -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.5, 0.8])
def test_a_disk_that_is_full_half_way_through_an_index_is_a_sentence(
    shop: EditedCatalog, content: Path, out: Path, share: float
) -> None:
    """No file may grow beyond a part of the previous index; a disk that is full is the same to SQLite."""
    most = int((out / "current/catalog.sqlite").stat().st_size * share)
    before = state(out)

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))

    edited(shop, content)
    command = [sys.executable, "-m", "shopwindow", "build", "--content", str(content), "--out", str(out), "--at", AT]
    # Python would cut off the files of compiled modules, too, and others would read these.
    environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, preexec_fn=limited, check=False)
    sentences = [line for line in ran.stderr.splitlines() if line.startswith("shopwindow: ")]
    assert (ran.returncode, len(sentences)) == (4, 1), ran.stderr
    assert "nothing was published, `current` is as it was" in sentences[0]
    assert "Traceback" not in ran.stderr
    assert state(out) == before
    assert built(content, out) == current(out)
    assert shopwindow("verify", "--out", out).status == 0
