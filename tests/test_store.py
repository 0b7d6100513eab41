"""The store on both engines: what its verbs promise, actions in one transaction, retries, steps to a new form."""

from datetime import UTC, datetime
from functools import partial

import pytest

from engines import Engine
from vitrine.problems import Refusal
from vitrine.service.sql.database import Database
from vitrine.service.sql.shop import Shop

NOW = datetime(2026, 11, 24, 17, tzinfo=UTC)


def record(shop: Shop, device: str = "device", choice: str = "IN", key: str = "1") -> None:
    shop.consents.record("phone", device, choice, "user", NOW, key)


def test_a_fresh_database_is_brought_to_this_programs_form_once(engine: Engine) -> None:
    database = engine.open()
    first, second = database.migrate(), database.migrate()
    database.close()
    assert (first[0], second) == ("0001 consents_and_retries", [])


def test_a_refusal_rolls_back_what_its_action_wrote(database: Database) -> None:
    def refused(shop: Shop) -> None:
        record(shop)
        raise Refusal("invalid")

    with pytest.raises(Refusal):
        database.write(refused)
    database.write(partial(record, key="1"))
