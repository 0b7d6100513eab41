"""Facts about "did you mean": what is suggested to a person, and what a program may take for a slip."""

import random
from difflib import get_close_matches

import pytest

from shopwindow.did_you_mean import MOST_COMPARED, is_slip, nearest, suggestion

LETTERS = "abc"


@pytest.mark.parametrize(
    ("word", "name", "is_suggested", "edits"),
    [
        ("nmae", "name", True, 1),
        ("storeld", "storeId", True, 1),
        ("base_url", "order_base_url", True, None),
        ("Europe", "Europe/Rome", True, None),
        ("cit", "city", True, 1),
        ("colour", "color", True, 1),
        ("attributes", "attribute", True, 1),
        ("adresss", "address", True, 2),
        ("id", "sku", False, None),
        ("ab", "ac", False, 1),
        ("abcde", "abcxy", True, 2),
        ("abcdef", "abcxyz", False, None),
        ("headline", "name", False, None),
    ],
)
def test_what_is_suggested_and_what_is_a_slip(word: str, name: str, is_suggested: bool, edits: int | None) -> None:
    assert nearest(word, [name]) == (name if is_suggested else "")
    assert [is_slip(word, name, most) for most in (1, 2)] == [edits == 1, edits in (1, 2)]


def test_the_suggestion_ends_a_sentence() -> None:
    assert suggestion("nmae", ["id", "name"]) == "; did you mean name?"
    assert suggestion("headline", ["id", "name"]) == ""


def test_case_does_not_count_for_a_suggestion() -> None:
    assert nearest("STOREID", ["storeId", "name"]) == "storeId"
    assert not is_slip("STOREID", "storeId", 2)


def test_of_very_many_names_the_suggestion_is_that_of_a_comparison_with_each() -> None:
    source = random.Random(7)
    for _ in range(20):
        word, *names = ("".join(source.choices("abcdE", k=source.randrange(3, 9))) for _ in range(4 * MOST_COMPARED))
        folded = {name.casefold(): name for name in sorted(names)}
        (expected,) = get_close_matches(word.casefold(), folded, n=1)
        assert nearest(word, names) == nearest(word, reversed(names)) == folded[expected]


def test_of_ten_thousand_ids_the_mistyped_one_is_suggested() -> None:
    ids = [str(number) for number in range(100_000, 110_000)]
    assert [nearest(word, ids) for word in ("1095556", "09556", "storeId")] == ["109556", "109556", ""]


def edits_between(word: str, name: str) -> int:
    """The optimal string alignment distance, by its definition."""
    table = {(i, -1): i + 1 for i in range(-1, len(word))} | {(-1, j): j + 1 for j in range(-1, len(name))}
    for i, one in enumerate(word):
        for j, other in enumerate(name):
            ways = [table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + (one != other)]
            if i and j and word[i - 1 : i + 1] == name[j] + name[j - 1]:
                ways.append(table[i - 2, j - 2] + 1)
            table[i, j] = min(ways)
    return table[len(word) - 1, len(name) - 1]


def test_a_slip_is_a_letter_added_left_out_replaced_or_swapped() -> None:
    source = random.Random(7)
    for _ in range(2_000):
        word, name = ("".join(source.choices(LETTERS, k=source.randrange(7))) for _ in range(2))
        distance = edits_between(word, name)
        assert [is_slip(word, name, most) for most in (1, 2)] == [distance <= 1, distance <= 2], (word, name)
