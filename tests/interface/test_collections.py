"""Collections: kinds that a content folder declares without Python, and what is served of them (collections.yaml)."""

import json
import os
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from harness.answers import decoded
from harness.content import AT, SAMPLE, app, site, write
from harness.program import Application, Ran, answered, built, checked, manifest, released, served, shopwindow
from harness.program import Request as Asked
from shopwindow import library
from shopwindow.content.declared import declarations
from shopwindow.content.declared.collection import Collection, decode, encode
from shopwindow.interface.declaring.collections import FILTER_VALUES, with_collections
from shopwindow.interface.declaring.kinds import Texts
from shopwindow.interface.formats import XML
from shopwindow.interface.request import Request
from shopwindow.interface.requests.bind import bind
from shopwindow.problems import pointer_text
from shopwindow.shop import INTERFACE

KEY = "A" * 24

DECLARATION = """\
banner:
  folder: banners
  schema: banner.json
  id: bannerId
  path: v1/banners
  filters: [placement, tags]
  order: [priority, bannerId]
  lifetime: 77
"""

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "bannerId": {"type": "integer"},
        "headline": {"type": "string"},
        "priority": {"type": "integer"},
        "placement": {"type": "string", "enum": ["home", "bag"]},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 1},
        "size": {"$ref": "#/$defs/size"},
    },
    "required": ["bannerId", "priority"],
    "additionalProperties": False,
    "$defs": {
        "size": {
            "type": "object",
            "properties": {"width": {"type": "number"}, "flat": {"type": "boolean"}},
            "additionalProperties": False,
        }
    },
}

CLOSED = {"type": "object", "additionalProperties": False}

BANNERS: list[dict[str, Any]] = [
    {"bannerId": 1, "priority": 2, "headline": "One", "placement": "home", "tags": ["a", "b"]},
    {"bannerId": 2, "priority": 1, "headline": "Two", "placement": "bag", "size": {"width": 1.5, "flat": True}},
    {"bannerId": 3, "priority": 2, "headline": "Three", "tags": ["b"]},
    {"bannerId": 4, "priority": 3, "headline": "Gone", "publish": {"until": "2026-11-23"}},
    {"bannerId": 5, "priority": 0, "headline": "To come", "placement": "home", "publish": {"from": "2026-11-26"}},
]
ONE, TWO, THREE = BANNERS[:3]


def folder(place: Path, declaration: str = DECLARATION, schema: Any = None, banners: Any = None) -> Path:
    """Write a content folder with an application, whose key is KEY, and one collection."""
    phone = {**app("phone"), "apiKeys": [sha256(KEY.encode()).hexdigest()]}
    write(place, {"site.yaml": site(), "apps/phone.yaml": phone})
    write(place, {"schemas/banner.json": schema or SCHEMA, "banners/all.yaml": BANNERS if banners is None else banners})
    (place / "collections.yaml").write_text(declaration)
    return place


@pytest.fixture
def content(tmp_path: Path) -> Path:
    return folder(tmp_path / "content")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Application:
    """A release of the content above, served without its content folder."""
    return served(released(folder(tmp_path_factory.mktemp("served") / "content")))


def get(service: Path | Application, target: str, accept: str = "application/json") -> tuple[int, Any, dict[str, Any]]:
    """Return status, value and headers of the service's answer."""
    sent = Asked(target, {"accept": accept, "x-svc-webservice-client-id": KEY})
    answer = answered(service, sent)
    is_json = answer.headers["content-type"] == "application/json"
    return answer.status, json.loads(answer.body) if is_json else answer.body, answer.headers


def asked(service: Path | Application, target: str) -> list[dict[str, Any]]:
    """Return the banners of an answer, which must be there."""
    status, value, _ = get(service, target)
    assert status == 200, value
    assert list(value) == ["banners"]
    banners: list[dict[str, Any]] = value["banners"]
    return banners


