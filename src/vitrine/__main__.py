"""The command `vitrine`, and `python -m vitrine`, which is the same."""

import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from vitrine import cli


def main() -> None:
    """Run a command and end at once: giving back a large build's memory piece by piece takes a tenth of a second."""
    status: object = 0
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # an encoding that lacks a character shall not end a command
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="vitrine")
    except SystemExit as end:
        status = end.code
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(status if isinstance(status, int) else 0 if status is None else 1)


if __name__ == "__main__":
    main()
