"""`shopwindow new`: a document of any kind, which checks clean where the schema has examples."""

import json
import os
import shutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.content import ROOT, SAMPLE, SCHEMA_NAMES
from harness.program import program_schemas, shopwindow
from shopwindow import library
from shopwindow.content.schemas.schema import BASE
from shopwindow.problems import Failure, Misuse, sentence
from shopwindow.shop import INTERFACE
from shopwindow.starter.begin import content_of

COUNTED = {
    "store": "stores/40156-new-store.yaml",
    "event": "events/540004-new-event.yaml",
    "promotion": "promotions/880505-new-promotion.yaml",
    "category": "catalog/categories/991-new-category.yaml",
    "brand": "catalog/brands/4325-new-brand.yaml",
    "product": "catalog/products/532123-new-product.yaml",
    "banner": "banners/109-new-banner.yaml",
}
"""Kind → the file of a new document in the sample: its highest id, and one more."""

CHOSEN = {"app": "kiosk", "review": "r-77", "inventory": "036000291452", "recommendation": "520248"}
"""Kind → an id that somebody chooses."""


def problems(content: Path) -> list[str]:
    return [f"{problem.path}: {sentence(problem)}" for problem in library.check(INTERFACE, content).problems]


def value(path: Path) -> Any:
    """Return what a new file holds; its texts are such that every YAML reader takes them for the same."""
    return yaml.safe_load(path.read_text())


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    return Path(shutil.copytree(content_of("minimal"), tmp_path / "content"))


@pytest.mark.parametrize("kind", COUNTED)
def test_a_new_document_has_the_next_id_and_checks_clean(sample: Path, kind: str) -> None:
    path = library.new(INTERFACE, sample, kind)
    assert path.relative_to(sample).as_posix() == COUNTED[kind]
    assert problems(sample) == []


@pytest.mark.parametrize("kind", ["store", "event", "promotion", "category", "brand", "synonym"])
def test_a_new_document_of_the_minimal_shop_checks_clean(minimal: Path, kind: str) -> None:
    library.new(INTERFACE, minimal, kind)
    assert problems(minimal) == []


def test_a_reference_to_what_nobody_has_written_is_what_a_check_reports(minimal: Path) -> None:
    library.new(INTERFACE, minimal, "product")
    (problem,) = problems(minimal)
    assert problem.startswith("catalog/products/1-new-product.yaml: the 1st category: no category has the id 100")
    library.new(INTERFACE, minimal, "category")
    shutil.rmtree(minimal / "catalog/products")
    library.new(INTERFACE, minimal, "product")
    assert problems(minimal) == []


def test_one_document_after_another_checks_clean(minimal: Path) -> None:
    names = [library.new(INTERFACE, minimal, "event").name for _ in range(3)]
    assert names == ["2-new-event.yaml", "3-new-event.yaml", "4-new-event.yaml"]
    assert problems(minimal) == []


def test_documents_of_every_kind_that_is_counted_stand_together(sample: Path) -> None:
    for kind in COUNTED:
        library.new(INTERFACE, sample, kind)
    library.new(INTERFACE, sample, "app", "kiosk")
    assert problems(sample) == []


def test_the_command_prints_the_file_and_takes_a_name(minimal: Path) -> None:
    ran = shopwindow("new", "event", "Tree Lighting & Carol Sing", cwd=minimal.parent)
    assert (ran.status, ran.out, ran.err) == (0, "content/events/2-tree-lighting-carol-sing.yaml\n", "")
    assert value(minimal / "events/2-tree-lighting-carol-sing.yaml")["name"] == "Tree Lighting & Carol Sing"
    assert problems(minimal) == []


@pytest.mark.parametrize(
    "name", ["true", "10", "a: b", "# hash", "[x]", "Éclair Ⅷ", "'", '"', "- a", "日本", " x ", "x" * 150]
)
def test_any_name_is_written_so_that_it_is_read_as_that_text(minimal: Path, name: str) -> None:
    path = library.new(INTERFACE, minimal, "event", name)
    assert problems(minimal) == []
    documents = library.check(INTERFACE, minimal).documents
    assert documents is not None
    assert documents.of("event")[-1].value["name"] == name
    assert len(path.name) < 80


