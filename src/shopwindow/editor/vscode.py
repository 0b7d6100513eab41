"""The files of VS Code in a content repository: schemas, and the settings that name
them.
"""

import json
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shopwindow.content.schemas.schema import Schemas
from shopwindow.editor.files import encoded, patterns, schema_files
from shopwindow.editor.schemas import associations
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure

SETTINGS_FOLDER = ".vscode"
SCHEMAS = f"{SETTINGS_FOLDER}/schemas"
SETTINGS = f"{SETTINGS_FOLDER}/settings.json"
EXTENSION = "redhat.vscode-yaml"
"""The extension that holds the YAML language server."""

ASSOCIATIONS = "yaml.schemas"
"""The setting that says which files a schema is for."""

_PLACE = r"^(?:\S*/)?(CONTENT/[^:]+):(\d+):(\d+): (.*)$"
_FILE = r"^(?:\S*/)?(CONTENT/[^:]+\.(?:yaml|yml|json|jsonl|gz|zst)): (.*)$"
"""What `check` prints of a problem: at a place of a file, or about all of it. CONTENT
is the name of the content folder.
"""

USUAL_CONTENT = "content"
"""The name of the content folder that commands use without an option."""


def files(interface: Interface, schemas: Schemas, content: str) -> dict[str, bytes]:
    """Return the files below .vscode: path → bytes. ``content`` is the content folder's
    path in the repository, with slashes.
    """
    listed = associations(interface, schemas)
    written = {f"{SCHEMAS}/{name}": data for name, data in schema_files(listed).items()}
    settings = {ASSOCIATIONS: patterns(listed, SCHEMAS, content)}
    return {
        **written,
        SETTINGS: encoded(settings),
        f"{SETTINGS_FOLDER}/extensions.json": encoded({"recommendations": [EXTENSION]}),
        f"{SETTINGS_FOLDER}/tasks.json": encoded(_tasks(content)),
    }


def renewed(existing: bytes | None, settings: bytes) -> bytes:
    """Return settings.json with our schemas in place of those that an earlier run
    named, and everything else as it is.

    Raises Failure where it is not plain JSON: its comments would be lost.
    """
    ours = json.loads(settings)
    if existing is None:
        return settings
    try:
        theirs = json.loads(existing)
        named = theirs.get(ASSOCIATIONS, {})
        others = {key: globs for key, globs in named.items() if not _is_ours(key)}
    except (ValueError, AttributeError):
        raise Failure(
            f"{SETTINGS} holds more than plain JSON, such as comments; remove them, or write the"
            f" schemas to a folder of their own with `shopwindow schemas --editor DIR` and name"
            f" them under {ASSOCIATIONS}"
        ) from None
    return encoded({**ours, **theirs, ASSOCIATIONS: {**others, **ours[ASSOCIATIONS]}})


def _is_ours(schema: str) -> bool:
    return schema.startswith(f"./{SCHEMAS}/")


def write(root: Path, written: Mapping[str, bytes]) -> list[Path]:
    """Write the files of an editor again: schemas and settings; return their paths.

    The settings keep what is not ours. Other files are written where they are missing.
    A schema whose kind is gone goes, too.
    """
    settings = root / SETTINGS
    there = settings.read_bytes() if settings.is_file() else None
    merged = {**written, SETTINGS: renewed(there, written[SETTINGS])}
    changed = []
    for name, data in merged.items():
        path = root / name
        if not (name == SETTINGS or name.startswith(f"{SCHEMAS}/")) and path.exists():
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        changed.append(path)
    for path in sorted((root / SCHEMAS).glob("*.json")):
        if f"{SCHEMAS}/{path.name}" not in written:
            path.unlink()
    return changed


def _tasks(content: str) -> dict[str, Any]:
    """Return tasks.json: check and build, each with problem matchers for what it
    prints.
    """
    at_place = {"regexp": _PLACE, "file": 1, "line": 2, "column": 3, "message": 4}
    at_file = {"regexp": _FILE, "kind": "file", "file": 1, "message": 2}
    matchers = [_matcher(pattern, content) for pattern in (at_place, at_file)]
    option = "" if content == USUAL_CONTENT else f" --content {shlex.quote(content)}"
    groups = {"check": "test", "build": "build"}
    lines = {"check": " --format lines"}
    tasks = [
        {
            "label": f"shopwindow {command}",
            "type": "shell",
            "command": f"shopwindow {command}{lines.get(command, '')}{option}",
            "group": {"kind": group, "isDefault": True},
            "presentation": {"reveal": "silent", "revealProblems": "onProblem"},
            "problemMatcher": matchers,
        }
        for command, group in groups.items()
    ]
    return {"version": "2.0.0", "tasks": tasks}


def _matcher(pattern: Mapping[str, Any], content: str) -> dict[str, Any]:
    regexp = str(pattern["regexp"]).replace("CONTENT", re.escape(content))
    return {
        "owner": "shopwindow",
        "source": "shopwindow",
        "severity": "error",
        "fileLocation": ["relative", "${workspaceFolder}"],
        "pattern": {**pattern, "regexp": regexp},
    }