# -- what is served ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "banners"),
    [
        ("", [TWO, ONE, THREE]),
        ("?placement=home", [ONE]),
        ("?placement=bag,home", [TWO, ONE]),
        ("?placement=%20home%20,bag,home", [TWO, ONE]),
        ("?placement=nowhere", []),
        ("?tags=b", [ONE, THREE]),
        ("?tags=a,nothing", [ONE]),
        ("?tags=b&placement=home", [ONE]),
        ("?tags=b&placement=bag", []),
        ("?unknown=b", [TWO, ONE, THREE]),
    ],
)
def test_filters_narrow_the_list(shop: Application, query: str, banners: list[Any]) -> None:
    assert asked(shop, f"v1/banners{query}") == banners


def test_single_documents_come_in_the_order_of_their_ids(shop: Application) -> None:
    assert asked(shop, "v1/banners/3,1,1,99") == [ONE, THREE]


@pytest.mark.parametrize("id", ["99", "4", "5"], ids=["unknown", "past its window", "before its window"])
def test_ids_that_do_not_exist_are_404_with_409(shop: Application, id: str) -> None:
    status, value, _ = get(shop, f"v1/banners/{id}")
    assert (status, value["errorCode"]) == (404, 409)


def test_an_empty_item_of_a_filter_and_an_overlong_one_are_refused_with_what_is_allowed(shop: Application) -> None:
    for query in ("placement=+", "placement=home,", "placement=" + "x" * 101):
        status, value, _ = get(shop, f"v1/banners?{query}")
        assert status == 400
        assert "texts of 1 to 100 characters" in value["errorDetail"][0]


def test_fields_and_callback_work_as_everywhere(shop: Application) -> None:
    assert asked(shop, "v1/banners?_fields=headline,size(flat)&placement=bag") == [
        {"headline": "Two", "size": {"flat": True}}
    ]
    assert get(shop, "v1/banners/2?callback=f&_fields=bannerId")[1] == b'/**/f({"banners":[{"bannerId":2}]});'


def test_xml_is_decoded_to_the_same_value(shop: Application, content: Path) -> None:
    for target in ("v1/banners", "v1/banners?placement=nowhere", "v1/banners/2"):
        body = get(shop, target, XML.media_type)[1]
        shape = library.declared(INTERFACE, content).schemas.shape("responses/collections/banner.json")
        assert decoded(XML, body, shape) == get(shop, target)[1]


def test_the_lifetime_is_the_declarations_unless_site_yaml_names_the_operation(content: Path, tmp_path: Path) -> None:
    write(content, {"site.yaml": site(lifetimes={"default": {"maxAge": 60}, "banner_by_id": {"maxAge": 5}})})
    service = served(released(content))
    lifetimes = {target: get(service, target)[2]["cache-control"] for target in ("v1/banners", "v1/banners/1")}
    assert lifetimes == {"v1/banners": "max-age=77", "v1/banners/1": "max-age=5"}


def test_a_call_has_one_spelling() -> None:
    interface = with_collections(INTERFACE, [_collection()])
    call = bind(Request("v1/banners", "placement=b%2Ca,b"), None, interface)
    assert call["placement"] == ("a", "b")
    path, _, query = call.target.partition("?")
    assert bind(Request(path, query), None, interface) == call
    assert Texts().parse(Texts().format(("a", "b"))) == ("a", "b")


def _collection() -> Collection:
    return Collection("banner", "banners", "bannerId", "v1/banners", SCHEMA, ("placement",))


# -- what is pre-rendered ----------------------------------------------------------------------------------------


def test_the_list_each_document_and_each_value_of_a_filter_are_files(content: Path, tmp_path: Path) -> None:
    release = tmp_path / "out" / "releases" / built(content, tmp_path / "out")
    files = {path.relative_to(release / "files").as_posix() for path in (release / "files").rglob("*banners*")}
    files |= {path.relative_to(release / "files").as_posix() for path in (release / "files/v1/banners").rglob("*")}
    files = {name for name in files if (release / "files" / name).is_file()}
    stems = ["banners", "banners/1", "banners/2", "banners/3"]
    stems += ["banners;placement=home", "banners;placement=bag", "banners;tags=a", "banners;tags=b"]
    assert files == {f"v1/{stem}.{form}" for stem in stems for form in ("json", "xml")}


