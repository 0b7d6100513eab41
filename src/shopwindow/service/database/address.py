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
    "sqlite:///PATH, sqlite:////PATH from the root,"
    " or postgresql://USER:PASSWORD@HOST:PORT/NAME with a number as the port;"
    " within a path, user or password ? is %3F, # is %23, @ is %40 and / is %2F"
)

_HOST = r"(?:\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._%-]*)(?::[0-9]*)?"

_POSTGRESQL_URL = re.compile(
    r"postgres(?:ql)?://"
    r"(?:[^/?@\s]*@)?"
    rf"{_HOST}(?:,{_HOST})*"
    r"(?:/[^/?#@\s]*)?"
    r"(?:\?[^#\s]*)?",
    re.IGNORECASE,
)
"""An address that libpq reads as this program does (its manual, 34.1.1.2). libpq
accepts more, and there it may take for a host what is the end of a password.
"""

_SQLITE_URL = re.compile(
    r"sqlite:///(?!/*\Z)(?!.*%00)([^?#]+)", re.IGNORECASE | re.DOTALL
)
"""A path, which holds no NUL and not only slashes. What stands behind ? may be a key,
such as SQLCipher's.
"""

_SCHEME = re.compile("(?:jdbc:)?[a-z][a-z0-9]{0,20}://", re.IGNORECASE)


def sqlite_path(address: str) -> Path | None:
    """Return the file that a database's address names, or None for a PostgreSQL server.

    Links are followed, so that a database has one place for its locks whatever name it
    goes by.

    Raises Failure where the address is of neither form, in one sentence that shows no
    password.
    """
    if file := _SQLITE_URL.fullmatch(address):
        return Path(os.path.realpath(unquote(file[1])))
    if _POSTGRESQL_URL.fullmatch(address):
        return None
    raise Failure(f"--database {shown(address)}: must be {ADDRESS_FORMS}")


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
