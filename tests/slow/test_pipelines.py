"""The pipelines that `init` writes, run step by step in a repository: what a reviewer gets, and what is left alone."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from harness.commands import SOURCES
from harness.program import history, shopwindow
from shopwindow.starter.begin import PIPELINES

WHEEL = f"https://files.example/shopwindow-0.3.0-py3-none-any.whl#sha256={'0123456789abcdef' * 4}"
EVENT = "content/events/1-open-house.yaml"

# What is installed already is not installed again. `gh` is GitHub's program: here comments are a file.
STAND_INS = {
    "pip": "#!/bin/sh\n",
    "shopwindow": f'#!/bin/sh\nexec {sys.executable} -m shopwindow "$@"\n',
    "gh": f"""#!{sys.executable}
import json, os, subprocess, sys
arguments = sys.argv[1:]
assert arguments.pop(0) == "api" and os.environ["GH_TOKEN"], sys.argv
path = next(one for one in arguments if one.startswith("repos/"))
file = os.environ["COMMENTS"]
comments = json.load(open(file))
if "--jq" in arguments:
    assert path == "repos/shop/content/issues/7/comments", path
    expression = arguments[arguments.index("--jq") + 1]
    subprocess.run(["jq", "-r", expression], input=json.dumps(comments), text=True, check=True)
else:
    body = open(arguments[arguments.index("-F") + 1].removeprefix("body=@")).read()
    if "PATCH" in arguments:
        next(one for one in comments if path == f"repos/shop/content/issues/comments/{{one['id']}}")["body"] = body
    else:
        assert path == "repos/shop/content/issues/7/comments", path
        comments.append({{"id": 100 + len(comments), "user": {{"type": "Bot"}}, "body": body}})
    json.dump(comments, open(file, "w"))
