"""Facts about the commands `check` and `show`: what they print where, and how they end."""

import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

from harness.content import APP, ROOT, edit, unmark, write_files
from harness.content import live_documents as live
from harness.program import checked, shopwindow
from harness.waits import PATIENCE, awaited
from shopwindow.cli import main
from shopwindow.interface import formats
from shopwindow.shop import INTERFACE


@dataclass(frozen=True)
class Ended:
    """How a command ended: its status and what it printed."""

    status: int
    out: str
    err: str


Run = Callable[..., Ended]


@pytest.fixture
def run(capfd: pytest.CaptureFixture[str]) -> Run:
    """Runs the command in this process."""

    def ran(*arguments: object) -> Ended:
        with pytest.raises(SystemExit) as ended:
            main.main([str(argument) for argument in arguments], "shopwindow")
        printed = capfd.readouterr()
        return Ended(int(ended.value.code or 0), printed.out, printed.err)

    return ran


@pytest.fixture
def wrong(minimal: Path) -> Path:
    """A folder with two problems."""
    edit(
        minimal,
        ("events/one.yaml", "name: Opening", "name: 5"),
        ("stores/one.yaml", "storeId: 1\n", "storeId: 1\nstoreName: x\n"),
    )
    return minimal


TBD = ["serviceEndPoints/analyticsUrl", "serviceEndPoints/scan", "serviceEndPoints/coupons"]
TBD += ["serviceEndPoints/mobilelogs", "webServletEndPoints/addToBag", "errorMessages/configFileError"]


def marked(folder: Path) -> list[str]:
    """Where the values of TBD stand: `path:line:column`."""
    names = [place.rpartition("/")[2] for place in TBD]
    return edit(folder, *(("apps/one.yaml", f"{name}: TBD", f"{name}: ‸TBD") for name in names))


def children(process: int) -> list[int]:
    """The processes that a process has forked and that are still at work."""
    return [int(number) for number in Path(f"/proc/{process}/task/{process}/children").read_text().split()]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc names the children of a process")