def test_a_store_counts_all_its_numbers_on(sample: Path) -> None:
    store = value(library.new(INTERFACE, sample, "store", "Elm Street"))
    highest = {name: store[name] for name in ("storeId", "storeNumber", "locationNumber")}
    documents = library.check(INTERFACE, SAMPLE).documents
    assert documents is not None
    stores = [document.value for document in documents.of("store")]
    assert highest == {name: max(each[name] for each in stores) + 1 for name in highest}


def test_a_new_event_takes_place_at_a_store_that_exists(minimal: Path) -> None:
    assert value(library.new(INTERFACE, minimal, "event"))["stores"] == {"storeId": [1]}


def test_a_new_app_builds_on_the_base_and_asks_for_the_rest(minimal: Path) -> None:
    app = value(library.new(INTERFACE, minimal, "app", "android"))
    assert (app["name"], app["extends"]) == ("android", "_shared.yaml")
    assert set(app["config"]) == {"configVersion", "appVersionInfo"}
    assert problems(minimal) == []


def test_a_new_app_without_a_base_is_whole(minimal: Path) -> None:
    shutil.rmtree(minimal / "apps")
    app = value(library.new(INTERFACE, minimal, "app", "android"))
    assert "extends" not in app
    assert len(app["config"]["featureConfig"]) == 10
    assert problems(minimal) == []


@pytest.mark.parametrize("kind", CHOSEN)
def test_an_id_that_cannot_be_counted_on_is_asked_for(sample: Path, kind: str) -> None:
    with pytest.raises(Misuse, match=f"a new {kind} needs its .* as NAME"):
        library.new(INTERFACE, sample, kind)
    path = library.new(INTERFACE, sample, kind, CHOSEN[kind])
    identity = str(INTERFACE.kind[kind].identity)
    written = value(path)[identity]
    assert (path.stem, str(written)) == (CHOSEN[kind], CHOSEN[kind])


def test_an_id_that_is_taken_is_refused(sample: Path) -> None:
    with pytest.raises(Misuse, match="the name iphone is taken by another app"):
        library.new(INTERFACE, sample, "app", "iphone")
    with pytest.raises(Misuse, match="the product of a recommendation is a number"):
        library.new(INTERFACE, sample, "recommendation", "boots")


def test_a_kind_without_ids_has_a_file_by_its_name(minimal: Path) -> None:
    assert library.new(INTERFACE, minimal, "synonym").name == "new-synonym.yaml"
    with pytest.raises(Failure, match=r"new-synonym\.yaml is there already"):
        library.new(INTERFACE, minimal, "synonym")


def test_a_kind_that_does_not_exist_is_refused_with_the_kinds(sample: Path) -> None:
    ran = shopwindow("new", "evnt", cwd=sample.parent)
    kinds = ", ".join(kind.name for kind in library.declared(INTERFACE, sample).interface.kinds)
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == f"Error: 'evnt' is no kind; the kinds are {kinds}; did you mean event?"


@pytest.mark.parametrize("name", ["a\nb", "\udcff", "\x1b[0m"])
def test_a_name_that_is_no_line_of_text_is_refused(minimal: Path, name: str) -> None:
    with pytest.raises(Misuse, match="NAME has to be one line of text"):
        library.new(INTERFACE, minimal, "event", name)


def test_a_kind_that_is_named_by_its_file_has_no_other_name(minimal: Path) -> None:
    app = replace(INTERFACE.kind["app"], named_by_file=True)
    interface = replace(INTERFACE, kinds=(app, *INTERFACE.kinds[1:]))
    assert library.new(interface, minimal, "app", "kiosk").name == "kiosk.yaml"
    with pytest.raises(Misuse, match="is named by its file"):
        library.new(interface, minimal, "app", "../kiosk")


