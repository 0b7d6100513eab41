"""The parse cache: what each file of the content folder held when it was last read. Deleting it is safe."""

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import orjson

from vitrine.content.listing import RACY_NS, Source
from vitrine.content.tree import Parsed


def load(path: Path, key: str, sources: Iterable[Source]) -> dict[str, Parsed]:
    """Of ``sources``, those that stand in the cache as they are now, by path.

    ``key`` is a digest of the schemas, the names and the program.
    """
    try:
        content = path.read_bytes()
        header, _, body = content.partition(b"\n")
        known = orjson.loads(header)
    except (OSError, ValueError):
        return {}
    if not isinstance(known, dict) or known.get("key") != key:
        return {}
    size = sum(length for *_, length in known["files"])
    if len(body) != size + known["briefs"]:  # cut off
        return {}
    settled = time.time_ns() - RACY_NS
    current = {source.path: source for source in sources if source.changed < settled}
    found: dict[str, Parsed] = {}
    texts = memoryview(body)
    offset = 0
    for name, *state, listed, length in known["files"]:
        source = current.get(name)
        if source is not None and [source.size, source.changed, source.inode] == state:
            found[name] = Parsed(source, listed, texts[offset : offset + length], [])
        offset += length
    try:
        briefs = orjson.loads(texts[size:])
        for parsed in found.values():  # afterwards, so that memory which documents leave is in one piece
            if parsed.brief:
                parsed.documents = briefs[parsed.source.path]
            else:
                parsed.open()
    except (ValueError, KeyError):  # damaged
        return {}
    return found


def save(path: Path, key: str, files: Iterable[Parsed], read_at: int) -> None:
    """Keep what is without fault and was not changed just before it was read (``read_at``, nanoseconds)."""
    kept = [file for file in files if file.sound and file.source.changed < read_at - RACY_NS]
    entries = [
        (file.source.path, file.source.size, file.source.changed, file.source.inode, file.listed, len(file.data))
        for file in kept
    ]
    briefs = orjson.dumps({file.source.path: file.documents for file in kept if file.brief})
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(draft, "wb") as file:
            file.write(orjson.dumps({"key": key, "files": entries, "briefs": len(briefs)}) + b"\n")
            file.writelines(parsed.data for parsed in kept)
            file.write(briefs)
        os.replace(draft, path)
    except OSError:  # a cache that cannot be written is a slower build, no failure
        with suppress(OSError):
            draft.unlink()
