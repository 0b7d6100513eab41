"""`shopwindow schemas`: files for an editor that stand by themselves, and leave alone what is not ours."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft7Validator

from harness.content import SAMPLE
from harness.program import shopwindow, tree
from shopwindow import library
from shopwindow.cli import report, terminal
from shopwindow.cli.report import ProblemReport
from shopwindow.content.check.folder import Checked
from shopwindow.editor.schemas import Association, associations
from shopwindow.editor.vscode import SCHEMAS, SETTINGS
from shopwindow.problems import Failure, Misuse
from shopwindow.shop import INTERFACE

ROOT = SAMPLE.parent


@pytest.fixture(scope="module")
def listed() -> dict[str, Association]:
    """The editor's schemas of the sample, by name."""
    prepared = library.declared(INTERFACE, SAMPLE)
    return {each.name: each for each in associations(prepared.interface, prepared.schemas)}


@pytest.fixture
def shop(sample: Path) -> Path:
    """The sample with its editor's files."""
    ran = shopwindow("schemas", "--editor", "vscode", cwd=sample.parent)
    assert (ran.status, ran.err) == (0, "")
    return sample.parent


def references(schema: Any) -> list[str]:
    if isinstance(schema, dict):
        own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
        return own + [ref for part in schema.values() for ref in references(part)]
    return [ref for part in schema for ref in references(part)] if isinstance(schema, list) else []


def test_each_schema_is_one_and_complete_in_itself(listed: dict[str, Association]) -> None:
    for each in listed.values():
        Draft7Validator.check_schema(each.schema)
        for ref in references(each.schema):
            place: Any = each.schema
            assert ref.startswith("#/definitions/"), ref
            for step in ref.split("/")[1:]:
                place = place[step]


def test_every_kind_has_a_schema_and_files(listed: dict[str, Association]) -> None:
    kinds = library.declared(INTERFACE, SAMPLE).interface.kinds
    assert set(listed) == {"site", "collections", "app-base", *(kind.name for kind in kinds)}
    assert listed["banner"].patterns == ("banners/**/*.yaml", "banners/**/*.yml")
    assert listed["app"].patterns[2:] == ("!apps/**/_*.yaml", "!apps/**/_*.yml")
    assert "catalog/brands.yaml" in listed["brand"].patterns


def test_each_pattern_has_words(listed: dict[str, Association]) -> None:
    def bare(schema: Any) -> int:
        if isinstance(schema, list):
            return sum(map(bare, schema))
        if not isinstance(schema, dict):
            return 0
        own = isinstance(schema.get("pattern"), str) and "patternErrorMessage" not in schema
        return own + sum(bare(part) for key, part in schema.items() if key not in ("if", "examples"))

    assert {name: bare(each.schema) for name, each in listed.items() if bare(each.schema)} == {}


def test_a_document_may_stand_alone_or_in_a_list(listed: dict[str, Association]) -> None:
    validator = Draft7Validator(listed["event"].schema)
    (event, *_) = json.loads(
        json.dumps(
            yaml.safe_load("""
      - {id: 1, stores: {storeId: [1]}, name: A, shortDesc: B, start: '2027-05-01 10:00', finish: '2027-05-01 11:00'}
    """)
        )
    )
    assert validator.is_valid(event)
    assert validator.is_valid([event, event])
    assert not validator.is_valid([event, {**event, "id": "1"}])
    assert not validator.is_valid({key: part for key, part in event.items() if key != "name"})
    assert validator.is_valid({**event, "start": "{{ opening }} 10:00"})


def test_what_builds_on_a_base_may_lack_and_remove(listed: dict[str, Association]) -> None:
    app, base = Draft7Validator(listed["app"].schema), Draft7Validator(listed["app-base"].schema)
    layer = {"name": "a", "extends": "_b.yaml", "config": {"appConfig": {"shop": {"featureLayout": None}, "bag": None}}}
    alone = {key: part for key, part in layer.items() if key != "extends"}
    assert app.is_valid(layer)
    assert not app.is_valid(alone)
    assert base.is_valid(alone)
    assert not base.is_valid({"config": {"appConfig": {"shop": {"featureLayot": []}}}})


