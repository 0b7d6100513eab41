"""What may stand in a mapping file: the checks that its reading is made of."""

from collections.abc import Sequence
from typing import Any

from shopwindow.content.finding import shown
from shopwindow.content.yaml import Json
from shopwindow.problems import Pointer, nearest


class UnusableMapping(Exception):
    """A mapping cannot be used. It has where, what was found, what is allowed and a
    near name.
    """

    def __init__(
        self, pointer: Pointer, found: str, allowed: str, nearest: str = ""
    ) -> None:
        super().__init__(found)
        self.pointer, self.found, self.allowed, self.nearest = (
            pointer,
            found,
            allowed,
            nearest,
        )


def require_keys(
    value: Json, pointer: Pointer, allowed: Sequence[str], needed: Sequence[str]
) -> None:
    """Raise UnusableMapping for what is no object, has a key that is not ``allowed``, or
    lacks one that is ``needed``.
    """
    require_type(value, dict, pointer, "an object with " + ", ".join(allowed))
    for key in value:
        if key not in allowed:
            raise UnusableMapping(
                (*pointer, key),
                f"{key!r} is not known here",
                ", ".join(allowed),
                nearest(key, allowed),
            )
    for key in needed:
        if key not in value:
            raise UnusableMapping(pointer, f"{key!r} is missing", ", ".join(allowed))


def require_type(value: Json, kind: type, pointer: Pointer, allowed: str) -> Any:
    """Return a value of this type. Raises UnusableMapping, in which ``allowed`` says in
    words what may stand there.
    """
    if not isinstance(value, kind):
        raise UnusableMapping(pointer, f"{shown(value)} does not fit", allowed)
    return value


def require_number(
    value: Json, pointer: Pointer, least: int, most: int = 10**15
) -> int:
    """Return a whole number from ``least`` to ``most``. Raises UnusableMapping."""
    if (
        not isinstance(value, int)
        or isinstance(value, bool)
        or not least <= value <= most
    ):
        raise UnusableMapping(
            pointer,
            f"{shown(value)} does not fit",
            f"a whole number from {least} to {most}",
        )
    return value
