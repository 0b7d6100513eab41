"""No pattern of the source takes long with a text of 8 KiB, whatever it repeats."""

import ast
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import shopwindow

SIZE = 8 * 1024
"""Characters of a text: as many as a query may have bytes."""

MOST_SECONDS = 0.02
"""Of processor time. A pattern that reads a text once needs a tenth of that."""

OF_CLASSES = " \t\r\na0_"
"""A character of each class that a pattern can name by a letter, such as `\\w`."""

NEVER = "\0"
"""A last character by which a text does not match, so that every other way to match it is tried."""

WAYS: dict[str, Callable[[re.Pattern[Any], Any], object]] = {
    "fullmatch": lambda pattern, text: pattern.fullmatch(text),
    "match": lambda pattern, text: pattern.match(text),
    "search": lambda pattern, text: pattern.search(text),
    "findall": lambda pattern, text: pattern.findall(text),
    "finditer": lambda pattern, text: list(pattern.finditer(text)),
    "split": lambda pattern, text: pattern.split(text),
    "sub": lambda pattern, text: pattern.sub(text[:0], text),
}


def modules() -> Iterator[ModuleType]:
    """Every module whose libraries are installed."""
    for each in pkgutil.walk_packages(shopwindow.__path__, "shopwindow."):
        try:
            yield import_module(each.name)
        except ModuleNotFoundError:
            continue


def uses(module: ModuleType) -> Iterator[tuple[re.Pattern[Any], str]]:
    """Each pattern that a module uses by its name, and the method by which it does."""
    tree = ast.parse(Path(str(module.__file__)).read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in WAYS and isinstance(node.value, ast.Name):
            pattern = vars(module).get(node.value.id)
            if isinstance(pattern, re.Pattern):
                yield pattern, node.attr


def used() -> dict[re.Pattern[Any], tuple[str, set[str]]]:
    """Every module-level pattern: its name, and the ways in which it is used; all of them where nobody can see that."""
    names: dict[re.Pattern[Any], str] = {}
    ways: dict[re.Pattern[Any], set[str]] = {}
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                names.setdefault(value, f"{module.__name__}.{name}")
        for pattern, way in uses(module):
            ways.setdefault(pattern, set()).add(way)
    return {pattern: (name, ways.get(pattern, set(WAYS))) for pattern, name in names.items()}


def texts(pattern: re.Pattern[Any]) -> Iterator[Any]:
    """Texts of one character each, for every character that a pattern names; with and without a last one that fails."""
    is_bytes = isinstance(pattern.pattern, bytes)
    source = pattern.pattern.decode("latin-1") if is_bytes else pattern.pattern
    for character in sorted({*source, *OF_CLASSES}):
        for text in (character * SIZE, character * (SIZE - 1) + NEVER):
            yield text.encode("latin-1") if is_bytes else text


def seconds(pattern: re.Pattern[Any], way: str, text: Any) -> float:
    """The processor time that it takes: of several tries the shortest, because others may disturb one."""
    tries: list[float] = []
    while len(tries) < 5 and (not tries or min(tries) > MOST_SECONDS):
        before = time.process_time()
        WAYS[way](pattern, text)
        tries.append(time.process_time() - before)
    return min(tries)


def slow(name: str, pattern: re.Pattern[Any], ways: set[str]) -> list[tuple[str, str, str]]:
    """What takes too long: name, way, and how the text begins and ends."""
    return [
        (name, way, f"{text[:1]!r} … {text[-1:]!r}")
        for way in sorted(ways)
        for text in texts(pattern)
        if seconds(pattern, way, text) > MOST_SECONDS
    ]


def test_every_pattern_reads_8_kib_of_any_character_that_it_names_within_20_ms() -> None:
    patterns = used()
    assert len(patterns) > 50
    assert [found for pattern, (name, ways) in patterns.items() for found in slow(name, pattern, ways)] == []


def test_a_pattern_that_tries_as_many_ways_as_a_text_has_characters_is_recognized() -> None:
    assert slow("zeros", re.compile("0*([0-9]*)"), {"fullmatch"}) == [("zeros", "fullmatch", r"'0' … '\x00'")]
