"""The mobile log: its lines read back exactly, what is admitted, and a file that loses nothing acknowledged."""

import fcntl
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from errno import EIO
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.content import ROOT
from harness.databases import Engine
from harness.program import (
    PHONE,
    SILENT,
    TABLET,
    XML,
    LogEntry,
    LogFile,
    Service,
    entry_of,
    reasons,
    release_of_writes,
    said,
    service,
    shopwindow,
)
from shopwindow.interface.declaring.operation import LogKeeping
from shopwindow.problems import Refusal
from shopwindow.retail.mobilelog.line import log_line
from shopwindow.service.database.database import Database
from shopwindow.service.database.engine import OutcomeUnknown, Transaction
from shopwindow.service.database.sqlite import SQLite
from shopwindow.service.database.tables import declared
from shopwindow.service.logfile import prune
from shopwindow.shop import INTERFACE

Json = Any
PATH = "/v2/utility/mobilelog"
WRITTEN, NOT_WRITTEN = {"logPostResponse": {"success": True}}, {"logPostResponse": {"success": False}}
ENTRY = {"deviceId": "d-1", "platform": "iPhone", "logLevel": "ERROR", "logMessage": "It broke."}

# -- a line ------------------------------------------------------------------------------------------------------

LINES = [  # entry, line
    (
        LogEntry("2026-11-24T17:00:00.000Z", "phone", "iPhone", "d-1", "u-1", "ERROR", "It broke."),
        "2026-11-24T17:00:00.000Z|clientApp=phone|deviceId iPhone d-1|svcUid=u-1|logLevel=ERROR|logMessage=It broke.",
    ),
    (
        LogEntry("2026-11-24T17:00:00.000Z", "phone", "i Phone", "a b", "", "WARN", "Caf\u00e9 \U0001f370 = {x}"),
        "2026-11-24T17:00:00.000Z|clientApp=phone|deviceId i\\u0020Phone a\\u0020b|svcUid=|logLevel=WARN"
        "|logMessage=Caf\u00e9 \U0001f370 = {x}",
    ),
    (
        LogEntry(
            "2026-11-24T17:00:00.000Z", "phone", "x", "y", "u|logLevel=INFO", "INFO", 'a|b\nc\r\t"\\n\x00\x7f\x85'
        ),
        "2026-11-24T17:00:00.000Z|clientApp=phone|deviceId x y|svcUid=u\\u007clogLevel=INFO|logLevel=INFO"
        '|logMessage=a\\u007cb\\nc\\r\\t\\"\\\\n\\u0000\\u007f\\u0085',
    ),
    (
        LogEntry(
            "2026-11-24T17:00:00.000Z", "phone", "x", "y\u3000", "", "INFO", "\u202eabc\u2028\u200b\U000e0041\ufeff"
        ),
        "2026-11-24T17:00:00.000Z|clientApp=phone|deviceId x y\\u3000|svcUid=|logLevel=INFO"
        "|logMessage=\\u202eabc\\u2028\\u200b\\udb40\\udc41\\ufeff",
    ),
]


def line_of(entry: LogEntry) -> str:
    """The line that the program writes of an entry."""
    names = ("platform", "deviceId", "svcUid", "logLevel", "logMessage")
    return log_line(*entry[:2], dict(zip(names, entry[2:], strict=True)))


texts = st.text(st.characters() | st.sampled_from('|\\"\n\r\u2028\u202e \t=\x00\ud800'), max_size=30)
stamps = st.datetimes().map(lambda moment: moment.isoformat(timespec="milliseconds") + "Z")
entries = st.builds(LogEntry, stamps, texts, texts, texts, texts, texts, texts)


@pytest.mark.parametrize(("entry", "line"), LINES)
def test_a_line_is_written_and_read(entry: LogEntry, line: str) -> None:
    assert (line_of(entry), entry_of(line)) == (line, entry)


@given(entries)
def test_whatever_the_values_hold_a_line_is_one_line_of_six_parts_and_reads_back(entry: LogEntry) -> None:
    line = line_of(entry)
    assert entry_of(line) == entry
    assert (line.isprintable(), line.splitlines(), line.encode().decode()) == (True, [line], line)
    parts = line.split("|")
    assert [part.split("=")[0] for part in (parts[1], *parts[3:])] == ["clientApp", "svcUid", "logLevel", "logMessage"]
    assert (len(parts), len(parts[2].split()) <= 3, len(parts[2].split(" "))) == (6, True, 3)


# -- the operations ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return release_of_writes(tmp_path_factory.mktemp("mobilelog"))