def test_of_one_filter_200_values_are_files_and_the_service_answers_for_the_rest(tmp_path: Path) -> None:
    words = [f"w{number:03}" for number in range(FILTER_VALUES + 5)] + ["w,1", " w", "w "]
    banners = [{"bannerId": 1, "priority": 1, "tags": words}]
    out = tmp_path / "out"
    release = out / "releases" / built(folder(tmp_path / "content", banners=banners), out)
    listed = {entry["path"] for entry in manifest(release)["files"] if ";tags=" in entry["path"]}
    assert listed == {f"v1/banners;tags={word}.{form}" for word in words[:FILTER_VALUES] for form in ("json", "xml")}
    assert asked(out, f"v1/banners?tags={words[-4]}") == banners


# -- windows, differences, releases ------------------------------------------------------------------------------


def test_windows_are_applied_announced_and_compared(tmp_path: Path) -> None:
    """A window that ended yesterday keeps its banner out; the next change is the next one's; `diff` names both."""
    folder, out = tmp_path / "content", tmp_path / "out"
    shutil.copytree(SAMPLE, folder)
    place = folder / "banners" / "always.yaml"
    before = built(folder, out)
    text = place.read_text()
    text = text.replace("- bannerId: 103\n", "- bannerId: 103\n  publish: {until: 2026-11-23}\n")
    text = text.replace("- bannerId: 104\n", "- bannerId: 104\n  publish: {from: 2026-11-24 12:01}\n")
    place.write_text(text)
    after = built(folder, out)
    release = out / "releases" / after
    shown = json.loads((release / "files/v1/banners.json").read_bytes())["banners"]
    assert [banner["bannerId"] for banner in shown] == [105, 101, 106, 102]
    assert not any("publish" in banner for banner in shown)
    assert manifest(release)["nextChange"] == "2026-11-24T17:01:00+00:00"
    changes = shopwindow("diff", before, after, "--out", out).out
    assert "banner 103: disappears\nbanner 104: disappears\n" in changes
    assert "  https://api.larkspurvane.example/v1/banners/103\n" in changes
    assert "  https://api.larkspurvane.example/v1/banners?placement=shop\n" in changes
    later = built(folder, out, at="2026-11-24T12:01:00-05:00")
    assert "banner 104: appears" in shopwindow("diff", after, later, "--out", out).out


def test_a_build_of_the_same_content_has_nothing_to_do(content: Path, tmp_path: Path) -> None:
    first = built(content, tmp_path / "out")
    again = shopwindow("build", "--content", content, "--out", tmp_path / "out", "--at", AT)
    assert "nothing to do" in again.out
    (content / "collections.yaml").write_text(DECLARATION.replace("[priority, bannerId]", "[bannerId]"))
    second = built(content, tmp_path / "out")
    assert first != second
    listed = json.loads((tmp_path / "out/current/files/v1/banners.json").read_bytes())["banners"]
    assert listed == [ONE, TWO, THREE]


