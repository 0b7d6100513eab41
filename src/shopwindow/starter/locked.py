"""The lines of a content repository's requirements.txt: the program, and what it needs.

pip with `--require-hashes` installs nothing that has no hash, the dependencies
included. So the file pins each of them: in the version that this program's own tests
ran with, as its lock file says.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import requires
from pathlib import Path

from shopwindow.problems import Misuse

PROGRAM = "shopwindow"
LOCK = "requirements.lock"

_INSIDE = Path(__file__).parent / LOCK
"""The lock file of a wheel. A checkout has it on top."""

_CHECKOUT = Path(__file__).parents[3]

_WHEEL = re.compile(r"((?:https?|file)://[^\s#]+\.whl)#sha256=([0-9a-f]{64})")
_NAME = re.compile(r"[A-Za-z0-9._-]+")
_EXTRA = re.compile(r";[^;]*\bextra\s*==\s*['\"]([a-z0-9-]+)['\"]")
_ENTRY = re.compile(r"^(?=[A-Za-z0-9])", re.MULTILINE)
_COMMENT = re.compile(r"^ +# ?(?:via)? *(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Wheel:
    """Where the program's wheel is: its URL, and its SHA-256 in hexadecimal digits."""

    url: str
    sha256: str


def wheel_of(text: str) -> Wheel:
    """Return the wheel that `URL#sha256=DIGEST` names. Raises Misuse."""
    match = _WHEEL.fullmatch(text)
    if match is None:
        wanted = "the https:, http: or file: URL of a .whl file and its hash: URL#sha256=64 digits"
        raise Misuse("wheel", f"{text}: must be {wanted}")
    return Wheel(*match.groups())


def requirements(wheel: Wheel | None, extra: str = "") -> str:
    """Return the text of requirements.txt; without a wheel its line is a comment.

    ``extra``: the name of an extra that is installed, too; empty: of none.
    """
    about = [
        "# The program, and everything that it needs: each in one version and with its",
        "# hashes, so that no run installs other code than the one that was tried.",
    ]
    name = f"{PROGRAM}[{extra}]" if extra else PROGRAM
    if wheel is not None:
        program = [f"{name} @ {wheel.url} --hash=sha256:{wheel.sha256}"]
    else:
        program = [
            "# The next line is to name the wheel: its address, and the hash that",
            "# `sha256sum` prints. Take the # away.",
            f"# {name} @ https://files.example/{PROGRAM}.whl --hash=sha256:",
        ]
    return "\n".join([*about, *program, *_pinned(extra)]) + "\n"


def program_line() -> int:
    """Return the number of the line that names the wheel, or is to name it."""
    lines = requirements(None).splitlines()
    return next(
        n for n, line in enumerate(lines, 1) if line.startswith(f"# {PROGRAM} @")
    )


def _pinned(extra: str) -> Iterator[str]:
    """Yield the lines of the lock file that pin what the program needs with an extra."""
    lock = _INSIDE if _INSIDE.is_file() else _CHECKOUT / LOCK
    entries = dict(_entries(lock.read_text(encoding="utf-8")))
    needed = set(_direct(_required(), extra))
    while (
        more := {name for name, (_, users) in entries.items() if users & needed}
        - needed
    ):
        needed |= more
    for name, (pins, _) in entries.items():
        if name in needed:
            yield pins


def _entries(lock: str) -> Iterator[tuple[str, tuple[str, set[str]]]]:
    """Yield each package of a lock file: its name, its lines, and the packages that
    need it.

    pip-compile writes a comment below each entry: `# via jinja2`, or a line for each
    user.
    """
    for entry in filter(None, _ENTRY.split(lock)):
        pins, *_ = re.split(r"\n +#", entry.rstrip(), maxsplit=1)
        users = {user for user in _COMMENT.findall(entry) if _NAME.fullmatch(user)}
        yield entry.partition("==")[0], (pins, users)


def _direct(requirements: Iterable[str], extra: str) -> Iterator[str]:
    """Yield the names of a package's dependencies, of its extras those of one."""
    for requirement in requirements:
        name, of = _NAME.match(requirement), _EXTRA.search(requirement)
        if name and (of is None or of[1] == extra):
            yield name.group().lower()


def _required() -> list[str]:
    """Return the requirements of the program; those of its extras may be among them.

    They are as it was installed, or as a checkout declares, whose installation may be older.
    """
    project = _CHECKOUT / "pyproject.toml"
    if _INSIDE.is_file() or not project.is_file():
        return requires(PROGRAM) or []
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    return [
        *declared["dependencies"],
        *(f"{name}; extra == '{of}'" for of, names in extras.items() for name in names),
    ]
