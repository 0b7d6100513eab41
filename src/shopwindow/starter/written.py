"""A JSON value as an editor writes it in YAML: lines of `key: value`, plain text where
it can be.
"""

from collections.abc import Iterator
from pathlib import Path

from shopwindow.content.reading.scalars import scalar
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Failure

MAX_FLOW = 60
"""Characters of a list in brackets: beyond, each entry has a line of its own."""

INDENT = "  "


def flow(value: Json) -> str | None:
    """Return a list of scalars, or an empty value, in brackets; None where that is too
    long.
    """
    if not isinstance(value, dict | list) or any(
        isinstance(item, dict | list) for item in value
    ):
        return None
    text = in_brackets(value)
    return text if len(text) <= MAX_FLOW else None


def in_brackets(value: Json) -> str:
    """Return a value as YAML writes it in a line."""
    if isinstance(value, dict):
        parts = [f"{key}: {in_brackets(part)}" for key, part in value.items()]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(in_brackets, value))}]"
    return scalar(value, in_brackets=True)


def entry(name: str, value: Json) -> Iterator[str]:
    """Yield the lines of a key with its value."""
    if not isinstance(value, dict | list):
        yield f"{scalar(name)}: {scalar(value)}"
    elif (short := flow(value)) is not None:
        yield f"{scalar(name)}: {short}"
    else:
        yield f"{scalar(name)}:"
        for line in lines(value):
            yield INDENT + line


def lines(value: Json) -> Iterator[str]:
    """Yield the lines of a value that stands by itself."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from entry(name, part)
    elif isinstance(value, list) and value:
        for item in value:
            short = flow(item)
            first, *more = [short] if short is not None else lines(item)
            yield f"- {first}"
            yield from (INDENT + line for line in more)
    else:
        yield flow(value) or scalar(value)


def write_new(path: Path, text: str, advice: str) -> Path:
    """Write a new file; return its path. Raises Failure, with advice, where one is
    there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise Failure(f"{path} is there already{advice}") from None
    return path