def test_releases_with_and_without_a_collection_are_compared(content: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = built(content, out)
    (content / "collections.yaml").unlink()
    (content / "banners/all.yaml").unlink()
    (content / "banners").rmdir()
    second = built(content, out)
    for old, new, words in ((first, second, "disappears"), (second, first, "appears")):
        printed = shopwindow("diff", old, new, "--out", out).out
        assert [f"banner {id}: {words}" in printed for id in (1, 2, 3)] == [True] * 3
        assert "https://api.shop.example/v1/banners/2" in printed
    assert not (out / "releases" / second / declarations.SCHEMA).exists()


def test_check_compares_with_a_release_whose_collection_had_another_id(content: Path, tmp_path: Path) -> None:
    release = tmp_path / "out" / "releases" / built(content, tmp_path / "out")
    assert shopwindow("check", "--content", content, "--against", release).status == 0
    (content / "collections.yaml").write_text(DECLARATION.replace("id: bannerId", "id: priority", 1))
    renumbered = [{**banner, "priority": number} for number, banner in enumerate(BANNERS, 1)]
    write(content, {"banners/all.yaml": renumbered})
    checked = shopwindow("check", "--content", content, "--against", release, "--at", "2026-11-22")
    assert (checked.status, checked.out) == (0, f"{content}: 3 files, nothing wrong\n")


def test_what_a_release_stores_is_what_was_declared(content: Path) -> None:
    first = library.declared(INTERFACE, content).interface.collections
    again = decode(encode(first))
    assert encode(again) == encode(first)
    assert [vars(each) for each in again] == [{k: v for k, v in vars(each).items() if k != "kind"} for each in first]


def test_show_openapi_and_nginx_know_the_routes(content: Path, tmp_path: Path) -> None:
    out, keys = tmp_path / "out", tmp_path / "keys"
    shown = shopwindow("show", "v1/banners?tags=b", "--content", content, "--at", AT)
    assert json.loads(shown.out) == {"banners": [ONE, THREE]}
    built(content, out)
    keys.write_text(f"phone {KEY}\n")
    elsewhere = tmp_path / "elsewhere"  # all of it comes from the release
    document = json.loads(shopwindow("schemas", "--openapi", "--content", elsewhere, "--out", out).out)
    validate(document)
    assert {"/v1/banners", "/v1/banners/{bannerId}"} <= document["paths"].keys()
    names = [each["name"] for each in document["paths"]["/v1/banners"]["get"]["parameters"] if each["in"] == "query"]
    assert names == ["placement", "tags", "_fields", "callback"]
    nginx = shopwindow("edge", "nginx", "--content", elsewhere, "--out", out, "--api-keys", keys).out
    assert 'location = "/v1/banners"' in nginx
    assert 'location ^~ "/v1/banners/"' in nginx
    assert "placement=home" in nginx


# -- faults ------------------------------------------------------------------------------------------------------


def problems(place: Path) -> list[str]:
    """Return what a check finds: place, rule, pointer and what was found, a line each."""
    return [
        f"{each.path}:{each.place.line}:{each.place.column}: {each.rule}: {pointer_text(each.pointer)}: {each.found}"
        if each.place
        else f"{each.path}: {each.rule}: {each.found}"
        for each in checked(place).problems
    ]


def test_the_content_is_without_problems(content: Path) -> None:
    assert problems(content) == []
    documents = checked(SAMPLE).documents
    assert documents is not None
    banners = documents.of("banner")
    assert len(banners) == 8
    assert len([each for each in banners if "publish" in each.value]) == 2
    alive = library.live_at(library.declared(INTERFACE, SAMPLE).interface, documents, AT)
    assert len(alive.documents("banner")) == 6


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("banner:\n", "event:\n", "1:1: collection.name: event: the name 'event' is that of the kind event"),
        ("banner:\n", "stores:\n", "1:1: collection.name: stores: the name 'stores' is that of the operation stores"),
        ("banner:\n", "Banner:\n", "1:1: schema.pattern: Banner: 'Banner' does not have the right form"),
        (
            "folder: banners",
            "folder: catalog",
            "2:11: collection.folder: banner/folder: the folder 'catalog' belongs to the kind category",
        ),
        (
            "folder: banners",
            "folder: schemas",
            "2:11: collection.folder: banner/folder: "
            "the folder 'schemas' belongs to the content folder's own files",
        ),
        ("banner.json", "baner.json", "3:11: collection.schema: banner/schema: there is no file schemas/baner.json"),
        ("id: bannerId", "id: banerId", "4:7: collection.property: banner/id: the schema has no property 'banerId'"),
        (
            "id: bannerId",
            "id: headline",
            "4:7: collection.property: banner/id: 'headline' may be missing from a document",
        ),
        ("id: bannerId", "id: size", "4:7: collection.property: banner/id: 'size' is of the type object"),
        (
            "path: v1/banners",
            "path: v3/catalog/category/index",
            "5:9: collection.path: banner/path: "
            "the path v3/catalog/category/index is served by the operation category_index",
        ),
        (
            "path: v1/banners",
            "path: /v1/banners",
            "5:9: schema.pattern: banner/path: '/v1/banners' does not have the right form",
        ),
        (
            "[placement, tags]",
            "[placement, tag]",
            "6:24: collection.property: banner/filters/1: the schema has no property 'tag'",
        ),
        ("[placement, tags]", "[size]", "6:13: collection.property: banner/filters/0: 'size' is of the type object"),
        (
            "[priority, bannerId]",
            "[headline]",
            "7:11: collection.property: banner/order/0: 'headline' may be missing from a document",
        ),
        ("lifetime: 77", "lifetime: -1", "8:13: schema.minimum: banner/lifetime: -1 is too small"),
        (
            "lifetime: 77",
            "livetime: 77",
            "8:3: schema.additionalProperties: banner/livetime: 'livetime' is not known here",
        ),
        ("  id: bannerId\n", "", "1:1: schema.required: banner: 'id' is missing"),
    ],
)  # fmt: skip
def test_a_fault_of_a_declaration_is_a_problem_at_its_place(tmp_path: Path, old: str, new: str, problem: str) -> None:
    assert old in DECLARATION
    found = problems(folder(tmp_path / "content", DECLARATION.replace(old, new, 1)))
    assert f"collections.yaml:{problem}" in found
    assert [each for each in found if not each.startswith("collections.yaml:")] == []


