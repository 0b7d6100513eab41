"""What lies in deploy/, tried where the tools are."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DEPLOY = ROOT / "deploy"


def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not here")
    unit = tmp_path / "vitrine.service"
    text = (DEPLOY / "vitrine.service").read_text()
    unit.write_text(text.replace("/opt/vitrine/bin/vitrine", "/bin/true"))  # which is there
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_what_the_container_file_copies_is_there() -> None:
    copied = [
        name
        for line in (DEPLOY / "Containerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_container_file_builds(tmp_path: Path) -> None:
    engines = [name for name in ("podman", "docker") if shutil.which(name)]
    engines = [name for name in engines if subprocess.run([name, "info"], capture_output=True).returncode == 0]
    if not engines:
        pytest.skip("no container engine runs here")
    command = [engines[0], "build", "-f", str(DEPLOY / "Containerfile"), "-t", "vitrine-test", str(ROOT)]
    assert subprocess.run(command, capture_output=True).returncode == 0
