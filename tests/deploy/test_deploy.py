"""What lies in deploy/, tried where the tools are."""

import os
import re
import shutil
import stat
import subprocess
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest

from harness.content import ROOT
from shopwindow.cli.maintain import MAINTENANCE_JOBS

DEPLOY = ROOT / "deploy"


SYSTEMD = DEPLOY / "systemd"
MOST_EXPOSED = 2.0
"""Of 10, as `systemd-analyze security` counts it; a unit that asks for nothing has 9.6."""


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units with a program that is there, and an instance of each job that has a timer."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not here")
    for source in SYSTEMD.iterdir():
        text = re.sub("/opt/shopwindow/bin/(shopwindow|python)", "/bin/true", source.read_text())
        (tmp_path / source.name).write_text(text)
    template = tmp_path / "shopwindow-maintain@.service"
    for timer in tmp_path.glob("*.timer"):
        shutil.copy(template, timer.with_suffix(".service"))
    return tmp_path


def test_systemd_finds_no_fault_with_the_units(units: Path) -> None:
    names = sorted(
        path.name
        for path in units.iterdir()
        if path.suffix in (".service", ".socket", ".timer") and "@." not in path.name
    )
    assert len(names) == 3 + 2 * len(MAINTENANCE_JOBS)
    done = subprocess.run(["systemd-analyze", "verify", *(f"./{name}" for name in names)], **_said(units))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["shopwindow.service", "shopwindow-pull.service", "shopwindow-maintain@build.service"])
def test_a_unit_may_do_little(units: Path, name: str) -> None:
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", f"./{name}"], **_said(units))
    exposure = float(done.stdout.split("Overall exposure level")[1].split()[2])
    assert exposure <= MOST_EXPOSED, done.stdout


def test_each_job_has_its_timer() -> None:
    timers = {path.stem.partition("@")[2] for path in SYSTEMD.glob("*.timer")}
    assert timers == set(MAINTENANCE_JOBS)


def test_the_service_is_started_again_however_often_it_fails() -> None:
    lines = (SYSTEMD / "shopwindow.service").read_text().splitlines()
    wanted = {"StartLimitIntervalSec=0", "Restart=always", "RestartSec=2", "Type=notify"}
    assert wanted <= set(lines)
    assert not any(line.startswith("DynamicUser") for line in lines)


def test_nginx_reads_the_releases_and_nobody_else_the_database(tmp_path: Path) -> None:
    """The folders as systemd makes them, in a root of their own; both tools are called as the unit's head says."""
    if shutil.which("systemd-sysusers") is None or os.geteuid() != 0:
        pytest.skip("systemd's tools are not here, or this is not root")
    (tmp_path / "etc").mkdir()
    for tool, kind in (("systemd-sysusers", "sysusers"), ("systemd-tmpfiles", "tmpfiles")):
        more = ["--create"] if kind == "tmpfiles" else []
        subprocess.run([tool, f"--root={tmp_path}", *more, str(SYSTEMD / f"shopwindow.{kind}")], check=True)
    (user,) = [
        line.split(":") for line in (tmp_path / "etc/passwd").read_text().splitlines() if line.startswith("shopwindow:")
    ]
    below = tmp_path / "var/lib/shopwindow"
    found = {
        path.name: (path.stat().st_uid == int(user[2]), stat.S_IMODE(path.stat().st_mode)) for path in below.iterdir()
    }
    assert stat.S_IMODE(below.stat().st_mode) == 0o755
    assert found == {
        "content": (True, 0o755),
        "dist": (True, 0o755),
        "store": (True, 0o700),
        "backup": (True, 0o700),
    }


def _said(folder: Path) -> Any:
    return {"cwd": folder, "capture_output": True, "text": True}


def test_what_the_container_file_copies_is_there() -> None:
    copied = [
        name
        for line in (DEPLOY / "Containerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for name in line.split()[1:-1]
    ]
    assert copied
    assert [name for name in copied if not (ROOT / name).exists()] == []


def test_the_container_binds_as_its_head_says() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    assert "SHOPWINDOW_BIND=0.0.0.0:8000 SHOPWINDOW_ADMIN=0.0.0.0:8001" in text
    published = re.findall(r"-p (\S+)", text.partition("FROM")[0])
    assert published[:2] == ["127.0.0.1:8000:8000", "127.0.0.1:8001:8001"]
    assert "EXPOSE 8000 8001" in text


def test_the_container_trusts_the_gateway_and_no_other_address_of_its_network() -> None:
    head, _, _ = (DEPLOY / "Containerfile").read_text().partition("FROM")
    (trusted,) = re.findall(r"SHOPWINDOW_TRUSTED_PROXIES=(\S+)", head)
    (gateway,) = re.findall(r"(\S+) in podman's own network", head)
    assert trusted == gateway.lstrip("(")
    assert [ip_network(proxy).num_addresses for proxy in trusted.split(",")] == [1]


def test_the_container_file_builds(tmp_path: Path) -> None:
    engines = [name for name in ("podman", "docker") if shutil.which(name)]
    engines = [name for name in engines if subprocess.run([name, "info"], capture_output=True).returncode == 0]
    if not engines:
        pytest.skip("no container engine runs here")
    command = [
        engines[0],
        "build",
        *(["--format", "docker"] if engines[0] == "podman" else []),
        "-f",
        str(DEPLOY / "Containerfile"),
        "-t",
        "shopwindow-test",
        str(ROOT),
    ]
    assert subprocess.run(command, capture_output=True).returncode == 0
