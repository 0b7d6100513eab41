"""`shopwindow init`: what a content repository begins with, and what stands in its way."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.content import SAMPLE
from harness.program import Ran, current, shopwindow, tree
from shopwindow import library
from shopwindow.problems import Misuse
from shopwindow.shop import INTERFACE
from shopwindow.starter.begin import DEVCONTAINER, MISSING, PIPELINES, STARTS, Beginning, write
from shopwindow.starter.locked import requirements, wheel_of

DIGEST = "0123456789abcdef" * 4
WHEEL = f"https://files.example/shopwindow-0.3.0-py3-none-any.whl#sha256={DIGEST}"
AROUND = {"README.md", ".gitignore", "requirements.txt"}


def init(folder: Path, *options: str) -> Ran:
    """Run `shopwindow init` for a folder."""
    return shopwindow("init", folder, *options)


@pytest.mark.parametrize("start", STARTS)
def test_what_init_writes_is_checked_and_built_without_an_option(tmp_path: Path, start: str) -> None:
    began = init(tmp_path / "shop", "--from", start)
    assert (began.status, began.err) == (0, "")

    checked = shopwindow("check", cwd=tmp_path / "shop")
    built = shopwindow("build", cwd=tmp_path / "shop")

    assert (checked.status, built.status) == (0, 0)
    assert len(current(tmp_path / "shop" / "dist")) == 64


def test_the_sample_is_the_department_store(tmp_path: Path) -> None:
    init(tmp_path, "--from", "sample")
    assert tree(tmp_path / "content") == tree(SAMPLE)


def test_the_minimal_shop_has_one_document_of_each_sort(tmp_path: Path) -> None:
    init(tmp_path)
    documents = library.check(INTERFACE, tmp_path / "content").documents
    assert documents is not None
    counts = {kind.name: len(documents.of(kind.name)) for kind in INTERFACE.kinds if not kind.streamed}
    assert counts == {"app": 1, "store": 1, "event": 1, "promotion": 1, "contract": 0}
    assert len((tmp_path / "content/sample-keys.txt").read_text().splitlines()) == 1


def test_the_demonstration_key_is_that_of_the_minimal_app(tmp_path: Path) -> None:
    init(tmp_path)
    ran = shopwindow("build", cwd=tmp_path)
    assert ran.status == 0
    configured = shopwindow("edge", "nginx", "--api-keys", "content/sample-keys.txt", cwd=tmp_path)
    assert configured.status == 0


def test_the_files_around_content_are_these(tmp_path: Path) -> None:
    init(tmp_path)
    assert set(tree(tmp_path)) - {f"content/{name}" for name in tree(tmp_path / "content")} == AROUND


def test_the_readme_names_every_kind_and_its_folder(tmp_path: Path) -> None:
    init(tmp_path, "--from", "sample")
    readme = (tmp_path / "README.md").read_text()
    kinds = library.declared(INTERFACE, SAMPLE).interface.kinds
    assert "banner" in [kind.name for kind in kinds]
    assert [kind.name for kind in kinds if f"`content/{kind.folder}/`" not in readme] == []
    assert "@" not in readme


# -- what stands in the way ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "occupied", ["README.md", "content/site.yaml", "requirements.txt", ".gitignore", ".github/workflows/content.yml"]
)
def test_what_exists_is_named_and_nothing_is_written(tmp_path: Path, occupied: str) -> None:
    path = tmp_path / occupied
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("mine\n")
    ran = init(tmp_path, "--ci", "github")
    named = tmp_path / "content" if occupied.startswith("content/") else path
    assert ran.status == 2
    assert ran.err.splitlines()[-1] == f"Error: {named} is there already, and nothing is written over it"
    assert tree(tmp_path) == {occupied: b"mine\n"}


def test_content_of_somebody_is_not_mixed_with_ours(tmp_path: Path) -> None:
    (tmp_path / "content" / "stores").mkdir(parents=True)
    (tmp_path / "content" / "stores" / "mine.yaml").write_text("storeId: 1\n")
    assert init(tmp_path).status == 2
    assert set(tree(tmp_path)) == {"content/stores/mine.yaml"}


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / ".github").write_text("")
    ran = init(tmp_path, "--ci", "github")
    assert (ran.status, f"{tmp_path / '.github'} is there already" in ran.err) == (2, True)


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "README.md").symlink_to(tmp_path / "elsewhere")
    assert init(tmp_path).status == 2
    assert not (tmp_path / "elsewhere").exists()


def test_a_repository_without_content_takes_the_files_in(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_text("mine\n")
    (tmp_path / "content").mkdir()
    assert init(tmp_path).status == 0
    assert (tmp_path / "LICENSE").read_text() == "mine\n"


def test_content_of_another_interface_is_refused(tmp_path: Path) -> None:
    code = {"PYTHONPATH": os.pathsep.join([*sys.path, str(SAMPLE.parent / "examples/library")])}
    ran = shopwindow("--interface", "library.interface:INTERFACE", "init", tmp_path / "shop", env=code)
    assert ran.status == 2
    assert "minimal is no content of this interface" in ran.err
    assert not (tmp_path / "shop").exists()


def test_the_library_refuses_what_there_is_not(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="content to start from is minimal or sample"):
        library.start(INTERFACE, tmp_path, Beginning(start="large"))
    with pytest.raises(Misuse, match="there are pipelines for github, gitlab"):
        library.start(INTERFACE, tmp_path, Beginning(pipeline="jenkins"))
    assert tree(tmp_path) == {}


# -- the program -----------------------------------------------------------------------------------------------------


def test_requirements_name_the_wheel_and_its_hash(tmp_path: Path) -> None:
    init(tmp_path, "--wheel", WHEEL)
    address, _, digest = WHEEL.partition("#sha256=")
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if "shopwindow" in line] == [f"shopwindow @ {address} --hash=sha256:{digest}"]


def test_requirements_pin_what_the_plain_program_needs_with_hashes() -> None:
    entries = re.findall(r"^([a-z][a-z0-9-]*)==\S+ \\\n    --hash=sha256:", requirements(None), re.MULTILINE)
    direct = {"click", "jinja2", "jsonschema", "jsonschema-rs", "lxml", "orjson", "pyyaml", "tzdata"}
    assert direct | {"gunicorn", "uvicorn-worker", "httptools"} < set(entries)
    assert {"markupsafe", "referencing", "rpds-py", "attrs"} < set(entries)
    assert set(entries) & {"pytest", "mypy", "psycopg", "obstore"} == set()


def test_without_a_wheel_its_line_is_a_comment(tmp_path: Path) -> None:
    init(tmp_path)
    lines = (tmp_path / "requirements.txt").read_text().splitlines()
    assert [line for line in lines if "shopwindow" in line and not line.startswith("#")] == []


@pytest.mark.parametrize(
    "text",
    [
        "shopwindow.whl",
        "https://files.example/shopwindow.whl",
        f"https://files.example/shopwindow.zip#sha256={DIGEST}",
        f"https://files.example/shopwindow.whl#sha256={DIGEST[1:]}",
        f"https://files.example/a b.whl#sha256={DIGEST}",
        f"ftp://files.example/shopwindow.whl#sha256={DIGEST}",
    ],
)
def test_a_wheel_without_address_or_hash_is_refused(text: str) -> None:
    with pytest.raises(Misuse, match="must be the https:, http: or file: URL"):
        wheel_of(text)


# -- pipelines -------------------------------------------------------------------------------------------------------


def steps(host: str, folder: Path) -> list[str]:
    """Return the commands of a pipeline that init wrote."""
    pipeline = yaml.safe_load((folder / PIPELINES[host][1]).read_text())
    if host == "github":
        return [step["run"] for step in pipeline["jobs"]["release"]["steps"] if "run" in step]
    return list(pipeline["release"]["script"])


@pytest.mark.parametrize("host", PIPELINES)
def test_a_pipeline_checks_builds_and_attaches_the_release(tmp_path: Path, host: str) -> None:
    init(tmp_path, "--ci", host, "--wheel", WHEEL)
    script = "\n".join(steps(host, tmp_path))
    assert re.findall(r"pip install (.*)", script) == ["--require-hashes --only-binary :all: -r requirements.txt"]
    commands = [script.index(command) for command in ("--require-hashes", "shopwindow check", "shopwindow build")]
    assert commands == sorted(commands)
    assert "tar -cf release.tar -C dist ." in script
    text = (tmp_path / PIPELINES[host][1]).read_text()
    assert "release.tar" in text.partition("artifact")[2]


@pytest.mark.parametrize("host", PIPELINES)
def test_a_pipeline_without_a_wheel_says_in_one_sentence_what_is_missing(tmp_path: Path, host: str) -> None:
    init(tmp_path / "without", "--ci", host)
    init(tmp_path / "with", "--ci", host, "--wheel", WHEEL)
    ended = {}
    for case in ("without", "with"):
        command = ["bash", "-euc", steps(host, tmp_path / case)[0]]
        ended[case] = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path / case, check=False)
    assert (ended["with"].returncode, ended["with"].stdout) == (0, "")
    assert ended["without"].returncode == 1
    assert ended["without"].stdout.rpartition("::")[2] == MISSING + "\n"


def test_the_annotation_is_at_the_line_that_is_commented_out(tmp_path: Path) -> None:
    init(tmp_path, "--ci", "github")
    named = re.search(r"file=requirements.txt,line=(\d+)::", (tmp_path / PIPELINES["github"][1]).read_text())
    assert named is not None
    line = (tmp_path / "requirements.txt").read_text().splitlines()[int(named[1]) - 1]
    assert line.startswith("# shopwindow[delivery] @ ")


@pytest.mark.parametrize("host", PIPELINES)
def test_the_host_is_told_who_reviews_contracts_and_the_site(tmp_path: Path, host: str) -> None:
    """Its lines are comments until teams stand in them: a host would report a team that there is not."""
    init(tmp_path, "--ci", host)
    lines = (tmp_path / f".{host}/CODEOWNERS").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == []
    owned = dict(line.removeprefix("#").split() for line in lines if line.startswith("#/"))
    folder = INTERFACE.kind["contract"].folder
    assert list(owned) == [f"/content/{folder}/", "/content/site.yaml"]
    assert all(re.fullmatch(r"@your-(org|group)/[a-z-]+", owner) for owner in owned.values())
    assert [line for line in lines if line.startswith("#[")] == (
        ["#[Contracts]", "#[Site]"] if host == "gitlab" else []
    )


# -- a container in which the preview is shown -----------------------------------------------------------------------


def container(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / DEVCONTAINER).read_text()))


def test_a_container_installs_the_wheel_and_says_where_none_is_named(tmp_path: Path) -> None:
    init(tmp_path / "with", "--devcontainer", "--wheel", WHEEL)
    init(tmp_path / "without", "--devcontainer")
    ended = {}
    for case in ("with", "without"):
        command = f'pip() {{ echo pip "$@"; }}\n{container(tmp_path / case)["postCreateCommand"]}'
        ended[case] = subprocess.run(
            ["sh", "-c", command], capture_output=True, text=True, cwd=tmp_path / case, check=False
        )
    installed = "pip install --require-hashes --only-binary :all: -r requirements.txt\n"
    assert (ended["with"].returncode, ended["with"].stdout) == (0, installed)
    assert (ended["without"].returncode, ended["without"].stdout) == (1, MISSING + "\n")


def test_a_container_shows_the_preview_at_its_port_and_at_the_forwarded_address(tmp_path: Path) -> None:
    init(tmp_path, "--devcontainer")
    written = container(tmp_path)
    command = f"shopwindow() {{ printf '%s\n' \"$@\"; }}\n{written['postAttachCommand']}"
    named = {"CODESPACE_NAME": "fuzzy-shop", "GITHUB_CODESPACES_PORT_FORWARDING_DOMAIN": "app.github.dev"}
    words = [
        subprocess.run(["sh", "-c", command], capture_output=True, text=True, env=env, check=True).stdout.split()
        for env in (named, {})
    ]
    assert words == [["preview", "--allow-host", "fuzzy-shop-4000.app.github.dev"], ["preview"]]
    assert (written["forwardPorts"], list(written["portsAttributes"])) == ([4000], ["4000"])
    assert "[default: 127.0.0.1:4000]" in shopwindow("preview", "--help").out


# -- a disk that ends in the middle --------------------------------------------------------------------------------


def test_what_cannot_be_written_whole_is_not_written(tmp_path: Path) -> None:
    long_name = "x" * 300
    with pytest.raises(OSError, match="too long"):
        write(tmp_path / "shop", {"content/a.yaml": b"a", f"content/{long_name}": b"b"})
    assert list(tmp_path.iterdir()) == []
