"""Facts about `{{ … }}` in texts: what it may be, what it comes to, and what is said where it comes to nothing."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import edit, found, place, problems, write_files
from harness.program import Schemas
from shopwindow.content.documents import expressions, site
from shopwindow.content.documents.expressions import Unreadable
from shopwindow.content.documents.finding import Finding

NAMES = {"www": "https://www.example", "brand": "Lark & Vane", "self_service": "é", "if": "odd"}
KNOWN = "the names of site.yaml: brand, if, self_service, www"
ALLOWED = "names, filters and text"
FILTERS = "the filters capitalize, default, lower, title, trim, upper, urlencode"
READ = "`{{ name }}`, `{{ name | upper }}`, `{{ name ~ 'text' }}`"

RESULTS: list[tuple[str, str]] = [
    ("no expression, { {% and }} alike", "no expression, { {% and }} alike"),
    ("{% if x %} {# y #} ${{ brand }}", "{% if x %} {# y #} $Lark & Vane"),
    ("{{ www }}/a/{{ brand }}", "https://www.example/a/Lark & Vane"),
    ("{{www}}{{\nbrand\n}}", "https://www.exampleLark & Vane"),
    ("{{ brand | upper }} {{ brand | lower }}", "LARK & VANE lark & vane"),
    ("{{ brand | urlencode }} {{ '  x ' | trim }}", "Lark%20%26%20Vane x"),
    ("{{ 'two words' | title }} {{ 'two words' | capitalize }}", "Two Words Two words"),
    ("{{ nothing | default('else') }}", "else"),
    ("{{ www ~ '/' ~ self_service }}", "https://www.example/é"),
    ("{{ 'yes' if brand == 'Lark & Vane' else 'no' }}", "yes"),
    ("{{ '{{' }} {{ '}}' }}", "{{ }}"),
    ("{{ 1 }} {{ 1.5 }}", "1 1.5"),
    ("{{ brand }}}}", "Lark & Vane}}"),
    ("{{ if }}", "odd"),
]

REFUSED: list[tuple[str, str, str, str]] = [
    ("{{ brnad }}", "the name 'brnad' is not defined", KNOWN, "brand"),
    ("{{ www ~ zzz }}", "the name 'zzz' is not defined", KNOWN, ""),
    ("{{ range }}", "the name 'range' is not defined", KNOWN, "brand"),
    (
        "{{ brand | uper }}",
        "the filter 'uper' is not known",
        FILTERS,
        "upper",
    ),
    ("{{ www", "'{{' without its '}}'", "`{{ name }}`; two braces as text: `{{ '{{' }}`", ""),
    ("{{ " + "w" * 61 + " }}", f"the name '{'w' * 59}…' is not defined", KNOWN, ""),
    ("{{ www | " + "w" * 61 + " }}", f"the filter '{'w' * 59}…' is not known", FILTERS, ""),
    ("{{ 'www }}", "'{{' without its '}}'", "`{{ name }}`; two braces as text: `{{ '{{' }}`", ""),
    ("{{ }}", "an empty expression", "`{{ name }}`", ""),
    ("{{ two words }}", "the expression 'two words' cannot be read", READ, ""),
    ("{{ www | }}", "the expression 'www |' cannot be read", READ, ""),
    ("{{ # }}", "the expression '#' cannot be read", READ, ""),
    ("{{ none }}", "the expression 'none' is not text", ALLOWED, ""),
    ("{{ www + 1 }}", "the expression 'www + 1' cannot be worked out", ALLOWED, ""),
    ("{{ '\\ud800' }}", "the expression ''\\ud800'' makes a lone surrogate", "whole characters", ""),
    (
        "{{ '" + "é" * 2000 + "'" + "|urlencode" * 20 + " }}",
        f"the expression ''{'é' * 79}…' makes 164,000 characters",
        "at most 65,536",
        "",
    ),
    ("{{ " + "(" * 4_000 + "www }}", f"the expression '{'(' * 80}…' cannot be worked out", ALLOWED, ""),
    (
        "{{ " + "9" * 5000 + " }}",
        f"an expression that begins with '{{{{ {'9' * 57}…' does not end soon",
        "'}}' after at most 4,096 characters",
        "",
    ),
]

# What could look into the program, run on or grow without bound.
UNSAFE = (
    "www.upper()",
    "''.__class__",
    "www['__class__']",
    "www | attr('__class__')",
    "range(9)",
    "self",
    "'x' * 999999999",
    "9 ** 999999999",
    "[www, www]",
    "{'a': www}",
    "'%9999999s' % www",
    "www[0:1]",
    "www is defined",
    "www | map('upper')",
    "lipsum()",
    "cycler",
    "not",
)


@pytest.mark.parametrize(("text", "result"), RESULTS)
def test_a_text_with_its_expressions_evaluated(text: str, result: str) -> None:
    assert expressions.evaluate(text, NAMES) == result


@pytest.mark.parametrize(("text", "what", "allowed", "nearest"), REFUSED, ids=[text[:30] for text, *_ in REFUSED])
def test_an_expression_without_a_text(text: str, what: str, allowed: str, nearest: str) -> None:
    with pytest.raises(Unreadable) as caught:
        expressions.evaluate(text, NAMES)
    assert (caught.value.found, caught.value.allowed, caught.value.nearest) == (what, allowed, nearest)


def test_every_fault_of_a_text_is_told_once() -> None:
    faults: list[Finding] = []
    text = "{{ brnad }} {{ www | uper }} {{ brnad }} {{ logo }} {{ b"
    assert expressions.render(text, NAMES | {"logo": None}, faults.append) == text
    assert [(fault.found, fault.follows) for fault in faults] == [
        ("the name 'brnad' is not defined", False),
        ("the filter 'uper' is not known", False),
        ("the name 'logo' is not defined", True),
        ("'{{' without its '}}'", False),
    ]


@pytest.mark.parametrize("expression", UNSAFE)
def test_an_expression_is_names_filters_and_text(expression: str) -> None:
    with pytest.raises(Unreadable):
        expressions.evaluate("{{ " + expression + " }}", NAMES | {"self": "x"})


def test_names_that_python_or_jinja2_use_harm_no_expression() -> None:
    names = dict.fromkeys(["self", "context", "environment", "args", "kwargs", "loop", "class", "range"], "x")
    assert expressions.evaluate("{{ www }} {{ loop ~ range ~ context }}", NAMES | names) == "https://www.example xxx"


@given(st.text(st.sampled_from("{}%# wb'\"|~.()[]_-+*\\1\n,=<é"), max_size=40))
def test_any_text_is_evaluated_or_refused(text: str) -> None:
    with suppress(Unreadable):
        expressions.evaluate("{{" + text + "}}", {"w": "x", "b": "y"}).encode()


def test_every_text_value_is_rendered_and_no_key() -> None:
    value = {"{{ www }}": ["{{ brand }}", {"a": "{{ if }}"}], "b": 1, "c": None, "d": True}
    faults: list[Finding] = []
    rendered = expressions.render(value, NAMES, faults.append)
    assert rendered == {"{{ www }}": ["Lark & Vane", {"a": "odd"}], "b": 1, "c": None, "d": True}
    assert faults == []


def test_the_result_is_always_text() -> None:
    assert expressions.render(["{{ 1 }}", "{{ n }}"], {"n": "null"}, lambda _: None) == ["1", "null"]


def test_a_text_without_a_result_stays_and_is_told() -> None:
    faults: list[Finding] = []
    rendered = expressions.render({"a": ["{{ www }}", "{{ brnad }}"]}, NAMES, faults.append)
    assert rendered == {"a": ["https://www.example", "{{ brnad }}"]}
    assert [(fault.pointer, fault.absent, fault.follows) for fault in faults] == [
        (("a", 1), ("name", "", "brnad"), False)
    ]


def test_a_name_without_a_text_is_told_where_it_is_defined() -> None:
    faults: list[Finding] = []
    expressions.render(["{{ logo | upper }}", "{{ lgo }}"], {"logo": None, "www": "w"}, faults.append)
    assert [(fault.pointer, fault.follows) for fault in faults] == [((0,), True), ((1,), False)]
    assert faults[1].allowed == "the names of site.yaml: www"


def test_the_expressions_of_a_file_make_a_bounded_text() -> None:
    faults: list[Finding] = []
    expressions.render(["{{ a ~ a ~ a }}"] * 2000, {"a": "x" * 20_000}, faults.append)
    (first, *_) = faults
    assert first.pointer == (559,)  # 32 MiB at 60,000 characters each
    assert first.found == "the expressions of the file make too much text"


# -- in a content folder -----------------------------------------------------------------------------------------


def test_site_names_may_use_the_names_before_them() -> None:
    value = {
        "base_url": "https://{{ 'api' }}.example",
        "names": {"a": "{{ base_url }}/a", "b": "{{ a }}/b", "c": "{{ d }}", "d": "x"},
        "origins": ["{{ d }}"],
    }
    rendered, names, faults = site.render(value, frozenset())
    assert rendered == {
        "base_url": "https://api.example",
        "names": {"a": "https://api.example/a", "b": "https://api.example/a/b", "c": "{{ d }}", "d": "x"},
        "origins": ["x"],
    }
    assert names == {
        "base_url": "https://api.example",
        "order_base_url": "https://api.example",
        "a": "https://api.example/a",
        "b": "https://api.example/a/b",
        "c": None,
        "d": "x",
    }
    assert [(fault.pointer, fault.absent, fault.follows) for fault in faults] == [
        (("names", "c"), ("name", "", "d"), False)
    ]


def test_an_expression_is_a_problem_at_the_value_that_holds_it(minimal: Path, schemas: Schemas) -> None:
    expected = edit(
        minimal,
        ("stores/one.yaml", "https://maps.example/1", '‸"{{ wwww }}/maps"'),
        ("stores/one.yaml", "line1: 1 First Street", "line1: ‸'{{ www | uper }}'"),
        ("events/one.yaml", "shortDesc: The doors open.", "shortDesc: ‸|-\n  The {{ doors }} open."),
    )
    assert found(minimal, schemas) == [
        f"{expected[0]} expression shortDesc",
        f"{expected[1]} expression mapUrl",  # and nothing of its form, for its text is not known
        f"{expected[2]} expression address/line1",
    ]
    assert [problem.nearest for problem in problems(minimal, schemas)] == ["", "www", "upper"]


def test_an_expression_that_gives_nothing_is_told_as_such(minimal: Path, schemas: Schemas) -> None:
    expected = edit(
        minimal,
        ("site.yaml", "  www:", "  brand: ''\n  www:"),
        ("site.yaml", "names:", "share: {fromName: ‸'{{ brand }}'}\nnames:"),
        ("stores/one.yaml", "name: First", "name: ‸|-\n  {{ brand }}"),
        ("stores/one.yaml", "city: Boston", "city: ‸''"),
    )
    assert [(place(each), each.found) for each in problems(minimal, schemas)] == [
        (expected[0], "the expression gives nothing"),
        (expected[1], "the expression gives nothing"),
        (expected[2], "nothing is written here"),
    ]


def test_an_expression_in_a_base_is_told_once_with_the_files_that_build_on_it(minimal: Path, schemas: Schemas) -> None:
    app = (minimal / "apps/one.yaml").read_text()
    edit(
        minimal, ("apps/one.yaml", app, "name: one\nplatform: iPhone\nextends: _a.yaml\napiKeys: [" + "a" * 64 + "]\n")
    )
    base = app[app.index("config:") :].replace('configVersion: "1"', 'configVersion: "{{ vresion }}"')
    write_files(minimal, {"apps/_a.yaml": base, "apps/two.yaml": APP_TWO})
    (problem,) = problems(minimal, schemas)
    assert (problem.path, problem.rule, problem.used_by) == (
        "apps/_a.yaml",
        "expression",
        ("apps/one.yaml", "apps/two.yaml"),
    )


def test_what_stands_in_place_of_an_expression_of_a_base_is_wrong_by_itself(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"apps/_a.yaml": 'platform: "{{ nothing }}"\n'})
    (expected,) = edit(minimal, ("apps/one.yaml", "platform: iPhone", "extends: _a.yaml\nplatform: ‸iPhon"))
    assert found(minimal, schemas) == ["apps/_a.yaml:1:11 expression platform", f"{expected} schema.enum platform"]


APP_TWO = f"name: two\nplatform: Android\nextends: _a.yaml\napiKeys: [{'b' * 64}]\n"


def test_feeds_hold_no_expressions(minimal: Path, schemas: Schemas) -> None:
    (minimal / "events/one.yaml").unlink()
    event = '{"id": 1, "stores": {"storeId": [1]}, "name": "{{ nothing", "shortDesc": "{{ www }}", '
    write_files(minimal, {"events.jsonl": event + '"start": "2026-11-27 06:00", "finish": "2026-11-27 07:00"}\n'})
    assert found(minimal, schemas) == []


@pytest.mark.parametrize("name", ["self", "none", "not", "base_url"])
def test_a_name_that_means_something_else_is_taken(minimal: Path, schemas: Schemas, name: str) -> None:
    (expected,) = edit(minimal, ("site.yaml", "  www:", f"  ‸{name}: x\n  www:"))
    assert found(minimal, schemas) == [f"{expected} site.name names/{name}"]


def outcome(text: str, name: str) -> str:
    """What an expression comes to, or what is said of it."""
    try:
        return expressions.evaluate(text, {name: "its text"})
    except Unreadable as fault:
        return fault.found.replace(f"({name})", name)


@given(
    st.from_regex("[a-z][a-z0-9_]{0,8}", fullmatch=True)
    | st.sampled_from([*expressions.RESERVED_WORDS, "and", "if", "is"])
)
def test_a_name_alone_means_what_jinja2_takes_it_for(name: str) -> None:
    assert outcome(f"{{{{ {name} }}}}", name) == outcome(f"{{{{ ({name}) }}}}", name)
