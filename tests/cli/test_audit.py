"""Every administrative action leaves a line: who did what, and how much; no key, code or person's id in it."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.databases import backed_up, declared, open_database
from harness.program import release_of_writes, run_command
from harness.servers import environment
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.shop import INTERFACE

ENV = {"SHOPWINDOW_ACTOR": "alex", "SHOPWINDOW_CODE_SECRET": "c" * 64}
DEVICE = "device-of-somebody"


def administered(*arguments: str, **env: str) -> tuple[int, list[dict[str, Any]], str]:
    """How a command ended, its audit lines, and all that was printed of them."""
    ended = run_command(*arguments, env={**ENV, **env})
    lines = [line for line in ended.err.decode().splitlines() if line.startswith("{")]
    return ended.status, [json.loads(line) for line in lines], "\n".join(lines)


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A database with a choice in it."""
    if Path("/dev/log").is_socket():
        pytest.skip("this machine has a system log, where the lines go instead")
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    database = open_database(url, INTERFACE.tables)
    database.migrate()
    database.write(lambda shop: shop[CONSENTS].record("phone", DEVICE, "IN", "somebody", datetime.now(UTC), "key"))
    database.close()
    return url


def test_each_action_says_who_did_what(store: str, tmp_path: Path) -> None:
    out, copies = release_of_writes(tmp_path), tmp_path / "copies"
    copy = str(backed_up(store, copies))
    content = str(tmp_path / "content")
    tables = declared(INTERFACE.tables).values()
    (choices,) = (each.called for each in CONSENTS.personal if each.called)
    removed = {each.called: int(each.called == choices) for table in tables for each in table.personal if each.called}
    kept = {f"{each.option}_days": each.lifetime.days for table in tables for each in table.aging if each.option}
    commands: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
        "maintain backup": (("--backups", str(copies)), {"to": copy}),
        "restore": (("--from", copy), {"source": copy}),
        "optins export": ((), {"since": "", "format": "csv"}),
        "optins forget": (
            ("--device", DEVICE),
            {"by": "device", "removed": removed},
        ),
        "maintain prune-database": (("--log-dir", ""), kept),
        "maintain --list-dead": ((), {}),
    }
    for action, (options, expected) in commands.items():
        status, lines, text = administered(*action.split(), *options, "--database", store)
        assert (status, [line["action"] for line in lines]) == (0, [action])
        assert {"time", "level", "event", "who", "process"} <= lines[0].keys()
        assert (lines[0]["event"], lines[0]["who"], expected.items() <= lines[0].items()) == (
            "administration",
            "alex",
            True,
        ), lines
        assert DEVICE not in text
    issue = ("codes", "add", "--promotion", "7", "--count", "5", "--database", store, "--out", str(out))
    status, lines, _ = administered(*issue)
    assert (status, [(line["action"], line["issued"], line["promotion"]) for line in lines]) == (
        0,
        [("codes add", 5, 7)],
    )
    status, lines, _ = administered("prune", "--keep", "3", "--out", str(out))
    assert (status, [(line["action"], line["deleted"]) for line in lines]) == (0, [("prune", [])])
    status, lines, text = administered("new", "key", "phone", "--content", content)
    assert (status, [(line["action"], line["application"]) for line in lines]) == (0, [("new key", "phone")])


def test_a_migration_is_recorded_once_and_nothing_to_do_is_none(store: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'new.sqlite'}"
    recorded = [len(administered("migrate", "--database", url)[1]) for _ in range(2)]
    assert recorded == [1, 0]


def test_behind_sudo_the_person_is_named(store: str) -> None:
    env = environment(SUDO_USER="kim", LOGNAME="root")
    command = [sys.executable, "-m", "shopwindow", "optins", "export", "--database", store]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    (line,) = [json.loads(text) for text in done.stderr.splitlines() if text.startswith("{")]
    assert line["who"] == "kim as root"
    assert os.getpid() != line["process"]


def test_a_person_at_a_terminal_reads_words_and_no_json(store: str) -> None:
    master, slave = os.openpty()
    command = [sys.executable, "-m", "shopwindow", "optins", "forget", "--device", DEVICE, "--database", store]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=slave, env=environment(**ENV)) as process:
        os.close(slave)
        assert process.wait() == 0
    printed = os.read(master, 4096).decode()
    os.close(master)
    assert "optins forget by alex; this machine has no log to record it" in printed
    assert "{" not in printed
