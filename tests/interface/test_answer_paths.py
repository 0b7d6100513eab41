"""Paths of contracts: any name can be written, what is written is read, and no order of a list makes a difference."""

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shopwindow.interface.answering.contracts import PATH_FORM, Every, PathSteps, Unusable, parse_path, reached, text_of

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
STEPS = st.lists(NAMES | st.sampled_from(Every), min_size=1, max_size=8).map(tuple)
SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
ANSWERS = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4))

Json = Any


@given(STEPS)
def test_every_path_can_be_written_and_is_read_as_it_was_meant(steps: PathSteps) -> None:
    assert parse_path(text_of(steps)) == steps


@given(st.text(max_size=30))
def test_any_text_is_a_path_that_is_written_the_same_way_or_is_refused_with_a_reason(text: str) -> None:
    try:
        steps = parse_path(text)
    except Unusable as error:
        steps, reason = (), str(error)
    else:
        reason = ""
    assert parse_path(text_of(steps)) == steps if steps else " cannot be read from character " in reason


def ways(value: Json) -> Iterator[tuple[PathSteps, Json]]:
    """The path to every part of a value, with the part."""
    yield (), value
    parts = value.items() if isinstance(value, dict) else ()
    for key, part in parts:
        for step in (key, Every.VALUE):
            yield from (((step, *rest), end) for rest, end in ways(part))
    for item in value if isinstance(value, list) else ():
        yield from (((Every.ITEM, *rest), end) for rest, end in ways(item))


@given(ANSWERS)
def test_a_path_leads_to_every_value_that_it_describes(answer: Json) -> None:
    for steps, end in ways(answer):
        assert end in reached(answer, steps)


@given(st.lists(SCALARS, max_size=6), st.randoms())
def test_the_order_of_a_list_makes_no_difference(items: list[Json], chance: Any) -> None:
    shuffled = chance.sample(items, len(items))
    one, other = [[*map(repr, reached({"a": each}, parse_path("a[]")))] for each in (items, shuffled)]
    assert sorted(one) == sorted(other)


READ = {
    "a": ("a",),
    "a.b": ("a", "b"),
    "events[].id": ("events", Every.ITEM, "id"),
    "rows[][]": ("rows", Every.ITEM, Every.ITEM),
    "[].id": (Every.ITEM, "id"),
    "*.title": (Every.VALUE, "title"),
    "sections.*": ("sections", Every.VALUE),
    '"a.b".c': ("a.b", "c"),
    r'prices."a \"b\" \\"': ("prices", r'a "b" \ '.strip()),
    "größe.é": ("größe", "é"),
}


@pytest.mark.parametrize("text", READ)
def test_a_path_is_read(text: str) -> None:
    assert parse_path(text) == READ[text]


REFUSED = {
    "": 1,
    ".a": 1,
    "a.": 2,
    "a..b": 2,
    "a.[]": 2,
    "a[]b": 4,
    "a[0]": 2,
    "a b": 2,
    "a*": 2,
    'a."b': 2,
    'a.""': 2,
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_path_is_refused_with_the_character_from_which_on(text: str) -> None:
    with pytest.raises(Unusable) as refused:
        parse_path(text)
    finding = refused.value.finding
    found = f"the path {text!r} cannot be read from character {REFUSED[text]} on"
    assert (finding.rule, finding.found, finding.allowed) == ("contract.path", found, PATH_FORM)