def test_without_content_there_is_nothing_to_add_to(tmp_path: Path) -> None:
    ran = shopwindow("new", "event", cwd=tmp_path)
    assert (ran.status, list(tmp_path.iterdir())) == (2, [])


def test_content_with_problems_is_counted_all_the_same(minimal: Path) -> None:
    (minimal / "events/broken.yaml").write_text("id: 7\nid: [\n")
    (minimal / "events/empty.yaml").write_text("")
    (minimal / "events/other.yaml").write_text("- id: 41\n- 12\n- id: text\n")
    assert library.new(INTERFACE, minimal, "event").name == "42-new-event.yaml"


def test_documents_within_documents_and_feeds_are_counted(sample: Path) -> None:
    categories = sample / "catalog/categories.yaml"
    categories.write_text(
        categories.read_text() + "- id: 2000\n  name: A\n  url: https://a.example/\n  categories:\n"
        "    - {id: 3000, name: B, url: https://a.example/}\n"
    )
    assert library.new(INTERFACE, sample, "category").name == "3001-new-category.yaml"
    feed = {"id": 900000, "name": "B", "url": "https://a.example/"}
    (sample / "catalog/brands.jsonl").write_text(json.dumps(feed) + "\nnot JSON\n\n")
    assert library.new(INTERFACE, sample, "brand").name == "900001-new-brand.yaml"


# -- the comments ----------------------------------------------------------------------------------------------------


def uncommented(text: str) -> Iterator[tuple[str, str]]:
    """Yield a new document with one property more that it may leave out: its name, and the text."""
    lines = text.splitlines()
    starts = [n for n, line in enumerate(lines) if (bare := line.lstrip()).startswith("#") and bare[1:2].isalpha()]
    for start in starts:
        end = start + 1
        while end < len(lines) and lines[end].lstrip().startswith(("#  ", "#- ")):
            end += 1
        changed = [line.replace("#", "", 1) for line in lines[start:end]]
        yield changed[0].strip().partition(":")[0], "\n".join([*lines[:start], *changed, *lines[end:]]) + "\n"


NEEDS_MORE = {
    ("category", "overrideUrl"): "stands only where the type is GoTo",
    ("category", "parent"): "names a category",
    ("category", "overrideCategoryId"): "names a category",
    ("event", "group"): "names a group of site.yaml",
    ("product", "promotions"): "names a promotion",
    ("product", "badges"): "names a promotion",
    ("product", "members"): "names a product",
}
"""Properties whose example alone is not enough, and why."""


@pytest.mark.parametrize("kind", ["store", "event", "promotion", "category", "product"])
def test_each_comment_is_a_line_that_checks_clean(minimal: Path, kind: str) -> None:
    for needed in ("category", "product"):
        library.new(INTERFACE, minimal, needed)
    path = library.new(INTERFACE, minimal, kind)
    cases = [case for case in uncommented(path.read_text()) if (kind, case[0]) not in NEEDS_MORE]
    assert len(cases) > 2
    for name, text in cases:
        path.write_text(text)
        assert (name, problems(minimal)) == (name, [])


def test_every_property_is_explained(sample: Path) -> None:
    text = library.new(INTERFACE, sample, "event").read_text()
    schema = json.loads((ROOT / "schemas" / "event.json").read_text())
    comments = " ".join(line.strip(" #") for line in text.splitlines() if line.lstrip().startswith("# "))
    for name, place in schema["properties"].items():
        assert f"\n{name}:" in text or f"\n#{name}:" in text
        assert place["description"] in comments


# -- examples --------------------------------------------------------------------------------------------------------


