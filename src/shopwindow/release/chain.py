"""The chain: releases with the instants from which they are in force.

A build is pure: content and an instant make a release. So the releases of later
instants can be built ahead, and whoever has a chain knows which one is current at any
time, without anybody's help. The pointer of a target lists one, and so does the
history's last line of an output directory.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any


@dataclass(frozen=True)
class Link:
    """A release of a chain. ``start``: the instant from which it is in force."""

    id: str
    start: datetime


@dataclass(frozen=True)
class Chain:
    """Releases that follow each other, the first to be in force first.

    It is empty only where nothing is current.
    """

    links: tuple[Link, ...]

    def in_force(self, now: datetime) -> Link:
        """Return the last release that starts no later than ``now``.

        Before all of them, that is the first: a clock that runs slow still has a
        release to serve.
        """
        started = [link for link in self.links if link.start <= now]
        return started[-1] if started else self.links[0]

    def is_due(self, now: datetime) -> bool:
        """Return whether another release than the first is in force at ``now``."""
        return len(self.links) > 1 and self.links[1].start <= now

    def remaining(self, now: datetime) -> "Chain":
        """Return this chain without what is over at ``now``: the release in force comes
        first.
        """
        return Chain(self.links[self.links.index(self.in_force(now)) :])

    def begun(self, now: datetime) -> tuple[Link, ...]:
        """Return what is over at ``now``, and the release in force."""
        return self.links[: self.links.index(self.in_force(now)) + 1]

    def continues(self, other: "Chain", now: datetime) -> bool:
        """Return whether this chain is the same as another from ``now`` on.

        When the release in force has begun, makes no difference.
        """
        ours, theirs = self.remaining(now).links, other.remaining(now).links
        return (ours[0].id, ours[1:]) == (theirs[0].id, theirs[1:])


def chain_of(value: Any) -> Chain:
    """Return the chain that a value of JSON lists: ``[{"id": …, "from": …}, …]``.

    ``from`` is an instant in RFC 3339. Raises ValueError, KeyError or TypeError where
    the value is none, or its instants do not rise.
    """
    if not isinstance(value, list) or not value:
        raise ValueError("a chain is a list of at least one release")
    links = tuple(Link(str(entry["id"]), _instant(entry["from"])) for entry in value)
    starts = [link.start for link in links]
    if starts != sorted(set(starts)):
        raise ValueError("the releases of a chain follow each other in time")
    return Chain(links)


def _instant(text: Any) -> datetime:
    """Return the instant of a text in RFC 3339. Raises ValueError or TypeError."""
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError(f"{text!r} has no offset from UTC")
    return instant


def as_json(chain: Chain) -> list[dict[str, str]]:
    """Return a chain as a value of JSON, as `chain_of` reads it."""
    return [{"id": link.id, "from": link.start.isoformat()} for link in chain.links]
