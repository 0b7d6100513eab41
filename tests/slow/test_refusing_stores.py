"""What operators are told of stores that refuse, and how often a failing one is asked: servers on loopback."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from harness.stores import Bucket, Headers, opened, parse
from shopwindow.delivery.targets import BACKOFF, HASTY_RETRIES
from shopwindow.problems import Failure

TEXT = Headers("text/plain", "no-cache")
KEYS = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_REGION": "us-east-1"}

Answer = tuple[int, str]
"""Status, and the code of S3's error document; 0: none, the store hangs up."""


@contextmanager
def answering(answer: Callable[[int], Answer], patch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    """A store that answers its n-th request with ``answer(n)``."""
    count = iter(range(1, 10_000))

    class Answering(BaseHTTPRequestHandler):
        def go(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, code = answer(next(count))
            if status == 0:
                self.close_connection = True
                return
            body = f"<Error><Code>{code}</Code><Message>No.</Message></Error>".encode() if code else b""
            self.send_response(status)
            self.send_header("ETag", '"1"')
            self.send_header("Last-Modified", "Sun, 22 Nov 2026 12:00:00 GMT")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_POST = go  # noqa: N815 -- the library's names

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, text in {**KEYS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}"}.items():
        patch.setenv(name, text)
    yield opened(parse("s3://shop/a"), os.environ)
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("status", "code", "sentence"),
    [
        (404, "NoSuchBucket", "there is no such bucket; create it, or correct the target's address"),
        (403, "RequestTimeTooSkewed", "the store's clock and this machine's differ too much; set this machine's clock"),
        (
            403,
            "Request date header too old: 'Fri, 04 Oct 2019 18:02:12 GMT'",
            "set this machine's clock",
        ),  # Azure's words
        (403, "InvalidAccessKeyId", "the store does not accept the credentials; set AWS_ACCESS_KEY_ID"),
        (403, "SignatureDoesNotMatch", "the store does not accept the credentials; set AWS_ACCESS_KEY_ID"),
        (400, "ExpiredToken", "the store does not accept the credentials; set AWS_ACCESS_KEY_ID"),
        (403, "AccessDenied", "the credentials do not permit it; a publisher lists, reads and writes"),
        (400, "AuthorizationHeaderMalformed", "the bucket is in another region; set AWS_REGION to it"),
        (418, "Teapot", "Teapot"),
    ],
)
def test_what_a_store_refuses_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, status: int, code: str, sentence: str
) -> None:
    with answering(lambda number: (status, code), monkeypatch) as bucket:
        for verb, use in (
            ("read", lambda: bucket.read("current.json")),
            ("write", lambda: bucket.create("objects/a", b"a", TEXT)),
            ("list", lambda: list(bucket.listing("objects/"))),
        ):
            with pytest.raises(Failure) as failure:
                use()
            assert str(failure.value).startswith(f"s3://shop/a: cannot {verb} it: ")
            assert sentence in str(failure.value)
            assert "\n" not in str(failure.value)


def test_a_store_without_conditional_writes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKOFF, "max_backoff", BACKOFF["init_backoff"])  # waiting is what is not tested here
    with (
        answering(lambda number: (501, "NotImplemented"), monkeypatch) as bucket,
        pytest.raises(Failure, match="the store cannot do conditional writes, and without them two publishers"),
    ):
        bucket.create("current.json", b"a", TEXT)


def test_a_store_that_is_overloaded_now_and_then_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request of five is answered 503."""
    with answering(lambda number: (503, "SlowDown") if number % 5 == 1 else (200, ""), monkeypatch) as bucket:
        assert [bucket.create(f"objects/{number}", b"a", TEXT) for number in range(20)] == [True] * 20


def test_a_store_that_stays_overloaded_is_asked_for_some_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BACKOFF, "max_backoff", BACKOFF["init_backoff"])  # waiting is what is not tested here
    asked: list[int] = []

    def overloaded(number: int) -> Answer:
        asked.append(number)
        return 503, "SlowDown"

    started = time.monotonic()
    with (
        answering(overloaded, monkeypatch) as bucket,
        pytest.raises(Failure, match="the store is overloaded or out of order; run it again later"),
    ):
        bucket.create("objects/a", b"a", TEXT)
    assert (len(asked), time.monotonic() - started > 1) == (9, True)


def test_a_command_gives_up_soon_where_nobody_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def away(number: int) -> Answer:
        asked.append(number)
        return 0, ""

    with answering(away, monkeypatch) as bucket, pytest.raises(Failure, match="the store is not reached"):
        bucket.read("current.json")
    assert len(asked) == HASTY_RETRIES + 1


def test_a_command_begins_patiently_where_a_store_is_overloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = HASTY_RETRIES + 3
    with answering(lambda number: (503, "SlowDown") if number <= busy else (404, "NoSuchKey"), monkeypatch) as bucket:
        assert bucket.read("current.json") is None


def test_without_the_extra_a_sentence_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "obstore").mkdir()
    (tmp_path / "obstore/__init__.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'obstore'\", name='obstore')"
    )
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    command = [sys.executable, "-m", "shopwindow", "publish", "s3://shop/a"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (
        4,
        "shopwindow: obstore is not installed, and publishing needs it: "
        "`pip install -e '.[delivery]'` in a checkout installs it\n",
    )