@pytest.fixture
def phone(dist: Path, tmp_path: Path) -> Service:
    """A service whose log is empty."""
    return Service(dist, None, tmp_path / "log")


def logged(service: Service) -> list[tuple[str, ...]]:
    """The entries of the log without their timestamps."""
    assert service.logs is not None
    path = service.logs / "mobile.log"
    lines = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    read = [entry_of(line) for line in lines]
    return [(e.client_app, e.platform, e.device_id, e.svc_uid, e.log_level, e.log_message) for e in read]


def get(**values: str) -> str:
    return f"{PATH}?{urlencode(values, quote_via=quote)}"


def test_a_get_writes_one_line(phone: Service) -> None:
    before = datetime.now(UTC) - timedelta(milliseconds=1)
    answer = phone.ask(get(**ENTRY, svcUid="u|1"))
    assert (answer.status, said(answer), answer.headers["cache-control"]) == (200, WRITTEN, "no-store")
    assert "etag" not in answer.headers
    assert logged(phone) == [("phone", "iPhone", "d-1", "u|1", "ERROR", "It broke.")]
    assert phone.logs is not None
    line = (phone.logs / "mobile.log").read_text().split("\n")[0]
    assert before <= datetime.fromisoformat(entry_of(line).timestamp) <= datetime.now(UTC)


def test_a_get_in_xml_and_without_a_user(phone: Service) -> None:
    answer = phone.ask(get(**ENTRY), accept=XML)
    expected = b"<?xml version='1.0' encoding='UTF-8'?>\n<logPostResponse><success>true</success></logPostResponse>"
    assert (answer.status, answer.body, logged(phone)[0][3]) == (200, expected, "")


def test_what_a_get_says_is_kept_verbatim(phone: Service) -> None:
    nasty = " \u202e|\n\r\x01\u2028 x "
    assert phone.ask(get(**{**ENTRY, "logMessage": nasty, "deviceId": "a b"}, svcUid="")).status == 200
    assert logged(phone) == [("phone", "iPhone", "a b", "", "ERROR", nasty)]


def test_head_is_a_405_that_writes_nothing(phone: Service) -> None:
    answer = phone.ask(get(**ENTRY), "HEAD")
    assert (answer.status, answer.headers["allow"], logged(phone)) == (405, "GET, OPTIONS, POST", [])


def test_a_post_takes_one_entry_or_a_list_in_json_and_xml(phone: Service) -> None:
    other = {**ENTRY, "logMessage": "\x00\ufffe|", "svcUid": "u"}
    xml = b"<%s><entry><deviceId>d-1</deviceId><platform>iPhone</platform><logLevel>WARN</logLevel>"
    xml += b"<logMessage>&lt;a&gt;\n|</logMessage></entry></%s>"
    for value in ({"entry": ENTRY}, {"entry": [ENTRY, other]}):
        answer = phone.post(PATH, value)
        assert (answer.status, said(answer), answer.headers["cache-control"]) == (200, WRITTEN, "no-store")
    assert phone.ask(PATH, "POST", xml % (b"entries", b"entries"), content_type=XML).status == 200
    assert phone.ask(PATH, "POST", (xml % (b"x", b"x"))[3:-4], content_type=XML).status == 200
    expected = ("phone", "iPhone", "d-1", "", "WARN", "<a>\n|")
    one = ("phone", "iPhone", "d-1", "", "ERROR", "It broke.")
    assert logged(phone) == [one, one, (*one[:3], "u", "ERROR", "\x00\ufffe|"), expected, expected]


WRONG: list[tuple[Json, str]] = [
    ({}, "entry: is missing"),
    ({"entry": None}, "entry: null is not a list; allowed: a list"),
    ({"entry": []}, "entry: "),
    ({"entry": [{**ENTRY, "logLevel": "FATAL"}]}, "entry/0/logLevel: "),
    ({"entry": [ENTRY, {**ENTRY, "deviceId": ""}]}, "entry/1/deviceId: "),
    ({"entry": {key: text for key, text in ENTRY.items() if key != "platform"}}, "entry/0/platform: is missing"),
    ({"entry": {**ENTRY, "platform": "x" * 41}}, "entry/0/platform: "),
    ({"entry": {**ENTRY, "logMessage": "x" * 4001}}, "entry/0/logMessage: "),
    ({"entry": {**ENTRY, "logMessage": 5}}, "entry/0/logMessage: "),
    ({"entry": {**ENTRY, "more": "x"}}, "entry/0/more: "),
    ({"entry": {**ENTRY, "timestamp": "yesterday"}}, "entry/0/timestamp: "),
    ({"entry": {**ENTRY, "timestamp": "2026-02-30T00:00:00Z"}}, "entry/0/timestamp: "),
    ({"entry": "x"}, "entry: "),
    ([ENTRY], "body: must be an object"),
]


