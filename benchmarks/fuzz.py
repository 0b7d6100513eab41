"""The service under schemathesis, for long: no server error, no status or answer that
its document does not say.

    python -m benchmarks.fuzz [--examples N]

The tests make a few dozen requests an operation; this makes N of each kind. Exit status
1 where something is wrong.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path

TEST = (
    Path(__file__).resolve().parent.parent
    / "tests"
    / "nightly"
    / "test_openapi_fuzzed.py"
)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=2000,
        metavar="N",
        help="requests an operation and kind",
    )
    examples = parser.parse_args().examples
    command = [sys.executable, "-m", "pytest", "-q", "-k", "generated", str(TEST)]
    return subprocess.run(
        command, env={**os.environ, "SHOPWINDOW_FUZZ_EXAMPLES": str(examples)}
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
