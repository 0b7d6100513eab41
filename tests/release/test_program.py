"""The program is more than the engine: an edited view, wherever it lies, is noticed by the next build."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from checkout import ROOT
from releases import AT

COMPANY = {
    "company/__init__.py": "",
    "company/words.py": 'GREETING = "Good morning"\n',
    "company/views.py": """
from company.words import GREETING


def greeting(content, call):
    return {"greeting": GREETING, "name": content.setting("names").get("shop", "nobody")}
""",
    "company/offer.py": """
from dataclasses import replace

from company.views import greeting
from shopwindow.interface.operation import FromContent, Operation
from shopwindow.shop import INTERFACE as SHOP


def entries(content):
    return [{}]


hello = Operation("hello", "v1/hello", FromContent(greeting, entries), "hello", "A greeting.")
INTERFACE = replace(SHOP, operations=(*SHOP.operations, hello))
""",
    "content/schemas/responses/hello.json": """{
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "description": "A greeting.",
 "type": "object",
 "required": ["greeting", "name"],
 "additionalProperties": false,
 "properties": {
  "greeting": {"type": "string", "description": "What is said."},
  "name": {"type": "string", "description": "Who says it."}
 }
}""",
}
"""An interface of a company's own: the shop's, and a greeting."""


def build(folder: Path, source: Path, *more: str) -> str:
    """Build a folder's content with the packages in ``source``, in a process of its own; the first line printed."""
    command = [sys.executable, "-B", "-m", "shopwindow", "build", "--at", AT, "--jobs", "1", *more]
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def answer(folder: Path, path: str) -> str:
    return (folder / "dist/current/files" / path).read_text()


def test_an_edited_view_of_the_shop_is_rendered_by_the_next_build(minimal: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("schemas", "templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    build(tmp_path, tmp_path / "src")
    before = {path: path.read_bytes() for path in (tmp_path / "dist/current/files").rglob("*.json")}
    assert any(b"storeEvents" in data for data in before.values())
    old, new = '{"storeEvents": [_version_2', '{"success": True, "storeEvents": [_version_2'
    views = tmp_path / "src/shopwindow/retail/events/operations.py"
    rewrite(views, old, new)
    rewrite(views, 'in _selected(content, call)], "success": True}', "in _selected(content, call)]}")
    build(tmp_path, tmp_path / "src")
    changed = [path for path in before if path.read_bytes() != before[path]]
    assert changed == [path for path, data in before.items() if b'"storeEvents"' in data]
    assert {path.read_bytes()[:16] for path in changed} == {b'{"success":true,'}


def test_an_edited_module_of_an_interface_of_ones_own_is_rendered_by_the_next_build(
    minimal: Path, tmp_path: Path
) -> None:
    for name, text in COMPANY.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    chosen = ("--interface", "company.offer:INTERFACE")
    build(tmp_path, tmp_path, *chosen)
    assert '"Good morning"' in answer(tmp_path, "v1/hello.json")
    build(tmp_path, tmp_path, *chosen)
    rewrite(tmp_path / "company/words.py", "Good morning", "Good evening")
    build(tmp_path, tmp_path, *chosen)
    assert '"Good evening"' in answer(tmp_path, "v1/hello.json")