@pytest.mark.parametrize(("value", "detail"), WRONG)
def test_a_body_that_is_wrong_is_told_and_nothing_is_written(phone: Service, value: Json, detail: str) -> None:
    status, details = reasons(phone.post(PATH, value))
    assert (status, [text for text in details if text.startswith(detail)] != [], logged(phone)) == (400, True, [])


@pytest.mark.parametrize(
    ("values", "details"),
    [
        ({}, [f"{name}: is required" for name in ("deviceId", "platform", "logLevel", "logMessage")]),
        ({**ENTRY, "logLevel": "eror"}, ["logLevel: must be one of ERROR, INFO, DEBUG, WARN, not 'eror'"]),
        ({**ENTRY, "logMessage": ""}, ["logMessage: is required"]),
        (
            {**ENTRY, "timestamp": "now"},
            ["timestamp: must be an instant, such as 2026-11-27T06:00:00-05:00, not 'now'"],
        ),
    ],
)
def test_a_query_that_is_wrong_is_told_and_nothing_is_written(
    phone: Service, values: dict[str, str], details: list[str]
) -> None:
    status, found = reasons(phone.ask(get(**values)))
    assert (status, [text.split(";")[0] for text in found], logged(phone)) == (400, details, [])


@pytest.mark.parametrize(
    ("key", "entries", "admitted"),
    [
        (PHONE, [ENTRY] * 3, True),
        (PHONE, [ENTRY] * 4, False),  # maxLogCount
        (PHONE, [ENTRY, {**ENTRY, "logLevel": "WARN"}], True),
        (PHONE, [ENTRY, {**ENTRY, "logLevel": "INFO"}], False),  # all of them or none
        (SILENT, [ENTRY], False),  # remoteEnabled
        (TABLET, [{**ENTRY, "logLevel": level} for level in ("DEBUG", "INFO", "WARN", "ERROR")] * 500, True),
    ],
)
def test_logging_info_decides_what_is_admitted(phone: Service, key: str, entries: Json, admitted: bool) -> None:
    answer = phone.post(PATH, {"entry": entries}, x_svc_webservice_client_id=key)
    expected = (200, WRITTEN, len(entries)) if admitted else (200, NOT_WRITTEN, 0)
    assert (answer.status, said(answer), len(logged(phone))) == expected


@pytest.mark.parametrize(
    ("believed", "given", "written"),
    [
        (True, "2026-11-24T12:00:00.5-05:00", "2026-11-24T17:00:00.500Z"),
        (True, "2026-11-24T17:00:00.123456Z", "2026-11-24T17:00:00.123Z"),
        (False, "2026-11-24T12:00:00.5-05:00", None),
        (True, None, None),
    ],
)
def test_a_phones_own_timestamp_counts_where_the_site_says_so(
    tmp_path: Path, believed: bool, given: str | None, written: str | None
) -> None:
    shop = service(tmp_path, mobile_log={"clientTimestamps": believed})
    entry = {**ENTRY, **({"timestamp": given} if given else {})}
    begin = datetime.now(UTC)
    assert said(shop.post(PATH, {"entry": entry})) == said(shop.ask(get(**entry))) == WRITTEN
    end = datetime.now(UTC)
    stamps = [line.split("|")[0] for line in (tmp_path / "log" / "mobile.log").read_text().splitlines()]
    if written:
        assert stamps == [written] * 2
    else:
        day, next_day = (when.isoformat()[:10] for when in (begin, end))
        assert [day <= stamp[:10] <= next_day for stamp in stamps] == [True] * 2


def test_a_plus_sign_that_nobody_encoded_is_one(phone: Service) -> None:
    assert phone.ask(f"{get(**ENTRY)}&timestamp=2026-11-24T12:00:00+05:00").status == 200


def test_the_same_idempotency_key_writes_once(engine: Engine, tmp_path: Path) -> None:
    database = engine.open()
    database.migrate()
    shop = service(tmp_path, database)
    for _ in range(3):
        answer = shop.post(PATH, {"entry": ENTRY}, idempotency_key="one")
        assert (answer.status, said(answer)) == (200, WRITTEN)
    assert (shop.post(PATH, {"entry": [ENTRY] * 2}, idempotency_key="one").status, len(logged(shop))) == (422, 1)
    database.close()


