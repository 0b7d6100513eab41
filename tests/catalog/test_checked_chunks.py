"""Where a chunk of a feed begins, and what its digest says."""

from hypothesis import given
from hypothesis import strategies as st

from shopwindow.catalog.checked_chunks import (
    MAX_CHUNK_LINES,
    NumberedLine,
    chunks_of,
    digest_of,
)

TEXTS = st.lists(st.binary(min_size=1, max_size=3).map(lambda text: text + b"\n"), max_size=200)


def numbered(texts: list[bytes]) -> list[NumberedLine]:
    return list(enumerate(texts, 1))


@given(TEXTS, TEXTS, TEXTS)
def test_a_change_changes_the_chunks_around_it(before: list[bytes], middle: list[bytes], after: list[bytes]) -> None:
    old = [[text for _, text in chunk] for chunk in chunks_of(numbered(before + after))]
    new = [[text for _, text in chunk] for chunk in chunks_of(numbered(before + middle + after))]
    assert [text for chunk in new for text in chunk] == before + middle + after
    first = [[text for _, text in chunk] for chunk in chunks_of(numbered(before))]
    last = [[text for _, text in chunk] for chunk in chunks_of(numbered(after))]
    for made in (old, new):
        assert first[:-1] == made[: max(0, len(first) - 1)]
        assert last[1:] == (made[1 - len(last) :] if last[1:] else [])


def test_a_chunk_ends_at_last() -> None:
    chunks = list(chunks_of(numbered([b"the same\n"] * (2 * MAX_CHUNK_LINES + 1))))
    assert max(map(len, chunks)) <= MAX_CHUNK_LINES


def test_a_digest_does_not_depend_on_where_a_chunk_stands_but_on_what_it_is() -> None:
    chunk = numbered([b"a\n", b"b\n"])
    below = [(number + 7, text) for number, text in chunk]
    assert digest_of("review", chunk) == digest_of("review", below)
    assert digest_of("review", chunk) != digest_of("inventory", chunk)
    assert digest_of("review", chunk) != digest_of("review", chunk[:1])
