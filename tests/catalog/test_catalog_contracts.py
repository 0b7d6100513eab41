"""Contracts about the catalog: the contract's line is named, and the index is built where an answer needs it."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, SAMPLE, Memory
from harness.program import build, built
from shopwindow import library
from shopwindow.problems import sentence
from shopwindow.shop import INTERFACE

CONTRACT = """\
app: iphone
version: "6.0"
reads:
  - request: v3/catalog/product/525100,526100
    fields:
      - path: product[].summary.brand
        type: string
      - path: product[].summary.name
        enum: [NAMES]
"""
BEAUTY = "catalog/products/beauty.yaml"


def name_of(folder: Path) -> str:
    """Return the name of the first product of a file."""
    lines = (folder / BEAUTY).read_text().splitlines()
    begins = next(number for number, line in enumerate(lines) if line == "- id: 525100")
    name = next(line for line in lines[begins:] if line.startswith("  name: "))
    return name.removeprefix("  name: ")


@pytest.fixture
def content(tmp_path: Path) -> Path:
    folder = tmp_path / "content"
    shutil.copytree(SAMPLE, folder, ignore=shutil.ignore_patterns("contracts"))
    (folder / "contracts").mkdir()
    opened = library.opened(INTERFACE, folder, jobs=1)
    response = library.show(opened, "v3/catalog/product/525100,526100", at=AT)
    names = [part.split('"')[0] for part in response.body.decode().split('"summary":{"name":"')[1:]]
    assert len(names) == 2
    listed = ", ".join(f'"{name}"' for name in names)
    (folder / "contracts/iphone-6.0.yaml").write_text(CONTRACT.replace("NAMES", listed))
    return folder


def rename(folder: Path) -> str:
    """Give the product another name; return the problem that it is."""
    name = name_of(folder)
    file = folder / BEAUTY
    file.write_text(file.read_text().replace(f"  name: {name}\n", "  name: Nobody's Soap\n", 1))
    return (
        "contracts/iphone-6.0.yaml:8: the 2nd field of the 1st read: this breaks iphone 6.0:"
        ' product[].summary.name of v3/catalog/product/525100,526100: "Nobody\'s Soap" is not one of the allowed values'
    )


def problems(folder: Path, memory: Memory | None = None, interface: Any = INTERFACE) -> list[str]:
    checked = library.check(interface, folder, at=AT, jobs=1, memory=memory)
    return [f"{one.path}:{one.place.line if one.place else 0}: {sentence(one)}" for one in checked.problems]


def test_a_product_that_breaks_a_contract_is_named_at_the_line_of_the_contract(content: Path) -> None:
    assert problems(content) == []
    expected = rename(content)
    (only,) = problems(content)
    assert only.startswith(expected)


def test_a_repeated_check_builds_the_index_only_where_the_catalog_has_changed(content: Path, tmp_path: Path) -> None:
    builds = []
    (catalog,) = INTERFACE.indexes

    class Counting(type(catalog)):  # type: ignore[misc]
        def build(self, *arguments: Any, **named: Any) -> str:
            builds.append(1)
            digest: str = super().build(*arguments, **named)
            return digest

    counting = Counting.__new__(Counting)
    for key in getattr(catalog, "__dict__", {}):
        object.__setattr__(counting, key, getattr(catalog, key))
    interface = replace(INTERFACE, indexes=(counting,))
    memory = Memory(tmp_path / "memory")
    assert (problems(content, memory, interface), len(builds)) == ([], 1)
    assert (problems(content, memory, interface), len(builds)) == ([], 1)
    rename(content)
    assert (len(problems(content, memory, interface)), len(builds)) == (1, 2)
    assert problems(content, memory, interface) == problems(content)


def test_a_build_holds_contracts_to_the_index_that_it_builds(content: Path, tmp_path: Path) -> None:
    out = tmp_path / "dist"
    first = built(content, out)
    expected = rename(content)
    ran = build(content, out)
    assert (ran.status, expected.partition(": ")[2] in ran.out) == (1, True)
    assert (out / "current").resolve().name == first
