"""What can be wrong, by who can mend it.

A Problem is an editor's: checks collect every one, and then print them all. A Refusal
is a client's: it declines a request. A Failure is an operator's: it stops a command.
The last two are raised. Below them stand the functions that put any of these into
words.
"""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple

Pointer = tuple[str | int, ...]
"""The way from a document's root to a place in it: keys and list positions."""


Absent = tuple[str, str, str]
"""The kind, the property and the value, as text, by which something is named that does
not exist.
"""


class Place(NamedTuple):
    """A stretch of a file.

    Lines and columns count from 1, columns in characters. The end is exclusive.
    """

    line: int
    column: int
    end_line: int
    end_column: int


class Level(StrEnum):
    """How bad it is: an ERROR has to be mended before anything is published, a WARNING
    is probably a mistake.

    The words are those of SARIF and of GitHub's annotations.
    """

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in content, as plain data; `sentence` puts it into words.

    A warning is a Problem of that level: it has the same form, and stops nothing.

    Attributes:
        rule: the name of the rule that was broken.
        path: the file, relative to the content folder.
        found: what is wrong, as a sentence without a full stop.
        place: where in the file; None: the problem is the whole file's.
        pointer: the way to the value within its file.
        document: what a sentence calls the document, where the pointer leads through a
            list: `promotion 880301`; empty where it has no name.
        also: the other places of the same cause, each a problem with a fix of its own.
        allowed: completes "allowed: …".
        about: the schema's description of the property.
        nearest: completes "did you mean …?".
        used_by: the files that build on ``path``.
        absent: where something is named that does not exist, its kind, and the property
            and value by which it is named.
        level: whether it stops what it is found in from being published.
        meant: the JSON value that is certainly meant, or the key where the key is at
            fault; None where there is a doubt.
    """

    rule: str
    path: str
    found: str
    place: Place | None = None
    pointer: Pointer = ()
    allowed: str = ""
    about: str = ""
    nearest: str = ""
    used_by: tuple[str, ...] = ()
    absent: Absent | None = field(default=None, compare=False)
    level: Level = Level.ERROR
    meant: Any = field(default=None, compare=False)
    document: str = field(default="", compare=False)
    also: tuple["Problem", ...] = field(default=(), compare=False)

    @property
    def where(self) -> str:
        """The file and the line, as a sentence names them."""
        return f"{self.path}:{self.place.line if self.place else 1}"

    def order(self) -> tuple[str, int, int, str, str]:
        """Return a key that sorts problems by where they are."""
        line, column = self.place[:2] if self.place else (0, 0)
        return (self.path, line, column, self.rule, self.found)


SERVICE = "service"
"""Where a fault lies that is not the request's."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request, or with the service that should answer it.

    ``where`` is the name of a parameter or header, a property's path, the part of a
    request (`path`, `method`, `query`, `body`, `rate`), or SERVICE. It is empty only
    where an operation has its own form of failures. ``message`` says what was sent and
    what is allowed.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


class Refusal(Exception):
    """A request is declined. ``code`` names a row of the table in `interface.answering.answer`."""

    def __init__(
        self, code: str, *faults: Fault, headers: tuple[tuple[str, str], ...] = ()
    ) -> None:
        self.code = code
        self.faults = faults
        self.headers = headers


class Misuse(Exception):
    """An argument of a command cannot be meant. ``argument`` names its option, if it
    has one.
    """

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class Failure(Exception):
    """A command cannot go on, and no content is wrong: a full disk, a lock, a missing
    release.

    Its text says what happened and what to do.
    """


@contextmanager
def failures(
    folder: object, outcome: str = "nothing was published, `current` is as it was"
) -> Iterator[None]:
    """Raise a Failure in an operator's words where the file system refuses something.

    Args:
        folder: what is named where the error itself names no file.
        outcome: what has come of it, at the end of the sentence.
    """
    try:
        yield
    except BrokenPipeError:
        # Whoever read what is printed has gone; no file is at fault.
        raise
    except OSError as error:
        words = {
            errno.ENOSPC: "the disk is full",
            errno.EDQUOT: "the disk quota is used up",
            errno.EROFS: "the file system is read-only",
            errno.EACCES: "no permission to write",
            errno.EPERM: "not permitted",
            errno.EFBIG: "a file would be larger than this process may write",
            errno.ENOTDIR: "a file stands where a directory should",
        }
        reason = words.get(error.errno or 0, error.strerror or str(error))
        where = error.filename or folder
        if error.errno == errno.ENOSPC:
            reason = exhausted(where) or reason
        raise Failure(f"{where}: {reason}; {outcome}") from error


