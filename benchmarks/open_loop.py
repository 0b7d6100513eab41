"""An open loop: opt-ins at a fixed rate, whether the earlier ones were answered or not.

    python -m benchmarks.open_loop URL KEY [--rate N] [--seconds N]

URL is a service's address, such as http://127.0.0.1:8000, and KEY an API key of its
release. Each request is another phone, on a connection of its own. Its time runs from
the instant at which it was to be sent, so a service that stands still is late for all
who come meanwhile. Prints one line, and ends with 1 where a request was not answered
with 200.
"""

import argparse
import asyncio
import json
import os
import sys
import time
from urllib.parse import urlsplit


async def opt_in(host: str, port: int, key: str, device: str, due: float) -> float:
    """The seconds from ``due`` (time.perf_counter) until a phone had its answer."""
    await asyncio.sleep(due - time.perf_counter())
    body = json.dumps({"deviceID": device, "svcUID": "user", "optInOrOptOut": "IN"})
    head = (
        "POST /v2/utility/mobileoptinout HTTP/1.1",
        f"Host: {host}:{port}",
        f"X-SVC-Webservice-Client-Id: {key}",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        "Connection: close",
    )
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write("\r\n".join((*head, "", body)).encode())
        answer = await reader.read()
    finally:
        writer.close()
    if not answer.startswith(b"HTTP/1.1 200 "):
        raise RuntimeError(answer[:300].decode("latin-1"))
    return time.perf_counter() - due


async def loop(url: str, key: str, rate: float, seconds: float) -> int:
    """Ask, and print what was found. Returns the exit status."""
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    run, begun = os.urandom(4).hex(), time.perf_counter() + 0.1
    asked = [
        opt_in(host, port, key, f"{run}-{number}", begun + number / rate)
        for number in range(round(rate * seconds))
    ]
    came = await asyncio.gather(*asked, return_exceptions=True)
    times = sorted(each for each in came if isinstance(each, float))
    failed = [each for each in came if not isinstance(each, float)]
    if failed:
        print(f"{len(failed)} were not answered with 200, such as: {failed[0]}")
        return 1
    middle, late = times[len(times) // 2], times[len(times) * 99 // 100]
    figures = " ".join(f"{1000 * each:.1f}" for each in (middle, late, times[-1]))
    print(f"{len(times):,} answered; ms (median, 99 of 100, longest): {figures}")
    return 0


def main() -> None:
    """Read the command line, and ask."""
    assert __doc__
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("key")
    parser.add_argument("--rate", type=float, default=150)
    parser.add_argument("--seconds", type=float, default=60)
    given = parser.parse_args()
    sys.exit(asyncio.run(loop(given.url, given.key, given.rate, given.seconds)))


if __name__ == "__main__":
    main()