@pytest.mark.parametrize(
    ("target", "why"),
    [("collections.yaml", "Too many levels of symbolic links"), ("site.yaml/declared", "Not a directory")],
)
def test_declarations_that_cannot_be_read_are_a_problem_at_the_file(content: Path, target: str, why: str) -> None:
    (content / "collections.yaml").unlink()
    (content / "collections.yaml").symlink_to(target)
    assert problems(content) == [
        f"collections.yaml: tree.link: a link to '{target}', which does not exist",
        f"collections.yaml:1:1: tree.unreadable: : cannot be read: {why}",
    ]


def test_declarations_that_are_no_regular_file_are_a_problem_and_nobody_waits_for_them(content: Path) -> None:
    (content / "collections.yaml").unlink()
    os.mkfifo(content / "collections.yaml")
    no_file = ["collections.yaml:1:1: tree.unreadable: : cannot be read: it is no regular file"]
    assert problems(content) == no_file
    held = os.open(content / "collections.yaml", os.O_RDWR)
    assert problems(content) == no_file
    os.write(held, b"banners: {}\n")
    assert problems(content) == no_file
    os.close(held)
    (content / "collections.yaml").unlink()
    (content / "collections.yaml").symlink_to("/dev/zero")
    assert problems(content)[1:] == no_file


def test_two_declarations_may_not_take_the_same(tmp_path: Path) -> None:
    second = DECLARATION.replace("banner:", "other:", 1)
    found = problems(folder(tmp_path / "content", DECLARATION + second))
    assert found == [
        "collections.yaml:10:11: collection.folder: other/folder: "
        "the folder 'banners' belongs to the collection banner",
        "collections.yaml:13:9: collection.path: other/path: the path v1/banners is served by the collection banner",
    ]


def test_yaml_that_cannot_be_read_is_a_problem_of_the_file(tmp_path: Path) -> None:
    found = problems(folder(tmp_path / "content", "banner: [\n"))
    assert [each.partition(":")[0] for each in found if "tree.unclaimed" not in each] == ["collections.yaml"]


