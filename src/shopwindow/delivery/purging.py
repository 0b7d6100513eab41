"""Purges from caches what a new release changed, until that is done.

The pointer lists the releases that caches may still hold (`TargetPointer.served`), from
the same moment on at which it leads to another one. So what is to be purged is never lost:
it follows from the manifests of these releases, and the next run purges it where this
one is killed or a cache does not answer. When all caches have confirmed, they are
taken from the pointer.
"""

import json
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from urllib.parse import urlsplit

import orjson
from urllib3 import PoolManager, Retry
from urllib3.exceptions import HTTPError

from shopwindow.delivery import layout, pointer
from shopwindow.delivery.bucket import CONNECTIONS, Bucket, concurrently
from shopwindow.problems import Failure, Misuse
from shopwindow.release import manifest
from shopwindow.release.chain import Chain

WAYS = "fastly, cloudflare, http://HOST:PORT, or command:PROGRAM ARGUMENTS"

PURGE_ATTEMPTS = 5
"""How often a request is sent, with waits of 1, 2, 4 and 8 s: a cache that restarts is
back by then, and a pipeline does not wait for one that is not.
"""

TIMEOUT_SECONDS = 30.0
"""How long a cache may take to answer. They take well under a second."""

REPEATED = (429, 500, 502, 503, 504)
"""Answers after which a request is sent again: too many, or the server is at fault."""

POOL = PoolManager(maxsize=CONNECTIONS, timeout=TIMEOUT_SECONDS)
"""Connections to caches. One is used for many requests."""

LOOK_SECONDS = 1.0
"""Between two looks at hosts, and after the last: the worker that has answered speaks
for itself, and the others of its host follow within a second.
"""

READY_SECONDS = 2.0
"""How long a host may take to say what it serves, which it has in memory."""

LEAST_WAIT_SECONDS = 10.0
"""How long hosts are waited for at least. Otherwise it is as long as four of their looks
take: two until they have seen the release, and as long again to fetch it.
"""

CONFIRMED_TWICE = (404, 410)
"""What nginx's caches answer to PURGE where they do not hold the URL."""

Purger = Callable[[Sequence[str]], None]
"""Purges URLs from a cache. Raises Failure where it does not confirm all of them."""


def surrogate_key(url: str) -> str:
    """Return the surrogate key of a URL: its SHA-256 (hex), which Fastly can compute."""
    return sha256(url.encode()).hexdigest()


def purger_of(way: str, environment: Mapping[str, str]) -> Purger:
    """Return what purges from one cache. ``way`` is one of WAYS.

    Raises Misuse for anything else, and Failure where the environment lacks what an API
    needs.
    """
    if way in VENDORS:
        return _vendor_purge(way, environment)
    if way.startswith(("http://", "https://")) and urlsplit(way).hostname:
        return http_purge(way)
    program = shlex.split(way.removeprefix("command:"))
    if way.startswith("command:") and program:
        return command(program)
    raise Misuse("purge", f"{way!r}: must be {WAYS}")


# -- what is to be purged --------------------------------------------------------------


@dataclass(frozen=True)
class Purged:
    """How many URLs were purged; ``releases``: of how many activations. ``late``: hosts
    that did not serve the release in force by then.
    """

    urls: int
    releases: int
    late: Sequence[str] = ()


def purge(
    bucket: Bucket,
    purgers: Sequence[Purger],
    follow: float = 0.0,
    hosts: Sequence[str] = (),
) -> Purged:
    """Purge what the activations changed that nobody has purged for yet, once hosts
    serve the release in force: a cache that was purged earlier would fill with their
    answers of before, for a whole lifetime.

    ``follow``: how often hosts look that pull from it, in seconds. ``hosts``: their
    addresses, `http://HOST:PORT`, which are asked for /readyz. Where none is named, they
    have twice the time of ``follow``: chance adds a fifth to the pauses of a host, and
    the rest is for what it fetches. Nobody waits for ever for a host that does not come:
    caches are purged, and the next run purges all of it again. Raises Failure where a
    cache does not confirm; then the next run tries all of it.
    """
    present = pointer.read(bucket)
    now = datetime.now(UTC)
    served = present.served(now) if present else ()
    if present is None or len(served) < 2:
        return Purged(0, 0)
    late = _late(bucket, hosts, follow)
    urls = _differing(bucket, served)
    try:
        if urls:
            for send in purgers:
                send(urls)
    except Failure as failure:
        raise Failure(
            f"{served[-1][:12]} is current, but not everything was purged: {failure}; "
            "the next run tries again"
        ) from None
    if not late:
        _record(bucket, served[:-1], now)
    return Purged(len(urls), len(served) - 1, late)


def _late(bucket: Bucket, hosts: Sequence[str], follow: float) -> Sequence[str]:
    """Wait until hosts serve the release in force; return those that do not by then.

    Which release that is, is read each time: another may be current meanwhile.
    """
    if not hosts:
        time.sleep(2 * follow)
    late, ends = hosts, time.monotonic() + max(4 * follow, LEAST_WAIT_SECONDS)
    while late and time.monotonic() < ends:
        id = pointer.required(bucket).id(datetime.now(UTC))
        late = [host for host in hosts if _served_by(host) != id]
        time.sleep(LOOK_SECONDS)
    return late


def _served_by(host: str) -> str:
    """Return the id of the release that a host serves; empty where it does not say so."""
    with suppress(HTTPError, ValueError, KeyError, TypeError):
        answer = POOL.request(
            "GET", f"{host}/readyz", timeout=READY_SECONDS, retries=False
        )
        return str(orjson.loads(answer.data)["id"])
    return ""


