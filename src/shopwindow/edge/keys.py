"""Generates API keys, and reads the file of keys for an edge's configuration.

Content holds only digests of keys, so that whoever reads the repository has no key. An
edge compares keys themselves. They stand in a file of lines `<application> <key>`,
outside of git.
"""

import re
import secrets
from hashlib import sha256
from string import ascii_letters, digits

from shopwindow.content.documents.documents import Content
from shopwindow.interface.declaring.interface import Interface

KEY_LENGTH = 24
"""Characters of an API key (interface 5.2): letters and digits, 143 bits of chance."""

_WHOLE_KEY = re.compile(rf"[A-Za-z0-9]{{{KEY_LENGTH}}}", re.ASCII)


def new_key() -> tuple[str, str]:
    """Return a new API key, which nobody can guess, and its digest for the content
    (SHA-256, hex).
    """
    key = "".join(secrets.choice(ascii_letters + digits) for _ in range(KEY_LENGTH))
    return key, _digest(key)


def read_keys(
    text: str, interface: Interface, content: Content
) -> tuple[dict[str, str], list[str]]:
    """Return the applications of a file of keys by key, and warnings about keys left
    out, and about applications that have none.

    ``text`` has a line `<application> <key>` for each key; empty lines and those that
    begin with `#` mean nothing. A key whose digest the content does not list is left
    out: that is how a release withdraws one. Raises ValueError with the number of a
    malformed line. No message shows what may be a key.
    """
    listed_digests = {
        name: frozenset(keys) for name, keys in interface.keys(content).items()
    }
    applications: dict[str, str] = {}
    warnings = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        application, *rest = line.split()
        if len(rest) != 1 or not _WHOLE_KEY.fullmatch(rest[0]):
            must_be = f"an application and a key of {KEY_LENGTH} letters and digits"
            raise ValueError(f"line {number}: must be {must_be}")
        (key,) = rest
        left_out = f"line {number}: left out, "
        if application not in listed_digests:
            warnings.append(f"{left_out}the content has no such application")
        elif _digest(key) not in listed_digests[application]:
            warnings.append(
                f"{left_out}not among the apiKeys of {application} in the content"
            )
        else:
            applications[key] = application
    warnings += [
        f"no key of {name}, whose requests the edge answers with 401"
        for name in sorted(listed_digests.keys() - applications.values())
    ]
    return applications, warnings


def _digest(key: str) -> str:
    return sha256(key.encode()).hexdigest()