""",
}


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example", "-c", "protocol.file.allow=always")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@dataclass
class Change:
    """A repository with a pipeline, and a working copy of it on a branch that changes something."""

    host: str
    origin: Path
    copy: Path
    env: dict[str, str] = field(default_factory=dict)

    @property
    def pipeline(self) -> Any:
        return yaml.safe_load((self.copy / PIPELINES[self.host][1]).read_text())

    def run(self, script: str, folder: str = ".", **env: str) -> subprocess.CompletedProcess[str]:
        """Run a step as the host does: with the first failing command it ends."""
        command = ["bash", "-eo", "pipefail", "-c", script]
        variables = {**os.environ, **self.env, **env}
        return subprocess.run(
            command, cwd=self.copy / folder, env=variables, capture_output=True, text=True, check=False
        )

    def edit(self, old: str, new: str) -> None:
        file = self.copy / EVENT
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))


@contextmanager
def change(host: str, tmp_path: Path) -> Iterator[Change]:
    origin, copy, programs = tmp_path / "origin", tmp_path / "copy", tmp_path / "programs"
    assert shopwindow("init", origin, "--ci", host, "--wheel", WHEEL).status == 0
    app = origin / "content/apps/iphone.yaml"
    app.write_text(re.sub("- [0-9a-f]{64}", f"- {'ab' * 32}", app.read_text()))  # a key of its own
    git(tmp_path, "init", "-b", "main", "origin")
    git(origin, "add", ".")
    git(origin, "commit", "-m", "Begin")
    git(tmp_path, "clone", f"file://{origin}", "copy")
    git(copy, "switch", "-c", "change")
    programs.mkdir()
    for name, text in STAND_INS.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    yield Change(host, origin, copy, {"PATH": path, "PYTHONPATH": str(SOURCES)})


CHECK = "shopwindow check --format github ${GITHUB_BASE_REF:+--against FETCH_HEAD}"
REPORT = "gl-code-quality-report.json"


def named(steps: list[Any]) -> Mapping[str, str]:
    """The scripts of a job of GitHub's by their step's name, else by the script."""
    return {step.get("name", step["run"]): step["run"] for step in steps if "run" in step}


def pull_request(started: Change, summary: Path) -> list[tuple[str, int]]:
    """Run the steps of the job `release` until one fails, as for a pull request: name and status of each."""
    ended = []
    for name, script in named(started.pipeline["jobs"]["release"]["steps"]).items():
        ran = started.run(script, GITHUB_BASE_REF="main", GITHUB_STEP_SUMMARY=str(summary))
        ended.append((name, ran.returncode))
        if ran.returncode:
            break
    return ended


def test_a_pull_request_gets_pages_and_one_comment_that_is_written_again(tmp_path: Path) -> None:
    if not shutil.which("jq"):
        pytest.skip("jq, which GitHub's own program has built in, is not here")
    summary, comments = tmp_path / "summary.md", tmp_path / "comments.json"
    comments.write_text(json.dumps([{"id": 1, "user": {"type": "User"}, "body": "<!-- shopwindow: what changes -->"}]))
    with change("github", tmp_path) as started:
        (comment,) = named(started.pipeline["jobs"]["comment"]["steps"]).values()
        pages = started.copy / "pages"
        started.edit("Open House", "Breakfast <b>for all</b>")
        assert {status for _, status in pull_request(started, summary)} == {0}
        env = {"GH_TOKEN": "t", "NUMBER": "7", "GITHUB_REPOSITORY": "shop/content", "COMMENTS": str(comments)}
        assert started.run(comment, folder="pages", **env).returncode == 0
        assert "&#60;b&#62;for all" in json.loads(comments.read_text())[1]["body"]
        (pages / "difference.md").write_text("### 2 documents changed\n")
        assert started.run(comment, folder="pages", **env).returncode == 0
    first, own = json.loads(comments.read_text())
    assert (first["id"], first["body"]) == (1, "<!-- shopwindow: what changes -->")
    assert own["body"] == "<!-- shopwindow: what changes -->\n\n### 2 documents changed\n"
    assert summary.read_text().startswith("### 1 document changed, ")
    assert {"index.html", "compare.html", "calendar.html"} <= {page.name for page in pages.iterdir()}
    assert "Breakfast &lt;b&gt;for all" in (pages / "compare.html").read_text()
    with tarfile.open(started.copy / "release.tar") as tar:
        assert len({name.split("/")[2] for name in tar.getnames() if name.startswith("./releases/")}) == 1


def test_a_pull_request_with_a_problem_has_pages_and_fails(tmp_path: Path) -> None:
    with change("github", tmp_path) as started:
        started.edit("name: ", "nmae: ")
        ended = pull_request(started, tmp_path / "summary.md")
        assert ended[-1] == (CHECK, 1)
        assert "nmae" in (started.copy / "pages/index.html").read_text()
        comment = (started.copy / "pages/difference.md").read_text().splitlines()
        assert comment[:2] == ["### 1 problem", ""]
        assert comment[2].startswith(f"    {EVENT}:")
        job = started.pipeline["jobs"]["comment"]
    assert job["if"].startswith("${{ !cancelled() && ")  # also where the check failed


def test_a_target_branch_that_cannot_be_built_is_said(tmp_path: Path) -> None:
    with change("github", tmp_path) as started:
        event = started.origin / EVENT
        event.write_text(event.read_text().replace("name: ", "nmae: "))
        git(started.origin, "commit", "-am", "Break it")
        assert {status for _, status in pull_request(started, tmp_path / "summary.md")} == {0}
        words = "The target branch cannot be built, so nothing can be compared with it.\n"
        assert (tmp_path / "summary.md").read_text() == words


def test_only_the_comment_may_write_and_runs_no_code_of_the_change(tmp_path: Path) -> None:
    with change("github", tmp_path) as started:
        pipeline = started.pipeline
    assert pipeline["permissions"] == {"contents": "read"}
    jobs = pipeline["jobs"]
    assert {name: job.get("permissions") for name, job in jobs.items()} == {
        "release": None,
        "comment": {"pull-requests": "write"},
        "publish": None,
        "renew": None,
    }
    assert "head.repo.full_name == github.repository" in jobs["comment"]["if"]
    assert not [step for step in jobs["comment"]["steps"] if "checkout" in step.get("uses", "")]
    assert not [
        script for script in named(jobs["comment"]["steps"]).values() if "shopwindow " in script.split("-->")[1]
    ]


# -- GitLab ------------------------------------------------------------------------------------------------------


@contextmanager
def notes_of_a_merge_request() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """The part of GitLab's interface that a pipeline uses: its address, and the notes that it was given."""
    author = {"id": 30, "username": "project_3_bot"}
    notes: list[dict[str, Any]] = [
        {"id": 1, "body": "Looks good", "author": {"id": 5}},
        {"id": 2, "body": "<!-- shopwindow: what changes -->\n\nNothing at all", "author": {"id": 5}},
    ]

    class Service(BaseHTTPRequestHandler):
        def answer(self) -> None:
            path, _, _ = self.path.partition("?")
            body = parse_qs(self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()).get("body", [""])[0]
            base = "/projects/3/merge_requests/7/notes"
            value: Any = None
            status = 404
            if self.headers["PRIVATE-TOKEN"] != "token":
                status = 401
            elif self.command == "GET" and path == "/user":
                status, value = 200, author
            elif self.command == "GET" and path == base:
                status, value = 200, notes
            elif self.command == "POST" and path == base:
                notes.append({"id": 40 + len(notes), "body": body, "author": author})
                status = 201
            elif self.command == "PUT" and path.startswith(f"{base}/"):
                next(note for note in notes if note["id"] == int(path.rpartition("/")[2]))["body"] = body
                status = 200
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = do_PUT = answer  # noqa: N815 # names of http.server

        def log_message(self, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", notes
    finally:
        server.shutdown()
        server.server_close()


def test_a_merge_request_gets_pages_and_with_a_token_one_note(tmp_path: Path) -> None:
    with change("gitlab", tmp_path) as started, notes_of_a_merge_request() as (api, notes):
        script = started.pipeline["release"]["script"]
        merge_request = {
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_API_V4_URL": api,
        }
        started.edit("Open House", "Breakfast for two")
        ran = started.run("\n".join(script), **merge_request)
        assert (ran.returncode, len(notes)) == (0, 2), ran
        assert "Breakfast for two" in (started.copy / "pages/compare.html").read_text()
        bodies = []
        for text in ((started.copy / "pages/difference.md").read_text(), "### 2 documents changed & more\n"):
            (started.copy / "pages/difference.md").write_text(text)
            ran = started.run(script[-1], **merge_request, COMMENT_TOKEN="token")
            assert ran.returncode == 0, ran
            bodies.append(notes[-1]["body"])
    assert [note["id"] for note in notes] == [1, 2, 42]
    assert notes[1]["body"].endswith("Nothing at all")  # somebody else's, with the same mark
    assert bodies[0].startswith("<!-- shopwindow: what changes -->\n\n### 1 document changed, ")
    assert bodies[1] == "<!-- shopwindow: what changes -->\n\n### 2 documents changed & more\n"


def test_the_comment_of_a_merge_request_counts_the_problems(tmp_path: Path) -> None:
    with change("gitlab", tmp_path) as started, notes_of_a_merge_request() as (api, notes):
        merge_request = {
            "CI_MERGE_REQUEST_IID": "7",
            "CI_MERGE_REQUEST_PROJECT_ID": "3",
            "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
            "CI_API_V4_URL": api,
        }
        started.edit("name: ", "nmae: ")
        app = started.copy / "content/apps/_shared.yaml"
        app.write_text(app.read_text().replace("networkTimeIntervalCheck: ", "networkTimeIntervalChek: "))
        script = "\n".join(started.pipeline["release"]["script"])
        ran = started.run(script, **merge_request, COMMENT_TOKEN="token")
        assert ran.returncode == 1, ran
        assert not (started.copy / "dist").exists()
    mark, _, first, _, *places = notes[-1]["body"].splitlines()
    assert (mark, first) == ("<!-- shopwindow: what changes -->", f"### {len(places)} problems")
    assert [place for place in places if not place.startswith("    content/")] == []


@pytest.mark.parametrize("host", ["github", "gitlab"])
def test_a_change_of_a_configuration_without_another_version_is_a_remark(host: str, tmp_path: Path) -> None:
    with change(host, tmp_path) as started:
        file = started.copy / "content/apps/_shared.yaml"
        file.write_text(file.read_text().replace("networkTimeIntervalCheck: ", "networkTimeIntervalCheck: 1"))
        if host == "github":
            started.run("git fetch -q --depth 1 origin main")
            ran = started.run(CHECK, GITHUB_BASE_REF="main")
            assert "::warning file=content/apps/iphone.yaml" in ran.stdout
            assert "title=app.configVersion" in ran.stdout
            assert "app.configVersion" not in started.run(CHECK).stdout  # pushed: there is no target branch
        else:
            variables = {"CI_MERGE_REQUEST_IID": "7", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main"}
            ran = started.run("\n".join(started.pipeline["release"]["script"]), **variables)
            (remark,) = json.loads((started.copy / REPORT).read_text())
            assert (remark["check_name"], remark["severity"]) == ("app.configVersion", "minor")
        assert ran.returncode == 0, ran


def test_what_is_pushed_to_the_branch_itself_is_compared_with_nothing(tmp_path: Path) -> None:
    with change("gitlab", tmp_path) as started:
        assert started.run("\n".join(started.pipeline["release"]["script"])).returncode == 0
        assert not (started.copy / "pages").exists()
    pipeline = yaml.safe_load((SOURCES / "shopwindow/starter/files/github.yml").read_text())
    comparing = [step for step in pipeline["jobs"]["release"]["steps"] if "FETCH_HEAD" in step.get("run", "")]
    assert CHECK in [step["run"] for step in comparing]  # by itself it compares where there is a target branch
    assert [step["if"] for step in comparing if step["run"] != CHECK] == ["github.event_name == 'pull_request'"] * 3


# -- publishing ------------------------------------------------------------------------------------------------------


def publishing(started: Change, name: str = "publish") -> str:
    """The script that publishes, or that of another job; what comes before it installs the program."""
    job = started.pipeline["jobs" if started.host == "github" else name]
    steps = list(named(job[name]["steps"]).values()) if started.host == "github" else job["script"]
    assert steps[:-1] == ["pip install --require-hashes --only-binary :all: -r requirements.txt"]
    return str(steps[-1])


def configure(started: Change, production: str) -> None:
    """Add the target `production` to site.yaml."""
    site = started.copy / "content/site.yaml"
    site.write_text(f"{site.read_text()}targets:\n  production: {production}\n")


@pytest.mark.parametrize("host", PIPELINES)
def test_what_is_on_main_is_published_rolled_back_and_published_again(tmp_path: Path, host: str) -> None:
    target = tmp_path / "target"
    pinned = 0 if host == "github" else 3  # GitLab takes 3 for a warning itself
    with change(host, tmp_path) as started:
        configure(started, f"{{to: 'file://{target}', purge: 'command:cat', follow: 0s}}")  # no host pulls
        script = publishing(started)

        def run(rollback: str = "") -> tuple[int, str]:
            ran = started.run(script, TARGET="production", ROLLBACK=rollback)
            return ran.returncode, ran.stdout + ran.stderr

        def pointed() -> dict[str, Any]:
            pointer: dict[str, Any] = json.loads((target / "current.json").read_text())
            pointer["id"] = pointer["chain"][0]["id"]
            return pointer

        assert run()[0] == 0
        first = pointed()["id"]
        started.edit("Open House", "Breakfast for two")
        status, said = run()
        second = pointed()["id"]
        assert (status, "URLs purged" in said, first != second) == (0, True, True)
        assert run(rollback=first)[0] == 0
        assert (pointed()["id"], pointed()["pinned"]) == (first, True)
        started.edit("Breakfast for two", "Breakfast for three")
        status, said = run()
        assert (status, "not activated" in said) == (pinned, True)
        assert run(rollback="none")[0] == 0
        assert pointed()["id"] not in (first, second)
        started.edit("name: ", "nmae: ")
        status, said = run()
        assert (status, "nmae" in said) == (1, True)


@pytest.mark.parametrize("host", PIPELINES)
def test_a_fresh_runner_takes_over_what_is_at_the_target(tmp_path: Path, host: str) -> None:
    """It builds what another would, and answers nothing anew that is there."""
    with change(host, tmp_path) as started:
        configure(started, f"{{to: 'file://{tmp_path / 'target'}', follow: 0s}}")
        ran = started.run(publishing(started), TARGET="production", ROLLBACK="")
        assert (ran.returncode, "builds all" in ran.stdout) == (0, True), ran
        shutil.rmtree(started.copy / "dist")
        ran = started.run(publishing(started), TARGET="production", ROLLBACK="")
        assert (ran.returncode, "builds all" in ran.stdout) == (0, False), ran
        assert "it is current already" in ran.stdout + ran.stderr
        shutil.rmtree(started.copy / "dist")
        started.edit("Open House", "Breakfast for two")
        ran = started.run(publishing(started), TARGET="production", ROLLBACK="")
        assert ran.returncode == 0, ran
        first, *others = history(started.copy / "dist")
        # A pull makes the current release the current one here before it fetches what follows.
        assert [line["action"] for line in (first, *others)] == ["pull", "pull", "build"]
        there = {path.name for path in (started.copy / "dist/releases").iterdir() if len(path.name) > 8}
        assert there == {first["id"], *(link["id"] for line in others for link in line["chain"])}


@pytest.mark.parametrize("host", PIPELINES)
def test_what_changes_by_itself_in_the_next_days_is_built_ahead(tmp_path: Path, host: str) -> None:
    """So no run is needed when a window opens."""
    tomorrow = datetime.now(UTC) + timedelta(days=1)
    with change(host, tmp_path) as started:
        configure(started, f"{{to: 'file://{tmp_path / 'target'}', follow: 0s}}")
        started.edit("publish:\n", f"publish:\n  from: {tomorrow:%Y-%m-%dT%H:%M:%SZ}\n")
        ran = started.run(publishing(started), TARGET="production", ROLLBACK="")
        assert (ran.returncode, "  ahead: release " in ran.stdout) == (0, True), ran


@pytest.mark.parametrize("host", PIPELINES)
def test_with_keys_a_release_is_signed_and_renewed_also_where_nothing_builds(tmp_path: Path, host: str) -> None:
    target = tmp_path / "target"
    with change(host, tmp_path) as started:
        configure(started, f"{{to: 'file://{target}', keys: keys}}")
        shopwindow("keys", "init", started.copy / "keys")
        keys = {}
        for path in (started.copy / "keys").glob("*.pem"):
            role, text = path.name.partition("-")[0], path.read_text()
            keys[f"SHOPWINDOW_KEY_{role.upper()}"] = text if host == "github" else b64encode(text.encode()).decode()
            path.unlink()
        timestamp = keys["SHOPWINDOW_KEY_TIMESTAMP"]

        def run(job: str, **secrets: str) -> tuple[int, int]:
            """Run a job's script; its status, and the number of the timestamp at the target then."""
            ran = started.run(publishing(started, job), TARGET="production", ROLLBACK="", **secrets)
            return ran.returncode, json.loads((target / "metadata/timestamp.json").read_text())["signed"]["version"]

        assert run("publish", **keys) == (0, 1)
        started.edit("name: ", "nmae: ")  # nothing can be built
        assert run("renew", SHOPWINDOW_KEY_TIMESTAMP=timestamp) == (0, 2)
        assert run("renew", SHOPWINDOW_KEY_TIMESTAMP="") == (0, 2)
        shopwindow("keys", "rotate", started.copy / "keys", "targets")  # now holders of root keys have to sign
        assert run("renew", SHOPWINDOW_KEY_TIMESTAMP=timestamp) == (1, 3)


def test_only_the_default_branch_is_published_and_one_run_at_a_time() -> None:
    github, gitlab = (
        yaml.safe_load((SOURCES / "shopwindow/starter/files" / name).read_text()) for name, _ in PIPELINES.values()
    )
    is_default = "github.ref_name == github.event.repository.default_branch"
    assert is_default in github["jobs"]["publish"]["if"]
    assert is_default in github["jobs"]["release"]["if"]
    assert "main" not in str(github)
    assert {github["jobs"][name]["concurrency"] for name in ("publish", "renew")} == {"publish"}
    assert github["jobs"]["release"]["concurrency"] == "release-${{ github.ref }}"
    steps = [step for job in github["jobs"].values() for step in job["steps"]]
    setups = [step for step in steps if "setup-python" in step.get("uses", "")]
    assert {(step["with"]["cache"], step["with"]["cache-dependency-path"]) for step in setups} == {
        ("pip", "requirements.txt")
    }
    assert gitlab["cache"] == {"key": {"files": ["requirements.txt"]}, "paths": [".cache/pip"]}
    assert gitlab["renew"]["resource_group"] == "publish"
    assert github["jobs"]["renew"]["if"] == "github.event_name == 'schedule' && vars.TARGET"
    assert github[True]["schedule"] == [{"cron": "31 4 * * *"}]  # `on`, as YAML reads it; nothing runs more often
    assert gitlab["renew"]["needs"] == []  # whatever becomes of the build
    checkout = github["jobs"]["publish"]["steps"][0]
    assert checkout["with"] == {"ref": "${{ github.ref_name }}"}
    assert gitlab["publish"]["rules"] == [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH && $TARGET"}]
    assert (gitlab["publish"]["resource_group"], gitlab["publish"]["allow_failure"]) == ("publish", {"exit_codes": [3]})


# -- what runs in a pipeline -----------------------------------------------------------------------------------------


def texts(node: Any) -> list[str]:
    """Every text of a document."""
    if isinstance(node, dict):
        return [text for part in node.values() for text in texts(part)]
    if isinstance(node, list):
        return [text for part in node for text in texts(part)]
    return [node] if isinstance(node, str) else []


def parsed(host: str) -> Any:
    return yaml.safe_load((SOURCES / "shopwindow/starter/files" / PIPELINES[host][0]).read_text())


@pytest.mark.parametrize("host", PIPELINES)
def test_nothing_is_installed_without_its_hash(host: str) -> None:
    lines = [line.strip() for text in texts(parsed(host)) for line in text.splitlines()]
    installs = [line for line in lines if re.search(r"\bpip3? install\b", line)]
    assert installs == ["pip install --require-hashes --only-binary :all: -r requirements.txt"] * 3


def test_actions_stand_with_their_commits() -> None:
    used = [step["uses"] for job in parsed("github")["jobs"].values() for step in job["steps"] if "uses" in step]
    assert len(used) > 4
    assert [action for action in used if not re.fullmatch("[^@]+@[0-9a-f]{40}", action)] == []


def test_what_a_pipeline_installs_can_publish(tmp_path: Path) -> None:
    for options, can in (((), False), (("--ci", "github"), True)):
        folder = tmp_path / str(can)
        assert shopwindow("init", folder, *options, "--wheel", WHEEL).status == 0
        lines = (folder / "requirements.txt").read_text().splitlines()
        assert any(line.startswith("shopwindow[delivery] @ https://") for line in lines) is can
        assert any(line.startswith("obstore==") for line in lines) is can


def test_a_shell_understands_the_script_that_locks() -> None:
    done = subprocess.run(["sh", "-n", SOURCES.parent / "examples/ci/lock.sh"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
