"""A new content repository: which files it has, and how they are written.

How this works: `files_of` returns every file with its bytes and touches nothing;
`write` looks whether one of them is there already, and writes all of them or none. So a
refusal leaves a folder as it was.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path, PurePosixPath

from shopwindow.content.kinds import Kind
from shopwindow.content.reading.listing import below
from shopwindow.content.schemas.schema import Schemas
from shopwindow.editor import vscode
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Misuse
from shopwindow.starter.locked import Wheel, program_line, requirements

CONTENT_FOLDER = "content"
"""The folder of content in a repository: what every command takes without an option."""

STARTS = ("minimal", "sample")

SAMPLE_KEYS = "sample-keys.txt"
"""The file, in the content to start from, of a line `<application> <key>` each."""

PIPELINES = {
    "github": ("github.yml", ".github/workflows/content.yml"),
    "gitlab": ("gitlab-ci.yml", ".gitlab-ci.yml"),
}
"""Code host → our file, and where the host looks for it."""

PUBLISHES = "delivery"
"""The extra of the program that a pipeline needs to publish."""

EDITORS = ("vscode",)

DEVCONTAINER = ".devcontainer/devcontainer.json"
"""Where codespaces and other development containers look (containers.dev)."""

MISSING = (
    "requirements.txt names no wheel of shopwindow: write its address and its hash into the"
    " line that is commented out"
)
"""What a pipeline says where `init` was given no wheel. It holds no quotes: shells read
it.
"""

_HERE = Path(__file__).parent
_FILES = _HERE / "files"


@dataclass(frozen=True)
class Beginning:
    """What a new repository is to have.

    ``start`` is one of STARTS, ``pipeline`` a key of PIPELINES, and ``editor`` one of
    EDITORS. ``devcontainer``: with a container that shows the preview in a browser.
    Without a ``wheel``, requirements.txt has a comment in its place.
    """

    start: str = STARTS[0]
    pipeline: str | None = None
    editor: str | None = None
    wheel: Wheel | None = None
    devcontainer: bool = False


def content_of(start: str) -> Path:
    """Return the folder of content to start from. Raises Misuse for a name not in
    STARTS.

    The minimal shop lies beside this module. The sample is content/ of a checkout, of
    which a wheel has a copy beside this module.
    """
    if start not in STARTS:
        raise Misuse(
            "from", f"{start!r}: content to start from is {' or '.join(STARTS)}"
        )
    inside = _HERE / start
    return inside if inside.is_dir() else _HERE.parents[2] / CONTENT_FOLDER


def public_keys() -> frozenset[str]:
    """Return the digests of API keys that everybody knows: those of the content to
    start from, which sample-keys.txt lists, and the zeros of the schema's example.
    """
    known = {"0" * 64}
    for start in STARTS:
        lines = (content_of(start) / SAMPLE_KEYS).read_text().splitlines()
        keys = [line.split()[1] for line in lines if line and not line.startswith("#")]
        known |= {sha256(key.encode()).hexdigest() for key in keys}
    return frozenset(known)


def files_of(
    beginning: Beginning, interface: Interface, schemas: Schemas
) -> dict[str, bytes]:
    """Return the files of a new repository: path, with slashes, → bytes.

    ``interface`` and ``schemas`` are those with the collections of the content to start
    from. Raises Misuse for a pipeline or an editor that is not supported.
    """
    source = content_of(beginning.start)
    files = {
        f"{CONTENT_FOLDER}/{name}": (source / name).read_bytes()
        for name in _files_below(source)
    }
    if beginning.editor is not None:
        files |= _of_editor(beginning.editor, interface, schemas)
    if beginning.pipeline is not None:
        files |= _pipeline(beginning.pipeline)
    if beginning.devcontainer:
        files[DEVCONTAINER] = _template("devcontainer.json", MISSING=MISSING).encode()
    extra = PUBLISHES if beginning.pipeline else ""
    files["README.md"] = _readme(interface, schemas, beginning.editor).encode()
    files[".gitignore"] = (_FILES / "gitignore").read_bytes()
    files["requirements.txt"] = requirements(beginning.wheel, extra).encode()
    return files


def _of_editor(name: str, interface: Interface, schemas: Schemas) -> dict[str, bytes]:
    if name not in EDITORS:
        raise Misuse("editor", f"{name!r}: there are settings for {', '.join(EDITORS)}")
    return vscode.files(interface, schemas, CONTENT_FOLDER)


def _files_below(folder: Path) -> list[str]:
    """Return the files of a folder; a checkout's may hold what its editor leaves
    behind.
    """
    names = [name for name in below(folder) if (folder / name).is_file()]
    return [name for name in names if not PurePosixPath(name).name.startswith(".")]


def _pipeline(host: str) -> dict[str, bytes]:
    if host not in PIPELINES:
        raise Misuse("ci", f"{host!r}: there are pipelines for {', '.join(PIPELINES)}")
    owners = f"codeowners-{host}", f".{host}/CODEOWNERS"  # who reviews what
    return {
        path: _template(name, MISSING=MISSING, LINE=str(program_line())).encode()
        for name, path in (PIPELINES[host], owners)
    }


def _readme(interface: Interface, schemas: Schemas, editor: str | None) -> str:
    return _template(
        "README.md",
        KINDS="\n".join(_row(kind, schemas) for kind in interface.kinds),
        NAMES=", ".join(f"`{kind.name}`" for kind in interface.kinds),
        EDITOR=_template(f"{editor}.md") if editor else "",
    )


def _template(name: str, **values: str) -> str:
    """Return the text of our file with a value in the place of each @NAME@."""
    text = (_FILES / name).read_text(encoding="utf-8")
    for word, value in values.items():
        text = text.replace(f"@{word}@", value)
    return text


def _row(kind: Kind, schemas: Schemas) -> str:
    about = str(schemas[kind.schema].get("description", kind.name))
    return (
        f"| `{CONTENT_FOLDER}/{kind.folder}/` | {about.rstrip('.').replace('|', ' ')} |"
    )


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files below a folder, which is created where it is missing: all of them, or
    none.

    Raises Misuse where one is there already, or a folder of content that is not empty.
    """
    if occupied := _occupied(folder, files):
        raise Misuse("", f"{occupied} is there already, and nothing is written over it")
    with ExitStack() as undo:
        for name, data in files.items():
            path = folder / name
            for missing in reversed([one for one in path.parents if not one.exists()]):
                missing.mkdir()
                undo.callback(_try, missing.rmdir)
            with open(path, "xb") as file:
                undo.callback(_try, path.unlink)
                file.write(data)
        undo.pop_all()


def _try(removing: Callable[[], None]) -> None:
    with suppress(OSError):
        removing()


def _occupied(folder: Path, files: Iterable[str]) -> Path | None:
    """Return what stands in the way of the files; None where nothing does.

    Content that somebody wrote and content to start from make no shop together, so a
    folder of content has to be empty.
    """
    content = folder / CONTENT_FOLDER
    if content.is_dir() and any(content.iterdir()):
        return content
    for name in files:
        path = folder / name
        if os.path.lexists(path):
            return path
        for place in path.parents:
            if os.path.lexists(place) and not place.is_dir():
                return place
    return None
