"""Feeds that are made to be huge: they are read once, and no more of them than may be."""

import gzip
from pathlib import Path

from content.test_content_limits import quick, read
from shopwindow.content.check import records


def test_a_megabyte_of_gzip_is_not_unpacked_to_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "products.jsonl.gz"
    with gzip.open(path, "wb", 9) as file:
        for _ in range(1024):
            file.write(b" " * 1024 * 1024)
    done = quick(12)
    found = {words for _, words in read(path)}
    done()
    most = path.stat().st_size * records.MAX_RATIO
    assert f"the feed unpacks to more than {most:,} bytes" in found
    assert len(found) <= 2  # and a line that is too long


def test_a_line_of_512_mib_is_read_once(tmp_path: Path) -> None:
    """And not by each block from its start to the end of the line, which are 32 GiB."""
    path = tmp_path / "products.jsonl"
    with open(path, "wb") as file:
        file.write(b"{}\n")
        for _ in range(512):
            file.write(b"x" * 1024 * 1024)
        file.write(b"\n{}\n")
    done = quick(8)
    found = read(path)
    done()
    path.unlink()
    assert found == [(1, b"{}\n"), (2, "a line that is too long"), (1, b"{}\n")]
