"""Several senders of mails at once: killed, or with a database server that is gone, they send each mail once."""

import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.commands import ends_with_us
from harness.databases import IMMEDIATE, Engine, open_database, postgresql_server
from harness.mails import (
    MailServer,
    Patience,
    counts,
    mail_server,
    plain,
    promise,
    sending,
    surroundings,
)
from harness.program import Database
from harness.waits import PATIENCE, awaited
from shopwindow.shop import INTERFACE


@pytest.fixture
def server() -> Iterator[MailServer]:
    with mail_server() as server:
        yield server


SENDING = """
import os, signal, threading
from shopwindow.service.database.database import open_database
from shopwindow.service.mail.letters import Letters
from shopwindow.service.mail.senders import Patience, Sender
from shopwindow.service.mail.smtp import smtp_server
from shopwindow.shop import INTERFACE

stopped = threading.Event()
signal.signal(signal.SIGTERM, lambda *_: stopped.set())
database = open_database(os.environ["SHOPWINDOW_DATABASE"], INTERFACE.tables)
letters, patience = Letters(INTERFACE), Patience(lease=6)
senders = [Sender(database, smtp_server(os.environ), letters, patience) for _ in range(2)]
for sender in senders:
    sender.start()
stopped.wait()
for sender in senders:
    sender.stop()
database.close()
"""
"""What a worker does, with a lease for which a test can wait, and that is longer than a busy machine takes for
a mail.
"""


def sender(engine: Engine, server: MailServer, out: Path, command: list[str]) -> "subprocess.Popen[bytes]":
    """A process that sends mails, whose output goes to a file."""
    with out.open("ab") as stdout:
        return subprocess.Popen(command, env=surroundings(engine, server), stdout=stdout, preexec_fn=ends_with_us)


def test_two_senders_share_the_work_and_send_each_mail_once(
    engine: Engine, database: Database, server: MailServer, tmp_path: Path
) -> None:
    server.delay = 0.01
    outputs = [tmp_path / "one", tmp_path / "two"]
    senders = [sender(engine, server, output, [sys.executable, "-c", SENDING]) for output in outputs]
    promised = 0

    def are_both_at_work() -> bool:
        """Both have sent some. There is always more to do, for one may start much later than the other."""
        nonlocal promised
        if counts(database).get("waiting", 0) < 50:
            promise(database, *(f"r{promised + number}@mail.example" for number in range(100)))
            promised += 100
        return min(output.read_bytes().count(b"\n") for output in outputs) > 20

    awaited(are_both_at_work)
    awaited(lambda: counts(database) == {"ended sent": promised})
    for process in senders:
        process.terminate()
        assert process.wait(PATIENCE) == 0
    outcomes = [json.loads(line)["outcome"] for output in outputs for line in output.read_text().splitlines()]
    assert (len(server.taken), len(server.ids()), outcomes) == (promised, promised, ["sent"] * promised)


def test_no_promised_mail_is_lost_when_senders_are_killed_and_what_is_repeated_was_in_flight(
    engine: Engine, database: Database, server: MailServer, tmp_path: Path
) -> None:
    server.delay = 0.005
    number, kills, chance = 300, 0, random.Random(4)
    promise(database, *(f"r{each}@mail.example" for each in range(number)))
    impatient = [sys.executable, "-c", SENDING]
    while counts(database).get("waiting", 0) > 40 and kills < 12:
        before = len(server.taken)
        process = sender(engine, server, tmp_path / "out", impatient)
        assert server.wait(before + chance.randint(5, 20))
        time.sleep(chance.random() * 0.02)
        process.kill()
        process.wait()
        kills += 1
    process = sender(engine, server, tmp_path / "out", impatient)
    awaited(lambda: counts(database) == {"ended sent": number})
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0
    ids = server.ids()
    assert (kills > 3, len(ids)) == (True, number)
    assert len(server.taken) - number <= kills * 2  # threads
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
        with sending(database, plain(server), Patience(lease=25, poll=0.05, outage=0.5)):
            for number in (10, 30):
                assert server.wait(number)
                postgres.stop(IMMEDIATE)
                time.sleep(0.5)
                postgres.start()
            awaited(lambda: counts(database) == {"ended sent": 60})
        database.close()
    assert (len(server.taken), len(server.ids())) == (60, 60)
