"""Addresses of databases: how one is read, and how messages speak of one.

How this works. An address may hold a password in several places, and people mistype
addresses. So a message quotes the scheme of one that cannot be read, and nothing else.
libpq's own messages about an address quote all of it; they are replaced here before
anybody sees them.
"""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from shopwindow.problems import Failure

ADDRESS_FORMS = (
    "sqlite:///PATH (sqlite:////PATH for one from the root)"
    " or postgresql://USER:PASSWORD@HOST:PORT/NAME"
)

_HOST = r"(?:\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._%-]*)(?::[0-9]*)?"

_POSTGRESQL_URL = re.compile(
    r"postgres(?:ql)?://"
    r"(?:(?P<person>[^/?@\s]*)@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?:/(?P<name>[^/?#@\s]*))?"
    r"(?:\?(?P<query>[^#\s]*))?",
    re.IGNORECASE,
)
"""An address that libpq reads as this program does (its manual, 34.1.1.2). libpq
accepts more, and there it may take for a host what is the end of a password.
"""

_SCHEME = re.compile("(?:jdbc:)?[a-z][a-z0-9]{0,20}://", re.IGNORECASE)

_SQLITE_URL = re.compile(r"sqlite:///(?P<path>.*)", re.IGNORECASE | re.DOTALL)


def sqlite_path(address: str) -> Path | None:
    """Return the file that a database's address names, or None for a PostgreSQL server.

    Links are followed, so that a database has one place for its locks whatever name it
    goes by.

    Raises Failure where the address is of neither form, in one sentence that shows no
    password.
    """
    if file := _SQLITE_URL.fullmatch(address):
        return _path(file["path"])
    if _POSTGRESQL_URL.fullmatch(address):
        return None

    scheme = address.partition(":")[0].lower()
    if scheme not in ("postgresql", "postgres"):
        raise Failure(f"--database {shown(address)}: must be {ADDRESS_FORMS}")
    if not address[len(scheme) :].startswith("://"):
        raise Failure(f"--database {scheme}:…: must be {scheme}://…")
    raise Failure(
        f"--database {scheme}://…: the user, host, port and name cannot be separated;"
        f" within a user or password @ is %40, / is %2F and ? is %3F, and a port is a number"
    )


def _path(text: str) -> Path:
    """The path of a SQLite database, as it stands in the address. Raises Failure."""
    if "?" in text or "#" in text:
        # what follows is not shown, for it may be a key, such as SQLCipher's
        name, mark = re.split(r"([?#])", text, maxsplit=1)[:2]
        raise Failure(
            f"--database sqlite:///{name}{mark}…: has no parts after ? or #;"
            " in the name of a file they are %3F and %23"
        )
    path = unquote(text)
    if not path.strip("/"):
        raise Failure(f"--database sqlite:///: must be {ADDRESS_FORMS}")
    if "\0" in path:
        raise Failure("--database sqlite:///…: holds %00, which no name of a file can")
    return Path(os.path.realpath(path))


def server_address(address: str) -> str:
    """Return a PostgreSQL server's address as libpq takes it: with the scheme in lower
    case.

    Raises Failure where libpq cannot read it.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    scheme, _, rest = address.partition("://")
    lower = f"{scheme.lower()}://{rest}"
    try:
        conninfo_to_dict(lower)
    except (ProgrammingError, UnicodeError):
        # the error itself quotes the address, or the part that libpq does not know
        raise Failure(
            f"--database {shown(address)}: PostgreSQL's library cannot read it;"
            " after % come two hexadecimal digits,"
            " and after ? connection parameters as in its manual, such as ?sslmode=require"
        ) from None
    return lower


def shown(address: str) -> str:
    """Return an address for a message: its scheme, since the rest may be a password."""
    scheme = _SCHEME.match(address)
    return f"{scheme[0]}…" if scheme else "…"
