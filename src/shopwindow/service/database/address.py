"""Addresses of databases: how one is read, and how messages speak of one.

An address may hold a password in several places, and people mistype addresses. So what cannot
be read for certain is never shown, not even in part: a message quotes the scheme, the host and
the name of a database, and nothing else. libpq's own messages about an address quote all of it;
they are replaced here before anybody sees them.
"""

import os
import re
from logging import LogRecord
from pathlib import Path
from urllib.parse import unquote

from shopwindow.problems import Failure

ADDRESS_FORMS = "sqlite:///PATH (sqlite:////PATH for one from the root) or postgresql://USER:PASSWORD@HOST:PORT/NAME"

_HOST = r"(?:\[[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?\]|[A-Za-z0-9._%-]*)(?::[0-9]*)?"
_POSTGRESQL_URL = re.compile(
    r"postgres(?:ql)?://"
    r"(?:(?P<person>[^/?@\s]*)@)?"
    rf"(?P<hosts>{_HOST}(?:,{_HOST})*)"
    r"(?:/(?P<name>[^/?#@\s]*))?"
    r"(?:\?(?P<query>[^#\s]*))?",
    re.IGNORECASE,
)
"""An address that libpq reads as we do (its manual, 34.1.1.2). libpq is laxer: it takes a host
for a password's end.
"""

_SHOWABLE = re.compile(
    rf"(?P<scheme>(?:jdbc:)?[a-z][a-z0-9]{{0,20}})://(?P<place>{_HOST}(?:/[A-Za-z0-9_.-]*)?)",
    re.I,
)
"""What is left of an address without its person and query, where nothing in it could be part of
a password.
"""

_SQLITE_URL = re.compile(r"sqlite:///(?P<path>.*)", re.IGNORECASE | re.DOTALL)


def sqlite_path(address: str) -> Path | None:
    """The file that a database's address names, or None where it names a PostgreSQL server.

    A link is followed: whatever a database is called, there is one place for its locks.

    Raises:
        Failure: the address is of neither sort; in one sentence that shows no password.
    """
    if file := _SQLITE_URL.fullmatch(address):
        return _path(file["path"])
    if _POSTGRESQL_URL.fullmatch(address):
        return None
    scheme = address.partition(":")[0].lower()
    if scheme in ("postgresql", "postgres"):
        if not address[len(scheme) :].startswith("://"):
            raise Failure(f"--database {scheme}:…: must be {scheme}://…")
        raise Failure(
            f"--database {scheme}://…: is not a user, host, port and name that can be told apart;"
            f" within a user or password @ is %40, / is %2F and ? is %3F, and a port is a number"
        )
    raise Failure(f"--database {shown(address)}: must be {ADDRESS_FORMS}")


def _path(text: str) -> Path:
    if "?" in text or "#" in text:
        name, mark = re.split(r"([?#])", text, maxsplit=1)[
            :2
        ]  # what follows may be a key, such as SQLCipher's
        raise Failure(
            f"--database sqlite:///{name}{mark}…: has no parts after ? or #; in the name of a file they are %3F and %23"
        )
    path = unquote(text)
    if not path.strip("/"):
        raise Failure(f"--database sqlite:///: must be {ADDRESS_FORMS}")
    if "\0" in path:
        raise Failure("--database sqlite:///…: holds %00, which no name of a file can")
    return Path(os.path.realpath(path))


def server_address(address: str) -> str:
    """A PostgreSQL server's address as libpq takes it, which knows its scheme in lower case
    only.

    Raises:
        Failure: libpq cannot read it.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    scheme, _, rest = address.partition("://")
    lower = f"{scheme.lower()}://{rest}"
    try:
        conninfo_to_dict(lower)
    except (
        ProgrammingError,
        UnicodeError,
    ):  # which quotes the address, or the part that it does not know
        raise Failure(
            f"--database {shown(address)}: PostgreSQL's library cannot read it; after % come two hexadecimal digits,"
            " and after ? connection parameters as in its manual, such as ?sslmode=require"
        ) from None
    return lower


def shown(address: str) -> str:
    """An address for a message: its scheme, host and name; `…` where these cannot be told from
    a password.
    """
    before_query = re.split(r"[?#]", address, maxsplit=1)[0]
    scheme, separator, rest = before_query.partition("://")
    place = _SHOWABLE.fullmatch(f"{scheme}{separator}{rest.rpartition('@')[2]}")
    if place is None or address.count("@") > 1 or ("@" in address and "@" not in before_query):
        return "…"
    return place[0]


_QUOTES = (('"', '"'), ("'", "'"), ("»", "«"), ("„", "“"), ("“", "”"), ("«", "»"))


def without_secrets(message: str, address: str) -> str:
    """A message of libpq or of a server about a connection, without user and password of the
    connection's address.
    """
    from psycopg.conninfo import conninfo_to_dict

    parts = conninfo_to_dict(address)
    for name in ("password", "sslpassword"):
        secret = str(parts.get(name) or "")
        if len(secret) > 3:  # a shorter one stands in words that have nothing to do with it
            message = message.replace(secret, "…")
    user = str(parts.get("user") or "")
    if user and user not in (parts.get("dbname"), parts.get("host")):
        for opening, closing in _QUOTES:
            message = message.replace(f"{opening}{user}{closing}", f"{opening}…{closing}")
    return _without_users(message)


def _without_users(message: str) -> str:
    return re.sub(r'\b(user|role) "[^"]*"', r'\1 "…"', message)


def hide_users(record: LogRecord) -> bool:
    """A filter of Python's logging: psycopg's pool logs what a server said, which names the
    user.
    """
    record.msg, record.args = _without_users(record.getMessage()), ()
    return True
