"""What is named and does not exist: one problem for one cause, however many places name it."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import orjson
import pytest

from harness.content import AT, small, write
from shopwindow import library
from shopwindow.problems import Problem, sentence
from shopwindow.shop import INTERFACE

SAMPLE = Path(__file__).parent.parent.parent / "content"
WEST = "stores/west.yaml"
WESTERN = {"40117", "40124", "40131", "40148"}
"""The location numbers of its stores."""


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada Vane", "-c", "user.email=ada@shop.example", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)


def deleted(content: Path) -> None:
    """Delete store 403, which is 40131 by its location number."""
    text = (content / WEST).read_text()
    (content / WEST).write_text(re.sub(r"^- storeId: 403\n.*?^(?=- storeId: 404)", "", text, flags=re.M | re.S))


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SAMPLE, tmp_path / "shop" / "content"))


def problems(content: Path, most: int = 1000) -> list[Problem]:
    return library.check(INTERFACE, content, most=most).problems


@pytest.mark.parametrize("most", [1, 40, 1000])
def test_a_deleted_store_is_one_problem_where_the_last_commit_has_it(content: Path, most: int) -> None:
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All stores")
    deleted(content)
    checked = library.check(INTERFACE, content, most=most)
    (problem,) = checked.problems
    assert checked.more == 0
    expected = (
        "11 documents and 746 lines of 2 feeds name store 403, which does not exist any more; "
        "stores/west.yaml had it; such as events/2026-11-november.yaml:37, "
    )
    assert sentence(problem).startswith(expected)
    assert (problem.rule, problem.path, problem.nearest) == ("reference", "events/2026-11-november.yaml", "")
    assert "did you mean" not in sentence(problem)


def test_a_deleted_file_counts_too(content: Path) -> None:
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All stores")
    (content / "stores/foundry-square.yaml").unlink()
    (problem,) = problems(content)
    assert " name store 101, which does not exist any more; stores/foundry-square.yaml had it" in problem.found


@pytest.mark.parametrize("most", [1, 40, 1000])
def test_stores_that_one_line_names_together_are_counted_by_place(content: Path, most: int) -> None:
    """A line of stock names each store that has some, so there are more places than lines."""
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All stores")
    (content / WEST).unlink()
    folder = content / "catalog/inventory"
    feeds = ((folder / "apparel.jsonl").read_bytes(), gzip.decompress((folder / "home.jsonl.gz").read_bytes()))
    lines = [orjson.loads(line).get("stores", {}).keys() & WESTERN for feed in feeds for line in feed.splitlines()]
    places = sum(map(len, lines))
    assert places > len(lines)
    (problem,) = problems(content, most)
    assert problem.found.startswith(f"16 documents and {places:,} places in 2 feeds name store 401, store 402, ")


def test_a_deleted_product_is_one_problem_with_its_upcs(content: Path) -> None:
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All products")
    file = content / "catalog/products/active.yaml"
    head, _, after = re.split(r"(?m)^(?=- )", file.read_text(), maxsplit=2)
    file.write_text(head + after)
    (problem,) = problems(content)
    assert problem.found.startswith(
        "1 document and 11 lines of 2 feeds name product 530100, which does not exist any more; "
        "catalog/products/active.yaml had it; such as catalog/recommendations.yaml:87, "
    )


def test_a_upc_that_a_product_lost_is_not_the_end_of_the_product(content: Path) -> None:
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All products")
    file = content / "catalog/products/active.yaml"
    upc, lines = "475136004459", file.read_text().splitlines()
    (at,) = [number for number, line in enumerate(lines) if upc in line]
    file.write_text("\n".join(lines[:at] + lines[at + 1 :]) + "\n")
    (problem,) = problems(content)
    assert problem.found == f"no product has the UPC {upc}"


def test_the_release_to_compare_with_has_the_store_too(tmp_path: Path) -> None:
    content, out = write(tmp_path / "content", small()), tmp_path / "dist"
    library.build(INTERFACE, content, out, at=AT)
    (content / "stores/one.yaml").unlink()
    (problem,) = library.check(INTERFACE, content, against=out / "current").problems
    assert (problem.path, problem.found) == (
        "events/both.yaml",
        "2 documents name store 1, which does not exist any more; such as events/both.yaml:1, events/first.yaml:1",
    )


def test_without_history_each_value_that_is_named_often_is_one_problem(content: Path) -> None:
    deleted(content)
    said = [sentence(problem) for problem in problems(content)]
    by_location = "2 documents and 746 lines of 2 feeds name a store with the locationNumber 40131, which does not "
    assert any(text.startswith(by_location) for text in said)
    assert any(text.startswith("7 documents name a store with the storeId 403, which does not ") for text in said)
    assert any(text.startswith("2 documents name a store with the storeNumber 4316, which does not ") for text in said)
    assert len(said) == 3


def test_another_number_of_a_store_that_exists_is_a_mistake_of_its_own(content: Path) -> None:
    """Nothing was deleted: the store is there, and one event names a number that nothing has."""
    git(content.parent, "init", "-q")
    git(content.parent, "add", "-A")
    git(content.parent, "commit", "-qm", "All stores")
    events = content / "events/bridal-salon.yaml"
    events.write_text(events.read_text().replace("storeId: [402, 403, 404]", "storeId: [402, 406, 404]"))
    (problem,) = problems(content)
    assert (problem.found, problem.nearest) == ("no store has the storeId 406", "405")


def test_a_store_s_number_in_the_place_of_its_id_is_named(content: Path) -> None:
    events = content / "events/bridal-salon.yaml"
    events.write_text(events.read_text().replace("storeId: [402, 403, 404]", "storeId: [402, 4001, 404]"))
    (problem,) = problems(content)
    assert (problem.found, problem.nearest) == ("no store has the storeId 4001, but one has the storeNumber 4001", "")


def test_a_renamed_category_is_one_problem_that_names_the_rename_and_its_fix_writes_the_name(
    minimal: Path,
) -> None:
    shoes = "{id: 2, name: Shoes, url: 'https://www.example/2'}"
    men = f"- {{id: 1, name: Men, url: 'https://www.example/1', categories: [{shoes}]}}\n"
    promotion = (minimal / "promotions/one.yaml").read_text()
    named = promotion.replace("[Men]", "[Men, Shoes]")
    other = named.replace("promoId: 8", "promoId: 9").replace("4000", "4001")
    categories = minimal / "catalog/categories.yaml"
    categories.parent.mkdir()
    categories.write_text(men)
    (minimal / "promotions/one.yaml").write_text(named)
    (minimal / "promotions/two.yaml").write_text(other)
    git(minimal.parent, "init", "-q")
    git(minimal.parent, "add", "-A")
    git(minimal.parent, "commit", "-qm", "Shoes")
    categories.write_text(men.replace("Shoes", "Footwear"))
    checked = library.check(INTERFACE, minimal, at=AT)
    assert checked.problems == []
    line = [at.startswith("categories") for at in named.splitlines()].index(True) + 1
    assert [sentence(warning).partition(" (")[0] for warning in checked.warnings] == [
        f"the 2nd category of promotion 8: category 2 is called 'Footwear' now, and not 'Shoes'; "
        f"the same in 1 more place, such as promotions/two.yaml:{line}"
    ]
    repair = library.fixes(INTERFACE, minimal, checked)
    assert {edit.path: edit.after.decode() for edit in repair.edits} == {
        "promotions/one.yaml": named.replace("Shoes", "Footwear"),
        "promotions/two.yaml": other.replace("Shoes", "Footwear"),
    }
