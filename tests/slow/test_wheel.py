"""The wheel holds all that a build needs: installed alone in an empty directory, it builds a content folder."""

import importlib.util
import os
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from harness.content import AT, SAMPLE
from harness.program import built, copied, current

ROOT = SAMPLE.parent


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run a command, which must succeed; what it printed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=cwd, env=clean | dict(env or {}))
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout; the build backend is fetched only where it is not installed."""
    folder = tmp_path_factory.mktemp("wheel")
    offline = ["--no-build-isolation"] if importlib.util.find_spec("hatchling") else []
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "wheel", "--no-deps", *offline, "--wheel-dir", folder, ROOT, cwd=folder)
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The commands of a fresh environment: this wheel, beside the dependencies that are installed here."""
    folder = tmp_path_factory.mktemp("venv")
    venv.create(folder, symlinks=True)
    here = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (site,) = folder.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text("".join(f"{path}\n" for path in sorted(here)))
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python")]
    run(*pip, "install", "--no-deps", "--no-index", "--force-reinstall", wheel, cwd=folder)
    return folder / "bin"


def names(folder: Path) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_schemas_and_templates_travel_in_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = {name.removeprefix("shopwindow/") for name in archive.namelist()}
    shipped = {name for name in held if name.startswith(("schemas/", "templates/"))}
    assert shipped == names(ROOT / "schemas") | names(ROOT / "templates")
    assert "py.typed" in held


def test_the_sample_and_the_lock_file_travel_in_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = {name.removeprefix("shopwindow/starter/") for name in archive.namelist()}
    assert {f"content/{name.removeprefix('sample/')}" for name in held if name.startswith("sample/")} == names(SAMPLE)
    assert "requirements.lock" in held


def test_vendored_scripts_travel_in_the_wheel_with_their_licenses(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if "/static/" in name}
    folders = [ROOT / "src/shopwindow" / package / "static" for package in ("preview", "service")]
    assert held == {name.removeprefix("src/") for folder in folders for name in names(folder)}
    assert {"shopwindow/service/static/redoc.LICENSE", "shopwindow/preview/static/htmx.LICENSE"} <= held


def test_tests_stay_out_of_the_wheel(wheel: Path) -> None:
    with ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}
    assert {top.partition("-")[0] for top in tops} == {"shopwindow"}


def test_the_installed_command_is_that_of_the_wheel(installed: Path, tmp_path: Path) -> None:
    modules = "import shopwindow.cli as c, shopwindow.content.reading.listing as l"
    command = f"{modules}; print(c.__file__); print(l.shipped('schemas'))"
    places = run(installed / "python", "-c", command, cwd=tmp_path).splitlines()
    assert [Path(place).is_relative_to(installed.parent) for place in places] == [True, True]


@pytest.mark.parametrize("command", [["shopwindow"], ["python", "-m", "shopwindow"]], ids=" ".join)
def test_it_builds_content_in_an_empty_directory(installed: Path, tmp_path: Path, command: list[str]) -> None:
    copied(SAMPLE, tmp_path / "empty" / "content")
    expected = built(SAMPLE, tmp_path / "dist")
    run(installed / command[0], *command[1:], "build", "--at", AT, cwd=tmp_path / "empty")
    assert current(tmp_path / "empty" / "dist") == expected


def test_it_writes_the_configuration_of_the_edge(installed: Path, tmp_path: Path) -> None:
    copied(SAMPLE, tmp_path / "content")
    run(installed / "shopwindow", "build", "--at", AT, cwd=tmp_path)
    keys = tmp_path / "content" / "sample-keys.txt"
    assert "server {" in run(installed / "shopwindow", "edge", "nginx", "--api-keys", keys, cwd=tmp_path)


@pytest.mark.alone
@pytest.mark.parametrize("start", ["minimal", "sample"])
def test_it_begins_a_shop_in_an_empty_folder_in_under_a_minute(installed: Path, tmp_path: Path, start: str) -> None:
    began = time.monotonic()
    run(installed / "shopwindow", "init", "shop", "--from", start, "--ci", "github", cwd=tmp_path)
    assert "nothing wrong" in run(installed / "shopwindow", "check", "--at", "2026-11-22", cwd=tmp_path / "shop")
    run(installed / "shopwindow", "build", cwd=tmp_path / "shop")
    assert time.monotonic() - began < 60
    assert len(current(tmp_path / "shop" / "dist")) == 64