def examples(schema: Any, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the examples of a schema, each behind the way to its place and a number."""
    if isinstance(schema, dict):
        listed = schema.get("examples")
        for number, example in enumerate(listed if isinstance(listed, list) else []):
            yield f"{pointer}#{number}", example
        for key, part in schema.items():
            if key not in ("examples", "enum", "const"):
                yield from examples(part, f"{pointer}/{key}")


def test_every_example_of_a_schema_is_valid() -> None:
    schemas = program_schemas()
    wrong = []
    for name in SCHEMA_NAMES:
        for pointer, example in examples(schemas[name]):
            way = pointer.partition("#")[0]
            tried = schemas.with_files({"tried.json": {"$ref": f"{BASE}{name}#{way}"}}, f"{name}#{way}".encode())
            if not tried.valid("tried.json", example):
                wrong.append(f"{name}{pointer}")
    assert wrong == []


def test_every_required_property_of_a_kind_has_an_example_or_choices() -> None:
    bare = []
    for kind in INTERFACE.kinds:
        schema = program_schemas().shape(kind.schema)
        for name in schema.required:
            place = schema.property(name)
            assert place is not None
            if not (place.keyword("examples") or place.keyword("enum") or place.type in ("boolean", "object", "array")):
                bare.append(f"{kind.name}.{name}")
    assert bare == []


# -- another interface, and collections ------------------------------------------------------------------------------

GUIDE = {
    "description": "A guide.",
    "type": "object",
    "properties": {
        "slug": {"description": "Its name in the address.", "type": "string", "minLength": 1},
        "title": {"description": "Its title.", "type": "string", "minLength": 1},
        "pages": {"description": "How many pages it has.", "type": "integer", "minimum": 1},
        "intro": {"description": "What it is about.", "type": "string"},
        "day": {"description": "Its day.", "type": "string", "format": "date"},
        "code": {"description": "Its code.", "type": "string", "pattern": "^[A-Z]+$"},
        "colors": {
            "description": "Its colors.",
            "type": "array",
            "minItems": 1,
            "items": {"type": "string", "enum": ["red", "blue"]},
        },
    },
    "required": ["slug", "title", "pages", "intro", "day", "code"],
    "additionalProperties": False,
}


def test_a_collection_with_text_ids_is_begun_with_placeholders(minimal: Path) -> None:
    declared = "guide: {folder: guides, schema: guide.json, id: slug, path: v1/guides}\n"
    (minimal / "collections.yaml").write_text(declared)
    (minimal / "schemas").mkdir()
    (minimal / "schemas/guide.json").write_text(json.dumps(GUIDE))

    with pytest.raises(Misuse, match=r"a new guide needs its slug \(Its name in the address\) as NAME"):
        library.new(INTERFACE, minimal, "guide")
    path = library.new(INTERFACE, minimal, "guide", "old-town")

    assert path.relative_to(minimal).as_posix() == "guides/old-town.yaml"
    empty = {"title": "", "pages": "TODO", "intro": None, "day": "", "code": ""}
    assert value(path) == {"slug": "old-town"} | empty
    assert "#colors: [red]" in path.read_text()
    reported = [problem.partition(": ")[2].partition(" (")[0] for problem in problems(minimal)]
    assert [line.partition(":")[0] for line in reported] == list(empty)


def test_a_collection_with_faults_is_no_kind_yet(minimal: Path) -> None:
    (minimal / "collections.yaml").write_text("guide: {folder: guides}\n")
    with pytest.raises(Misuse, match=r"'guide' is no kind; .* a collection with problems, which `check` reports"):
        library.new(INTERFACE, minimal, "guide")


def test_any_interface_has_new_documents(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE.parent / "examples/library", tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    code = os.pathsep.join([*sys.path, str(tmp_path / "shop")])
    named = {"PYTHONPATH": code, "SHOPWINDOW_INTERFACE": "library.interface:INTERFACE"}
    began = shopwindow("new", "branch", "Old Town", cwd=tmp_path / "shop", env=named)
    assert (began.status, began.out) == (0, "content/branches/3-old-town.yaml\n")
    checked = shopwindow("check", cwd=tmp_path / "shop", env=named)
    wrong = [line.split(":")[3].strip() for line in checked.out.splitlines() if ": warning: " not in line]
    assert wrong == ["address", "phone"]
    edited = shopwindow("schemas", "--editor", "vscode", cwd=tmp_path / "shop", env=named)
    assert edited.status == 0
    assert (tmp_path / "shop/.vscode/schemas/branch.json").is_file()