class Unanswered(SQLite):
    """A database that says of the transaction of a number that nobody knows whether it was committed; it was not."""

    number = 0

    @contextmanager
    def turn(self, until: float) -> Iterator[Transaction]:
        self.number -= 1
        with super().turn(until) as session:
            yield session
            if self.number == 0:
                raise OutcomeUnknown("the connection broke", passes=True)


def test_lines_that_are_written_are_answered_though_nobody_knows_whether_the_answer_is_stored(tmp_path: Path) -> None:
    """Else the phone would send them again under their key, and they would stand twice."""
    engine = Unanswered(tmp_path / "store.sqlite")
    database = Database(engine, declared(INTERFACE.tables))
    database.migrate()
    shop = service(tmp_path, database)
    database.now()
    engine.number = 3  # after the key of digests, and whether an answer is stored
    answer = shop.post(PATH, {"entry": ENTRY}, idempotency_key="one")
    assert (answer.status, said(answer), len(logged(shop)), engine.number) == (200, WRITTEN, 1, 0)
    database.close()


def test_a_service_without_a_log_answers_503(dist: Path) -> None:
    answer = Service(dist).post(PATH, {"entry": ENTRY})
    assert (answer.status, said(answer)["errorDetail"]) == (503, ["service: this service has no mobile log"])


# -- reading it back ---------------------------------------------------------------------------------------------


def test_the_line_of_awk_in_the_page_prints_every_entry_with_its_values_as_they_were_sent(tmp_path: Path) -> None:
    page = (ROOT / "docs/apps/log.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```\n(2026-.*)\n```$", page, re.MULTILINE)
    ((command, printed),) = re.findall(r"^```console\n\$ (awk .*)\n(.*)\n```$", page, re.MULTILINE)
    longest = LogEntry(LINES[0][0].timestamp, "phone", "x", "y", "", "INFO", "\u202e" * 4000)
    lines = [shown, *(line for _, line in LINES), line_of(longest)]
    (tmp_path / "mobile.log").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    ran = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, encoding="utf-8", check=True)
    names = ("timestamp", "clientApp", "platform", "deviceId", "svcUid", "logLevel", "logMessage")
    expected = [dict(zip(names, entry, strict=True)) for entry in (*(one for one, _ in LINES), longest)]
    first, *others = ran.stdout.splitlines()
    assert (ran.stderr, first, [json.loads(line) for line in others]) == ("", printed, expected)


# -- the file ----------------------------------------------------------------------------------------------------

KEPT = LogKeeping()


def numbered(folder: Path) -> list[str]:
    """All lines of all files, each of which is whole."""
    texts = [path.read_text() for path in sorted(folder.glob("mobile*.log"))]
    assert [text for text in texts if text and not text.endswith("\n")] == []
    return [line for text in texts for line in text.split("\n")[:-1]]


def test_a_file_never_grows_above_its_size(tmp_path: Path) -> None:
    log = LogFile(tmp_path)
    for number in range(100):
        log.write([f"{number:099}"], LogKeeping(max_bytes=1000))
    sizes = [path.stat().st_size for path in tmp_path.glob("mobile*.log")]
    assert (sorted(numbered(tmp_path)), sizes) == ([f"{number:099}" for number in range(100)], [1000] * 10)