@pytest.mark.parametrize("command", ["check", "build"])
def test_a_process_that_is_killed_is_no_fault_of_the_content(minimal: Path, command: str) -> None:
    one = (minimal / "events/one.yaml").read_text()
    write_files(minimal, {"events/long.yaml": "# a remark\n" * 200_000 + one})
    for number in range(400):  # a reader is at work for several seconds
        os.link(minimal / "events/long.yaml", minimal / f"events/long-{number}.yaml")
    started = subprocess.Popen(
        [sys.executable, "-m", "shopwindow", command, "--content", minimal, "--jobs", "2"],
        cwd=minimal.parent,
        encoding="utf-8",
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    readers = awaited(lambda: children(started.pid))
    os.kill(readers[0], signal.SIGKILL)
    words = "a process that shared the work was ended from outside; is there enough memory?"
    printed = started.communicate(timeout=PATIENCE)
    assert Ended(started.returncode, *printed) == Ended(4, "", f"shopwindow: {words}\n")
    if command == "build":
        last = json.loads((minimal.parent / "dist/last-build.json").read_bytes())
        assert (last["status"], last["description"]) == ("FAILED", words)


# -- check: statuses and formats ---------------------------------------------------------------------------------


def test_content_without_fault_ends_with_0_and_a_summary(minimal: Path, run: Run) -> None:
    lines = [f"  {minimal}/{at}: config/{name}" for at, name in zip(marked(minimal), TBD, strict=True)]
    summary = ["6 values still say TBD:", *lines, f"{minimal}: 5 files, nothing wrong", ""]
    assert run("check", "--content", minimal) == Ended(0, "\n".join(summary), "")
    assert run("check", "--content", minimal, "--format", "github") == Ended(0, "\n".join(summary), "")


def test_without_an_option_the_folder_is_content(minimal: Path) -> None:
    ran = shopwindow("check", cwd=minimal.parent)
    assert (ran.status, ran.out.splitlines()[-1]) == (0, "content: 5 files, nothing wrong")


def test_problems_end_with_1_and_a_line_each(wrong: Path, run: Run) -> None:
    ended = run("check", "--content", wrong)
    lines = ended.out.splitlines()
    assert ended.status == 1
    assert lines[0].startswith(f"{wrong}/events/one.yaml:4:7: name: 5 is not text (Name of the event")
    assert lines[1].startswith(f"{wrong}/stores/one.yaml:2:1: storeName: 'storeName' is not known here; allowed: ")
    assert (len(lines), ended.err.splitlines()[0]) == (2, "2 problems")


def test_problems_as_json_are_all_that_is_printed(wrong: Path, minimal: Path, run: Run) -> None:
    ended = run("check", "--content", wrong, "--format", "json")
    assert (ended.status, ended.err) == (1, "")
    told = json.loads(ended.out)["problems"]
    assert [(each["path"], each["line"], each["column"], each["rule"], each["pointer"]) for each in told] == [
        (f"{wrong}/events/one.yaml", 4, 7, "schema.type", "/name"),
        (f"{wrong}/stores/one.yaml", 2, 1, "schema.additionalProperties", "/storeName"),
    ]


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_for_programs_there_is_no_summary(minimal: Path, run: Run, form: str) -> None:
    ended = run("check", "--content", minimal, "--format", form)
    assert (ended.status, ended.err) == (0, "")
    printed = json.loads(ended.out)
    assert printed == {"problems": []} or printed["runs"][0]["results"] == []


def test_problems_as_annotations(wrong: Path, run: Run) -> None:
    ended = run("check", "--content", wrong, "--format", "github")
    assert (ended.status, ended.err) == (1, "")
    assert [line.split("::")[1] for line in ended.out.splitlines()] == [
        f"error file={wrong}/events/one.yaml,line=4,col=7,endLine=4,endColumn=7,title=schema.type",
        f"error file={wrong}/stores/one.yaml,line=2,col=1,endLine=2,endColumn=9,title=schema.additionalProperties",
    ]


def test_problems_as_sarif(wrong: Path, run: Run) -> None:
    ended = run("check", "--content", wrong, "--format", "sarif")
    assert (ended.status, ended.err) == (1, "")
    results = json.loads(ended.out)["runs"][0]["results"]
    assert [result["ruleId"] for result in results] == ["schema.type", "schema.additionalProperties"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--content", "nowhere"], "--content nowhere: there is no such folder"),
        (["--format", "xml"], "'xml' is not one of 'text', 'lines', 'json', 'github', 'sarif'"),
        (["--jobs", "0"], "0 is not in the range"),
        (["--jobs", "two"], "'two' is not a valid integer"),
        (["--conten", "x"], "No such option"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_wrong_use_ends_with_2(minimal: Path, run: Run, arguments: list[str], words: str) -> None:
    ended = run("check", *([] if "--content" in arguments else ["--content", minimal]), *arguments)
    assert (ended.status, ended.out) == (2, "")
    assert words in ended.err


def test_python_m_shopwindow_is_the_command(wrong: Path) -> None:
    command = [sys.executable, "-m", "shopwindow", "check", "--content", str(wrong), "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert (done.returncode, done.stdout.count("\n"), done.stderr.splitlines()) == (
        1,
        2,
        ["2 problems", "`shopwindow rule NAME` explains schema.type, schema.additionalProperties"],
    )


def on_a_terminal(content: Path, *options: str, command: str = "check", **variables: str) -> tuple[int, str]:
    """Return the exit status of a command on a terminal, and all that it printed there."""
    ours, theirs = pty.openpty()
    command_line = [sys.executable, "-m", "shopwindow", command, "--content", str(content), *options]
    usual = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    variables = {**usual, "TERM": "xterm", "COLUMNS": "100", **variables}
    status = subprocess.run(command_line, stdout=theirs, stderr=theirs, env=variables).returncode
    os.close(theirs)
    printed = b""
    with os.fdopen(ours, "rb", buffering=0) as terminal, suppress(OSError):  # its other side is closed
        while data := terminal.read(65_536):
            printed += data
    return status, printed.decode().replace("\r\n", "\n")


def test_on_a_terminal_each_problem_has_an_excerpt(wrong: Path) -> None:
    status, printed = on_a_terminal(wrong)
    plain = re.sub("\x1b[^m]*[mK]", "", printed).replace("\r", "")
    assert (status, plain.splitlines()[-2:]) == (1, ["check --fix writes 1 fix", "2 problems"])
    assert plain != printed
    assert "\n        4 | name: 5\n          |       ^\n       at  name\n    found  5 is not text\n" in plain
    assert "\n      fix  put 5 in quotes\n" in plain
    assert "\n     more  shopwindow rule schema.type\n" in plain


def test_without_colors_the_layout_is_the_same(wrong: Path) -> None:
    _, colored = on_a_terminal(wrong)
    status, printed = on_a_terminal(wrong, NO_COLOR="1")
    assert (status, printed) == (1, re.sub("\x1b\\[[0-9;]*m", "", colored))
    assert re.search("\x1b\\[[0-9;]*m", printed) is None


def test_a_terminal_that_cannot_lay_out_gets_a_line_a_problem(wrong: Path) -> None:
    status, printed = on_a_terminal(wrong, TERM="dumb")
    first, second, count, pages = printed.splitlines()
    assert (status, "\x1b" in printed, "\r" in printed) == (1, False, False)
    assert first.startswith(f"{wrong}/events/one.yaml:4:7: name: 5 is not text")
    assert second.startswith(f"{wrong}/stores/one.yaml:2:1: storeName: ")
    assert count == "2 problems"
    assert pages == "`shopwindow rule NAME` explains schema.type, schema.additionalProperties"


def test_a_warning_is_laid_out_as_a_problem_is(minimal: Path) -> None:
    edit(minimal, ("events/one.yaml", "name: Opening", "name: “Opening”"))
    status, printed = on_a_terminal(minimal, "--strict", NO_COLOR="1")
    plain = printed.replace("\r", "").replace("\x1b[K", "")
    assert plain.startswith(f"{minimal}/events/one.yaml:4:7: warning text.quotes\n        4 | name: “Opening”\n")
    assert "\n     more  shopwindow rule text.quotes\n" in plain
    assert (status, plain.splitlines()[-1]) == (1, "with --strict, warnings count as problems")
    assert on_a_terminal(minimal)[0] == 0


def test_a_page_is_named_where_problems_are_lines_on_a_terminal(wrong: Path) -> None:
    _, printed = on_a_terminal(wrong, "--format", "lines")
    assert "\n`shopwindow rule NAME` explains schema.type, schema.additionalProperties\n" in printed


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_encoding_of_the_output_can_print_any_problem(minimal: Path, encoding: str) -> None:
    edit(minimal, ("events/one.yaml", "start: 2026", f"start: {'値' * 99}2026"))
    command = [sys.executable, "-m", "shopwindow", "check", "--content", str(minimal)]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert done.returncode == 1
    assert b"Traceback" not in done.stderr


def test_a_schema_of_the_content_folder_counts(minimal: Path, run: Run) -> None:
    schema = json.loads((ROOT / "schemas/store.json").read_text())
    schema["properties"]["storeName"] = {"description": "Another name.", "type": "string"}
    write_files(minimal, {"schemas/store.json": json.dumps(schema)})
    edit(minimal, ("stores/one.yaml", "storeId: 1\n", "storeId: 1\nstoreName: x\n"))
    assert run("check", "--content", minimal).status == 0


@pytest.mark.parametrize("text", ["{", "[]", '{"type": "text"}'])
def test_a_schema_that_is_none_is_a_problem_at_its_place(minimal: Path, run: Run, text: str) -> None:
    write_files(minimal, {"schemas/event.json": text})
    ended = run("check", "--content", minimal)
    assert ended.status == 1
    assert f"{minimal}/schemas/event.json:1:" in ended.out
    assert ended.out.count("\n") == 1


# -- check --against ---------------------------------------------------------------------------------------------


def entry(path: str, operation: str, media_type: str, application: str | None = None) -> dict[str, Any]:
    named = {"application": application} if application else {}
    return {"path": path, "url": f"https://api.example/{path}", "operation": operation, "mediaType": media_type} | named


@pytest.fixture
def release(minimal: Path) -> Path:
    """A release of the smallest content, made by hand."""
    documents = checked(minimal).documents
    assert documents is not None
    (app,) = documents.of("app")
    moment = datetime.fromisoformat("2026-11-24T12:00:00-05:00")
    entries = [
        entry("v2/utility/mobileapp/one.json", "mobileapp", "application/json", "one"),
        entry("v2/utility/mobileapp/one.xml", "mobileapp", "application/xml", "one"),
        entry("v2/store/event;storeId=1.json", "events_v2", "application/json"),
    ]
    files = {
        "content.json": live(documents, moment, INTERFACE.kinds, INTERFACE.clocks).encode().decode(),
        "manifest.json": json.dumps({"format": 1, "files": entries, "private": {}, "nextChange": None, "edge": ""}),
        "files/v2/utility/mobileapp/one.json": json.dumps(app.value["config"]),
        "files/v2/utility/mobileapp/one.xml": "<response/>",
        "files/v2/store/event;storeId=1.json": "{}",
    }
    return write_files(minimal.parent / "release", files)


def _tar(release: Path, root: str, mode: str = "w") -> Path:
    archive = release.parent / "release.archive"
    with tarfile.open(archive, mode) as tar:  # type: ignore[call-overload]
        tar.add(release, root)
    return archive


ARCHIVES: dict[str, Callable[[Path], Path]] = {
    "a folder": lambda release: release,
    "a tar": lambda release: _tar(release, "."),
    "a tar of a folder": lambda release: _tar(release, "dist/releases/0123456789ab"),
}


@pytest.mark.parametrize("pack", ARCHIVES.values(), ids=ARCHIVES)
def test_a_changed_configuration_is_told_against_a_release_or_an_archive_of_one(
    minimal: Path, release: Path, run: Run, pack: Callable[[Path], Path]
) -> None:
    against = pack(release)
    assert run("check", "--content", minimal, "--against", against).status == 0
    edit(minimal, ("apps/one.yaml", "networkTimeIntervalCheck: 30", "networkTimeIntervalCheck: 31"))
    (place,) = edit(minimal, ("apps/one.yaml", 'configVersion: "1"', 'configVersion: ‸"1"'))
    page = "`shopwindow rule NAME` explains app.configVersion\n"
    ended = run("check", "--content", minimal, "--against", against)
    first, *_, last = ended.out.splitlines()
    assert (ended.status, ended.err) == (0, page)
    assert first == (
        f"{minimal}/{place}: warning: config/configVersion: the configuration changed, and configVersion is still '1' "
        "(Version of this configuration; raise it whenever anything in it changes); "
        "allowed: a version not released before"
    )
    assert last == f"{minimal}: 5 files, no problems, 1 warning"
    strict = run("check", "--content", minimal, "--against", against, "--strict")
    assert strict == Ended(1, ended.out, f"{page}with --strict, warnings count as problems\n")
    edit(minimal, ("apps/one.yaml", 'configVersion: "1"', 'configVersion: "2"'))
    assert run("check", "--content", minimal, "--against", against).status == 0


def test_what_the_keys_of_an_application_are_needs_no_new_version(minimal: Path, release: Path, run: Run) -> None:
    edit(minimal, ("apps/one.yaml", "apiKeys: [" + "a" * 64, "apiKeys: [" + "b" * 64))
    assert run("check", "--content", minimal, "--against", release).status == 0


def test_an_application_that_was_not_released_needs_no_new_version(minimal: Path, release: Path, run: Run) -> None:
    two = APP.replace("name: one", "name: two").replace("a" * 64, "b" * 64)
    write_files(minimal, {"apps/two.yaml": two.replace("appLayout: [shop, bag]", "appLayout: [bag]")})
    assert run("check", "--content", minimal, "--against", release).status == 0


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Editor", "-c", "user.email=editor@shop.example")
    subprocess.run(["git", "-C", str(folder), *who, *arguments], check=True, capture_output=True)


@pytest.fixture
def committed(minimal: Path) -> Path:
    """The smallest content in a repository, with one commit."""
    git(minimal.parent, "init", "-b", "main", ".")
    git(minimal.parent, "add", "content")
    git(minimal.parent, "commit", "-m", "First")
    return minimal


def test_current_and_previous_name_releases_of_dist(minimal: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(minimal.parent)
    refused = run("check", "--content", minimal, "--against", "current")
    assert (refused.status, "no release is current" in refused.err) == (4, True), refused
    assert run("build", "--content", minimal).status == 0
    assert run("check", "--content", minimal, "--against", "current").status == 0
    assert "no release was current before" in run("check", "--content", minimal, "--against", "previous").err


def test_a_changed_configuration_is_a_warning_against_a_git_revision(committed: Path, run: Run) -> None:
    quiet = run("check", "--content", committed, "--against", "main")
    assert (quiet.status, "warning" in quiet.out) == (0, False)
    edit(committed, ("apps/one.yaml", "networkTimeIntervalCheck: 30", "networkTimeIntervalCheck: 31"))
    (place,) = edit(committed, ("apps/one.yaml", 'configVersion: "1"', 'configVersion: ‸"1"'))
    ended = run("check", "--content", committed, "--against", "main")
    assert ended.status == 0
    assert ended.out.startswith(f"{committed}/{place}: warning: config/configVersion: the configuration changed")
    assert run("check", "--content", committed, "--against", "main", "--strict").status == 1
    edit(committed, ("apps/one.yaml", 'configVersion: "1"', 'configVersion: "2"'))
    assert run("check", "--content", committed, "--against", "HEAD", "--strict").status == 0


@pytest.mark.parametrize("form", ["text", "json", "github", "sarif"])
def test_a_revision_with_problems_is_compared_with_nothing_and_stops_nothing(
    committed: Path, run: Run, form: str
) -> None:
    edit(committed, ("events/one.yaml", "name: Opening", "name: 5"))
    git(committed.parent, "commit", "-a", "-m", "Broken")
    edit(committed, ("events/one.yaml", "name: 5", "name: Opening"))
    ended = run("check", "--content", committed, "--against", "main", "--format", form)
    assert ended.status == 0
    assert "nothing is compared with main: 1 problem in the content, the first in events/one.yaml:4" in ended.out


def test_a_folder_that_a_revision_lacks_is_compared_with_nothing(committed: Path, run: Run) -> None:
    new = committed.with_name("new")
    shutil.copytree(committed, new)
    ended = run("check", "--content", new, "--against", "main")
    assert ended.status == 0
    assert ended.out.startswith(f"{new}/: warning: nothing is compared with main: commit ")


def test_what_is_neither_a_release_nor_a_revision_is_wrong_use(committed: Path, run: Run) -> None:
    ended = run("check", "--content", committed, "--against", "mian")
    assert (ended.status, ended.out) == (2, "")
    assert "mian: there is no such release (a folder or .tar), and it is no git revision: git has no" in ended.err


def test_a_window_is_past_at_the_instant_of_at(minimal: Path, run: Run) -> None:
    edit(minimal, ("events/one.yaml", "name: Opening", "name: Opening\npublish: {until: 2026-11-28}"))
    assert "warning" not in run("check", "--content", minimal, "--at", "2026-11-28").out
    assert " warning: publish/until: 2026-11-28 is past" in run("check", "--content", minimal, "--at", "2026-11-29").out
    ended = run("check", "--content", minimal, "--at", "soon")
    assert (ended.status, "soon: " in ended.err) == (2, True)


def test_a_build_prints_the_first_ten_warnings_and_builds(minimal: Path, run: Run) -> None:
    event = (minimal / "events/one.yaml").read_text().replace("name: Opening", "name: “Opening”")
    write_files(minimal, {f"events/{number}.yaml": event.replace("id: 5", f"id: {number}") for number in range(10, 22)})
    ended = run("build", "--content", minimal, "--out", minimal.parent / "dist")
    lines = ended.out.splitlines()
    assert (ended.status, sum(": warning: " in line for line in lines)) == (0, 10)
    assert "and 2 more warnings; `shopwindow check` lists them" in lines


def _text(release: Path) -> Path:
    return write_files(release, {"text": "text"}) / "text"


def _no_manifest(release: Path) -> Path:
    (release / "manifest.json").unlink()
    return release


def _empty_archive(release: Path) -> Path:
    shutil.rmtree(release)
    release.mkdir()
    return _tar(release, "release")


def _no_json(release: Path) -> Path:
    return write_files(release, {"manifest.json": "{"})


def _no_list(release: Path) -> Path:
    return write_files(release, {"manifest.json": '{"format": 1}'})


def _no_file(release: Path) -> Path:
    (release / "content.json").unlink()
    return release


def _cut_off(release: Path) -> Path:
    archive = _tar(release, "release")
    archive.write_bytes(archive.read_bytes()[:600])
    return archive


def _compressed(release: Path) -> Path:
    return _tar(release, "release", "w:gz")


def _zipped(release: Path) -> Path:
    return Path(shutil.make_archive(str(release), "zip", release))


@pytest.mark.parametrize(
    "spoil", [_text, _no_manifest, _empty_archive, _no_json, _no_list, _no_file, _cut_off, _compressed, _zipped]
)
def test_what_is_no_release_is_said_so_in_a_sentence(
    minimal: Path, release: Path, run: Run, spoil: Callable[[Path], Path]
) -> None:
    against = spoil(release)
    ended = run("check", "--content", minimal, "--against", against)
    assert (ended.status, ended.out) == (2, "")
    wrong = f"Error: --against {against}: cannot be read as a release, a folder or an uncompressed .tar of one: "
    assert ended.err.splitlines()[-1].startswith(wrong)


# -- show --------------------------------------------------------------------------------------------------------


def test_show_prints_what_an_app_would_get(minimal: Path, run: Run) -> None:
    documents = checked(minimal).documents
    assert documents is not None
    ended = run("show", "v2/utility/mobileapp", "--content", minimal)
    assert (ended.status, ended.err) == (0, "")
    assert json.loads(ended.out) == documents.of("app")[0].value["config"]
    assert run("show", "/v2/utility/mobileapp/", "--content", minimal, "--app", "one").out == ended.out


@pytest.mark.parametrize(
    "address",
    [
        "https://api.example/v2/utility/mobileapp",
        "HTTP://API.example/v2/utility/mobileapp/?a=https://b.example#top",
        "//api.example/v2/utility/mobileapp",
        "/v2/utility/mobileapp#top",
        " v2/utility/mobileapp ",
    ],
)
def test_show_takes_an_address_as_it_is_pasted(minimal: Path, run: Run, address: str) -> None:
    shown = run("show", "v2/utility/mobileapp", "--content", minimal)
    assert shown.status == 0
    assert run("show", address, "--content", minimal) == shown


@pytest.mark.parametrize(
    "address",
    ["https://api.example/mobile/v2/utility/mobileapp", "/mobile/v2/utility/mobileapp", "v2/utility/mobileapp"],
)
def test_show_knows_the_path_of_the_base_url(minimal: Path, run: Run, address: str) -> None:
    edit(minimal, ("site.yaml", "base_url: https://api.example\n", "base_url: https://api.example/mobile\n"))
    ended = run("show", address, "--content", minimal)
    assert (ended.status, json.loads(ended.out)["configVersion"]) == (0, "1")


def test_show_of_another_host_is_wrong_use(minimal: Path, run: Run) -> None:
    ended = run("show", "https://www.example/v2/utility/mobileapp", "--content", minimal)
    bases = "base_url, https://api.example, and not below order_base_url, https://orders.example"
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == f"Error: https://www.example/v2/utility/mobileapp: not below {bases}"


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        ("order/v1/bags?bagId=1", "order/v1/bags"),
        ("v3/job/refreshjobstatus", "v3/job/refreshjobstatus"),
        (
            "v2/utility/mobilelog?deviceId=1&platform=iPhone&logLevel=ERROR&logMessage=x",
            "v2/utility/mobilelog",
        ),
    ],
)
def test_show_of_what_only_the_service_knows_is_wrong_use(minimal: Path, run: Run, request_: str, path: str) -> None:
    ended = run("show", request_, "--content", minimal)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == f"Error: {path} is answered by the running service only (`shopwindow serve`)"


def test_the_order_hosts_operations_answer_no_get(minimal: Path, run: Run) -> None:
    ended = run("show", "https://orders.example/v3/order/supc", "--content", minimal)
    assert (ended.status, ended.err, json.loads(ended.out)["errorCode"]) == (1, "status 405\n", 102)


NAMING_DATABASES = """
import sys
def hook(event, arguments):
    if event == "sqlite3.connect":
        print(arguments[0], file=sys.stderr)
sys.addaudithook(hook)
from shopwindow.cli import main
main.main()
"""
"""The command, which names each SQLite file that it opens: the catalog's index is one."""


@pytest.mark.parametrize(
    ("request_", "is_made"),
    [
        ("v3/c%61talog/category/index", True),
        ("v4/recommendations/product/100", True),
        ("store/v2/stores?productId=100", True),
        ("store/v2/stores", False),
    ],
)
def test_show_makes_the_catalogs_index_where_an_answer_looks_at_it(each: Path, request_: str, is_made: bool) -> None:
    command = [sys.executable, "-c", NAMING_DATABASES, "show", request_, "--content", str(each)]
    shown = subprocess.run(command, capture_output=True, encoding="utf-8", check=True)
    assert ("catalog.sqlite" in shown.stderr) == is_made
    assert json.loads(shown.stdout)


def test_show_prints_xml_too(minimal: Path, run: Run) -> None:
    ended = run("show", "v2/utility/mobileapp", "--content", minimal, "--app", "one", "--format", "xml")
    root = etree.fromstring(ended.out.encode())
    assert (ended.status, root.tag, root.findtext("configVersion")) == (0, "response", "1")


def test_show_prints_every_format_that_there_is(minimal: Path, run: Run) -> None:
    show = "show", "v2/utility/mobileapp", "--content", minimal, "--format"
    for answer in formats.RESPONSE_FORMATS:
        shown = run(*show, answer.name)
        assert (shown.status, shown.err, "appConfig" in shown.out) == (0, "", True)
    ended = run(*show, "keys")
    names = ", ".join(f"'{answer.name}'" for answer in formats.RESPONSE_FORMATS)
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == f"Error: Invalid value for '--format': 'keys' is not one of {names}."


def test_show_refuses_a_format_before_it_reads_the_content(minimal: Path, run: Run) -> None:
    (minimal / "site.yaml").write_text("- {")
    ended = run("show", "v2/utility/mobileapp", "--content", minimal, "--format", "yaml")
    assert (ended.status, ended.out) == (2, "")
    assert ended.err.splitlines()[-1] == "Error: Invalid value for '--format': 'yaml' is not one of 'json', 'xml'."


SHOWN = {
    "json": '{\n  "events": {\n    "event": [\n      {\n        "id": 5\n      }\n    ]\n  }\n}\n',
    "xml": "<?xml version='1.0' encoding='UTF-8'?>\n<events>\n  <event>\n    <id>5</id>\n  </event>\n</events>\n",
    "script": '/**/show({"events":{"event":[{"id":5}]}});\n',
}


@pytest.mark.parametrize("form", SHOWN)
def test_a_response_is_laid_out_on_a_terminal_and_nowhere_else(minimal: Path, run: Run, form: str) -> None:
    request = f"store/v1/events?storeId=1&_fields=id{'&callback=show' if form == 'script' else ''}"
    options = (request, "--format", "json" if form == "script" else form)
    assert on_a_terminal(minimal, *options, command="show") == (0, SHOWN[form])
    elsewhere = run("show", *options, "--content", minimal).out
    plain = {
        "json": '{"events":{"event":[{"id":5}]}}\n',
        "xml": "<?xml version='1.0' encoding='UTF-8'?>\n<events><event><id>5</id></event></events>\n",
    }
    assert elsewhere == plain.get(form, SHOWN[form])


def test_show_asks_for_an_application_by_its_name(sample: Path, run: Run) -> None:
    android = run("show", "v2/utility/mobileapp", "--content", sample)
    iphone = run("show", "v2/utility/mobileapp", "--content", sample, "--app", "iphone")
    assert android.out != iphone.out
    ended = run("show", "v2/utility/mobileapp", "--content", sample, "--app", "ipone")
    assert (ended.status, ended.out) == (2, "")
    wrong = "Error: --app 'ipone': the applications are android, iphone; did you mean iphone?"
    assert ended.err.splitlines()[-1] == wrong


@pytest.mark.parametrize(
    ("at", "events"),
    [
        ("2026-11-27", 1),
        ("2026-11-26 23:59", 0),
        ("2026-11-27T04:59:59Z", 0),
        ("2026-11-27T05:00:00Z", 1),
        ("2026-12-01", 0),
    ],
)
def test_show_prints_what_is_live_at_an_instant(minimal: Path, run: Run, at: str, events: int) -> None:
    edit(minimal, ("events/one.yaml", "start:", "publish: {from: 2026-11-27, until: 2026-11-30}\nstart:"))
    ended = run("show", "v2/store/event?storeId=1", "--content", minimal, "--at", at)
    assert len(json.loads(ended.out).get("storeEvents", [])) == events


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ("v2/utility/nothing", 404),
        ("", 404),
        ("/", 404),
        ("v2/utility/../utility/mobileapp", 404),
        ("v2/store/event", 400),
        ("v2/store/event?storeId=one", 400),
        ("v2/store/event?storeId=%ff%00", 400),
        ("v2/store/event?storeId=" + "9" * 5000, 400),
        ("v2/store/event?startDate=1&storeId=x&&=&a=%zz", 400),
    ],
)
@pytest.mark.parametrize("form", ["json", "xml"])
def test_a_refusal_is_shown_as_the_app_would_get_it(
    minimal: Path, run: Run, request_: str, status: int, form: str
) -> None:
    ended = run("show", request_, "--content", minimal, "--format", form)
    assert (ended.status, ended.err) == (1, f"status {status}\n")
    if form == "json":
        assert json.loads(ended.out)["success"] is False
    else:
        assert etree.fromstring(ended.out.encode()).findtext("success") == "false"


def test_show_says_what_is_wrong_with_the_content_first(wrong: Path, run: Run) -> None:
    ended = run("show", "v2/utility/mobileapp", "--content", wrong)
    assert (ended.status, ended.out.count("\n"), ended.err) == (1, 2, "2 problems\n")


@pytest.mark.parametrize("at", ["soon", "2026-02-30", "2026-11-27T06:00:00", "2027-03-14 02:30"])
def test_an_instant_that_is_none_is_wrong_use(minimal: Path, run: Run, at: str) -> None:
    ended = run("show", "v2/utility/mobileapp", "--content", minimal, "--at", at)
    assert (ended.status, ended.out) == (2, "")
    assert f"--at {at}: " in ended.err


def test_marks_are_taken_out_of_edits(minimal: Path) -> None:
    write_files(minimal, {"a.yaml": "ab‸c\n‸\n"})
    assert unmark(minimal, "a.yaml") == ["a.yaml:1:3", "a.yaml:2:1"]
    assert (minimal / "a.yaml").read_text() == "abc\n\n"
