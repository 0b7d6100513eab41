"""`logs`: the mobile log, as JSON."""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import click

from shopwindow.cli.steps import PROBLEMS


@click.group()
def logs() -> None:
    """Read the mobile log."""


@logs.command("parse")
@click.argument("file", type=click.File("rb"), default="-")
def read(file: BinaryIO) -> None:
    """Print each entry of a log FILE as a line of JSON, with every value as it was
    sent.

    Without FILE it is standard input. Exit status 0; 1: some line is no entry, as
    standard error says, and the others were printed.
    """
    import sys

    out, wrong = sys.stdout.buffer, 0
    for number, entry in enumerate(_entries(file), 1):
        if isinstance(entry, bytes):
            out.write(entry)
        else:
            wrong += 1
            click.echo(f"line {number}: {entry}", err=True)
    out.flush()
    sys.exit(PROBLEMS if wrong else 0)


def _entries(lines: Iterable[bytes]) -> Iterator[bytes | ValueError]:
    """Yield each line as JSON, or what is wrong with it."""
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
        # Not orjson: it refuses half of a surrogate pair, which a phone may have sent.
        yield json.dumps(value).encode() + b"\n"
