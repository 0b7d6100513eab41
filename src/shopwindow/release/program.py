"""A digest of this program, which tells whether what an earlier run recorded still
holds.

The program is more than the engine: whoever brings an Interface of their own brings its
views, and an edited view is another program. So the digest covers everything that the
Interface is put together from: the source of its modules, the files beside them in its
packages, which a view may read, and its own schemas and templates.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from shopwindow.content.listing import below
from shopwindow.interface.interface import Interface

_PACKAGE = Path(__file__).resolve().parents[1]
_INSTALLED = ("site-packages", "dist-packages")


def program_digest(
    interface: Interface, *declared: Path, without: Collection[Path] = ()
) -> str:
    """Return a digest of the program that answers for an Interface, as hexadecimal
    digits.

    It covers this package's source, the Interface's own packages, modules, schemas and
    templates, the Python that runs it, and when its libraries were last installed.
    ``declared`` are files that declare more of the Interface, such as a content
    folder's; one that is not there is nothing. ``without`` are folders that are no part
    of the program, such as the content and the releases, wherever they lie.
    """
    digest = sha256(sys.version.encode())
    files = {name: _PACKAGE / name for name in below(_PACKAGE, ".py")}
    # unlike Path.resolve, realpath takes a loop of links as it is: reading it reports
    # the loop
    apart = [os.path.realpath(folder) for folder in without]
    files |= {
        name: path
        for name, path in _own_files(interface).items()
        if not any(path.resolve().is_relative_to(folder) for folder in apart)
    }
    files |= {path.name: path for path in declared}
    for name, path in sorted(files.items()):
        if path.is_file():
            data = path.read_bytes()
            digest.update(f"{name}\0{len(data)}\0".encode() + data)
    for entry in sys.path:
        if os.path.basename(entry) in _INSTALLED and os.path.isdir(entry):
            digest.update(f"{entry} {os.stat(entry).st_mtime_ns}".encode())
    return digest.hexdigest()


def _own_files(interface: Interface) -> dict[str, Path]:
    """Return the files of an Interface outside this package and outside what is
    installed, by their names.

    The names are the same wherever a checkout lies. Of a package these are all of its
    files, since a view may import or read any of them; of a module that lies in no
    package, the Python files beside it, since that folder may hold anything else. To
    these come all files of the folders ``schemas`` and ``templates``.
    """
    roots = (
        {name.partition(".")[0] for name in _modules(interface)}
        - sys.stdlib_module_names
        - {"shopwindow"}
    )
    files: dict[str, Path] = {}
    for root in roots & sys.modules.keys():
        module = sys.modules[root]
        file = getattr(module, "__file__", None)
        if hasattr(module, "__path__"):
            for number, folder in enumerate(module.__path__):
                files |= _below(f"{root}/{number}", Path(folder))
        elif file:
            files |= {
                f"{root}/{path.name}": path for path in Path(file).parent.glob("*.py")
            }
    for name in ("schemas", "templates"):
        if folder := getattr(interface, name):
            files |= _below(name, Path(str(folder)))
    return {
        name: path
        for name, path in files.items()
        if not any(part in _INSTALLED for part in path.parts)
    }


def _below(name: str, folder: Path) -> dict[str, Path]:
    """Return all files below a folder, by their names below ``name``, but those that
    Python compiled and those that are hidden.
    """
    return {
        f"{name}/{path}": folder / path
        for path in below(folder)
        if not any(
            part == "__pycache__" or part.startswith(".") for part in Path(path).parts
        )
    }


def _modules(interface: Interface) -> Iterator[str]:
    """Yield the names of the modules that an Interface is from: those that name it, and
    those of all its parts.
    """
    for name, module in list(sys.modules.items()):
        if any(
            value is interface
            for value in list(getattr(module, "__dict__", {}).values())
        ):
            yield name
    parts: list[Any] = [interface]
    seen: dict[
        int, Any
    ] = {}  # the parts themselves, too: an id is another's once its object has gone
    while parts:
        part = parts.pop()
        if id(part) in seen:
            continue
        seen[id(part)] = part
        yield type(part).__module__
        if callable(part) and isinstance(getattr(part, "__module__", None), str):
            yield part.__module__
        parts += _parts(part)


def _parts(value: Any) -> list[Any]:
    """Return what a value of an Interface is made of."""
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list | set | frozenset) else []
