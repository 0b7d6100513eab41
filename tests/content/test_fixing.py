"""The fix of a problem: what nobody could mean in another way is written, and nothing else of the file changes."""

from pathlib import Path

import pytest

from harness.content import edit, problems
from harness.program import Schemas
from shopwindow.content.editing.fixing import fix, fixed
from shopwindow.content.reading.text import YamlText
from shopwindow.content.schemas import meant

FIXED = {
    "a number where text is wanted": (
        "apps/one.yaml",
        'configVersion: "1"',
        "configVersion: 5.10  # as in spring",
        'configVersion: "5.10"  # as in spring',
    ),
    "truth behind what is no ASCII": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nattributes: {COLOR: ['é雪🎄'], WC_EVENT: true}",
        "name: Opening\nattributes: {COLOR: ['é雪🎄'], WC_EVENT: [TRUE]}",
    ),
    "a number within braces": ("apps/one.yaml", 'Number: "2.0"', "Number: 2.0", 'Number: "2.0"'),
    "a number in a list": ("apps/one.yaml", '["2.0"]', '["2.0", 2.10]', '["2.0", "2.10"]'),
    "digits of a coupon": ("promotions/one.yaml", 'couponNumber: "4000"', "couponNumber: 4000", 'couponNumber: "4000"'),
    "truth as text": ("apps/one.yaml", "localEnabled: TRUE", "localEnabled: true", "localEnabled: TRUE"),
    "text as truth": ("promotions/one.yaml", "global: true", "global: 'True'", "global: true"),
    "a number in quotes": ("stores/one.yaml", "storeId: 1\n", "storeId: '1'\n", "storeId: 1\n"),
    "a degree in quotes": ("stores/one.yaml", "latitude: 42.36", 'latitude: "42.360"', "latitude: 42.360"),
    "a fraction of zero": ("stores/one.yaml", "storeNumber: 10\n", "storeNumber: 10.0\n", "storeNumber: 10\n"),
    "another case of a choice": ("apps/one.yaml", "platform: iPhone", "platform: Iphone", "platform: iPhone"),
    "a key with one letter more": ("events/one.yaml", "finish: ", "finnish: ", "finish: "),
    "a key with one letter less": ("events/one.yaml", "shortDesc: ", "shortDsc: ", "shortDesc: "),
    "a key with another letter": ("events/one.yaml", "start: ", "stort: ", "start: "),
    "a key with two letters swapped": ("events/one.yaml", "start: ", "strat: ", "start: "),
    "a key in another case": ("events/one.yaml", "shortDesc: ", '"shortdesc" : ', '"shortDesc" : '),
    "a key of a list's document": ("stores/one.yaml", "name: First", "nmae: First", "name: First"),
    "the only entry of a list": ("events/one.yaml", "storeId: [1]", "storeId: 1  # all", "storeId: [1]  # all"),
    "the only entry, a number for text": (
        "apps/one.yaml",
        'supportedVersions: ["2.0"]',
        "supportedVersions: 2.0",
        'supportedVersions: ["2.0"]',
    ),
    "the only entry on a line of its own": (
        "events/one.yaml",
        "storeId: [1]",
        "storeId:\n    # the first\n    1  # only",
        "storeId:\n    # the first\n    - 1  # only",
    ),
    "the only entry, an object": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nlinks:\n  href: https://a.example  # one\n  # two\n\n  rel: details",
        "name: Opening\nlinks:\n- href: https://a.example  # one\n  # two\n\n  rel: details",
    ),
    "the only entry, in braces": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nlinks: {href: https://a.example, rel: details}",
        "name: Opening\nlinks: [{href: https://a.example, rel: details}]",
    ),
    "a day after the month of 12": (
        "events/one.yaml",
        "start: 2026-11-27 06:00",
        "start: 27/11/2026 06:00  # dawn",
        "start: 2026-11-27 06:00  # dawn",
    ),
    "a month before the day": ("events/one.yaml", "2026-11-27 06:00", "11/27/2026 6:00", "2026-11-27 06:00"),
    "a day with dots": ("events/one.yaml", "2026-11-27 06:00", "'27.11.2026 06:00'", "'2026-11-27 06:00'"),
    "a time before noon": ("events/one.yaml", "2026-11-27 12:00", "2026/11/27 12:00 PM", "2026-11-27 12:00"),
    "a day of a window": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\npublish: {from: 20.11.2026, until: 2026-12-1}",
        "name: Opening\npublish: {from: 2026-11-20, until: 2026-12-01}",
    ),
    "the same day and month": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\npublish: {from: 11/11/2026}",
        "name: Opening\npublish: {from: 2026-11-11}",
    ),
    "a key that is truth": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nattributes:\n  true: [x]",
        'name: Opening\nattributes:\n  "true": [x]',
    ),
    "tabs": (
        "events/one.yaml",
        "stores:\n  storeId: [1]",
        "stores:\n\t# the first\n\tstoreId:\n\t\t- 1\t# one",
        "stores:\n  # the first\n  storeId:\n    - 1\t# one",
    ),
    "tabs that one width alone can mean": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nattributes:\n    COLOR:\n        - red\n\tSIZE: [small]",
        "name: Opening\nattributes:\n    COLOR:\n        - red\n    SIZE: [small]",
    ),
    "tabs of a whole block": (
        "events/one.yaml",
        "stores:\n  storeId: [1]",
        "stores:\n\t\tstoreId: [1]",
        "stores:\n    storeId: [1]",
    ),
    "an expression without quotes": (
        "stores/one.yaml",
        "mapUrl: https://maps.example/1",
        "mapUrl: {{ www }}/map?a={{ brand }}  # {{ www }}",
        'mapUrl: "{{ www }}/map?a={{ brand }}"  # {{ www }}',
    ),
    "an expression alone": ("events/one.yaml", "name: Opening", "name: {{ brand }}", 'name: "{{ brand }}"'),
    "an expression beside a text of several lines": (
        "events/one.yaml",
        "shortDesc: The doors open.",
        "shortDesc: |-\n  {{ brand }}\n  name: {{ brand }}\nattributes:\n  COLOR:\n    - {{ brand }} red",
        'shortDesc: |-\n  {{ brand }}\n  name: {{ brand }}\nattributes:\n  COLOR:\n    - "{{ brand }} red"',
    ),
    "expressions on several lines": (
        "events/one.yaml",
        "name: Opening",
        "name: {{ brand }} opens\nlinks:\n  - href: {{ www }}\n    rel: x",
        'name: "{{ brand }} opens"\nlinks:\n  - href: "{{ www }}"\n    rel: x',
    ),
    "a tab behind a hyphen": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nlinks:\n  -\thref: https://a.example\n  \trel: details",
        "name: Opening\nlinks:\n  - href: https://a.example\n    rel: details",
    ),
}
"""What is fixed → the file, its text, the mistake in place of it, and what is written."""

