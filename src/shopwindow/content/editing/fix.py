"""A Fix: the few characters to change, and what the file says afterwards."""

from dataclasses import dataclass

from shopwindow.content.reading.text import Edit
from shopwindow.content.reading.yaml import Json
from shopwindow.problems import Pointer


@dataclass(frozen=True, slots=True)
class Fix:
    """What mends a problem.

    ``title``: what to do, in an editor's words, such as `put 5.10 in quotes`.
    ``edits``: other text for some places of the file. Afterwards ``value`` stands at
    ``pointer`` in the file, below the key ``key`` where that is not empty.
    """

    title: str
    edits: tuple[Edit, ...]
    pointer: Pointer
    value: Json
    key: str = ""

    @property
    def goal(self) -> Pointer:
        """Where the value stands afterwards."""
        return (*self.pointer[:-1], self.key) if self.key else self.pointer
