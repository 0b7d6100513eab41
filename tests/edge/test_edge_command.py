"""Facts about `edge nginx`: its limits, who reads the keys, whose templates run."""

import stat
from pathlib import Path

import pytest

from harness.content import ROOT, linked
from harness.program import Ran, shopwindow

SAMPLE = ROOT / "content"
HOST = "api.larkspurvane.example"
KEYS = SAMPLE / "sample-keys.txt"
KEY = next(line.split()[1] for line in KEYS.read_text().splitlines() if line.startswith("iphone"))


@pytest.fixture(scope="module")
def public(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edge")
    linked(sample_out, folder / "dist")
    return folder


def edge_nginx(folder: Path, *more: str | Path) -> Ran:
    return shopwindow("edge", "nginx", "--content", SAMPLE, "--out", folder / "dist", "--api-keys", KEYS, *more)


def test_the_command_writes_limits_unless_told_otherwise(public: Path) -> None:
    printed = edge_nginx(public).out
    assert "rate=50r/s" in printed
    assert "burst=200 nodelay" in printed
    assert "limit_conn shopwindow_requests 64" in printed
    changed = edge_nginx(public, "--rate", "7", "--burst", "9", "--requests", "0").out
    assert "rate=7r/s" in changed
    assert "burst=9 nodelay" in changed
    assert "limit_conn" not in changed


def test_the_configuration_is_written_for_its_owner_alone(public: Path, tmp_path: Path) -> None:
    target = tmp_path / "shopwindow.conf"
    target.write_text("what was there before")
    target.chmod(0o644)
    ran = edge_nginx(public, "--write", target)
    assert ran.status == 0, ran
    assert KEY not in ran.out + ran.err
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert target.read_text() == edge_nginx(public).out
    assert [path.name for path in tmp_path.iterdir()] == ["shopwindow.conf"]  # no draft is left


def test_a_link_to_a_configuration_stays_one(public: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "available", tmp_path / "enabled"
    link.symlink_to(target)
    assert edge_nginx(public, "--write", link).status == 0
    assert link.is_symlink()
    assert KEY in target.read_text()


def test_what_cannot_be_written_leaves_the_old_configuration(public: Path, tmp_path: Path) -> None:
    nowhere = edge_nginx(public, "--write", tmp_path / "missing/shopwindow.conf")
    assert (nowhere.status, nowhere.out) == (4, "")
    folder = edge_nginx(public, "--write", tmp_path)
    assert (folder.status, folder.out) == (4, "")
    assert "is not a file" in folder.err


ATTACK = "{{ cycler.__init__.__globals__.os.popen('touch %s').read() }}"


def test_a_template_of_the_content_is_not_used(public: Path, tmp_path: Path) -> None:
    content, marker = tmp_path / "content", tmp_path / "ran"
    (content / "templates").mkdir(parents=True)
    (content / "templates/nginx.conf").write_text(ATTACK % marker)
    ran = shopwindow("edge", "nginx", "--content", content, "--out", public / "dist", "--api-keys", KEYS)
    assert ran.status == 0, ran
    assert ran.out == edge_nginx(public).out
    assert "is not used" in ran.err
    assert not marker.exists()


def test_a_template_of_the_operator_is_used_and_runs_nothing(public: Path, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    (tmp_path / "nginx.conf").write_text("# for {{ rules.base_host }}\n")
    assert edge_nginx(public, "--templates", tmp_path).out == f"# for {HOST}\n"
    (tmp_path / "nginx.conf").write_text(ATTACK % marker)
    ran = edge_nginx(public, "--templates", tmp_path)
    assert (ran.status, ran.out) == (4, "")
    assert "SecurityError" in ran.err
    assert not marker.exists()
    (tmp_path / "nginx.conf").unlink()
    assert edge_nginx(public, "--templates", tmp_path).status == 2


def test_an_empty_variable_of_a_script_means_the_programs_own_template(public: Path) -> None:
    assert edge_nginx(public, "--templates", "") == edge_nginx(public)


def test_an_empty_variable_of_a_script_is_no_file_of_keys(public: Path) -> None:
    ran = shopwindow("edge", "nginx", "--out", public, "--api-keys", "")
    assert (ran.status, "api-keys is needed" in ran.err) == (2, True), ran.err
