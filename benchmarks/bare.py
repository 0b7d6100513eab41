"""The least that does what Hugo is asked for here: every event's YAML, parsed and
validated, as JSON and as XML.

    python -m benchmarks.bare EVENTS OUT

No names, no rules, no stores, no manifest, nothing brought to the disk: what is left
for a build to be measured by, in this language and on this machine.
"""

import os
import sys
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import orjson
import yaml

from shopwindow.content.reading.listing import shipped
from shopwindow.content.schemas.schema import Schemas


def xml(name: str, value: Any, parts: list[str]) -> None:
    if isinstance(value, list):
        for item in value:
            xml(name, item, parts)
    elif isinstance(value, dict):
        parts.append(f"<{name}>")
        for key, item in value.items():
            xml(key, item, parts)
        parts.append(f"</{name}>")
    else:
        parts.append(f"<{name}>{escape(str(value))}</{name}>")


def work(paths: list[Path], out: Path) -> None:
    checker = Schemas(shipped("schemas")).validator("event.json")
    for path in paths:
        value = yaml.load(path.read_bytes(), yaml.CSafeLoader)  # the safe loader, in C
        if not checker.is_valid(value):
            sys.exit(f"{path}: not valid")
        (out / f"{path.stem}.json").write_bytes(orjson.dumps(value))
        parts = ["<?xml version='1.0' encoding='UTF-8'?>\n"]
        xml("event", value, parts)
        (out / f"{path.stem}.xml").write_bytes("".join(parts).encode())


def main() -> int:
    events, out = Path(sys.argv[1]), Path(sys.argv[2])
    jobs = len(os.sched_getaffinity(0))
    out.mkdir(parents=True)
    paths = sorted(events.iterdir())
    children = []
    for number in range(jobs):
        child = os.fork()
        if child == 0:
            work(paths[number::jobs], out)
            os._exit(0)
        children.append(child)
    return max(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)


if __name__ == "__main__":
    sys.exit(main())
