"""What can be wrong: a Problem in content (collected); a Refusal of a request, a Failure of a
command (raised).
"""

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

Pointer = tuple[str | int, ...]
"""The way from a document's root to a place in it: keys and list positions."""


@dataclass(frozen=True, slots=True)
class Place:
    """A stretch of a file. Lines and columns count from 1, columns in characters; the end is
    exclusive.
    """

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in content. Plain data: words are made where it is printed.

    ``path`` is relative to the content folder; without ``place`` the finding is about the whole
    file. ``found`` reads as a sentence without a full stop; ``allowed`` completes "allowed: …";
    ``about`` is the schema's description of the property; ``nearest`` completes "did you mean
    …?"; ``used_by`` names the files that build on ``path``.
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

    def order(self) -> tuple[str, int, int, str, str]:
        """Sorts problems by where they are."""
        line, column = (self.place.line, self.place.column) if self.place else (0, 0)
        return (self.path, line, column, self.rule, self.found)


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with a request: where (a parameter's name, or empty), and what is found
    and allowed.
    """

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}" if self.where else self.message


@dataclass(eq=False)
class Refusal(Exception):
    """A request that is declined, by the name of its row in the table of codes
    (interface.answer).
    """

    code: str
    faults: tuple[Fault, ...] = ()
    headers: tuple[tuple[str, str], ...] = field(default=())


class Misuse(Exception):
    """An argument that cannot be meant. ``argument``: the name of the option that takes it, if
    one does.
    """

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(message)
        self.argument = argument


class Failure(Exception):
    """What stops a command and is no one's content: a full disk, a lock, a release that is not
    there.

    Its text says what happened and what to do.
    """


@contextmanager
def failures(
    folder: object, outcome: str = "nothing was published, `current` is as it was"
) -> Iterator[None]:
    """What the file system refuses, in an operator's words, with what has come of it."""
    try:
        yield
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
    """What the system refused a command, in a sentence: what, to whom, whose it is, and what to
    do.
    """
    if error.errno not in (errno.EACCES, errno.EPERM) or error.filename is None:
        return str(error)
    path = os.fsdecode(error.filename)
    advice = f"the user {_user(os.geteuid())} may not read or change it"
    place = os.path.abspath(path)
    while place != os.path.dirname(place):
        try:
            owner = os.lstat(place).st_uid
        except OSError:  # nor may this user look at it: whose is the folder?
            place = os.path.dirname(place)
            continue
        return f"{path}: {advice}; {place} belongs to {_user(owner)}: run this as that user"
    return f"{path}: {advice}"


def _user(number: int) -> str:
    import pwd

    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def exhausted(path: object) -> str | None:
    """What the file system of a path has no more of: bytes, or inodes, though there is room.
    None: it has both.

    ENOSPC stands for either, and who looks for room when inodes are lacking finds plenty. A
    file system that makes inodes as it needs them (btrfs) counts none.
    """
    place = os.path.abspath(str(path))
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
"""Bytes. With less than that free, a write that was refused was refused for that: our pieces
are smaller.
"""

LONGEST = 60
"""Characters of a value or a key that a message quotes."""


def cut(text: str, limit: int = LONGEST) -> str:
    """The beginning of a text that is too long for a message."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def pointer_text(pointer: Pointer) -> str:
    """A pointer as printed: RFC 6901 without its first slash."""
    return "/".join(str(step).replace("~", "~0").replace("/", "~1") for step in pointer)


def nearest(word: str, known: Iterable[str]) -> str:
    """The known name that is most like ``word``, or nothing."""
    from difflib import get_close_matches  # 4 ms, needed only where something is wrong

    names = sorted(set(known))
    folded = {name.casefold(): name for name in names}
    close = get_close_matches(word.casefold()[:200], folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else ""


def sentence(problem: Problem) -> str:
    """Return a problem in one line: what was found, what it is about, what is allowed, what may
    have been meant.
    """
    where = pointer_text(
        tuple(cut(step) if isinstance(step, str) else step for step in problem.pointer)
    )
    text = f"{where}: {problem.found}" if problem.pointer else problem.found
    if problem.about:
        text += f" ({problem.about.rstrip('.')})"
    if problem.allowed:
        text += f"; allowed: {problem.allowed}"
    if problem.nearest:
        text += f"; did you mean {problem.nearest}?"
    if problem.used_by:
        text += (
            f"; {', '.join(problem.used_by)} build{'s' * (len(problem.used_by) == 1)} on this"
        )
    return one_line(text)


def one_line(text: str) -> str:
    """Return a text without line ends or control characters, which would forge a second
    problem.
    """
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )
