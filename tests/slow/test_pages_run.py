"""The pages are tried as a reader would: each command is run, each change made, each output compared.

A page has a shell of its own in an empty folder. Pages outside of the tutorial find the sample's
content there, and the clients. What a block means:

    console        a line that begins with `$ ` is typed; what follows is what it prints
    yaml, python   whose first line is `# ` and a path: the whole file
    diff           whose first line is `--- ` and a path: lines of that file, before and after

`…` stands for any text in a line; alone in a line, for any lines. Ids of releases, times of day and
the like may differ (VARIES). With SHOPWINDOW_PAGES=write, output that differs is written into the
page.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import pytest
from sybil import Document, Example, Sybil
from sybil.parsers.markdown import CodeBlockParser

from harness.content import AT
from harness.servers import ADDRESS, free_port
from harness.waits import PATIENCE, awaited

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
PAGES = sorted(
    [README, *ROOT.glob("docs/tutorial/*.md"), *ROOT.glob("docs/editors/*.md"), ROOT / "docs/apps/quick-start.md"]
)
WRITES = os.environ.get("SHOPWINDOW_PAGES") == "write"

RELEASE = re.compile(r"\b[0-9a-f]{12}\b|\b(?=[a-f]*[0-9])[0-9a-f]{8}\b")
VARIES = re.compile(
    r"\b[0-9a-f]{12}\b"  # the id of a release
    r"|\b(?=[a-f]*[0-9])[0-9a-f]{8}\b"  # its first digits
    r"|\b[0-9a-f]{32}\b"  # of a request
    r"|\b\d+\.\d+ s$"  # how long a build took
    r"|\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"  # when a release was built
    r"|(?<=^date: ).*$",
    re.MULTILINE,
)
"""What is another in every run."""

WIDEST = 150
"""Characters of a line that is written into a page; the rest is left to `…`."""

PORT = "127.0.0.1:8000"
"""Where pages say that the service is; a test has an address of its own."""

PROMPT = "ends-here"
# Publish windows of the sample open and end: pages are read as of one instant.
SHELL = f"""
shopwindow() {{
    case "$1 $*" in
    *--at*) "{sys.executable}" -m shopwindow "$@" ;;
    check*|build*|show*) "{sys.executable}" -m shopwindow "$@" --at {AT} ;;
    serve*)
        "{sys.executable}" -m shopwindow "$@" >serve.log 2>&1 &
        curl --silent --output serve.txt --retry 60 --retry-delay 1 --retry-connrefused "$SHOPWINDOW_BIND" ;;
    *) "{sys.executable}" -m shopwindow "$@" ;;
    esac
}}
"""


def running_in(group: int) -> list[str]:
    """The processes of a group that have not ended: their numbers."""
    running = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group = stat.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and state != "Z":
                running.append(stat.parent.name)
    return running


class Terminal:
    """One shell for all commands of a page, so that `cd` and variables hold."""

    def __init__(self, folder: Path, at: str = AT) -> None:
        self.folder = folder
        self.address = f"{ADDRESS}:{free_port()}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SHOPWINDOW_")}
        environment |= {
            "SHOPWINDOW_BIND": self.address,
            "SHOPWINDOW_ADMIN": "",
            "SHOPWINDOW_WORKERS": "1",
            "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "clients/python/src")]),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        }
        self.shell = subprocess.Popen(
            ["bash", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._send(SHELL.replace(AT, f"'{at}'"))

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.killpg(self.shell.pid, signal.SIGTERM)
        assert self.shell.stdin is not None
        self.shell.stdin.close()
        self.shell.wait(PATIENCE)
        awaited(lambda: not running_in(self.shell.pid))  # what a page left in the background ends too

    def _send(self, text: str) -> None:
        assert self.shell.stdin is not None
        self.shell.stdin.write(text)
        self.shell.stdin.flush()

    def type(self, command: str) -> str:
        """Return what a command prints, on both streams."""
        self._send(f"{{ {command.replace(PORT, self.address)}\n}} </dev/null\necho; echo {PROMPT}\n")
        assert self.shell.stdout is not None
        printed = "".join(iter(self.shell.stdout.readline, f"{PROMPT}\n"))
        lines = printed.removesuffix("\n").replace("\r", "").splitlines()
        shown = [line.rstrip() for line in lines if '"event":"administration"' not in line]
        while shown and not shown[-1]:
            shown.pop()
        return "\n".join(shown).replace(self.address, PORT).replace(str(self.folder), "…")


def matches(expected: str, printed: str) -> bool:
    """Return whether output is as a page says: `…` stands for any text, alone in a line for any lines."""
    parts = []
    for line in VARIES.sub("…", expected).splitlines():
        if line.strip() == "…":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(re.escape(part) for part in line.rstrip().split("…")) + "\n")
    return re.fullmatch("".join(parts), printed + "\n" if printed else "") is not None


def narrowed(line: str) -> str:
    return line if len(line) <= WIDEST else line[:WIDEST] + "…"


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Yield each command of a block, with what the page says that it prints."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        lines = part.rstrip("\n").split("\n")
        last = next(number for number, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: last + 1]), "\n".join(lines[last + 1 :])


def changed(text: str, lines: list[str]) -> str:
    """Return a file's text with the lines of a difference; they stand in it exactly once."""
    before = "".join(line[1:] + "\n" for line in lines if line[:1] in (" ", "-"))
    after = "".join(line[1:] + "\n" for line in lines if line[:1] in (" ", "+"))
    assert text.count(before) == 1, f"these lines stand {text.count(before)} times in the file:\n{before}"
    return text.replace(before, after)


