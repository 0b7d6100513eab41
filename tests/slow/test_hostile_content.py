"""Content that would stop a check: each file is a report, in seconds and in little memory."""

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from harness.content import EVENT, MINIMAL, write_files

SECONDS = 15.0
"""Of processor time, the start of the program included: the dearest file takes some 3 s by itself, and twice as much
beside other tests. What grows by the square takes minutes.
"""

MEBIBYTES = 512
SPARSE = 10 * 1024**3
"""Bytes that a file claims to hold: none of them stands on the disk."""

MIB = 1024 * 1024


def lines(count: int, line: Callable[[int], str]) -> str:
    return "".join(line(number) + "\n" for number in range(count))


def entry(id: object, store: object) -> str:
    days = "start: 2026-11-27 06:00, finish: 2026-11-27 12:00"
    return f"- {{id: {id}, name: A, shortDesc: B, {days}, stores: {{storeId: [{store}]}}}}"


UNFOLDING = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + lines(
    10, lambda n: f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 10)}]"
)
PATTERNS = {"properties": {f"k{number}": {"pattern": "^(a+)+$"} for number in range(5000)}}

FILES: dict[str, tuple[str, str | bytes | int]] = {
    # more than there is
    "a large document": ("events/one.yaml", SPARSE),
    "a large site.yaml": ("site.yaml", SPARSE),
    "a large collections.yaml": ("collections.yaml", SPARSE),
    "a large base": ("apps/_base.yaml", SPARSE),
    "a large feed": ("events.jsonl", SPARSE),
    "a large feed of the catalog": ("catalog/brands.jsonl", SPARSE),
    # feeds that hold nothing
    "empty lines": ("catalog/brands.jsonl", b"\n" * 64 * MIB),
    "empty lines of events": ("events.jsonl", b"\n" * 64 * MIB),
    "empty lines, packed": ("catalog/brands.jsonl.gz", gzip.compress(b"\n" * 64 * MIB)),
    "empty lines, packed by zstd": ("catalog/brands.jsonl.zst", zstandard.compress(b"\n" * 256 * MIB)),
    "lines of spaces": ("catalog/brands.jsonl", (b" " * 1000 + b"\n") * 200_000),
    # a mistake in every line
    "anchors": ("events/two.yaml", lines(30_000, lambda n: f"- &a{n} x{n}")),
    "comments": ("events/two.yaml", lines(30_000, lambda n: f"- No #{n}")),
    "curly quotes": ("events/two.yaml", lines(30_000, lambda n: f"- “x{n}”")),
    "unseen characters": ("events/two.yaml", lines(30_000, lambda n: f"- a\u200bb{n}")),
    "allowances": ("events/two.yaml", lines(30_000, lambda n: f"- a{n} # shopwindow: allow text.quotes")),
    "unknown keys": ("events/one.yaml", EVENT + lines(10_100, lambda n: f"k{n}: 1")),
    "unknown keys of an app": ("apps/one.yaml", MINIMAL["apps/one.yaml"] + lines(10_100, lambda n: f"k{n}: 1")),
    "wrong entries": ("events/one.yaml", EVENT.replace("[1]", f"[{', '.join(['x'] * 20_000)}]")),
    "keys twice": ("events/two.yaml", lines(200_000, lambda n: f"a: {n}")),
    "documents of nothing": ("events/two.yaml", "- {}\n" * 100_000),
    "one id": ("events/two.yaml", lines(3000, lambda n: entry(7, 1))),
    "no such store": ("events/two.yaml", lines(5000, lambda n: entry(n + 10, n + 900))),
    "unknown names": ("events/two.yaml", lines(20_000, lambda n: f'- "{{{{ brnd{n} }}}}"')),
    "open quotes": ("events/two.yaml", lines(50_000, lambda n: f'a{n}: "x{n}')),
    "apostrophes": ("events/two.yaml", lines(50_000, lambda n: f"a{n}: 'it''s")),
    "no colons": ("events/two.yaml", lines(100_000, lambda n: f"a{n} b")),
    "tabs": ("events/two.yaml", lines(100_000, lambda n: f"\ta{n}: b")),
    "question marks": ("events/two.yaml", "[?" * 50_000),
    "lines that are no JSON": ("events.jsonl", b'{"a": 1,}\n' * 100_000),
    "lines with a wrong id": ("catalog/brands.jsonl", b'{"id": "x"}\n' * 100_000),
    "declarations": ("collections.yaml", lines(3000, lambda n: f"c{n}: {{folder: f{n}, schema: n.json}}")),
    # deep, long, unfolding
    "brackets": ("events/two.yaml", "[" * 100_000),
    "braces": ("events/two.yaml", "{a: " * 100_000),
    "indentation": ("events/two.yaml", lines(3000, lambda n: f"{' ' * n}a:")),
    "brackets of JSON": ("events.jsonl", "[" * 900_000 + "\n"),
    "aliases of aliases": ("events/two.yaml", UNFOLDING),
    "aliases of a long text": ("events/two.yaml", f'a: &a "{"x" * MIB}"\nb: [{", ".join(["*a"] * 5000)}]\n'),
    "a long key": ("events/one.yaml", f"{EVENT}{'x' * 4 * MIB}: 1\n"),
    "a long value": ("events/one.yaml", EVENT.replace("Opening", "x" * 8 * MIB)),
    "a long number": ("events/two.yaml", f"id: {'9' * 4 * MIB}\n"),
    "a long line": ("events.jsonl", f'{{"a": "{"x" * 20 * MIB}"}}\n'),
    "a long text of expressions": ("events/two.yaml", f'name: "{"{{ x " * 100_000}"\n'),
    "many values": ("events/two.yaml", f"[{', '.join(['11111'] * 1_000_000)}]"),
    "zeros": ("events/two.yaml", b"\0" * 16 * MIB),
    # schemas
    "a large enum": ("schemas/event.json", json.dumps({"enum": [f"w{number}" for number in range(500_000)]})),
    "patterns": ("schemas/event.json", json.dumps(PATTERNS)),
}

MEASURING = """
import resource, subprocess, sys
status = subprocess.run(sys.argv[2:]).returncode
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    print(used.ru_utime + used.ru_stime, used.ru_maxrss, file=file)
sys.exit(status)
"""
"""A small process between: a child's most memory is at least what its parent had when it forked (getrusage(2))."""


@pytest.mark.parametrize("name", FILES)
def test_a_hostile_file_is_a_report_in_seconds(tmp_path: Path, name: str) -> None:
    path, content = FILES[name]
    write_files(tmp_path / "content", dict(MINIMAL))
    file = tmp_path / "content" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, int):
        file.write_bytes(b"a: 1\n")
        os.truncate(file, content)
    else:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    used = tmp_path / "used"
    command = [sys.executable, "-m", "shopwindow", "check", "--content", str(tmp_path / "content")]
    ran = subprocess.run([sys.executable, "-c", MEASURING, str(used), *command], capture_output=True, cwd=tmp_path)
    assert (ran.returncode, ran.stderr.count(b"Traceback")) == (1, 0)
    assert path.partition("/")[0].encode() in ran.stdout
    seconds, kibibytes = map(float, used.read_text().split())
    assert seconds < SECONDS
    assert kibibytes < MEBIBYTES * 1024
