"""What lies in deploy/, tried where the tools are."""

import os
import re
import shutil
import stat
import subprocess
import tomllib
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.content import ROOT
from shopwindow.cli import main
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
    assert len(names) == 4 + 2 * len(MAINTENANCE_JOBS)
    done = subprocess.run(["systemd-analyze", "verify", *(f"./{name}" for name in names)], **_said(units))
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["", "-pull", "-activate", "-maintain@build"])
def test_a_unit_may_do_little(units: Path, name: str) -> None:
    unit = f"./shopwindow{name}.service"
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", unit], **_said(units))
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
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert set(wheel["force-include"]) - set(copied) == set(), "the wheel that the container installs needs these"


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


# -- Kubernetes: the example of docs/operate/production.md ---------------------------------------------------------

PRODUCTION = (ROOT / "docs/operate/production.md").read_text(encoding="utf-8")
KUBERNETES = PRODUCTION.split("<!-- kubernetes -->\n```yaml\n")[1].split("```")[0]
SERVICE, PODS = yaml.safe_load_all(KUBERNETES)
CONTAINERS = {container["name"]: container for container in PODS["spec"]["template"]["spec"]["containers"]}


def test_the_example_for_kubernetes_fits_on_a_screen() -> None:
    assert len(KUBERNETES.splitlines()) <= 60


def test_the_service_of_kubernetes_finds_the_pods_and_their_port() -> None:
    labels = PODS["spec"]["template"]["metadata"]["labels"]
    ports = [port["containerPort"] for port in CONTAINERS["service"]["ports"]]
    assert (SERVICE["apiVersion"], SERVICE["kind"]) == ("v1", "Service")
    assert (PODS["apiVersion"], PODS["kind"]) == ("apps/v1", "StatefulSet")
    assert SERVICE["spec"]["selector"] == labels == PODS["spec"]["selector"]["matchLabels"]
    assert PODS["spec"]["serviceName"] == SERVICE["metadata"]["name"]
    assert [port["targetPort"] for port in SERVICE["spec"]["ports"]] == ports[:1]


def test_kubernetes_asks_the_service_whether_it_lives_and_is_ready() -> None:
    service = CONTAINERS["service"]
    probes = {name: service[name]["httpGet"] for name in ("livenessProbe", "readinessProbe")}
    assert probes == {
        "livenessProbe": {"path": "/healthz", "port": 8000},
        "readinessProbe": {"path": "/readyz", "port": 8000},
    }
    seconds = int(re.findall(r"^TimeoutStopSec=(\d+)$", (SYSTEMD / "shopwindow.service").read_text(), re.MULTILINE)[0])
    assert PODS["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] == seconds


def test_what_one_container_pulls_the_other_serves_from_the_pods_disk() -> None:
    pod = PODS["spec"]["template"]["spec"]
    (claim,) = PODS["spec"]["volumeClaimTemplates"]
    volumes = {claim["metadata"]["name"], *(volume["name"] for volume in pod["volumes"])}
    mounts = {
        (name, mount["name"]): mount["mountPath"]
        for name, container in CONTAINERS.items()
        for mount in container["volumeMounts"]
    }
    assert {volume for _, volume in mounts} == volumes
    assert mounts["service", "disk"] == mounts["pull", "disk"]
    environment = {entry["name"]: entry["value"] for entry in CONTAINERS["service"]["env"]}
    program, *arguments = CONTAINERS["pull"]["command"]
    assert program == "/opt/shopwindow/bin/shopwindow"
    with main.make_context("shopwindow", arguments) as context:
        name, command, rest = main.resolve_command(context, arguments)
        assert command is not None
        options = command.make_context(name, rest, parent=context).params
    assert (name, options["follow"], str(options["out"])) == ("pull", True, environment["SHOPWINDOW_OUT"])
    assert environment["SHOPWINDOW_OUT"].startswith(mounts["service", "disk"])
    assert environment["SHOPWINDOW_LOG_DIR"].startswith(mounts["service", "disk"])
    (root,) = CONTAINERS["pull"]["env"]
    assert root["value"].startswith(mounts["pull", "root"])


def test_every_variable_of_the_example_for_kubernetes_is_one() -> None:
    named = set(re.findall(r"SHOPWINDOW_[A-Z_]+", KUBERNETES))
    page = (ROOT / "docs/operate/configure.md").read_text(encoding="utf-8")
    assert named - set(re.findall(r"`(SHOPWINDOW_[A-Z_]+)`", page)) == set()
    assert all(isinstance(entry["value"], str) for container in CONTAINERS.values() for entry in container["env"])
