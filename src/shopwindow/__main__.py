"""The command `shopwindow`, and `python -m shopwindow`, which is the same."""

import gc
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from typing import TextIO

from shopwindow import cli


def main() -> None:
    """Run a command and end with its status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A terminal whose encoding lacks a character must not end a command.
            stream.reconfigure(errors="backslashreplace")
    try:
        cli.main(prog_name="shopwindow")
    finally:
        for stream in (sys.stdout, sys.stderr):
            _flush(stream)
        # Python looks for garbage once more at its end: a tenth of a second among
        # 10,000 documents, which end with the process in any case.
        gc.freeze()


def _flush(stream: TextIO) -> None:
    """Write what is left, so that Python does not try it at its end and print a
    traceback.

    Where that fails, because the reader has gone or the disk is full, the rest is
    dropped.
    """
    try:
        stream.flush()
    except (OSError, ValueError):
        with open(os.devnull, "wb") as nowhere, suppress(OSError, ValueError):
            os.dup2(nowhere.fileno(), stream.fileno())


if __name__ == "__main__":
    main()
