"""The contracts of import-linter are all there, and kept."""

import subprocess
import sys

from harness.content import ROOT


def test_imports_run_strictly_downwards() -> None:
    command = "from importlinter.cli import lint_imports_command as lint; lint(['--no-cache'])"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, " kept, 0 broken." in done.stdout) == (0, True), done.stdout
