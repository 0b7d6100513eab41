"""`# shopwindow: allow RULE` at the end of a line: an editor has seen the warning there,
and means what is written.

A comment allows the rules that it names, on its own line, and nothing else: what is
silenced stands beside its reason, and goes when the line goes. Problems cannot be
silenced. A comment that silences nothing is a warning itself where that follows from
the files alone; a window that is not past yet may be allowed in advance.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from shopwindow.problems import Level, Place, Problem

UNUSED = "allow.unused"

MARK = "shopwindow:"
"""What every such comment holds: a text without it has none."""

_RULE_NAME = r"[A-Za-z][A-Za-z.]*[A-Za-z]"
_ALLOWANCE = re.compile(
    rf"(?:^|[ \t])(\#[ \t]*{MARK}[ \t]*allow[ \t]+({_RULE_NAME}(?:[ \t]*,[ \t]*{_RULE_NAME})*))",
    re.MULTILINE,
)


Allowance = tuple[str, Place]
"""A rule, and the place of the comment that allows it on its line."""


def allowances(text: str) -> list[Allowance]:
    """Return the rules that comments of a text allow."""
    if MARK not in text:
        return []
    found = []
    for number, line in enumerate(re.split("\r\n|\n|\r", text), 1):
        for match in _ALLOWANCE.finditer(line):
            place = Place(number, match.start(1) + 1, number, match.end(1) + 1)
            found += [(rule.strip(), place) for rule in match[2].split(",")]
    return found


def unsilenced(
    warnings: Iterable[Problem],
    allowed: Mapping[str, Sequence[Allowance]],
    lasting: Collection[str],
) -> Iterator[Problem]:
    """Yield the warnings that no comment on their line allows, and those of comments
    that allow nothing.

    Args:
        warnings: of a whole check.
        allowed: what the comments of each file allow, by its path.
        lasting: rules whose warnings follow from the files alone, at any time. Of
            others nobody can say that their comment is of no use.
    """
    unused = {
        (path, place.line, rule): place
        for path, of_file in allowed.items()
        for rule, place in of_file
    }
    silenced = set(unused)
    for warning in warnings:
        line = warning.place.line if warning.place else 0
        key = (warning.path, line, warning.rule)
        unused.pop(key, None)
        if key not in silenced:
            yield warning
    for (path, _, rule), place in unused.items():
        if rule in lasting:
            yield Problem(
                UNUSED,
                path,
                f"there is no warning {rule} on this line",
                place,
                allowed="the comment on the line of a warning, or none",
                level=Level.WARNING,
            )