def _differing(bucket: Bucket, served: Sequence[str]) -> list[str]:
    """Return the URLs that differ between releases that were current one after the
    other, each once.
    """
    chunks: dict[str, bytes] = {}

    def files(id: str) -> Mapping[str, bytes]:
        return layout.lines(bucket, layout.published(bucket, id), chunks).files

    urls = set[str]()
    for old, new in pairwise(map(files, served)):
        urls |= manifest.differing_urls(old, new)
    return sorted(urls)


def _record(bucket: Bucket, done: tuple[str, ...], now: datetime) -> None:
    """Take the releases whose URLs are purged from the pointer: those of its list, and
    then those of its chain that are over at ``now``.

    Where another run has done so, or has purged more, there is nothing to take.
    """
    while True:
        present = pointer.read(bucket)
        if present is None or present.served(now)[: len(done)] != done:
            return
        over = max(len(done) - len(present.unpurged), 0)
        rest = replace(
            present,
            unpurged=present.unpurged[len(done) :],
            chain=Chain(present.chain.links[over:]),
        )
        if pointer.move(bucket, present, rest):
            return


# -- caches ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Vendor:
    """A CDN's API that purges.

    ``server``: its address, unless a variable names another. ``place``: the variable
    with what stands in ``path``. ``header`` and ``secret``: how the token is sent.
    ``member``: of the body, with at most ``most`` names of URLs, each by ``named``.
    """

    server: str
    place: str
    path: str
    header: str
    secret: str
    member: str
    most: int
    named: Callable[[str], str]


VENDORS = {
    # https://www.fastly.com/documentation/reference/api/purging/: 256 keys at once. The
    # edge has to send the key of a URL as Surrogate-Key (docs/operate/delivery.md).
    "fastly": Vendor(
        server="https://api.fastly.com",
        place="SERVICE_ID",
        path="/service/{}/purge",
        header="Fastly-Key",
        secret="{}",  # nosec B106 -- the form of a header, which has no secret
        member="surrogate_keys",
        most=256,
        named=surrogate_key,
    ),
    # https://developers.cloudflare.com/api/resources/cache/methods/purge/: 30 URLs at
    # once on every plan.
    "cloudflare": Vendor(
        server="https://api.cloudflare.com",
        place="ZONE_ID",
        path="/client/v4/zones/{}/purge_cache",
        header="Authorization",
        secret="Bearer {}",  # nosec B106 -- the form of a header, which has no secret
        member="files",
        most=30,
        named=str,
    ),
}
"""What `purge` may name. Variables begin with the name in capitals."""


def _vendor_purge(way: str, environment: Mapping[str, str]) -> Purger:
    vendor, prefix = VENDORS[way], way.upper()
    values = []
    for variable in (f"{prefix}_API_TOKEN", f"{prefix}_{vendor.place}"):
        if not environment.get(variable):
            raise Failure(f"purging by {way} needs the variable {variable}")
        values.append(environment[variable])
    token, place = values
    server = environment.get(f"{prefix}_API_URL", vendor.server)
    headers = {
        vendor.header: vendor.secret.format(token),
        "Content-Type": "application/json",
    }
    path = vendor.path.format(place)

    def send(urls: Sequence[str]) -> None:
        for start in range(0, len(urls), vendor.most):
            batch = urls[start : start + vendor.most]
            body = json.dumps({vendor.member: list(map(vendor.named, batch))}).encode()
            _send(server, "POST", path, headers, body)

    return send


def http_purge(address: str) -> Purger:
    """Return what sends PURGE for each URL to a cache, such as Varnish or nginx.

    ``address``: the cache's own, `http://HOST:PORT`. The URL's host goes into Host.
    """

    def send_one(url: str) -> None:
        parts = urlsplit(url)
        target = parts.path + f"?{parts.query}" * bool(parts.query)
        headers = {"Host": parts.netloc}
        _send(address, "PURGE", target, headers, None, confirmed=CONFIRMED_TWICE)

    def send(urls: Sequence[str]) -> None:
        concurrently(send_one, urls)

    return send


def command(program: Sequence[str]) -> Purger:
    """Return what starts a program that reads URLs, one a line, and ends with 0."""

    def send(urls: Sequence[str]) -> None:
        lines = "".join(f"{url}\n" for url in urls)
        try:
            done = subprocess.run(program, input=lines, text=True, check=False)
        except OSError as error:
            raise Failure(f"{program[0]}: {error.strerror}") from None
        if done.returncode:
            raise Failure(f"{program[0]} ended with {done.returncode}")

    return send


def _send(
    server: str,
    method: str,
    target: str,
    headers: Mapping[str, str],
    body: bytes | None,
    confirmed: Sequence[int] = (),
) -> None:
    """Send a request; again where it fails on the way, or meets one of REPEATED.

    Raises Failure where the server cannot be reached, or answers something else than 2xx
    or a status that is ``confirmed``.
    """
    again = Retry(
        PURGE_ATTEMPTS - 1,
        allowed_methods=None,  # every one: what was purged twice is purged
        status_forcelist=REPEATED,
        backoff_factor=1,
        raise_on_status=False,
    )
    try:
        answer = POOL.request(
            method,
            f"{server.rstrip('/')}{target}",
            body,
            headers=headers,
            retries=again,
            redirect=False,
        )
    except HTTPError as error:
        raise Failure(f"{server} is not reached: {error}") from None
    if not 200 <= answer.status < 300 and answer.status not in confirmed:
        text = " ".join(answer.data.decode(errors="replace").split())
        raise Failure(
            f"{server} answers {answer.status} to {method} {target}: {text[:200]}"
        )
