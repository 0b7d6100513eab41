"""The database's commands: migrate, maintain, restore, optins; what keeps SQLite's file safe."""

import csv
import io
import json
import os
import re
import resource
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from harness.databases import NOW, Engine, Retry, backed_up, begun, choose, declared, devices, open_database
from harness.program import Database, Ran, shopwindow
from shopwindow.cli.optins import NOT_REACHED
from shopwindow.problems import Failure
from shopwindow.retail.consents.table import CONSENTS
from shopwindow.service.database.sqlite_file import NETWORK, backup, file_system
from shopwindow.service.message import LOOPBACK, proxies
from shopwindow.shop import INTERFACE


@pytest.fixture
def sqlite(tmp_path: Path) -> Engine:
    return Engine("sqlite", f"sqlite:///{tmp_path / 'store' / 'shop.sqlite'}")


# -- migrate -----------------------------------------------------------------------------------------------------


def test_migrate_prints_its_steps_and_then_has_nothing_to_do(engine: Engine) -> None:
    first, second = (shopwindow("migrate", "--database", engine.url) for _ in range(2))
    assert (first.status, first.out.splitlines()[0]) == (0, "retries 1")
    assert second == Ran(0, "nothing to do\n", "")


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("mysql://root:secret@host/x", "--database mysql://…: must be sqlite:///PATH"),
        ("postgresql:/shopwindow:secret@host/x", "--database …: must be sqlite:///PATH"),
        ("sqlite://host/x", "--database sqlite://…: must be sqlite:///PATH"),
        ("sqlite:///x?mode=ro", "--database sqlite://…: must be sqlite:///PATH"),
        ("sqlite:///h#x.sqlite", "--database sqlite://…: must be sqlite:///PATH"),
        ("postgresql://shopwindow:secret@127.0.0.1:1/x", "the database cannot be migrated: "),
    ],
)
def test_what_is_no_database_is_said_in_one_sentence_without_the_password(url: str, message: str) -> None:
    if url.startswith("postgresql"):
        pytest.importorskip("psycopg")
    ran = shopwindow("migrate", "--database", url)
    assert (ran.status, ran.err.startswith(f"shopwindow: {message}"), ran.err.count("\n")) == (4, True, 1)
    assert "secret" not in ran.err


@pytest.mark.parametrize(
    "command", [["maintain", "--list-dead"], ["optins", "export"], ["optins", "forget", "--user", "u"]]
)
def test_a_store_that_is_not_there_is_not_made_by_the_way(tmp_path: Path, command: list[str]) -> None:
    ran = shopwindow(*command, "--database", f"sqlite:///{tmp_path}/none/x.sqlite")
    assert ran == Ran(4, "", f"shopwindow: {tmp_path}/none/x.sqlite is not there; `shopwindow migrate` makes it\n")
    assert not (tmp_path / "none").exists()


# -- backup, restore ---------------------------------------------------------------------------------------------