def own(sample: Path, properties: dict[str, Any], more: dict[str, Any]) -> Draft7Validator:
    """Return what an editor makes of banners with more properties and definitions of the folder's own."""
    path = sample / "schemas/banner.json"
    schema = json.loads(path.read_text())
    schema["properties"] |= properties
    path.write_text(json.dumps(schema | more))
    prepared = library.declared(INTERFACE, sample)
    assert [*prepared.schemas.problems, *prepared.problems] == []
    listed = {each.name: each for each in associations(prepared.interface, prepared.schemas)}
    return Draft7Validator(listed["banner"].schema)


BANNER = {"bannerId": 1, "headline": "A", "placement": "home", "priority": 1, "image": "i:a", "link": "i:b"}


def test_a_condition_by_reference_is_kept(sample: Path) -> None:
    part = {
        "type": "object",
        "properties": {"kind": {"type": "string"}, "inner": {"$ref": "#/$defs/inner"}, "note": {"type": "string"}},
        "if": {"$ref": "#/$defs/noted"},
        "then": {"required": ["note"]},
    }
    noted = {"properties": {"kind": {"const": "noted"}}, "required": ["kind"]}
    inner = {"not": {"$ref": "#/$defs/noted"}}
    (sample / "schemas/event.json").write_text(
        json.dumps(
            {
                "type": "object",
                "properties": {"part": {"$ref": "#/$defs/part"}},
                "$defs": {"part": part, "noted": noted, "inner": inner},
            }
        )
    )
    prepared = library.declared(INTERFACE, sample)
    assert prepared.schemas.problems == ()
    schema = {each.name: each for each in associations(prepared.interface, prepared.schemas)}["event"].schema
    event = {
        "id": 1,
        "stores": {"storeId": [1]},
        "name": "A",
        "shortDesc": "B",
        "start": "2027-05-01 10:00",
        "finish": "2027-05-01 11:00",
    }
    validator = Draft7Validator(schema)
    assert validator.is_valid(event | {"part": {"kind": "plain"}})
    assert validator.is_valid(event | {"part": {"kind": "noted", "note": "x"}})
    assert not validator.is_valid(event | {"part": {"kind": "noted"}})
    assert not validator.is_valid(event | {"part": {"kind": "plain", "inner": {"kind": "noted"}}})


def test_choices_beside_other_rules_are_all_kept(sample: Path) -> None:
    tone = {"description": "How it sounds.", "type": "string", "enum": ["warm", "cold"]}
    validator = own(sample, {"tone": tone | {"anyOf": [{"maxLength": 4}, {"minLength": 9}]}}, {})
    assert validator.is_valid(BANNER | {"tone": "warm"})
    assert not validator.is_valid(BANNER | {"tone": "hot"})


# -- as files ---------------------------------------------------------------------------------------------------------


def test_vscode_is_told_by_relative_paths_which_files_a_schema_is_for(shop: Path) -> None:
    settings = json.loads((shop / SETTINGS).read_text())
    for schema, patterns in settings["yaml.schemas"].items():
        assert (shop / schema).is_file()
        assert all(pattern.lstrip("!").startswith("content/") for pattern in patterns)
    assert len(settings["yaml.schemas"]) == len(list((shop / SCHEMAS).iterdir()))


def test_what_settings_say_of_other_things_stays(shop: Path) -> None:
    (shop / SCHEMAS / "gone.json").write_text("{}")
    settings = json.loads((shop / SETTINGS).read_text())
    settings["editor.rulers"] = [100]
    settings["yaml.schemas"] |= {"./mine.json": ["mine/*.yaml"], f"./{SCHEMAS}/gone.json": ["gone/*.yaml"]}
    (shop / SETTINGS).write_text(json.dumps(settings))
    (shop / ".vscode/tasks.json").write_text("mine")
    assert shopwindow("schemas", "--editor", "vscode", cwd=shop).status == 0
    renewed = json.loads((shop / SETTINGS).read_text())
    del settings["yaml.schemas"][f"./{SCHEMAS}/gone.json"]
    assert renewed == settings
    assert (shop / ".vscode/tasks.json").read_text() == "mine"
    assert not (shop / SCHEMAS / "gone.json").exists()