def test_lines_that_wait_together_are_more_files_where_one_would_grow_too_large(tmp_path: Path) -> None:
    log = LogFile(tmp_path)
    few = LogKeeping(max_bytes=1000)
    threads = [threading.Thread(target=log.write, args=([f"{number:099}"] * 2, few)) for number in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sizes = {path.stat().st_size for path in tmp_path.glob("mobile*.log")}
    assert (len(numbered(tmp_path)), max(sizes) <= 1000) == (128, True)


def test_a_new_file_is_begun_when_one_is_old_enough(tmp_path: Path) -> None:
    log = LogFile(tmp_path)
    log.write(["one"], KEPT)
    log.write(["two"], KEPT)
    begun = time.time() - KEPT.max_seconds - 1
    os.utime(tmp_path / "mobile.lock", (begun, begun))
    log.write(["three"], KEPT)
    log.write(["four"], KEPT)
    assert sorted(path.read_text() for path in tmp_path.glob("*.log")) == ["one\ntwo\n", "three\nfour\n"]


def test_half_a_line_that_a_killed_writer_left_is_gone_before_the_next(tmp_path: Path) -> None:
    log, other = LogFile(tmp_path), tmp_path / "mobile.log"
    log.write(["whole"], KEPT)
    for half in ("half", "x" * 200_000):
        with other.open("a") as file:
            file.write(half)
        log.write(["next"], KEPT)
    other.write_text("only half")
    LogFile(tmp_path).write(["first"], KEPT)
    assert other.read_text() == "first\n"


def test_after_a_sync_that_failed_the_next_lines_begin_another_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Linux reports a failed write-back once: a later sync of the same file says nothing of what was lost."""

    def broken(file: int) -> None:
        raise OSError(EIO, "Input/output error")

    log = LogFile(tmp_path)
    log.write(["stored"], KEPT)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fdatasync", broken)
        with pytest.raises(Refusal) as refused:
            log.write(["doubtful"], KEPT)
    assert (refused.value.code, refused.value.headers) == ("unavailable", (("Retry-After", "5"),))
    (line,) = map(json.loads, capfd.readouterr().err.splitlines())
    assert (line["event"], line["message"]) == ("log_unavailable", f"{tmp_path}/mobile.log: Input/output error")
    log.write(["one"], KEPT)
    log.write(["two"], KEPT)
    assert sorted(path.read_text() for path in tmp_path.glob("*.log")) == ["one\ntwo\n", "stored\ndoubtful\n"]


def test_a_file_that_somebody_moved_away_is_begun_anew(tmp_path: Path) -> None:
    log = LogFile(tmp_path)
    log.write(["one"], KEPT)
    (tmp_path / "mobile.log").rename(tmp_path / "elsewhere")
    log.write(["two"], KEPT)
    assert ((tmp_path / "elsewhere").read_text(), numbered(tmp_path)) == ("one\n", ["two"])


def test_writers_take_turns_by_the_lock_file_that_is_there_whoever_deleted_the_one_before(tmp_path: Path) -> None:
    log, path = LogFile(tmp_path), tmp_path / "mobile.lock"
    log.write(["one"], KEPT)
    path.unlink()
    LogFile(tmp_path).write(["two"], KEPT)
    with path.open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = threading.Thread(target=log.write, args=(["three"], KEPT))
        waiting.start()
        waiting.join(0.3)
        assert numbered(tmp_path) == ["one", "two"]
    waiting.join()
    assert numbered(tmp_path) == ["one", "two", "three"]


def test_many_threads_are_written_for_together_each_in_its_own_order(tmp_path: Path) -> None:
    log = LogFile(tmp_path)

    def work(thread: int) -> None:
        for number in range(50):
            log.write([f"{thread} {number}", f"{thread} {number} more"], LogKeeping(max_bytes=4000))

    threads = [threading.Thread(target=work, args=(thread,)) for thread in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = numbered(tmp_path)
    assert len(lines) == 32 * 100
    for each in range(32):
        mine = [line for line in lines if line.startswith(f"{each} ")]
        assert mine == [f"{each} {n}{more}" for n in range(50) for more in ("", " more")]


def test_files_are_pruned_by_their_last_entry(tmp_path: Path) -> None:
    log = LogFile(tmp_path)
    for number in range(4):
        log.write([str(number)], LogKeeping(max_bytes=1))
    oldest, *_ = sorted(tmp_path.glob("mobile-*.log"))
    os.utime(oldest, (1, 1))
    assert prune(tmp_path, datetime(2000, 1, 1, tzinfo=UTC)) == [oldest]
    assert prune(tmp_path / "nowhere", datetime.now(UTC)) == []
    assert len(prune(tmp_path, datetime.now(UTC) + timedelta(seconds=9))) == 3
    (tmp_path / "mobile.log").touch()  # as a full disk leaves it before the first line
    assert len(prune(tmp_path, datetime.now(UTC) + timedelta(seconds=9))) == 1
    log.write(["after"], KEPT)
    assert numbered(tmp_path) == ["after"]


def test_prune_database_deletes_old_files_of_the_log(engine: Engine, tmp_path: Path) -> None:
    database = engine.open()
    database.migrate()
    database.close()
    log = LogFile(tmp_path)
    for number in range(3):
        log.write([str(number)], LogKeeping(max_bytes=1))
    for path in tmp_path.glob("mobile-*.log"):
        old = time.time() - 8 * 24 * 3600
        os.utime(path, (old, old))
    command = ("maintain", "prune-database", "--database", engine.url, "--log-dir", tmp_path)
    told = [re.findall("log files [0-9]+", shopwindow(*command, "--logs", days).out) for days in ("9", "7")]
    assert (told, numbered(tmp_path)) == ([["log files 0"], ["log files 2"]], ["2"])
