"""Opt-ins written to a database and read back, and answers stored under a key."""

import os
from datetime import UTC, datetime

from harness.program import Database
from shopwindow.interface.operation import Outcome
from shopwindow.interface.table import Tables
from shopwindow.retail.consents.table import CONSENTS, Choice
from shopwindow.service.database.opening import open_database
from shopwindow.service.database.retries import STORED_RESPONSES, Retry
from shopwindow.shop import INTERFACE

NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)
RETRY = Retry("phone", "POST", "v2/path", "key", "digest")
ANSWER = Outcome({"success": True, "text": "ünï"}, '"etag"')


def choose(
    database: Database, device: str, choice: str = "IN", user: str | None = None, at: datetime = NOW, key: str = ""
) -> None:
    """Record one choice of the phone application."""
    key = key or os.urandom(16).hex()
    database.write(lambda shop: shop[CONSENTS].record("phone", device, choice, user, at, key))


def history(database: Database, since: str = "") -> list[tuple[str, str, str | None]]:
    choices: list[Choice] = database.read(lambda shop: shop[CONSENTS].history(since))
    return [(choice.device, choice.choice, choice.user) for choice in choices]


def devices(url: str) -> list[str]:
    """The devices of all choices, in their order."""
    database = open_database(url, INTERFACE.tables)
    try:
        return [device for device, _, _ in history(database)]
    finally:
        database.close()


def begun(database: Database, at: datetime = NOW, retry: Retry = RETRY) -> Outcome | None:
    """What is found under a key; where nothing is, the answer is kept."""

    def work(shop: Tables) -> Outcome | None:
        known = shop[STORED_RESPONSES].begin(retry, at)
        if known is None:
            shop[STORED_RESPONSES].finish(retry, ANSWER)
        return known

    return database.write(work)
