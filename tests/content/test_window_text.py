"""The end of a publish window is written into YAML as editors lay it out; all else stays as it was."""

from pathlib import Path

import pytest

from shopwindow.content.editing.window_text import Unwritable, with_end
from shopwindow.content.reading import yaml

SAMPLE = Path(__file__).parent.parent.parent / "content"
DAY = "2027-06-30"

LAYOUTS = {
    "no window": ("id: 1\nname: One  # a name\n", "id: 1\nname: One  # a name\npublish:\n  until: 2027-06-30\n"),
    "a window that opens": (
        "publish:\n  # Monday\n  from: 2027-01-01  # early\nid: 1\n",
        "publish:\n  # Monday\n  from: 2027-01-01  # early\n  until: 2027-06-30\nid: 1\n",
    ),
    "another end": (
        "publish: {from: 2027-01-01, until: '2028-01-01'}  # as agreed\nid: 1\n",
        "publish: {from: 2027-01-01, until: 2027-06-30}  # as agreed\nid: 1\n",
    ),
    "a window in braces": (
        "id: 1\npublish: { from: 2027-01-01 }\n",
        "id: 1\npublish: { from: 2027-01-01, until: 2027-06-30 }\n",
    ),
    "a document in braces": ("{id: 1, tags: [a, b] }\n", "{id: 1, tags: [a, b], publish: {until: 2027-06-30} }\n"),
    "a text at the end": (
        "id: 1\ntext: |-\n  one\n  # no comment\n\n# a comment\n",
        "id: 1\ntext: |-\n  one\n  # no comment\npublish:\n  until: 2027-06-30\n\n# a comment\n",
    ),
    "a nested end": ("id: 1\na:\n  b:\n    - c\n", "id: 1\na:\n  b:\n    - c\npublish:\n  until: 2027-06-30\n"),
    "no line end": ("id: 1", "id: 1\npublish:\n  until: 2027-06-30"),
    "lines of Windows": ("id: 1\r\nname: x\r\n", "id: 1\r\nname: x\r\npublish:\r\n  until: 2027-06-30\r\n"),
    "folded text at the very end": (
        "id: 1\ntext: >-\n  one\n  two",
        "id: 1\ntext: >-\n  one\n  two\npublish:\n  until: 2027-06-30",
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_document_in_any_layout(layout: str) -> None:
    before, after = LAYOUTS[layout]
    assert with_end(before, (), DAY) == after


def test_one_document_of_a_list() -> None:
    before = "# Both\n- id: 1\n  name: One\n\n# the second\n-   id: 2\n    name: Two\n"
    first = (
        "# Both\n- id: 1\n  name: One\n  publish:\n    until: 2027-06-30\n\n# the second\n-   id: 2\n    name: Two\n"
    )
    second = before + "    publish:\n      until: 2027-06-30\n"
    assert with_end(before, (0,), DAY) == first
    assert with_end(before, (1,), DAY) == second


@pytest.mark.parametrize(
    "text",
    [
        "a: &w {from: 2027-01-01}\npublish: *w\n",
        "publish: &w {from: 2027-01-01}\na: *w\n",
        "publish: &w {from: 2027-01-01, until: &u 2028-01-01}\na: *u\n",
        "text: |+\n  one\n\n\n",
    ],
)
def test_what_would_come_out_otherwise_is_refused(text: str) -> None:
    with pytest.raises(Unwritable):
        with_end(text, (), DAY)


@pytest.mark.parametrize("folder", ["stores", "events", "promotions", "banners"])
def test_every_document_of_the_sample_ends_with_one_value_changed_and_no_line_lost(folder: str) -> None:
    for path in sorted((SAMPLE / folder).glob("*.yaml")):
        text = path.read_text()
        value = yaml.load(text)
        for number, document in enumerate(value if isinstance(value, list) else [value]):
            edited = with_end(text, (number,) if isinstance(value, list) else (), DAY)
            after = yaml.load(edited)
            others = after if isinstance(value, list) else [after]
            expected = {**document, "publish": {**document.get("publish", {}), "until": DAY}}
            assert others[number] == expected, path
            lost = [line for line in text.splitlines() if line not in edited.splitlines()]
            assert [line for line in lost if "until" not in line and "publish" not in line] == [], path
            assert len(edited.splitlines()) - len(text.splitlines()) in (0, 1, 2), path