def test_a_backup_of_a_live_store_is_restored_and_goes_on(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    stop = threading.Event()
    count = 0

    def write() -> None:
        nonlocal count
        while not stop.is_set():
            choose(database, str(count), at=NOW + count * timedelta(milliseconds=1))
            count += 1

    writer = threading.Thread(target=write)
    writer.start()
    before = count
    copy = backed_up(sqlite.url, tmp_path / "copies")
    after = count
    stop.set()
    writer.join()
    refused = shopwindow("restore", "--database", sqlite.url, "--from", copy)
    assert (refused.status, "is in use; stop the service" in refused.err) == (4, True)
    database.close()
    kept = _all_devices(f"sqlite:///{copy}")
    assert (kept == [str(number) for number in range(len(kept))], before <= len(kept) <= after + 1) == (True, True)
    restored = shopwindow("restore", "--database", sqlite.url, "--from", copy)
    assert (restored.status, restored.out.startswith(str(tmp_path / "store" / "shop.sqlite"))) == (0, True)
    assert _all_devices(sqlite.url) == kept
    again = sqlite.open()
    choose(again, "next", at=NOW + timedelta(hours=1))
    again.close()
    assert _all_devices(sqlite.url) == [*kept, "next"]
    (old,) = (tmp_path / "store").glob("shop.sqlite.before-restore-*Z")
    assert len(_all_devices(f"sqlite:///{old}")) == count


def _all_devices(url: str) -> list[str]:
    ran = shopwindow("optins", "export", "--database", url, "--format", "jsonl")
    assert ran.status == 0, ran
    return [json.loads(line)["device"] for line in ran.out.splitlines()]


def test_a_store_is_restored_where_there_was_none_and_where_it_was_damaged(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "a")
    database.close()
    path = tmp_path / "store" / "shop.sqlite"
    copy = backed_up(sqlite.url, tmp_path / "copies")
    path.write_bytes(b"damaged " * 1000)
    assert shopwindow("restore", "--database", sqlite.url, "--from", copy).status == 0
    assert devices(sqlite.url) == ["a"]
    other = f"sqlite:///{tmp_path}/elsewhere/shop.sqlite"
    assert shopwindow("restore", "--database", other, "--from", copy).out.endswith(f"restored from {copy}\n")
    assert devices(other) == ["a"]


def test_each_restore_keeps_what_was_there(sqlite: Engine, tmp_path: Path) -> None:
    copies = []
    for device in ("a", "b", "c"):
        store = Engine("sqlite", f"sqlite:///{tmp_path / device}").open()
        store.migrate()
        choose(store, device)
        store.close()
        copies.append(backed_up(f"sqlite:///{tmp_path / device}", tmp_path / f"copies of {device}"))
    kept = []
    for copy in copies:
        told = shopwindow("restore", "--database", sqlite.url, "--from", copy).out
        kept += told.partition("; what was there is ")[2].splitlines()
    assert [devices(f"sqlite:///{path}") for path in kept] == [["a"], ["b"]]
    assert devices(sqlite.url) == ["c"]


def test_a_store_is_one_by_whatever_link_it_is_known(sqlite: Engine, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("store/shop.sqlite")
    database = Engine("sqlite", f"sqlite:///{tmp_path / 'link'}").open()
    database.migrate()
    choose(database, "a")
    path = tmp_path / "store" / "shop.sqlite"
    copy = backed_up(sqlite.url, tmp_path / "copies")
    in_use = f"shopwindow: {path} is in use; stop the service and whatever else has it open first\n"
    restore = ("restore", "--from", copy, "--database")
    assert shopwindow(*restore, sqlite.url) == Ran(4, "", in_use)
    database.close()
    assert shopwindow(*restore, f"sqlite:///{tmp_path / 'link'}").out.startswith(f"{path}: restored from {copy}; ")
    assert ((tmp_path / "link").is_symlink(), devices(sqlite.url)) == (True, ["a"])


def test_a_backup_without_room_names_the_disk_that_has_none(sqlite: Engine, tmp_path: Path) -> None:
    sqlite.open().migrate()
    path, copy = tmp_path / "store/shop.sqlite", tmp_path / "copy"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(Failure, match=f"^{re.escape(f'{path} cannot be copied to {copy}: ')}"):
            backup(path, copy, declared(INTERFACE.tables))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_backup_replaces_no_copy_that_somebody_has_open(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "a")
    copy = Path(backed_up(sqlite.url, tmp_path / "copies"))
    reader = open_database(f"sqlite:///{copy}", INTERFACE.tables)
    choose(reader, "b", at=NOW + timedelta(days=1))
    open_copy = f"{copy} is open, or was not closed: there is {copy}-wal; move both away"
    with pytest.raises(Failure, match=f"^{re.escape(open_copy)}$"):
        backup(tmp_path / "store/shop.sqlite", copy, declared(INTERFACE.tables))
    reader.close()
    database.close()
    assert (devices(sqlite.url), devices(f"sqlite:///{copy}")) == (["a"], ["a", "b"])


def test_stores_and_their_copies_are_their_owners_alone(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "a")
    folder = tmp_path / "store"
    ends = ("", "-shm", "-wal", ".held", ".lock", ".next")
    modes = {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}
    assert modes == {f"shop.sqlite{end}": "0o600" for end in ends}
    database.close()
    copy = backed_up(sqlite.url, tmp_path / "copies")
    (folder / "shop.sqlite").unlink()
    assert shopwindow("restore", "--database", sqlite.url, "--from", copy).status == 0
    assert [oct(path.stat().st_mode & 0o777) for path in (copy, folder / "shop.sqlite")] == ["0o600"] * 2


def test_what_is_no_backup_is_not_restored(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "a")
    database.close()
    wrong = tmp_path / "wrong"
    wrong.write_bytes(b"something else " * 500)
    for source in (wrong, tmp_path / "missing"):
        ran = shopwindow("restore", "--database", sqlite.url, "--from", source)
        assert (ran.status, ran.err.startswith(f"shopwindow: {source} is not ")) == (4, True)
    assert devices(sqlite.url) == ["a"]


def test_a_restore_replaces_nothing_but_a_file(tmp_path: Path) -> None:
    database, pipe = tmp_path / "shop.sqlite", tmp_path / "pipe"
    assert shopwindow("migrate", "--database", f"sqlite:///{database}").status == 0
    copy = backed_up(f"sqlite:///{database}", tmp_path / "copies")
    os.mkfifo(pipe)
    ran = shopwindow("restore", "--database", f"sqlite:///{pipe}", "--from", copy)
    assert ran == Ran(4, "", f"shopwindow: {pipe} is no file that a copy could replace\n")
    assert (pipe.is_fifo(), list(tmp_path.glob("pipe.*"))) == (True, [])


def test_postgresql_is_copied_by_its_own_tools() -> None:
    url = "postgresql://127.0.0.1/x"
    assert "pg_dump" in shopwindow("maintain", "backup", "--database", url, "--backups", "x").out
    assert "pg_restore" in shopwindow("restore", "--database", url, "--from", "x").err


COMMANDS = (
    ["optins", "export"],
    ["optins", "forget", "--user", "u"],
    ["codes", "report"],
    ["maintain", "--list-dead"],
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_brings_a_database_to_this_programs_form(engine: Engine, command: list[str]) -> None:
    if engine.name == "sqlite":
        Path(engine.url.removeprefix("sqlite:///")).touch()
    ran = shopwindow(*command, "--database", engine.url)
    assert (ran.status, "Traceback" in ran.err) == (0, False)
    database = engine.open()
    assert database.migrate() == []
    database.close()


# -- maintain prune-database, optins --------------------------------------------------------------------------------


def test_prune_database_removes_answers_older_than_a_day(engine: Engine, database: Database) -> None:
    for name, hours in (("old", 25), ("young", 23)):
        retry = Retry(("phone", "POST", "path", name), "digest")
        at = datetime.now(UTC) - timedelta(hours=hours)
        begun(database, at, retry)
    pruned = [shopwindow("maintain", "prune-database", "--database", engine.url).out for _ in range(2)]
    assert ["kept answers 1," in pruned[0], "kept answers 0," in pruned[1]] == [True, True]


def test_the_history_is_exported_as_csv_and_as_json_lines(engine: Engine, database: Database) -> None:
    choose(database, 'a,"\n', user="ü\rv")
    choose(database, "b", "OUT", at=NOW + timedelta(days=1))
    first = {
        "at": "2026-11-24T17:00:00.000Z",
        "application": "phone",
        "device": 'a,"\n',
        "choice": "IN",
        "user": "ü\rv",
    }
    second = {**first, "at": "2026-11-25T17:00:00.000Z", "device": "b", "choice": "OUT", "user": None}
    export = ("optins", "export", "--database", engine.url)
    lines = shopwindow(*export, "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == [first, second]
    rows = list(csv.DictReader(io.StringIO(shopwindow(*export, "--since", "2026-11-25").out)))
    assert rows == [{**second, "user": ""}]
    printed = subprocess.run([sys.executable, "-m", "shopwindow", *export], capture_output=True, check=True).stdout
    assert list(csv.DictReader(io.StringIO(printed.decode(), newline=""))) == [first, {**second, "user": ""}]
    assert shopwindow(*export, "--since", "0999-01-01").out.count("2026-11-2") == 2
    assert [shopwindow(*export, "--since", since).status for since in ("soon", "0001-01-01T00:00:00+10:00")] == [2, 2]


def test_a_forgotten_person_leaves_a_dated_note_without_a_name(engine: Engine, database: Database) -> None:
    choose(database, "a", user="person")
    choose(database, "b")
    forget = ("optins", "forget", "--database", engine.url)
    names = [each.called for table in database.tables.values() for each in table.personal if each.called]
    removed = {name: int(name == "choices") for name in names}
    *first, last = (f"{number} {name}" for name, number in removed.items())
    expected = f"{', '.join(first)} and {last} removed\n{NOT_REACHED}\n"
    assert shopwindow(*forget, "--user", "person").out == expected
    assert shopwindow(*forget, "--device", "b").out == expected
    assert [shopwindow(*forget).status, shopwindow(*forget, "--user", "u", "--device", "d").status] == [2, 2]
    assert devices(engine.url) == []
    rows = database.read(lambda shop: shop.session.run("SELECT known_by, removed, at FROM removals"))
    assert {by: json.loads(text) for by, text, _ in rows} == {"device": removed, "user": removed}
    assert all(row[2].startswith(f"{datetime.now(UTC):%Y-}") for row in rows)


def test_what_was_forgotten_is_no_longer_in_the_file(sqlite: Engine, tmp_path: Path) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "DeviceOfThePerson", user="PersonToForget")
    assert _held(tmp_path / "store") == [True, True]
    forget = ("optins", "forget", "--database", sqlite.url, "--user", "PersonToForget")
    assert shopwindow(*forget).status == 0  # while another process has the store open, as a service has
    assert _held(tmp_path / "store") == [False, False]
    database.close()


def _held(folder: Path) -> list[bool]:
    """Whether the person's names stand anywhere in the store's files, read by another process: this one has locks."""
    held = subprocess.run(["cat", *folder.iterdir()], capture_output=True, check=True).stdout
    return [name in held for name in (b"PersonToForget", b"DeviceOfThePerson")]


# -- SQLite's file -----------------------------------------------------------------------------------------------

MOUNTS = """\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 22 0:26 / /srv rw shared:2 - nfs4 host:/srv rw
31 30 0:27 / /srv/local\\040disk rw - xfs /dev/vdb rw
32 22 0:28 / /mnt rw - ext4 /dev/vdc rw
33 32 0:29 / /mnt rw - fuse.sshfs host: rw
"""


@pytest.mark.parametrize(
    ("device", "kind", "network"),
    [
        ((254, 0), "ext4", False),
        ((0, 26), "nfs4", True),
        ((0, 27), "xfs", False),
        ((0, 29), "fuse.sshfs", True),
        ((0, 30), "", False),
    ],
)
def test_network_file_systems_are_known(device: tuple[int, int], kind: str, network: bool) -> None:
    assert (file_system(MOUNTS, os.makedev(*device)), bool(NETWORK.fullmatch(kind))) == (kind, network)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lists its mounts")
def test_a_folders_device_is_the_one_of_its_file_system() -> None:
    assert file_system(Path("/proc/self/mountinfo").read_text(), os.stat("/proc/self").st_dev) == "proc"


def test_a_forked_child_has_connections_and_a_turn_of_its_own(sqlite: Engine) -> None:
    database = sqlite.open()
    database.migrate()
    choose(database, "parent")
    assert devices(sqlite.url) == ["parent"]
    child = os.fork()
    if not child:
        status = 1
        try:
            choose(database, "child")
            seen = database.read(lambda shop: len(shop[CONSENTS].history("")))
            database.close()
            status = 0 if seen >= 2 else 2
        finally:
            os._exit(status)
    for number in range(20):
        choose(database, f"parent {number}")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    database.close()
    assert sorted(devices(sqlite.url)) == sorted(["parent", "child", *(f"parent {number}" for number in range(20))])


# -- the client's address ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("203.0.113.9", "198.51.100.1", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "192.0.2.66, 198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "192.0.2.66, 198.51.100.1, 10.1.2.3", "198.51.100.1"),
        ("127.0.0.1", "198.51.100.1:5555", "198.51.100.1"),
        ("::1", '"[2001:db8::1]:443"', "2001:db8::1"),
        ("", "198.51.100.1", "198.51.100.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("127.0.0.1", "198.51.100.1, unknown", "127.0.0.1"),
        ("127.0.0.1", "10.9.9.9", "10.9.9.9"),
    ],
)
def test_only_trusted_proxies_say_who_asked(peer: str, forwarded: str, client: str) -> None:
    assert proxies(f"{LOOPBACK},10.0.0.0/8").client(peer, forwarded) == client


def test_a_network_that_is_none_is_said() -> None:
    with pytest.raises(Failure, match="SHOPWINDOW_TRUSTED_PROXIES: 'nowhere'"):
        proxies("127.0.0.1,nowhere")
