"""Each command once as a shell starts it, in a process that has imported nothing: none forgets an import.

Other tests fork commands from a process that has imported all of them (harness/commands.py).
"""

import os
import re
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

from harness.program import current
from shopwindow.cli import COMMANDS

GO_ON = {"serve", "preview"}
"""Commands that go on until they are ended: tests/servers starts each of them."""

STORE = ("--database", "sqlite:///shop.sqlite")
LINES: dict[str, tuple[str, ...]] = {
    "init": ("another",),
    "new": ("event", "Tree Lighting"),
    "schemas": ("--editor", "vscode"),
    "check": (),
    "rule": ("yaml.syntax",),
    "show": ("/v2/promotions",),
    "calendar": (),
    "why": ("iphone", "config/configVersion"),
    "uses": ("store", "1"),
    "retire": ("store", "1", "--on", "2030-01-01"),
    "build": ("--out", "second"),
    "releases": (),
    "rollback": ("{id}",),
    "activate": ("{id}",),
    "diff": ("{id}", "{id}"),
    "prune": ("--keep", "1"),
    "verify": (),
    "publish": ("file://{folder}/target",),
    "pull": ("file://{folder}/target", "--out", "host"),
    "keys": ("init", "keys"),
    "catalog": ("explain", "socks"),
    "migrate": STORE,
    "maintain": ("backup", *STORE, "--backups", "backups"),
    "restore": (*STORE, "--from", "{backup}"),
    "optins": ("export", *STORE),
    "codes": ("report", *STORE),
    "edge": ("worker",),
}
"""By command, what follows it, in an order in which each finds what others write."""

WHAT_IS_MISSING = {"catalog": "there is no catalog"}
"""Commands that end with a sentence here, and part of it."""


def test_each_command_works_in_a_process_of_its_own(tmp_path: Path) -> None:
    assert LINES.keys() | GO_ON == set(COMMANDS)
    shop = tmp_path / "shop"
    here = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}

    def ran(*arguments: str) -> tuple[int, str]:
        command = [sys.executable, "-m", "shopwindow", *arguments]
        folder = shop if shop.is_dir() else tmp_path
        done = subprocess.run(command, cwd=folder, env=here, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        return done.returncode, done.stderr

    assert ran("init", "shop")[0] == 0
    for path in (shop / "content/apps").iterdir():  # a key that everybody knows is not published
        path.write_text(re.sub("[0-9a-f]{64}", sha256(b"a key of this test").hexdigest(), path.read_text()))
    assert ran("build")[0] == 0
    wrong = {}
    for command, line in LINES.items():
        backups = [str(path) for path in (shop / "backups").glob("*")]
        words = {"id": current(shop / "dist"), "folder": str(tmp_path), "backup": "".join(backups)}
        status, said = ran(command, *(part.format(**words) for part in line))
        missing = WHAT_IS_MISSING.get(command, "")
        if bool(missing) != bool(status) or missing not in said or "Traceback" in said:
            wrong[command] = status, said
    assert wrong == {}