LEFT = {
    "truth where any text is admitted": ("events/one.yaml", "name: Opening", "name: true"),
    "truth in a list of texts": ("events/one.yaml", "name: Opening", "name: Opening\nattributes: {COLOR: true}"),
    "what an alias repeats": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nlinks: [&l {href: https://a.example, rel: 5}, *l]",
    ),
    "a number that is no choice": ("apps/one.yaml", "platform: iPhone", "platform: 5"),
    "nothing": ("events/one.yaml", "name: Opening", "name:"),
    "a list where text is wanted": ("events/one.yaml", "name: Opening", "name: [Opening]"),
    "an alias": ("events/one.yaml", "name: Opening", "id: &a 5\nname: *a"),
    "a number that an alias repeats": ("events/one.yaml", "id: 5\nstores:", "name: &n 5\nid: *n\nstores:"),
    "a digit in quotes with a zero before it": ("stores/one.yaml", "storeId: 1\n", 'storeId: "01"\n'),
    "a key that is there": ("events/one.yaml", "name: Opening", "name: Opening\nnmae: Closing"),
    "a key of another type": ("events/one.yaml", "name: Opening", "name: Opening\nlink: {rel: details}"),
    "a key two letters off": ("events/one.yaml", "name: Opening", "nam3s: Opening"),
    "several entries": ("events/one.yaml", "name: Opening", "name: Opening\nattributes: {COLOR: 'red, blue'}"),
    "an entry that lacks a key": ("events/one.yaml", "name: Opening", "name: Opening\nlinks: {rel: details}"),
    "a day that may be a month": ("events/one.yaml", "start: 2026-11-27 06:00", "start: 03/04/2026 06:00"),
    "a day that does not exist": ("events/one.yaml", "start: 2026-11-27 06:00", "start: 31/02/2026 06:00"),
    "a day without its time": ("events/one.yaml", "start: 2026-11-27 06:00", "start: 27/11/2026"),
    "a year of two digits": ("events/one.yaml", "start: 2026-11-27 06:00", "start: 27/11/26 06:00"),
    "an expression in braces": (
        "events/one.yaml",
        "name: Opening",
        "name: Opening\nlinks: [{href: {{ www }}, rel: x}]",
    ),
    "an expression on two lines": ("events/one.yaml", "name: Opening", "name: {{ brand }} opens\n  its doors"),
    "an expression with quotes in it": ("events/one.yaml", "name: Opening", 'name: {{ brand ~ "x" }}'),
    "what an expression gives": ("stores/one.yaml", "storeId: 1\n", 'storeId: "{{ www }}"\n'),
    "tabs of two meanings": ("events/one.yaml", "shortDesc: The doors open.", "shortDesc: |\n\tone\n\t\ttwo"),
    "a mark of git": ("events/one.yaml", "stores:\n  storeId: [1]", "<<<<<<< one\nstores:\n\tstoreId: [1]"),
}
"""What is left to a person → the file, its text, and the mistake in place of it."""


def texts(folder: Path, schemas: Schemas, path: str) -> tuple[str, str]:
    """The text of a file, and the same with every fix of a check, problem after problem."""
    with open(folder / path, encoding="utf-8", newline="") as file:
        before = after = file.read()
    for problem in problems(folder, schemas):
        found = fix(problem, YamlText(before)) if problem.path == path else None
        if found is not None:
            written = fixed(YamlText(after), [found])
            assert written is not None, found
            after = written
    return before, after


@pytest.mark.parametrize("name", FIXED)
def test_what_is_certain_is_written_and_nothing_else_changes(name: str, minimal: Path, schemas: Schemas) -> None:
    path, old, wrong, right = FIXED[name]
    edit(minimal, ("site.yaml", "names:\n", "names:\n  brand: Larkspur\n"), (path, old, wrong))
    before, after = texts(minimal, schemas, path)
    assert after == before.replace(wrong, right)
    (minimal / path).write_text(after)
    assert problems(minimal, schemas) == []


@pytest.mark.parametrize("name", FIXED)
def test_line_ends_stay(name: str, minimal: Path, schemas: Schemas) -> None:
    path, old, wrong, right = FIXED[name]
    edit(minimal, (path, old, wrong))
    with_returns = (minimal / path).read_text().replace("\n", "\r\n")
    (minimal / path).write_bytes(with_returns.encode())
    before, after = texts(minimal, schemas, path)
    assert after == before.replace(wrong.replace("\n", "\r\n"), right.replace("\n", "\r\n"))


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_certain_is_left(name: str, minimal: Path, schemas: Schemas) -> None:
    path, old, wrong = LEFT[name]
    edit(minimal, (path, old, wrong))
    assert problems(minimal, schemas) != []
    before, after = texts(minimal, schemas, path)
    assert after == before


def test_a_key_that_is_near_to_two_names_is_not_certain() -> None:
    assert meant.key("stare", ["start", "store"]) is None
    assert meant.key("starte", ["start", "store"]) == "start"
    assert meant.key("Id", ["id", "rel"]) == "id"
    assert meant.key("ed", ["id", "rel"]) is None


def test_days_are_read_where_they_are_certain() -> None:
    certain = {
        "23/11/2026 16:30": "2026-11-23 16:30",
        "11/23/2026": "2026-11-23",
        "23.11.2026 9:00": "2026-11-23 09:00",
        "23-11-2026 4:30pm": "2026-11-23 16:30",
        "12.12.2026 12:05 am": "2026-12-12 00:05",
        "2026/3/4": "2026-03-04",
    }
    assert {text: meant.day(text) for text in certain} == certain
    doubtful = ["3/4/2026", "23/11/26", "23/13/2026", "11/23.2026", "23/11/2026 24:00", "23/11/2026 13:00 PM", "2026"]
    assert [meant.day(text) for text in doubtful] == [None] * len(doubtful)
