"""Answers are compressed by what a client accepts: which coding, which answers, which ETag, and what is cached."""

import gzip
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import zstandard

from facts.conformance import PHONE
from harness.program import Answer, Application, Serving, called, current_loaded
from shopwindow.interface.request import Request
from shopwindow.service.codings import CODINGS, Coding, accepted
from shopwindow.service.exchange import Arrival, at_once
from shopwindow.service.running import Backstage
from shopwindow.service.serving import Exchange
from shopwindow.service.wsgi import Front

KEY = {"x-svc-webservice-client-id": PHONE}
LARGE, SMALL = "/store/v2/stores", "/v2/promotions?promoid=6"
UNPACKED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.decompress,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompress(body),
}
SUFFIXES = {"gzip": "-gz", "br": "-br", "zstd": "-zstd"}


@pytest.fixture
def serving(out: Path) -> Serving:
    return current_loaded(out)


@pytest.fixture
def service(serving: Serving) -> Application:
    return Front(lambda: serving, backstage=Backstage())


def asked(service: Application, target: str, encoding: str = "", method: str = "GET", **headers: str) -> Answer:
    coding = {"accept-encoding": encoding} if encoding else {}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return called(service, target, {**KEY, **coding, **named}, method)


ACCEPTED: dict[str | None, tuple[str, bool]] = {
    None: ("", False),
    "": ("", False),
    "identity": ("", False),
    "gzip": ("gzip", False),
    "GZIP": ("gzip", False),
    "x-gzip": ("gzip", False),
    "br": ("br", False),
    "gzip, deflate": ("gzip", False),
    "gzip;level=9": ("gzip", False),  # nobody has defined such a parameter
    "gzip;q=.5, br;q=.4": ("gzip", False),
    "x-gzip;q=0.9, br;q=0.4": ("gzip", False),
    "gzip, deflate, br": ("br", False),
    "gzip, deflate, br, zstd": ("zstd", False),
    "gzip;q=1.0, br;q=0.5, zstd;q=0.1": ("gzip", False),
    "gzip ; q=0.8 , br;Q=0.9": ("br", False),
    "gzip,, br": ("br", False),
    "deflate, compress": ("", False),
    "*": ("zstd", False),
    "*;q=0.1, gzip": ("gzip", False),
    "zstd;q=0, *": ("br", False),
    "gzip;q=0": ("", False),
    "gzip;q=0.5, identity": ("", False),
    "gzip;q=0.5, identity;q=0.5": ("gzip", False),
    "gzip, identity;q=0": ("gzip", True),
    "br, *;q=0": ("br", True),
    # nothing that we have: the body as it is, which is better than none
    "identity;q=0": ("", False),
    "*;q=0": ("", False),
    # malformed
    "gzip;q=2": ("", False),
    "gzip;q=": ("", False),
    "gzip br": ("", False),
}


@pytest.mark.parametrize("header", ACCEPTED)
def test_a_client_gets_the_coding_that_it_weighs_most(header: str | None) -> None:
    found = accepted(header)
    assert (found.coding.name if found.coding else "", found.least == 1) == ACCEPTED[header]


@pytest.mark.parametrize("coding", CODINGS, ids=lambda coding: coding.name)
@pytest.mark.parametrize("accept", ["application/json", "application/xml"])
def test_an_answer_in_a_coding_is_the_answer(service: Application, coding: Coding, accept: str) -> None:
    name = coding.name
    plain, packed = (asked(service, LARGE, each, accept=accept) for each in ("", name))
    assert UNPACKED[name](packed.body) == plain.body
    assert len(packed.body) < len(plain.body) / 2
    tag = f'{plain.headers["etag"][:-1]}{SUFFIXES[name]}"'
    changed = {"content-encoding": name, "etag": tag, "content-length": str(len(packed.body))}
    assert packed.headers == {**plain.headers, **changed}
    assert "Accept-Encoding" in plain.headers["vary"]
    head = asked(service, LARGE, name, "HEAD", accept=accept)
    assert (head.status, head.headers, head.body) == (200, packed.headers, b"")
    assert asked(service, LARGE, name, accept=accept) == packed  # from memory


@pytest.mark.parametrize("accept", ["", "gzip", "br", "zstd"])
def test_the_tag_of_any_form_says_that_the_client_has_it(service: Application, accept: str) -> None:
    tags = [asked(service, LARGE, each).headers["etag"] for each in ("", *UNPACKED)]
    assert len(set(tags)) == 4
    own = asked(service, LARGE, accept).headers["etag"]
    for tag in (*tags, *(f"W/{tag}" for tag in tags), f'"x", {tags[0]}', "*"):
        answer = asked(service, LARGE, accept, if_none_match=tag)
        assert (answer.status, answer.body, answer.headers["etag"]) == (304, b"", own)
        assert "content-encoding" not in answer.headers
    for tag in ('"x"', tags[0].replace('"', ""), f'{tags[0][:-1]}-xz"'):
        assert asked(service, LARGE, accept, if_none_match=tag).status == 200


def test_a_small_answer_is_compressed_only_for_who_takes_nothing_else(service: Application) -> None:
    plain = asked(service, SMALL)
    assert len(plain.body) < 1024
    assert asked(service, SMALL, "gzip, br, zstd") == plain
    packed = asked(service, SMALL, "gzip, identity;q=0")
    assert (packed.headers["content-encoding"], gzip.decompress(packed.body)) == ("gzip", plain.body)


def test_errors_and_scripts_are_compressed_too(service: Application) -> None:
    faults = f"/store/v2/stores?{'&'.join(['radius=POOL'] * 40)}"
    for target, status in ((faults, 400), (f"{LARGE}?callback=cb", 200)):
        plain, packed = asked(service, target), asked(service, target, "gzip")
        assert (packed.status, packed.headers["content-encoding"]) == (status, "gzip")
        assert gzip.decompress(packed.body) == plain.body
        assert ("etag" in packed.headers) == (status == 200)


def test_the_cache_holds_what_was_sent_and_no_form_that_nobody_asked_for(
    serving: Serving, service: Application
) -> None:
    def held() -> list[str]:
        return [entry.codings.coding.name if entry.codings.coding else "" for entry in serving.cache._entries]

    for accept in ("gzip", "br", "gzip"):
        asked(service, LARGE, accept)
    assert held() == ["gzip", "br"]


def test_the_event_loop_does_not_compress(serving: Serving, service: Application) -> None:
    def head(accept: str) -> Request:
        return Request("store/v2/stores", "", {**KEY, "host": "api.shop.example", "accept-encoding": accept})

    asked(service, LARGE)
    plain = at_once(head(""), serving)
    assert isinstance(plain, Exchange)
    assert isinstance(at_once(head("gzip"), serving), Arrival)  # a thread does it, once
    asked(service, LARGE, "gzip")
    packed = at_once(head("gzip"), serving)
    assert isinstance(packed, Exchange)
    assert gzip.decompress(packed.response.body) == plain.response.body
