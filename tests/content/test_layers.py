"""Facts about documents that build on others: merging, `extends`, and in which file a problem stands."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from content.test_yaml import values
from harness.content import APP, CONFIG, DIGEST, check, edit, found, place, problems, unmark, write_files
from harness.program import Schemas
from shopwindow.content.documents.layers import merge
from shopwindow.problems import Problem
from shopwindow.shop import INTERFACE

# RFC 7396, appendix A
RFC: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    (["a", "b"], ["c", "d"], ["c", "d"]),
    ({"a": "b"}, ["c"], ["c"]),
    ({"a": "foo"}, None, None),
    ({"a": "foo"}, "bar", "bar"),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ([1, 2], {"a": "b", "c": None}, {"a": "b"}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
]


@pytest.mark.parametrize(("target", "patch", "result"), RFC, ids=repr)
def test_merging_is_rfc_7396(target: Any, patch: Any, result: Any) -> None:
    assert merge(target, patch) == result


def test_merging_keeps_the_order_of_the_base_and_adds_behind_it() -> None:
    assert list(merge({"b": 1, "a": 2}, {"c": 3, "a": 4})) == ["b", "a", "c"]


@given(values, values)
def test_merging_changes_neither_value(target: Any, patch: Any) -> None:
    before = json.dumps([target, patch])
    merged = merge(target, patch)
    assert json.dumps([target, patch]) == before
    assert merge(merged, patch) == merged


# -- in a content folder -----------------------------------------------------------------------------------------

SECOND = "b" * 64


def app(name: str, *lines: str, digest: str = DIGEST) -> str:
    return "\n".join([f"name: {name}", "platform: iPhone", f"apiKeys: [{digest}]", *lines, ""])


def told(folder: Path, schemas: Schemas) -> list[tuple[str, ...]]:
    """What a check finds in apps/: place and rule, and which files build on that."""
    return [
        (f"{problem.path}:{problem.place.line}:{problem.place.column} {problem.rule}", *problem.used_by)
        for problem in problems(folder, schemas)
        if problem.place
    ]


@pytest.fixture
def layered(minimal: Path) -> Path:
    """Two applications; one builds on `_a.yaml`, the other on `_b.yaml`, which builds on `_a.yaml`."""
    files = {
        "apps/_a.yaml": CONFIG,
        "apps/_b.yaml": "extends: _a.yaml\nconfig:\n  appLayout: [bag]\n",
        "apps/one.yaml": app("one", "extends: _a.yaml"),
        "apps/two.yaml": app("two", "extends: _b.yaml", "config:", '  configVersion: "2"', digest=SECOND),
    }
    return write_files(minimal, files)


def test_an_application_is_what_its_files_make_together(layered: Path, schemas: Schemas) -> None:
    documents = check(layered, schemas, INTERFACE).documents
    assert documents is not None
    one, two = documents.of("app")
    assert [layer.path for layer in two.layers] == ["apps/_a.yaml", "apps/_b.yaml", "apps/two.yaml"]
    assert (one.value["config"]["appLayout"], two.value["config"]["appLayout"]) == (["shop", "bag"], ["bag"])
    assert two.value["config"] == one.value["config"] | {"configVersion": "2", "appLayout": ["bag"]}


def test_a_wrong_value_in_a_base_is_told_once_with_all_that_build_on_it(layered: Path, schemas: Schemas) -> None:
    (expected,) = edit(layered, ("apps/_a.yaml", "networkTimeIntervalCheck: 30", "networkTimeIntervalCheck: ‸thirty"))
    assert told(layered, schemas) == [(f"{expected} schema.type", "apps/one.yaml", "apps/two.yaml")]


def test_a_wrong_value_in_a_base_is_told_with_those_who_get_it_and_with_all_where_each_replaces_it(
    layered: Path, schemas: Schemas
) -> None:
    (expected,) = edit(layered, ("apps/_a.yaml", "appLayout: [shop, bag]", "appLayout: ‸shop"))
    assert told(layered, schemas) == [(f"{expected} schema.type", "apps/one.yaml")]
    edit(layered, ("apps/one.yaml", "extends: _a.yaml", "extends: _b.yaml"))
    assert told(layered, schemas) == [(f"{expected} schema.type", "apps/one.yaml", "apps/two.yaml")]


def test_a_base_need_not_be_whole_but_what_it_says_is_right(layered: Path, schemas: Schemas) -> None:
    expected = edit(
        layered,
        ("apps/_b.yaml", "extends: _a.yaml\n", "extends: _a.yaml\nplatform: ‸iPhon\napiKeys: ‸nonsense\n‸bogus: 1\n"),
        ("apps/_b.yaml", "config:\n", "config:\n  errorMessages: null\n  poorNetwork: {networkTimeIntervalCheck: 5}\n"),
        ("apps/two.yaml", "config:\n", "bogus: null\nconfig:\n  errorMessages: {noNetworkError: a}\n"),
        ("apps/two.yaml", "{noNetworkError: a}", "{poorNetworkError: a, noNetworkError: b, configFileError: c}"),
    )
    assert told(layered, schemas) == [
        (f"{place} schema.{rule}", "apps/two.yaml")
        for place, rule in zip(expected, ("enum", "type", "additionalProperties"), strict=True)
    ]


@pytest.mark.parametrize(
    ("path", "old", "new", "rule", "users"),
    [
        ("apps/_a.yaml", "  poorNetwork:", "  ‸poorNetworks: 1\n  poorNetwork:", "schema.additionalProperties", 2),
        ("apps/_b.yaml", "appLayout: [bag]", "appLayout: [bag, ‸bags]", "app.layout", 1),
        ("apps/_b.yaml", "appLayout: [bag]", "appLayout: ‸[bag", "yaml.syntax", 1),
        ("apps/_a.yaml", "pageTitle: shop", 'pageTitle: ‸"\\x01"', "text.xml", 2),
        ("apps/_a.yaml", "pageTitle: shop", 'pageTitle: ‸"{{ zzz }}"', "expression", 2),
        ("apps/_b.yaml", "extends: _a.yaml", "extends: ‸_aa.yaml", "extends.missing", 1),
        ("apps/_b.yaml", "extends: _a.yaml", "extends: ‸5", "extends.missing", 1),
        ("apps/_a.yaml", "featureLayout: [shop]}\n    offers", "featureLayout: [‸shp]}\n    offers", "app.layout", 2),
    ],
)
def test_whatever_is_wrong_in_a_base_names_the_files_that_build_on_it(
    layered: Path, schemas: Schemas, path: str, old: str, new: str, rule: str, users: int
) -> None:
    (expected,) = edit(layered, (path, old, new))
    assert told(layered, schemas) == [(f"{expected} {rule}", *("apps/one.yaml", "apps/two.yaml")[2 - users :])]


def test_what_is_missing_after_merging_is_told_at_the_extends_line(layered: Path, schemas: Schemas) -> None:
    expected = edit(
        layered,
        ("apps/_a.yaml", "    networkTimeIntervalCheck: 30\n", ""),
        ("apps/one.yaml", "extends:", "‸extends:"),
        ("apps/two.yaml", "extends:", "‸extends:"),
    )
    assert [(place, problem.found) for place, problem in zip(expected, problems(layered, schemas), strict=True)] == [
        (expected[0], "'networkTimeIntervalCheck' is missing"),
        (expected[1], "'networkTimeIntervalCheck' is missing"),
    ]
    assert found(layered, schemas) == [f"{place} schema.required config/poorNetwork" for place in expected]


def test_null_removes_what_the_base_says(layered: Path, schemas: Schemas) -> None:
    expected = edit(
        layered,
        ("apps/two.yaml", '  configVersion: "2"', "  errorMessages: null"),
        ("apps/two.yaml", "extends:", "‸extends:"),
    )
    assert found(layered, schemas) == [f"{expected[0]} schema.required config"]


@pytest.mark.parametrize(
    ("path", "new", "what", "nearest"),
    [
        ("apps/two.yaml", "config:\n  ‸errorMessagez: null\n", "'errorMessagez'", "errorMessages"),
        ("apps/two.yaml", "config:\n  appConfig: {‸bagg: null}\n", "'bagg'", "bag"),
        ("apps/two.yaml", "config:\n  appLayout: {‸bag: null}\n", "'bag'", ""),
        ("apps/_b.yaml", "config:\n  ‸errorMessagez: null\n", "'errorMessagez'", "errorMessages"),
    ],
)
def test_a_null_that_removes_nothing_is_told(
    layered: Path, schemas: Schemas, path: str, new: str, what: str, nearest: str
) -> None:
    (expected,) = edit(layered, (path, "config:\n", new))
    told = [problem for problem in problems(layered, schemas) if problem.rule == "extends.null"]
    assert [(place(problem), problem.found, problem.nearest) for problem in told] == [
        (expected, f"null removes nothing: what this file builds on has no {what} here", nearest)
    ]


def test_null_is_a_value_where_nothing_is_built_on(minimal: Path, schemas: Schemas) -> None:
    expected = edit(minimal, ("apps/one.yaml", "config:", "‸platfrom: null\nextends: ‸null\nconfig:"))
    assert found(minimal, schemas) == [
        f"{expected[0]} schema.additionalProperties platfrom",
        f"{expected[1]} schema.type extends",
    ]


def test_without_extends_what_is_missing_is_told_where_it_should_stand(minimal: Path, schemas: Schemas) -> None:
    (expected,) = edit(
        minimal,
        ("apps/one.yaml", "    networkTimeIntervalCheck: 30\n", ""),
        ("apps/one.yaml", "  poorNetwork:", "  ‸poorNetwork:"),
    )
    assert found(minimal, schemas) == [f"{expected} schema.required config/poorNetwork"]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        # a cycle, once, at the line that closes it
        (
            {
                "apps/_a.yaml": "extends: _b.yaml\n" + CONFIG,
                "apps/_b.yaml": "extends: ‸_a.yaml\n",
                "apps/one.yaml": app("one", "extends: _a.yaml"),
                "apps/two.yaml": app("two", "extends: _a.yaml", digest=SECOND),
            },
            [("extends.cycle", "apps/one.yaml", "apps/two.yaml")],
        ),
        (
            {"apps/_a.yaml": "extends: ‸_a.yaml\n" + CONFIG, "apps/one.yaml": app("one", "extends: _a.yaml")},
            [("extends.cycle", "apps/one.yaml")],
        ),
        # a base that nobody uses, by itself or in a ring
        ({"apps/_a.yaml": "‸config: {}\n"}, [("extends.unused",)]),
        (
            {"apps/_a.yaml": "‸extends: _b.yaml\n", "apps/_b.yaml": "‸extends: _a.yaml\n"},
            [("extends.unused",), ("extends.unused",)],
        ),
        # a base that is not there, and what may have been meant
        (
            {"apps/_a.yaml": CONFIG, "apps/one.yaml": app("one", "extends: ‸_c.yaml")},
            [("extends.missing",)],
        ),
        ({"apps/one.yaml": app("one", "extends: ‸one.yaml")}, [("extends.missing",)]),
        ({"apps/one.yaml": app("one", "extends: ‸../site.yaml")}, [("extends.missing",)]),
        # a base stands in the same folder
        (
            {"apps/_a.yaml": CONFIG, "apps/x/_b.yaml": "extends: ‸../_a.yaml\n"}
            | {"apps/x/two.yaml": app("two", "extends: _b.yaml", digest=SECOND)},
            [("schema.pattern", "apps/x/two.yaml")],
        ),
        (
            {"apps/_a.yaml": CONFIG, "apps/x/two.yaml": app("two", "extends: ‸../_a.yaml", digest=SECOND)},
            [("schema.pattern",)],
        ),
        ({"apps/_my gemeinsäm.yml": CONFIG, "apps/one.yaml": app("one", "extends: _my gemeinsäm.yml")}, []),
        ({"apps/one.yaml": app("one", "extends: ‸[_a.yaml]"), "apps/_a.yaml": CONFIG}, [("schema.type",)]),
        # a base is one object
        (
            {"apps/_a.yaml": "‸- config: {}\n", "apps/one.yaml": app("one", "extends: _a.yaml")},
            [("extends.base", "apps/one.yaml")],
        ),
        (
            {"apps/_a.yaml": "‸text\n", "apps/one.yaml": app("one", "extends: _a.yaml")},
            [("extends.base", "apps/one.yaml")],
        ),
        # what stands in a file is looked at, even if its base is not there or cannot be read
        (
            {
                "apps/_a.yaml": "‸% no\n",
                "apps/one.yaml": app("one", "extends: _a.yaml", "config:", "  configVersion: ‸2"),
            },
            [("yaml.syntax", "apps/one.yaml"), ("schema.type",)],
        ),
        (
            {"apps/one.yaml": app("one", "extends: ‸_b.yaml", "config:", "  ‸configVersoin: '1'")},
            [("extends.missing",), ("schema.additionalProperties",)],
        ),
        # a base is not called unused while an application cannot be read
        ({"apps/_a.yaml": CONFIG, "apps/one.yaml": "name: one\nextends: _a.yaml\n‸% no"}, [("yaml.syntax",)]),
    ],
)
def test_how_files_build_on_each_other(
    minimal: Path, schemas: Schemas, files: dict[str, str], expected: list[tuple[str, ...]]
) -> None:
    (minimal / "apps/one.yaml").write_text(APP)
    write_files(minimal, files)
    places = unmark(minimal, *files)
    assert told(minimal, schemas) == [
        (f"{place} {rule}", *users) for place, (rule, *users) in zip(places, expected, strict=True)
    ]


def test_a_missing_base_is_told_with_what_there_is(layered: Path, schemas: Schemas) -> None:
    edit(layered, ("apps/one.yaml", "extends: _a.yaml", "extends: _A.yml"))
    write_files(layered, {"apps/three.yaml": "%"})
    problem, _ = problems(layered, schemas)
    assert problem == Problem(
        "extends.missing",
        "apps/one.yaml",
        "there is no base '_A.yml'",
        problem.place,
        ("extends",),
        "one of _a.yaml, _b.yaml",
        schemas["app.json"]["properties"]["extends"]["description"],
        "_a.yaml",
    )


def test_a_base_of_another_folder_is_not_offered(layered: Path, schemas: Schemas) -> None:
    write_files(layered, {"apps/x/three.yaml": app("three", "extends: _a.yaml", digest="c" * 64)})
    (problem,) = problems(layered, schemas)
    assert (problem.found, problem.allowed, problem.nearest) == (
        "there is no base '_a.yaml'",
        "a file in the same folder whose name begins with _",
        "",
    )


def test_a_folder_of_applications_has_its_own_bases(minimal: Path, schemas: Schemas) -> None:
    files = {
        "apps/us/_a.yaml": CONFIG,
        "apps/us/two.yaml": app("two", "extends: _a.yaml", digest=SECOND),
    }
    assert found(write_files(minimal, files), schemas) == []


def test_a_list_of_applications_may_build_on_a_base(minimal: Path, schemas: Schemas) -> None:
    (minimal / "apps/one.yaml").unlink()
    entry = "- {name: %s, platform: iPhone, extends: _a.yaml, apiKeys: [%s]}\n"
    entries = entry % ("one", DIGEST) + entry % ("two", SECOND)
    write_files(minimal, {"apps/_a.yaml": CONFIG, "apps/all.yaml": entries})
    assert found(minimal, schemas) == []
    expected = edit(
        minimal,
        ("apps/_a.yaml", "  poorNetwork:\n", "  poorNetwork: ‸[]\n  poor:\n"),
        ("apps/_a.yaml", "  poor:\n", "  ‸poor:\n"),
    )
    assert told(minimal, schemas) == [
        (f"{expected[0]} schema.type", "apps/all.yaml"),
        (f"{expected[1]} schema.additionalProperties", "apps/all.yaml"),
    ]