def in_words(error: OSError) -> str:
    """Return a sentence: what the system refused, to which user, whose it is, what to
    do.
    """
    if error.errno not in (errno.EACCES, errno.EPERM) or error.filename is None:
        return str(error)
    path = os.fsdecode(error.filename)
    refused = f"the user {_user(os.geteuid())} may not read or change it"
    place = os.path.abspath(path)
    while place != os.path.dirname(place):
        try:
            owner = os.lstat(place).st_uid
        except (
            OSError
        ):  # this user may not even look at it: ask whose the folder above is
            place = os.path.dirname(place)
            continue
        return f"{path}: {refused}; {place} belongs to {_user(owner)}: run this as that user"
    return f"{path}: {refused}"


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def exhausted(path: object) -> str | None:
    """Return what a path's file system has run out of, bytes or inodes; None if it has
    both.

    ENOSPC stands for either. An operator who looks for free bytes when inodes are
    lacking finds plenty, so the message tells them apart. A file system that creates
    inodes as it needs them (btrfs) reports a total of 0; that is no lack.
    """
    place = os.path.abspath(
        str(path)
    )  # a file that could not be created has an existing parent
    while not os.path.exists(place) and place != os.path.dirname(place):
        place = os.path.dirname(place)
    try:
        room = os.statvfs(place)
    except OSError:
        return None
    if room.f_files and not room.f_favail:
        return "no inodes are left: there is room on the disk, but for no more files"
    if room.f_bavail * room.f_frsize < LEAST_ROOM:
        return "the disk is full"
    return None


LEAST_ROOM = 1024 * 1024
"""Bytes. A write that was refused with less than this free was refused for lack of
space, since the program never writes more than this at once.
"""

LONGEST = 60
"""Characters of a value or a key that a message quotes.

It is three quarters of a terminal's 80 columns, so that a quoted value takes no more
than a line. Larger or smaller numbers work as well.
"""


def cut(text: str, limit: int = LONGEST) -> str:
    """Return a text, or its beginning and `…` where it is longer than ``limit``
    characters.
    """
    return text if len(text) <= limit else text[: limit - 1] + "…"


def pointer_text(pointer: Pointer) -> str:
    """Return a pointer as it is printed: RFC 6901 without its first slash."""
    return "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def place_words(pointer: Pointer, document: str = "") -> str:
    """Return a place in words: `the value of the 3rd attribute of event 510101`.

    Without a position in a list that is the pointer's text, which editors search for.

    Args:
        pointer: where the place is. A position at its beginning is that of a document
            in its file.
        document: what the document is called; empty where it has no name.
    """
    if not leads_through_list(pointer):
        return pointer_text(pointer)
    if isinstance(pointer[0], int):
        document = document or f"the {ordinal(pointer[0])} document"
        pointer = pointer[1:]
    parts = [document] if document else []
    keys: list[str] = []
    for step in pointer:
        if isinstance(step, str):
            keys.append(step)
        else:
            parts.append(_entry(keys, step))
            keys = []
    if keys:
        parts.append(f"the {keys[0]}" if len(keys) == 1 else pointer_text((*keys,)))
    return " of ".join(reversed(parts))


def leads_through_list(pointer: Pointer) -> bool:
    """Return whether a pointer has a position in a list."""
    return any(isinstance(step, int) for step in pointer)


def ordinal(position: int) -> str:
    """Return the ordinal number of a position that counts from 0: `1st` of 0."""
    number = position + 1
    is_teen = number % 100 in (11, 12, 13)
    ending = "th" if is_teen else _ORDINAL_ENDINGS.get(number % 10, "th")
    return f"{number}{ending}"


_ORDINAL_ENDINGS = {1: "st", 2: "nd", 3: "rd"}


def _entry(keys: Sequence[str], position: int) -> str:
    """Return what an entry of the list at some keys is called: `the 2nd category`.

    Only a list's own name has a singular; one at a longer path is searched for by it.
    """
    singular = _singular(keys[0]) if len(keys) == 1 else ""
    if singular or not keys:
        return f"the {ordinal(position)} {singular or 'entry'}"
    return f"the {ordinal(position)} entry of {pointer_text((*keys,))}"


def _singular(name: str) -> str:
    """Return the singular of a property's name; empty where its form does not tell."""
    if name.endswith("ies"):
        return f"{name[:-3]}y"
    is_plural = name.endswith("s") and not name.endswith(_UNCLEAR_ENDS)
    return name[:-1] if is_plural else ""


_UNCLEAR_ENDS = ("ss", "us", "is", "sses", "xes", "ches", "shes")
"""A name that ends so is no plural, or one that may lose an e as well."""


def number_of(count: int, noun: str, plural: str = "s") -> str:
    """Return a number with its noun: `1 file`, `1,200 files`."""
    return f"{count:,} {noun}{plural * (count != 1)}"


def sentence(problem: Problem) -> str:
    """Return a problem as one line: what is wrong, what is allowed, what may have been
    meant.
    """
    steps = tuple(
        cut(step) if isinstance(step, str) else step for step in problem.pointer
    )
    place = place_words(steps, problem.document)
    text = f"{place}: {problem.found}" if steps else problem.found
    if problem.about:
        text += f" ({problem.about.rstrip('.')})"
    if problem.allowed:
        text += f"; allowed: {problem.allowed}"
    if problem.nearest:
        text += f"; did you mean {problem.nearest}?"
    if problem.used_by:
        verb = "builds" if len(problem.used_by) == 1 else "build"
        text += f"; {', '.join(problem.used_by)} {verb} on this"
    return one_line(text)


def one_line(text: str) -> str:
    """Return a text with everything that does not print escaped.

    A line end in an editor's value could otherwise forge a second problem.
    """
    if text.isprintable():  # nearly every text: a fiftieth of the time
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode()
        for char in text
    )
