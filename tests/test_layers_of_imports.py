"""Who imports whom: strictly downwards, one home for each library, and nothing before it is needed."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from click import Context

from harness.content import AT
from shopwindow.cli import COMMANDS, main

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "shopwindow"


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, anywhere in it, but for the type checker alone."""
    tree = ast.parse(path.read_bytes())
    guarded = {
        node
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and isinstance(test.test, ast.Name) and test.test.id == "TYPE_CHECKING"
        for node in ast.walk(test)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node not in guarded:
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node not in guarded:
            yield node.module or ""


def importers() -> dict[str, set[str]]:
    """Top-level module → the files of the package that import it."""
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for name in imported(path):
            found.setdefault(name.partition(".")[0], set()).add(path.relative_to(PACKAGE).as_posix())
    return found


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded because of a statement."""
    script = f"import sys; before = set(sys.modules)\n{statement}\nprint('\\n'.join(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by(*arguments: str | Path) -> tuple[str, set[str]]:
    """What a command prints, and the modules that it loads."""
    command = [sys.executable, "-X", "importtime", "-m", "shopwindow", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = (line for line in done.stderr.splitlines() if line.startswith("import time:"))
    return done.stdout, {line.rpartition("|")[2].strip() for line in lines}


def foreign(modules: set[str]) -> set[str]:
    """The third-party packages among some modules."""
    return {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {"shopwindow"}


def test_each_library_has_one_home() -> None:
    found = importers()
    homes = {name: found[name] for name in found.keys() - sys.stdlib_module_names - {"shopwindow", "orjson"}}
    homes["click"] = {path.partition("/")[0] for path in homes["click"]}
    assert homes == {
        "click": {"cli"},
        "duckdb": {"catalog/importing.py"},
        "email_validator": {"retail/sharing/addresses.py"},
        "gunicorn": {"service/serve.py"},
        "jsonschema": {"content/schemas/own_schemas.py"},
        "jsonschema_rs": {"content/schemas/own_schemas.py", "content/schemas/shape.py"},
        "brotli": {"service/codings.py"},
        "jinja2": {
            "content/documents/expressions.py",
            "edge/printing.py",
            "preview/templates.py",
            "service/mail/letters.py",
            "service/mail/templates.py",
        },
        "cryptography": {"delivery/keys.py"},
        "obstore": {"delivery/bucket.py", "delivery/targets.py"},
        "numpy": {
            *(f"catalog/index/{name}.py" for name in ("sums", "taking")),
            *(f"catalog/reading/{name}.py" for name in ("explaining", "opened")),
            "catalog/search/searching.py",
            "catalog/stored/lists.py",
        },
        "rapidfuzz": {"catalog/search/spelling.py", "did_you_mean.py"},
        "securesystemslib": {"delivery/keys.py"},
        "tuf": {f"delivery/{name}.py" for name in ("roots", "signing", "verifying")},
        "icalendar": {"cli/calendar.py"},
        "lxml": {"interface/formats.py"},
        "psycopg": {
            "service/database/address.py",
            "service/database/postgresql.py",
            "service/database/postgresql_connection.py",
        },
        "prometheus_client": {f"service/{name}.py" for name in ("admin", "figures", "metrics", "serve")},
        "starlette": {"preview/application.py"},
        "urllib3": {f"delivery/{name}.py" for name in ("bucket", "purging")},
        "uvicorn": {"preview/server.py", "service/connection.py"},
        "uvicorn_worker": {"service/worker.py"},
        "watchfiles": {"library/following.py"},
        "yaml": {"content/reading/yaml.py"},
        "zipcodes": {"retail/places/zipcodes.py"},
        "zstandard": {"catalog/feeds/packing.py", "content/check/records.py", "service/codings.py"},
    }


def test_the_interface_knows_neither_files_nor_clock_nor_chance() -> None:
    """An Index is handed the path of its file, and an Interface names its pages: nobody there opens a file."""
    outside = ("os", "io", "pathlib", "time", "socket", "random", "secrets", "subprocess", "shutil", "tempfile")
    found = importers()
    touching = {name: {path for path in found.get(name, ()) if path.startswith("interface/")} for name in outside}
    assert {name: paths for name, paths in touching.items() if paths} == {
        "pathlib": {f"interface/declaring/{name}.py" for name in ("collections", "index", "interface", "loading")}
    }


def test_the_overview_of_the_commands_imports_none_of_them() -> None:
    statement = "from shopwindow.cli import main; main(['--help'], standalone_mode=False)"
    loaded = {name for name in modules_after(statement) if name.startswith("shopwindow")}
    assert loaded == {"shopwindow", "shopwindow.cli"}


def test_the_help_of_a_command_imports_nothing_of_the_engine() -> None:
    """Somebody waits for it. What may be imported are modules of a few lines, without libraries."""
    words = [[name, "--help"] for name in COMMANDS]
    calls = f"for words in {words}:\n try: main(words, 'shopwindow')\n except SystemExit: pass"
    loaded = modules_after(f"from shopwindow.cli import main\n{calls}")
    inside = {name.removeprefix("shopwindow.") for name in loaded if name.startswith("shopwindow.")}
    assert {name for name in inside if name.partition(".")[0] != "cli"} == {
        "did_you_mean",
        "library",
        "problems",
        "release",
        "release.history",
        "service",
        "service.journal",
    }


def test_every_command_of_the_overview_is_there() -> None:
    assert [main.get_command(Context(main), name).name for name in COMMANDS] == list(COMMANDS)  # type: ignore[union-attr]


def test_only_what_is_wrong_needs_the_library_that_says_how() -> None:
    done, loaded = loaded_by("check", "--jobs", "1", "--at", AT, "--content", ROOT / "content")
    assert ("nothing wrong" in done, "jsonschema_rs" in loaded, "jsonschema" in loaded) == (True, True, False)
