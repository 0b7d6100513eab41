"""Packages from npm, for tests that need them."""

import shutil
import subprocess
from pathlib import Path

import pytest

PATIENCE = 300
"""Seconds for an installation. A registry that cannot be reached is tried again and again by npm."""


def installed(folder: Path, *packages: str) -> Path:
    """Install packages below a folder; return the folder of their modules. Skips the test where that cannot be done."""
    if not (shutil.which("node") and shutil.which("npm")):
        pytest.skip(f"{packages[0]} needs node and npm")
    command = ["npm", "install", "--no-audit", "--no-fund", "--prefix", str(folder), *packages]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm does not install {packages[0]} within {PATIENCE} s")
    if done.returncode != 0:
        pytest.skip(f"npm does not install {packages[0]}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules"
