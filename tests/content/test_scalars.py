"""Facts about scalars as they are written: each is read as the very value, in any place of a file."""

import pytest

from shopwindow.content.reading import yaml
from shopwindow.content.reading.scalars import scalar
from shopwindow.content.reading.yaml import Json

WITHOUT_QUOTES = ["The Groom's Fitting", "Albany, NY", "2026-11-27 06:00", "09:30", "/c/1", "TRUE", 5, True, None]
IN_QUOTES = ["yes", "Null", "true", "02116", "5.10", "", " x", "a: b", "a #b", "'x", "- x", "é", "a\nb", "{{ brand }}"]


@pytest.mark.parametrize("value", [*WITHOUT_QUOTES, *IN_QUOTES])
def test_a_scalar_is_read_as_the_value_that_was_written(value: Json) -> None:
    assert yaml.load(f"key: {scalar(value)}") == {"key": value}
    assert yaml.load(f"key: [{scalar(value, in_brackets=True)}, 1]") == {"key": [value, 1]}


def test_text_has_quotes_where_a_reader_may_take_it_for_something_else() -> None:
    assert [scalar(value).startswith('"') for value in (*WITHOUT_QUOTES, *IN_QUOTES)] == [
        *(False for _ in WITHOUT_QUOTES),
        *(True for _ in IN_QUOTES),
    ]