class Reader:
    """Does what a page says, block by block."""

    def __init__(self, terminal: Terminal, writes: bool = False) -> None:
        self.terminal = terminal
        self.writes_pages = writes
        self.ids: dict[str, str] = {}  # of the page's releases: what this run calls them
        self.written: list[tuple[str, str]] = []

    def types(self, example: Example) -> None:
        block = str(example.parsed)
        actual = []
        for command, expected in commands(block):
            typed = re.sub(r"\b[0-9a-f]{8,12}\b", lambda found: self.ids.get(found[0][:8], found[0]), command)
            printed = self.terminal.type(typed)
            if matches(expected, printed):
                ids = zip(RELEASE.findall(expected), RELEASE.findall(printed), strict=False)
                self.ids |= {ours[:8]: theirs for ours, theirs in ids}
                printed = expected
            elif not self.writes_pages:
                place = f"{example.path}:{example.line}"
                raise AssertionError(f"{place}: $ {command}\n{printed}\n-- instead of\n{expected}")
            else:
                printed = "\n".join(narrowed(line) for line in printed.splitlines())
            actual.append(f"$ {command}\n{printed}\n" if printed else f"$ {command}\n")
        self.written.append((block, "".join(actual)))

    def writes(self, example: Example) -> None:
        place, _, text = str(example.parsed).partition("\n")
        if re.match(r"# \S+\.(yaml|py)$", place):
            path = Path(self.terminal.type("pwd").replace("…", str(self.terminal.folder))) / place[2:]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace(PORT, self.terminal.address))

    def changes(self, example: Example) -> None:
        lines = str(example.parsed).splitlines()
        if re.match(r"--- \S+$", lines[0]):
            path = Path(self.terminal.type("pwd").replace("…", str(self.terminal.folder))) / lines[0][4:]
            path.write_text(changed(path.read_text(), lines[1:]))


def parsed(page: Path, reader: Reader) -> Document:
    parsers = [
        CodeBlockParser("console", reader.types),
        CodeBlockParser("yaml", reader.writes),
        CodeBlockParser("python", reader.writes),
        CodeBlockParser("diff", reader.changes),
    ]
    return Sybil(parsers, path=str(page.parent), pattern=page.name).parse(page)


def rewritten(text: str, blocks: list[tuple[str, str]]) -> str:
    """Return a page with other text in its blocks, which stand in it in this order."""
    done = ""
    for block, actual in blocks:
        before, _, text = text.partition(block)
        done += before + actual
    return done + text


README_AT = "2026-11-22 12:00"
"""Before the README's event, which is live until its end."""


def is_run(page: Path) -> bool:
    return "```console\n$ " in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [str(page.relative_to(ROOT)) for page in PAGES if is_run(page)])
def test_a_page_says_what_its_commands_print(name: str, tmp_path: Path) -> None:
    page = ROOT / name
    if page.parent.name != "tutorial":
        shutil.copytree(ROOT / "content", tmp_path / "content")
    with Terminal(tmp_path, README_AT if page == README else AT) as terminal:
        if page == README:  # whose first command builds; tests/slow/test_fresh_environment.py runs it as it is
            terminal.type("shopwindow build")
        reader = Reader(terminal, WRITES)
        for example in parsed(page, reader).examples():
            example.evaluate()
    if WRITES and reader.written:
        page.write_text(rewritten(page.read_text(encoding="utf-8"), reader.written), encoding="utf-8")


def test_pages_for_each_reader_are_run() -> None:
    folders = {page.parent.name for page in PAGES if is_run(page)}
    assert folders == {"tutorial", "editors", "apps", ROOT.name}


def test_output_that_a_page_does_not_say_is_recognized(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo one\none\n$ echo TWO\nthree\n```\n")
    with Terminal(tmp_path) as terminal:
        (example,) = parsed(page, Reader(terminal)).examples()
        with pytest.raises(AssertionError, match=r"\$ echo TWO\nTWO\n-- instead of\nthree"):
            example.evaluate()


@pytest.mark.parametrize(
    ("expected", "printed", "same"),
    [
        ("release 551fd8bd7526: 600 files", "release da7d76eedd01: 600 files", True),
        ("release 551fd8bd7526: 600 files", "release da7d76eedd01: 601 files", False),
        ("a\n…\nb", "a\nb", True),
        ("a\n…\nb", "a\nx\ny\nb", True),
        ("a … c", "a b c", True),
        ("a … c", "a\nc", False),
        ("", "", True),
        ("", "a", False),
        ("a", "", False),
    ],
)
def test_an_ellipsis_stands_for_what_may_differ(expected: str, printed: str, same: bool) -> None:
    assert matches(expected, printed) is same