def test_settings_with_comments_are_left_alone(shop: Path) -> None:
    (shop / SETTINGS).write_text("{ // mine\n}")
    before = tree(shop)
    ran = shopwindow("schemas", "--editor", "vscode", cwd=shop)
    assert (ran.status, "holds more than plain JSON" in ran.err) == (4, True)
    assert tree(shop) == before
    with pytest.raises(Failure, match=r"--editor DIR"):
        library.editor_schemas(INTERFACE, shop / "content", "vscode")


def test_another_editor_gets_a_folder_of_schemas(sample: Path) -> None:
    ran = shopwindow("schemas", "--editor", "editor/schemas", cwd=sample.parent)
    written = sample.parent / "editor/schemas"
    named = json.loads((written / "associations.json").read_text())
    assert ran.status == 0
    assert sorted(named) == sorted(
        f"./editor/schemas/{path.name}" for path in written.glob("*.json") if path.name != "associations.json"
    )
    assert not (sample.parent / ".vscode").exists()


def test_with_problems_in_own_schemas_nothing_is_written(sample: Path) -> None:
    (sample / "schemas/banner.json").write_text("{")
    ran = shopwindow("schemas", "--editor", "vscode", cwd=sample.parent)
    assert (ran.status, ran.out.startswith("content/schemas/banner.json:1:")) == (1, True)
    assert not (sample.parent / ".vscode").exists()
    with pytest.raises(Misuse, match="there is no such folder"):
        library.editor_schemas(INTERFACE, sample / "nowhere", "vscode")


def test_init_writes_the_same_files(tmp_path: Path) -> None:
    shopwindow("init", tmp_path, "--from", "sample", "--editor", "vscode")
    before = tree(tmp_path)
    assert ".vscode/extensions.json" in before
    assert shopwindow("schemas", "--editor", "vscode", cwd=tmp_path).status == 0
    assert tree(tmp_path) == before


def test_the_problem_matcher_reads_what_check_prints(shop: Path) -> None:
    shutil.copy(shop / "content/site.yaml", shop / "content/sight.yaml")
    event = shop / "content/events/windows-light-up.yaml"
    event.write_text(event.read_text().replace("finish: 2026-11-23 19:00", "finish: 7pm"))
    tasks = json.loads((shop / ".vscode/tasks.json").read_text())["tasks"]
    at_place, at_file = (re.compile(each["pattern"]["regexp"]) for each in tasks[0]["problemMatcher"])
    checked = Checked(None, library.check(INTERFACE, shop / "content").problems)
    for printer in (report.text, terminal.layout):
        printed = re.sub("\x1b[^m]*m", "", printer(ProblemReport(checked, Path("content")))).splitlines()
        placed = [match.groups()[:3] for line in printed if (match := at_place.match(line))]
        whole = [match[1] for line in printed if (match := at_file.match(line)) and not at_place.match(line)]
        assert placed == [("content/events/windows-light-up.yaml", "11", "9")]
        assert whole == ["content/sight.yaml"]
    assert [task["command"] for task in tasks] == ["shopwindow check --format lines", "shopwindow build"]


def test_a_content_folder_may_have_another_name(sample: Path) -> None:
    folder = sample.rename(sample.parent / "my.shop")
    assert shopwindow("schemas", "--editor", "vscode", "--content", "my.shop", cwd=folder.parent).status == 0
    settings = json.loads((folder.parent / SETTINGS).read_text())
    tasks = json.loads((folder.parent / ".vscode/tasks.json").read_text())["tasks"]
    pattern = tasks[0]["problemMatcher"][0]["pattern"]["regexp"]
    assert settings["yaml.schemas"][f"./{SCHEMAS}/site.json"] == ["my.shop/site.yaml"]
    assert tasks[0]["command"] == "shopwindow check --format lines --content my.shop"
    assert re.match(pattern, "my.shop/site.yaml:1:2: wrong")
    assert not re.match(pattern, "my-shop/site.yaml:1:2: wrong")


def test_the_hook_for_pre_commit_runs_a_command_that_exists(sample: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert {"id", "name", "entry", "language"} <= set(hook)
    program, *arguments = hook["entry"].split()
    assert program == "shopwindow"
    assert shopwindow(*arguments, cwd=sample.parent).status == 0
    assert re.match(hook["files"], "content/events/a.yaml")
