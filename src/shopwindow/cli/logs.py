"""`logs`."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import click


@click.group()
def logs() -> None:
    """The mobile log."""


@logs.command("parse")
@click.argument("file", type=click.File("rb"), default="-")
def read(file: BinaryIO) -> None:
    """Print each entry of a log FILE (standard input without one) as a line of JSON, with every
    value as it was sent.

    Exit 1 where a line is no entry; it is named on standard error, and the others are printed
    all the same.
    """
    import sys

    out, wrong = sys.stdout.buffer, 0
    for number, found in enumerate(_parsed(file), 1):
        if isinstance(found, bytes):
            out.write(found)
        else:
            wrong += 1
            click.echo(f"line {number}: {found}", err=True)
    out.flush()
    sys.exit(1 if wrong else 0)


def _parsed(lines: Iterable[bytes]) -> Iterator[bytes | ValueError]:
    """Each line as JSON, or what is wrong with it."""
    import json

    from shopwindow.retail.mobilelog import line as logline

    for line in lines:
        try:
            entry = logline.read(line.decode().removesuffix("\n"))
        except ValueError as error:
            yield error
            continue
        value: dict[str, Any] = {
            "timestamp": entry.timestamp,
            "clientApp": entry.client_app,
            "platform": entry.platform,
            "deviceId": entry.device_id,
            "svcUid": entry.svc_uid,
            "logLevel": entry.log_level,
            "logMessage": entry.log_message,
        }
        yield json.dumps(value).encode() + b"\n"  # orjson refuses what is half of a pair
