"""Several senders of mails at once: killed, or with a database server that is gone, they send each mail once."""

import json
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from children import ends_with_us
from engines import IMMEDIATE, Engine, postgresql_server
from mails import command, counts, plain, promise, sending, surroundings
from mailserver import MailServer, mail_server
from served import within
from shopwindow.service.database.database import Database, open_database
from shopwindow.service.mail import Patience
from shopwindow.shop import INTERFACE


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


def sender(engine: Engine, server: MailServer, out: Path, *more: str) -> "subprocess.Popen[bytes]":
    """A `shopwindow mail` at work, whose output goes to a file."""
    with out.open("ab") as stdout:
        return subprocess.Popen(
            command(*more), env=surroundings(engine, server), stdout=stdout, preexec_fn=ends_with_us
        )


def test_two_senders_share_the_work_and_send_each_mail_once(
    engine: Engine, database: Database, server: MailServer, tmp_path: Path
) -> None:
    server.delay = 0.01
    promise(database, *(f"r{number}@mail.example" for number in range(200)))
    outputs = [tmp_path / "one", tmp_path / "two"]
    senders = [sender(engine, server, output) for output in outputs]
    assert within(60, lambda: counts(database) == {"ended sent": 200})
    for process in senders:
        process.terminate()
        assert process.wait(20) == 0
    done = [[json.loads(line)["outcome"] for line in output.read_text().splitlines()] for output in outputs]
    assert (len(server.taken), len(server.ids()), len(done[0]) + len(done[1])) == (200, 200, 200)
    assert min(map(len, done)) > 20
    assert {outcome for each in done for outcome in each} == {"sent"}


def test_no_promised_mail_is_lost_when_senders_are_killed_and_what_is_repeated_was_in_flight(
    engine: Engine, database: Database, server: MailServer, tmp_path: Path
) -> None:
    server.delay = 0.005
    number, kills, connections, chance = 300, 0, 2, random.Random(4)
    promise(database, *(f"r{each}@mail.example" for each in range(number)))
    options = ("--lease", "2", "--connections", str(connections))
    while counts(database).get("waiting", 0) > 40 and kills < 12:
        before = len(server.taken)
        process = sender(engine, server, tmp_path / "out", *options)
        assert server.wait(before + chance.randint(5, 20))
        time.sleep(chance.random() * 0.02)
        process.kill()
        process.wait()
        kills += 1
    process = sender(engine, server, tmp_path / "out", *options)
    assert within(60, lambda: counts(database) == {"ended sent": number})
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0
    ids = server.ids()
    assert (kills > 3, len(ids)) == (True, number)
    assert len(server.taken) - number <= kills * connections
    by_id: dict[bytes, set[bytes]] = {}
    for _, data in server.taken:
        (id,) = [line for line in data.split(b"\r\n") if line.startswith(b"Message-ID:")]
        by_id.setdefault(id, set()).add(data)
    assert {len(same) for same in by_id.values()} == {1}


def test_senders_wait_while_their_database_server_is_gone_and_send_each_mail_once(server: MailServer) -> None:
    server.delay = 0.02
    with postgresql_server() as postgres:
        database = open_database(postgres.create_database(), INTERFACE.tables)
        database.migrate()
        promise(database, *(f"r{number}@mail.example" for number in range(60)))
        with sending(database, plain(server), Patience(lease=8, poll=0.05, outage=0.5)):
            for number in (10, 30):
                assert server.wait(number)
                postgres.stop(IMMEDIATE)
                time.sleep(0.5)
                postgres.start()
            assert within(60, lambda: counts(database) == {"ended sent": 60})
        database.close()
    assert (len(server.taken), len(server.ids())) == (60, 60)
