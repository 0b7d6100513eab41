"""What counts as a damaged index, and what mends a damaged release on this host."""

import sqlite3

from shopwindow.release import pull_notes
from shopwindow.release.releases import Releases
from shopwindow.release.stage import WRITES_AGAIN

DAMAGE_CODES = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_CANTOPEN,
}
"""SQLite's primary codes for a file that was overwritten, that the disk cannot read, or
that was deleted before a thread opened it.
"""


def is_damaged(error: Exception) -> bool:
    """Return whether SQLite reports a file as damaged, unreadable or gone."""
    # An extended code has the primary one in its low byte; no other error has any.
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF in DAMAGE_CODES


def remedy(releases: Releases, id: str) -> str:
    """Return what to do about a damaged release, for the end of a sentence.

    ``releases``: where it is. ``id``: its whole id. A host that pulls its releases has
    no content to build from. The history says of each release that was current whether
    it was pulled.
    """
    if id != releases.current():
        return "it is not current; do not roll back to it, `shopwindow prune` deletes it in time"
    actions = {entry["action"] for entry in releases.history() if entry["id"] == id}
    if "pull" not in actions:
        copied = "what was copied here, copy again with times and modes (`rsync -a`)"
        return f"{WRITES_AGAIN}; {copied}"
    note = pull_notes.read(releases.out)
    source = note.source if note else "SOURCE"
    return (
        f"`shopwindow pull {source}`, with the other options that this host pulls with, "
        "fetches again what is damaged"
    )
