"""Pulling from a real S3 on loopback: what is requested, what lies, kills, and ten hosts at once."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import orjson
import pytest

from harness.content import write
from harness.program import Releases, built, shopwindow, verify
from harness.servers import Server, follower, own_server
from harness.stores import (
    BUCKET,
    READER,
    WAYS,
    Headers,
    Store,
    at,
    between,
    documents,
    lying,
    on_disk,
    outgoing,
    publish,
    published,
    reached,
    s3,
)
from harness.waits import PATIENCE, awaited
from shopwindow.delivery import upkeep
from shopwindow.release import pull_notes

Json = Any
KILLS = int(os.environ.get("SHOPWINDOW_KILLS", "100")) * 2 // 5
"""Each takes two seconds; every run has other points."""

HOSTS = 10


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """The store; in this process, its variables are set, too."""
    with reached(s3(tmp_path_factory.mktemp("s3"))) as store:
        yield store


def pull(prefix: str, host: Path, environment: dict[str, str]) -> Any:
    return shopwindow("pull", f"s3://{BUCKET}/{prefix}", "--out", host, env=environment)


# -- what comes ------------------------------------------------------------------------------------------------------


def test_a_host_with_a_readers_credentials_gets_each_release(there: Store, tmp_path: Path) -> None:
    host = Releases(tmp_path / "host")
    for name in ("First", "Second"):
        id = published(tmp_path, at("life"), name)
        ran = pull("life", host.out, {**there.environment, **READER})
        assert (ran.status, ran.err) == (0, "")
        assert host.current() == id
        assert on_disk(host.out, id) == on_disk(tmp_path / "dist", id)
        assert verify(host, id) == []
    upkeep.activate(at("life"), None, pin=True)
    assert pull("life", host.out, {**there.environment, **READER}).status == 0
    assert host.current() != id


def test_a_follower_asks_for_nothing_but_the_pointer_while_that_stays(there: Store, tmp_path: Path) -> None:
    id = published(tmp_path, at("quiet"), "First")
    with between(there.port) as counted:
        process = pulling("quiet", tmp_path / "host", there.at(counted.port), "--every", "0.1")
        awaited(lambda: Releases(tmp_path / "host").current() == id)
        before = len(counted.requests)
        awaited(lambda: len(counted.requests) > before + 10)
        process.terminate()
        assert process.wait(PATIENCE) == 0
    assert set(counted.requests[before + 1 :]) == {f"GET /{BUCKET}/quiet/current.json"}
    assert counted.received / len(counted.requests) < 10_000


def pulling(prefix: str, host: Path, environment: dict[str, str], *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "shopwindow", "pull", f"s3://{BUCKET}/{prefix}", "--out", str(host), "--follow"]
    return subprocess.Popen([*command, *options], env={**os.environ, **environment}, stderr=subprocess.DEVNULL)


# -- a source that is not as it should be ----------------------------------------------------------------------------


def test_a_source_that_spoils_every_third_answer_is_pulled_from_all_the_same(there: Store, tmp_path: Path) -> None:
    """One answer in five is a 503; others are cut off, shortened or changed."""
    chance = random.Random(17)
    ways = ["failing"] * 20 + ["cut off"] * 5 + ["shortened"] * 5 + ["changed"] * 5 + [""] * 65
    id = published(tmp_path, at("flaky"), "First")
    host = Releases(tmp_path / "host")
    with lying(there.port) as liar:
        liar.way = lambda number, path: chance.choice(ways) if "/objects/" in path else ""
        ran = pull("flaky", host.out, there.at(liar.port))
    assert (ran.status, ran.err) == (0, "")
    assert (host.current(), verify(host, id)) == (id, [])


SPOILED = [(where, way) for where in ("/current.json", "/manifest.json", "/objects/") for way in WAYS]
"""What breaks off is asked for again for most of a minute, so it is tried in one place."""


@pytest.mark.parametrize(
    ("where", "way"),
    [
        (where, way)
        for where, way in SPOILED
        if way not in ("", "slow", "failing") and (way != "cut off" or where == "/objects/")
    ],
)
def test_a_source_that_lies_leaves_the_release_and_is_bounded(
    there: Store, tmp_path: Path, where: str, way: str
) -> None:
    prefix = f"lies-{way.replace(' ', '-')}-{where.strip('/')}"
    first = published(tmp_path, at(prefix), "First")
    host = Releases(tmp_path / "host")
    assert pull(prefix, host.out, there.environment).status == 0
    second = published(tmp_path, at(prefix), "Second")
    with lying(there.port) as liar:
        liar.way = lambda number, path: way if where in path.partition("?")[0] else ""
        ran = pull(prefix, host.out, there.at(liar.port))
    assert (ran.status, ran.out, ran.err.count("\n")) == (4, "", 1), ran
    assert (host.current(), host.ids()) == (first, [first])
    assert liar.sent < 3_000_000_000  # what the kernel and 32 connections take before they hang up, several times
    note = pull_notes.read(host.out)
    assert note is not None
    assert (note.kind in ("damaged", "source"), note.fault in ran.err) == (True, True), note
    assert pull(prefix, host.out, there.environment).status == 0
    assert (host.current(), verify(host, second)) == (second, [])


def test_an_endless_answer_fills_no_memory(there: Store, tmp_path: Path) -> None:
    """Two gigabytes are ten times what a pull needs, and little beside the terabyte that is announced."""
    published(tmp_path, at("endless"), "First")
    command = [sys.executable, "-m", "shopwindow", "pull", f"s3://{BUCKET}/endless", "--out", str(tmp_path / "host")]
    for where in ("/current.json", "/objects/"):
        with lying(there.port) as liar:
            liar.way = lambda number, path, where=where: "endless" if where in path else ""  # type: ignore[misc]
            environment = {**os.environ, **there.at(liar.port)}
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, preexec_fn=_with_two_gigabytes
            )
        assert (done.returncode, done.stderr.count("\n")) == (4, 1), done


def _with_two_gigabytes() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (2 << 30, 2 << 30))


# -- kills -----------------------------------------------------------------------------------------------------------


def test_a_pull_that_is_killed_anywhere_leaves_a_whole_release(there: Store, tmp_path: Path) -> None:
    """Killed with SIGKILL when a request passes, or a moment after the last one: while it links, syncs and renames."""
    print("seed", seed := random.randrange(1 << 32))  # shown where the test fails
    chance = random.Random(seed)
    first = published(tmp_path, at("kills"), "First")
    assert pull("kills", tmp_path / "before", there.environment).status == 0
    second = published(tmp_path, at("kills"), "Second")
    needed = _requests(there, tmp_path)
    killed = run = 0
    points: set[int] = set()
    while killed < KILLS:
        run += 1
        assert run < 3 * KILLS, "most pulls were done before they were killed"
        host = Releases(_cloned(tmp_path, f"host-{run}"))
        with between(there.port) as counted:
            process = _puller(host.out, there.at(counted.port))
            point, passes = 1 + run % needed, chance.random() < 0.7
            delay = chance.choice((0, 0, 0.002, 0.01)) if point < needed else chance.uniform(0, 0.1)

            def strike(
                number: int, process: Any = process, point: int = point, passes: bool = passes, delay: float = delay
            ) -> bool:
                if number < point:
                    return True
                threading.Timer(delay, process.kill).start() if passes else process.kill()
                return passes

            counted.pass_on = strike
            process.wait(PATIENCE)
        if process.returncode == -signal.SIGKILL:
            killed += 1
            points.add(point)
        current = host.current()
        assert current in (first, second)
        for id in host.ids():  # whatever is there is whole, current or not
            assert verify(host, id) == []
        assert pull("kills", host.out, there.environment).status == 0
        assert (host.current(), verify(host, second)) == (second, [])
        note = ".pulled.json-*"  # its draft is cleared up by the next command that takes the lock
        left = {path.name for path in host.out.glob(".*") if not path.match(note)}
        assert left <= {".lock", ".trash", ".staging"}
        assert list(host.out.glob(".staging/*")) == []
        subprocess.run(["rm", "-rf", str(host.out)], check=True)
    assert points >= {*range(1, needed)}, points  # with the last request, a pull may be over before it is killed


def _cloned(work: Path, name: str) -> Path:
    """A host as it was before: with the first release."""
    subprocess.run(["cp", "-al", str(work / "before"), str(work / name)], check=True)
    for file in ("current.json", "history.jsonl", "pulled.json", ".lock"):  # written in place: no links
        (work / name / file).unlink(missing_ok=True)
        if (work / "before" / file).exists():
            (work / name / file).write_bytes((work / "before" / file).read_bytes())
    return work / name


def _puller(host: Path, environment: dict[str, str]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "shopwindow", "pull", f"s3://{BUCKET}/kills", "--out", str(host)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=quiet, stderr=quiet)


def _requests(there: Store, work: Path) -> int:
    """How many requests it takes to pull the second release."""
    host = _cloned(work, "counted")
    with between(there.port) as counted:
        assert _puller(host, there.at(counted.port)).wait(PATIENCE) == 0
    return len(counted.requests)


# -- ten hosts -------------------------------------------------------------------------------------------------------

KEY = "the key of the phone"
QUESTION = "/store/v1/events?storeId=1"


def _named(work: Path, name: str) -> tuple[str, bytes]:
    """Build a release whose event has a name; return its id and the answer to QUESTION in it."""
    content = documents(name)
    content["apps/phone.yaml"]["apiKeys"] = [sha256(KEY.encode()).hexdigest()]
    id = built(write(work / "content", content), work / "built")
    path = work / "built" / "releases" / id
    listed = orjson.loads((path / "manifest.json").read_bytes())["files"]
    (entry,) = [e for e in listed if e["url"].endswith(QUESTION) and e["mediaType"] == "application/json"]
    return id, (path / "files" / entry["path"]).read_bytes()


def test_ten_hosts_change_over_without_a_torn_or_mixed_answer(there: Store, tmp_path: Path) -> None:
    """Readers ask every host that is ready. Each answer is of one release, and no host goes back to an older one."""
    answers: list[bytes] = []
    _, body = _named(tmp_path, "First")
    answers.append(body)
    publish(outgoing(tmp_path / "built"), at("hosts"))
    environment = {**there.environment, **READER}
    with ExitStack() as stack:

        def started(name: str) -> Server:
            folder, out = tmp_path / f"server-{name}", tmp_path / f"host-{name}"
            pull = follower(folder, out, f"s3://{BUCKET}/hosts", "--every", "0.5", **environment)
            stack.enter_context(pull)
            options = ("--workers", "1", "--database", "")
            return stack.enter_context(own_server(folder, out, *options))

        hosts = [started(str(number)) for number in range(HOSTS)]
        awaited(lambda: all(_is_ready(host) for host in hosts))
        seen: dict[int, list[bytes]] = {host.port: [] for host in hosts}
        wrong: list[str] = []
        stopped = threading.Event()
        readers = [threading.Thread(target=_read, args=(host, seen, wrong, stopped)) for host in hosts]
        for reader in readers:
            reader.start()

        awaited(lambda: all(seen.values()))
        for name in ("Second", "Third"):
            id, body = _named(tmp_path, name)
            answers.append(body)
            publish(outgoing(tmp_path / "built"), at("hosts"))
            awaited(lambda id=id: all(_serves(host, id) for host in hosts))  # type: ignore[misc]
            newest = answers[-1]
            awaited(lambda newest=newest: all(s and s[-1] == newest for s in seen.values()))  # type: ignore[misc]

        joined = started("late")  # a new host gets no question before it is ready, and has the newest then
        seen[joined.port] = []
        reader = threading.Thread(target=_read, args=(joined, seen, wrong, stopped))
        reader.start()
        awaited(lambda: bool(seen[joined.port]))
        stopped.set()
        for thread in (*readers, reader):
            thread.join(PATIENCE)

    assert wrong == []
    for port, bodies in seen.items():
        assert set(bodies) <= set(answers)
        order = [answers.index(body) for body in bodies]
        assert order == sorted(order), port
        assert order[-1] == 2
    assert set(seen[joined.port]) == {answers[-1]}
    assert all(set(seen[host.port]) == set(answers) for host in hosts)


def _is_ready(host: Server) -> bool:
    return host.told("/readyz").status == 200


def _serves(host: Server, id: str) -> bool:
    ready = host.told("/readyz")
    return ready.status == 200 and json.loads(ready.body)["id"] == id


def _read(host: Server, seen: dict[int, list[bytes]], wrong: list[str], stopped: threading.Event) -> None:
    """Ask a host from when it is ready; every answer but 200 is wrong."""
    while not stopped.is_set() and not _is_ready(host):
        time.sleep(0.05)
    while not stopped.is_set():
        answer = host.ask(QUESTION, {"x-svc-webservice-client-id": KEY})
        if answer.status != 200:
            wrong.append(f"{answer.status} {answer.body[:200]!r}")
        seen[host.port].append(answer.body)
        time.sleep(0.05)


# -- what operators are told -----------------------------------------------------------------------------------------


def refused(source: str, host: Path, environment: dict[str, str]) -> str:
    """The sentence with which a pull ends; nothing on the host has changed but the note that says so."""
    clean = {name: text for name, text in os.environ.items() if not name.startswith("AWS_")}
    command = [sys.executable, "-m", "shopwindow", "pull", source, "--out", str(host)]
    ran = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True, timeout=PATIENCE)
    assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (4, "", 1), ran
    assert {path.name for path in host.iterdir()} == {"pulled.json"}
    note = pull_notes.read(host)
    assert note is not None
    assert (note.kind, ran.stderr) == ("source", f"shopwindow: {note.fault}\n")
    return note.fault


def test_every_refusal_is_one_sentence_that_says_what_to_do(there: Store, tmp_path: Path) -> None:
    published(tmp_path, at("refused"), "First")
    host, environment, source = tmp_path / "host", there.environment, f"s3://{BUCKET}/refused"
    without = {name: text for name, text in environment.items() if "KEY" not in name}
    assert "there are no credentials; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in refused(source, host, without)
    wrong = {**environment, "AWS_SECRET_ACCESS_KEY": "wrong"}
    assert "the store does not accept the credentials; set AWS_ACCESS_KEY_ID" in refused(source, host, wrong)
    assert "there is no such bucket; create it, or correct the" in refused("s3://elsewhere/a", host, environment)
    away = {**environment, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    assert "the store is not reached; look at AWS_ENDPOINT_URL" in refused(source, host, away)
    at("photos").create("bag.jpg", b"a bag", Headers("image/jpeg", "no-cache"))
    assert "holds something else (bag.jpg)" in refused(f"s3://{BUCKET}/photos", host, environment)