@pytest.mark.parametrize(
    ("property", "place", "words"),
    [
        ({"type": ["string", "integer"]}, "/type", "the type"),
        ({"type": "null"}, "/type", "the type"),
        ({"description": "Anything."}, "", "no type"),
        ({"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "string"}}}, "/items", "array"),
        ({"type": "array", "minItems": 1}, "", "items may be anything"),
        ({"type": "array", "items": {"type": "string"}}, "", "may be empty or missing"),
        ({**CLOSED, "properties": {"a b": {"type": "string"}}}, "/properties/a b", "XML"),
        ({"type": "object", "properties": {}}, "", "may be anything"),
        ({**CLOSED, "patternProperties": {"a": {"type": "string"}}}, "/patternProperties", "several types"),
    ],
)  # fmt: skip
def test_a_schema_that_breaks_the_shapes_is_a_problem_in_the_schema(
    tmp_path: Path, property: Any, place: str, words: str
) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "more": property}}
    (found,) = problems(folder(tmp_path / "content", schema=schema))
    where, rule, pointer, text = re.split(": ", found, maxsplit=3)
    assert re.fullmatch(r"schemas/banner\.json:1:[0-9]+", where)
    assert (rule, pointer) == ("collection.shape", f"properties/more{place}")
    assert words in text


def test_a_schema_that_holds_itself_is_a_problem(tmp_path: Path) -> None:
    more = {"type": "object", "properties": {"in": {"$ref": "#/$defs/size"}}, "additionalProperties": False}
    (found,) = problems(folder(tmp_path / "content", schema={**SCHEMA, "$defs": {"size": more}}))
    assert "the schema refers to itself" in found


def test_a_schema_that_is_none_is_one_problem_and_its_folder_none(tmp_path: Path) -> None:
    (found,) = problems(folder(tmp_path / "content", schema={**SCHEMA, "required": "bannerId"}))
    assert found.startswith("schemas/banner.json:")


@pytest.mark.parametrize("id", [0, 2**53])
def test_an_id_that_nobody_can_ask_for_is_a_problem(tmp_path: Path, id: int) -> None:
    (found,) = problems(folder(tmp_path / "content", banners=[{"bannerId": id, "priority": 1}]))
    assert found == f"banners/all.yaml:1:15: collection.id: 0/bannerId: no request can name the id {id}"


@pytest.mark.parametrize(
    ("id", "is_fine"),
    [("a b", True), ("é", True), ("a,b", False), ("a/b", False), (" a", False), ("..", False), ("", False)],
)
def test_an_id_that_is_text_can_stand_in_a_path(tmp_path: Path, id: str, is_fine: bool) -> None:
    schema = {**SCHEMA, "properties": {**SCHEMA["properties"], "bannerId": {"type": "string"}}}
    place = folder(tmp_path / "content", schema=schema, banners=[{"bannerId": id, "priority": 1}])
    assert (problems(place) == []) == is_fine
    if is_fine:
        assert asked(released(place), f"v1/banners/{id}") == [{"bannerId": id, "priority": 1}]


def test_documents_are_checked_as_any_others(tmp_path: Path) -> None:
    banners = [{"bannerId": 1, "priority": "x"}, {"bannerId": 2, "priority": 1}, {"bannerId": 2, "priority": 1}]
    found = problems(folder(tmp_path / "content", banners=banners))
    assert [re.split(": ", each, maxsplit=2)[1] for each in found] == ["schema.type", "unique"]


def test_the_command_names_file_line_and_column(content: Path) -> None:
    (content / "collections.yaml").write_text(DECLARATION.replace("id: bannerId", "id: banerId", 1))
    ran: Ran = shopwindow("check", "--content", content)
    assert ran.status == 1
    assert "collections.yaml:4:7: " in ran.out
    assert "did you mean bannerId?" in ran.out


def test_what_xml_cannot_hold_says_nothing_of_the_kind(tmp_path: Path) -> None:
    """A document of two kinds with like schemas stays one of its own folder."""
    posters = (
        DECLARATION.replace("banners", "posters").replace("banner:", "poster:").replace("banner.json", "poster.json")
    )
    banners = [{**ONE, "headline": "One\x01", "tags": ["\x02"]}]
    place = folder(tmp_path / "content", DECLARATION + posters, banners=banners)
    write(place, {"schemas/poster.json": SCHEMA, "posters/all.yaml": []})
    found = [(each.rule, each.path) for each in checked(place).problems]
    assert found == [("text.xml", "banners/all.yaml")] * 2
