"""What changes from one release to another, printed: for a terminal, for a pull
request's comment (Markdown), as a page of its own (HTML), for programs (JSON).

Each format is a function of the difference; DIFFERENCE_FORMATS names them.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

from shopwindow.library import ReleaseDifference
from shopwindow.problems import (
    leads_through_list,
    number_of,
    place_words,
    pointer_text,
)
from shopwindow.release.changes import TouchedContract, ValueChange

MAX_PRINTED_VALUE = 200
"""Characters of a value that `diff` prints: two of them are a few lines of a terminal.
"""

MAX_MARKDOWN = 60_000
"""Characters of a Markdown difference: GitHub refuses a comment of more than 65,536."""

MAX_MARKDOWN_CONTRACTS = 50
"""Answers of contracts that a Markdown difference lists: with MAX_PRINTED_VALUE
characters each, every one escaped, they stay within a comment.
"""

_UNMARKED = frozenset(" ,.;:/'-")
"""Beside letters and digits, what stands for itself everywhere in Markdown."""


def text(difference: ReleaseDifference) -> Iterator[str]:
    """Yield the lines of a difference for a terminal."""
    for change in difference.changes:
        yield _sentence(change)
    for touched in difference.contracts:
        yield f"{touched.reader} reads this: {_read(touched)}"
    yield f"{number_of(len(difference.urls), 'URL')} to purge" + ":" * bool(
        difference.urls
    )
    for url in difference.urls:
        yield f"  {url}"
    if difference.urls:
        yield _lifetime(difference)


def markdown(difference: ReleaseDifference) -> Iterator[str]:
    """Yield the lines of a difference as Markdown, which a comment of a pull request
    can hold.
    """
    documents = _by_document(difference.changes)
    yield f"### {number_of(len(documents), 'document')} changed, {number_of(len(difference.urls), 'URL')} to purge"
    length = 0
    for number, changes in enumerate(documents):
        section = "\n".join(_section(changes))
        length += len(section)
        if length > MAX_MARKDOWN // 2:
            yield ""
            yield f"And {number_of(len(documents) - number, 'more document')}."
            break
        yield section
    yield from _contracts_section(difference)
    if not difference.urls:
        return
    yield ""
    yield "<details><summary>URLs to purge</summary>"
    yield ""
    length = 0
    for number, url in enumerate(difference.urls):
        length += len(url)
        if length > MAX_MARKDOWN // 4:
            yield f"- and {number_of(len(difference.urls) - number, 'more URL')}"
            break
        yield f"- `{url}`"
    yield ""
    yield f"{_lifetime(difference).capitalize()}."
    yield "</details>"


def _contracts_section(difference: ReleaseDifference) -> Iterator[str]:
    """Yield the Markdown of the contracts that read what changes."""
    if not difference.contracts:
        return
    yield ""
    yield "#### Contracts that read this"
    yield ""
    for number, touched in enumerate(difference.contracts):
        if number == MAX_MARKDOWN_CONTRACTS:
            yield f"- and {number_of(len(difference.contracts) - number, 'more answer')}"
            break
        yield f"- {_escaped(touched.reader)}: {_escaped(_cut(_read(touched)))}"


def html(difference: ReleaseDifference) -> Iterator[str]:
    """Yield a difference as a page that needs no other file."""
    from shopwindow.preview.templates import environment  # for this format alone

    documents = [
        {"name": f"{changes[0].kind} {changes[0].id}", "values": list(_values(changes))}
        for changes in _by_document(difference.changes)
    ]
    yield (
        environment()
        .get_template("difference.html")
        .render(
            documents=documents,
            contracts=[
                (touched.reader, _read(touched)) for touched in difference.contracts
            ],
            urls=difference.urls,
            lifetime=_lifetime(difference).capitalize(),
        )
    )


def as_json(difference: ReleaseDifference) -> Iterator[str]:
    """Yield a difference as one JSON object."""
    value = asdict(difference)
    for change in value["changes"]:
        change["pointer"] = pointer_text(change["pointer"])
    yield json.dumps(value, ensure_ascii=False, indent=2)


DIFFERENCE_FORMATS: dict[str, Callable[[ReleaseDifference], Iterable[str]]] = {
    "text": text,
    "markdown": markdown,
    "html": html,
    "json": as_json,
}


def _by_document(changes: Sequence[ValueChange]) -> list[list[ValueChange]]:
    """Return the changes of each document together, in their order."""
    groups = groupby(changes, key=lambda change: (change.kind, change.id))
    return [list(group) for _, group in groups]


def _section(changes: Sequence[ValueChange]) -> Iterator[str]:
    """Yield the Markdown of one document: a heading, and a table of its values."""
    yield ""
    yield f"#### {_escaped(changes[0].kind)} {_escaped(changes[0].id)}"
    yield ""
    yield "| Property | Before | After |"
    yield "| --- | --- | --- |"
    for cells in _values(changes):
        yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(value: str) -> str:
    """Return a text that Markdown shows as it is, in a cell of a table, too."""
    return "".join(
        char
        if char.isalnum() or char in _UNMARKED
        else "<br>"
        if char == "\n"
        else f"&#{ord(char)};"
        for char in value
    )


def _values(changes: Sequence[ValueChange]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each value of a document: its place, before and after."""
    for change in changes:
        place = place_words(change.pointer) if change.pointer else "the document"
        yield place, *_before_and_after(change)


def _before_and_after(change: ValueChange) -> tuple[str, str]:
    """Return both values; or nothing, and what has happened."""
    if isinstance(change.old, dict) and isinstance(change.new, dict):
        return "", "its keys stand in another order"
    if not change.pointer:
        return "", "appears" if change.old is None else "disappears"
    return _value(change.old), _value(change.new)


def _read(touched: TouchedContract) -> str:
    """Return what of an answer a contract reads, and differs."""
    return f"{', '.join(touched.paths)} of {touched.request}"


def _sentence(change: ValueChange) -> str:
    name = f"{change.kind} {change.id}"
    place = f"{name}: {pointer_text(change.pointer)}" if change.pointer else name
    if leads_through_list(change.pointer):
        place = place_words(change.pointer, name)
    before, after = _before_and_after(change)
    return f"{place}: {before} -> {after}" if before else f"{place}: {after}"


def _value(value: Any) -> str:
    """Return a value as `diff` prints it. None is one that is not there: content has no
    null.
    """
    return _cut(
        "(not there)" if value is None else json.dumps(value, ensure_ascii=False)
    )


def _cut(text: str) -> str:
    is_short = len(text) <= MAX_PRINTED_VALUE
    return text if is_short else text[: MAX_PRINTED_VALUE - 1] + "…"


def _lifetime(difference: ReleaseDifference) -> str:
    dynamic = "dynamic responses, to other queries,"
    return f"{dynamic} leave the caches by themselves within {difference.lifetime} s"
