"""site.yaml's schema is the engine's part and the families'; its lifetimes are those of the Interface's operations."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT, site, write
from harness.program import Interface, Schemas, program_schemas
from shopwindow import library
from shopwindow.interface.declaring.operation import FromContent
from shopwindow.problems import Failure
from shopwindow.shop import INTERFACE

READS = [operation.name for operation in INTERFACE.operations if isinstance(operation.source, FromContent)]
PARTS = sorted((ROOT / "schemas" / "site").glob("*.json"))


def part_of(path: Path) -> Any:
    return json.loads(path.read_bytes())


def lifetimes(folder: Path, names: list[str]) -> list[str]:
    """The problems of a content folder whose site.yaml gives these names a lifetime."""
    given = {name: {"maxAge": 60} for name in ("default", *names)}
    write(folder, {"site.yaml": site(lifetimes=given)})
    found = library.check(INTERFACE, folder).problems
    return [f"{each.rule} {each.found} {each.nearest}" for each in found if each.path == "site.yaml"]


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_what_a_family_says_stands_in_the_schema_of_site_yaml(path: Path) -> None:
    whole = program_schemas()["site.json"]["properties"]
    for name, said in part_of(path)["properties"].items():
        merged = whole[name] if name != "limits" else {"properties": whole[name]["properties"]}
        expected = said if name != "limits" else {"properties": merged["properties"] | said["properties"]}
        assert merged == expected


def test_the_engine_s_part_names_nothing_of_a_family() -> None:
    engine = part_of(ROOT / "schemas" / "site.json")["properties"]
    families = {name for path in PARTS for name in part_of(path)["properties"]}
    assert (engine.keys() & families, engine["limits"]["properties"]) == ({"limits"}, {})


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_no_part_is_a_schema_of_documents(path: Path) -> None:
    with pytest.raises(KeyError):
        program_schemas()[f"site/{path.name}"]


def test_parts_that_contradict_each_other_are_a_failure(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "schemas", tmp_path / "schemas")
    mine = {"properties": {"bags": {"description": "Something else."}}}
    (tmp_path / "schemas" / "site" / "mine.json").write_text(json.dumps(mine))
    with pytest.raises(Failure, match=r"site/mine\.json: properties/bags/description stands in another part"):
        Schemas(tmp_path / "schemas")


def test_an_interface_has_the_parts_of_its_own_families_alone(tmp_path: Path) -> None:
    engine = part_of(ROOT / "schemas" / "site.json")["properties"].keys()
    bare = Interface("Bare", "1", kinds=(), operations=())
    with_bags = replace(bare, families=("bags",))
    bags = part_of(ROOT / "schemas" / "site" / "bags.json")["properties"].keys()
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "tram.json").write_text(json.dumps({"properties": {"tram": {"type": "string"}}}))
    with_its_own = replace(bare, schemas=tmp_path)
    settings = [
        library.schemas(each, tmp_path / "content")["site.json"]["properties"].keys()
        for each in (bare, with_bags, with_its_own, INTERFACE)
    ]
    assert settings[:3] == [engine, engine | bags, engine | {"tram"}]
    assert settings[3] == program_schemas()["site.json"]["properties"].keys()


def test_a_family_without_a_part_is_a_failure(tmp_path: Path) -> None:
    bare = Interface("Bare", "1", kinds=(), operations=(), families=("bag",))
    with pytest.raises(Failure, match=r"site/bag\.json: is not there, and the interface names its family"):
        library.schemas(bare, tmp_path)


def test_each_read_may_have_a_lifetime(tmp_path: Path) -> None:
    assert lifetimes(tmp_path, READS) == []


def test_another_lifetime_is_a_problem_with_the_nearest_name(tmp_path: Path) -> None:
    assert lifetimes(tmp_path, ["promotion_v2", "bag"]) == [
        "site.lifetime 'promotion_v2' is no operation that caches keep responses of promotions_v2",
        "site.lifetime 'bag' is no operation that caches keep responses of ",
    ]
