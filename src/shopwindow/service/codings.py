"""Content codings: an answer is compressed by what the client accepts (RFC 9110 §8.4).

How this works. `accepted` reads Accept-Encoding, and `encoded` compresses a response.
The codings stand in the order of `CODINGS` where a client weighs several equally.

The levels are those above which a step costs much and gains little. Measured over 20
answers of search, browse and stores, 40 kB on average:

    zstd 3    7.9 % of the bytes, 0.08 ms of processor time (level 5: 7.2 %, 0.17 ms)
    br 4      7.1 %, 0.26 ms (level 5: 6.4 %, 0.38 ms; level 9: 6.2 %, 4.3 ms)
    gzip 6    7.2 %, 0.25 ms (level 9: 7.0 %, 0.35 ms)

The views of these answers take 0.2 to 0.7 ms; a cached answer is compressed already.

A body that holds a secret beside what a stranger chose could be guessed from its
compressed size (BREACH). No body holds one: an API key is never in an answer.
"""

import gzip
from collections.abc import Callable
from functools import lru_cache, partial
from typing import NamedTuple

import brotli
from zstandard import ZstdCompressor

from shopwindow.interface.answering.answer import Response
from shopwindow.interface.formats import CODING, weights_in

LEAST_BYTES = 1024
"""Bytes of a body that is worth compressing. Fewer fit into one packet as they are, and
nginx, as we configure it, begins here too.
"""

BODILESS_STATUSES = (204, 304)
"""Statuses without a body (RFC 9110 §6.4.1)."""


class Coding(NamedTuple):
    """A content coding.

    ``name``: in Accept-Encoding. ``suffix``: what the ETag ends with, because each form
    of a response has a tag of its own (RFC 9110 §8.8.3.3).
    """

    name: str
    suffix: str
    compress: Callable[[bytes], bytes]


CODINGS = (
    # no compressor is shared, because two threads may not use one at a time
    Coding("zstd", "-zstd", lambda body: ZstdCompressor(level=3).compress(body)),
    Coding("br", "-br", partial(brotli.compress, quality=4)),
    # without a time, so that equal bodies have equal bytes
    Coding("gzip", "-gz", partial(gzip.compress, compresslevel=6, mtime=0)),
)
"""The codings that there are, the cheapest first."""


class Accepted(NamedTuple):
    """What a client accepts.

    ``coding``: what it gets; None: the body as it is. ``least``: for bodies of so many
    bytes; 1 where it refuses a body as it is (`identity;q=0`).
    """

    coding: Coding | None
    least: int = LEAST_BYTES


@lru_cache(maxsize=256)
def accepted(header: str | None) -> Accepted:
    """Return what an Accept-Encoding header accepts.

    Without the header, with an empty one and with a malformed one that is the body as
    it is. It is the last choice unless the header weighs it above the codings.
    """
    weights = weights_in(header, CODING)
    if "x-gzip" in weights:  # RFC 9110 §8.4.1.3: it is gzip
        weights["gzip"] = weights["x-gzip"]
    others = weights.get("*", 0.0)
    # of several that weigh most the first
    best = max(CODINGS, key=lambda coding: weights.get(coding.name, others))
    weight = weights.get(best.name, others)
    if weight == 0 or weights.get("identity", 0.0) > weight:
        return Accepted(None)
    refuses_identity = weights.get("identity", weights.get("*", 1.0)) == 0
    return Accepted(best, 1 if refuses_identity else LEAST_BYTES)


def encoded(response: Response, accept: Accepted) -> Response:
    """Return a response as the client accepts it: compressed, if that is worth it.

    The ETag of what caches may store ends with the coding's suffix. That of a bag is
    the tag of its state, whatever the form, and stays.
    """
    coding = accept.coding
    if coding is None or len(response.body) < accept.least:
        return response
    headers = dict(response.headers)
    if response.lifetime is not None:
        headers["ETag"] = f'{headers["ETag"][:-1]}{coding.suffix}"'
    headers["Content-Encoding"] = coding.name
    return response._replace(
        body=coding.compress(response.body), headers=tuple(headers.items())
    )


def plain_tag(tag: str) -> str:
    """Return the ETag that a response has as it is, by the one that it has in any form.

    A weak tag, as edges make it when they compress, means the same here.
    """
    tag = tag.strip().removeprefix("W/")
    for coding in CODINGS:
        tag = tag.replace(f'{coding.suffix}"', '"')
    return tag
