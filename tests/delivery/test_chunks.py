"""Cutting files of lines into chunks."""

import random
from collections.abc import Iterator
from io import BytesIO

from shopwindow.delivery import chunks as cutting
from shopwindow.delivery.chunks import CHUNK_BYTES, MAX_CHUNK_BYTES

LINES = [
    b'{"id":%d,"name":"%s"},\n' % (number, random.Random(number).randbytes(90).hex().encode()) for number in range(9999)
]
FILE = b"".join(LINES)


def chunks(data: bytes) -> Iterator[bytes]:
    return cutting.lines(BytesIO(data))


def test_chunks_together_are_the_file() -> None:
    for data in (FILE, b"", b"one", b"\n", b"one\ntwo", FILE[:-1]):
        assert b"".join(chunks(data)) == data
        assert b"" not in list(chunks(data))


def test_chunks_have_the_size_that_is_wanted_on_average() -> None:
    average = len(FILE) / len(list(chunks(FILE)))
    assert CHUNK_BYTES / 2 < average < CHUNK_BYTES * 2


def test_a_changed_an_added_and_a_removed_line_change_a_chunk_or_two() -> None:
    before = set(chunks(FILE))
    changed = [*LINES[:5000], LINES[5000][:80] + b'changed"},\n', *LINES[5001:]]
    for lines in (changed, [*LINES[:5000], b'{"id":0}\n', *LINES[5000:]], [*LINES[:5000], *LINES[5001:]]):
        assert 1 <= len(set(chunks(b"".join(lines))) - before) <= 2


def test_equal_lines_end_a_chunk_all_the_same() -> None:
    line = next(line for line in LINES if len(list(chunks(line * 9))) == 1)
    sizes = [len(chunk) for chunk in chunks(line * (3 * MAX_CHUNK_BYTES // len(line)))]
    assert max(sizes) < MAX_CHUNK_BYTES + len(line)
    assert len(sizes) > 2
    assert len(line) > cutting.LINE_BEGINNING
