"""A digest of the program: what an earlier run recorded holds while it is the same.

The program is more than the engine. A company's own Interface brings views of its own,
and with an edited view the program is another one. So the digest covers all that the
Interface is put together from: the source of its modules, the files beside them in its
packages, which a view may read, and its own schemas and templates.

Of libraries the digest covers the versions, of all that are installed: nobody can say
which of them a view uses. What a process happens to have imported makes no difference,
so a build and a preview that run the same program have the same digest.
"""

import os
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

from shopwindow.content.reading.files import MAX_FILE
from shopwindow.content.reading.listing import COLLECTIONS, below
from shopwindow.interface.declaring.interface import Interface

_PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of this package, shopwindow."""

_INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed libraries."""


def program_digest(interface: Interface, content: Path, *written: Path) -> str:
    """Return a digest of the program that answers for an Interface, as hexadecimal
    digits.

    It covers this package's source, the Interface's own packages, modules, schemas and
    templates, the Python that runs it, and the versions of the libraries there.

    Args:
        interface: the Interface.
        content: the content folder, whose collections.yaml declares more of it. Nothing
            else in the folder is a part of the program, wherever it lies.
        written: folders that the program writes, likewise, such as that of the releases.
    """
    # unlike Path.resolve, realpath takes a loop of links as it is: reading it reports
    # the loop
    excluded = [os.path.realpath(folder) for folder in (content, *written)]
    files = {
        name: path
        for name, path in _own_files(interface).items()
        if path.is_file()
        and not any(path.resolve().is_relative_to(folder) for folder in excluded)
    }
    collections = content / COLLECTIONS
    # one that is too large is read by nobody, for a check refuses it
    if collections.is_file() and collections.stat().st_size <= MAX_FILE:
        files[COLLECTIONS] = collections
    program = [sys.version, _package(), _digest(files), *_libraries()]
    return sha256("\0".join(program).encode()).hexdigest()


@cache
def _package() -> str:
    """Return a digest of this package's source, and of the data beside it.

    It is read once a process: what a process has loaded, it runs until its end.
    """
    names = (name for ending in (".py", ".csv") for name in below(_PACKAGE, ending))
    return _digest({name: f"{_PACKAGE}/{name}" for name in names})


def _digest(files: Mapping[str, str | Path]) -> str:
    """Return a digest of files by their names."""
    digest = sha256()
    for name, path in sorted(files.items()):
        data = Path(path).read_bytes()
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    return digest.hexdigest()


@cache
def _libraries() -> list[str]:
    """Return the installed libraries, each with its version, in order:
    `pyyaml-6.0.3.dist-info`.
    """
    return sorted(
        {library.name for folder in sys.path for library in Path(folder).glob("*-info")}
    )


def _own_files(interface: Interface) -> dict[str, Path]:
    """Return an Interface's own files, by names that do not depend on where they lie.

    Files of this package's modules are not among them. All files of the folders
    ``schemas`` and ``templates`` count.
    """
    modules = {*_modules_with(interface), *_modules_of_parts(interface)}
    files = _files_of(modules)
    for name in ("schemas", "templates"):
        if folder := getattr(interface, name):
            files |= _below(name, Path(str(folder)))
    return files


def _files_of(modules: Collection[str]) -> dict[str, Path]:
    """Return the files that modules are from, by names that do not depend on where they
    lie. Those of this package and of Python are not among them.

    A package counts with all of its files, since a view may import or read any of them.
    A module outside a package counts with the Python files beside it only, since its
    folder may hold anything else. Where libraries are installed, it counts alone.
    """
    top_names = {name.partition(".")[0] for name in modules}
    roots = top_names - sys.stdlib_module_names - {"shopwindow"}
    files: dict[str, Path] = {}
    for root in roots & sys.modules.keys():
        module = sys.modules[root]
        file = getattr(module, "__file__", None)
        if hasattr(module, "__path__"):
            for number, folder in enumerate(module.__path__):
                files |= _below(f"{root}/{number}", Path(folder))
        elif file:
            around = Path(file).parent
            is_alone = around.name in _INSTALLED
            beside = [Path(file)] if is_alone else around.glob("*.py")
            files |= {f"{root}/{path.name}": path for path in beside}
    return files


def _below(name: str, folder: Path) -> dict[str, Path]:
    """Return the files below a folder, by their names below ``name``.

    Hidden files and what Python compiled are left out.
    """
    return {
        f"{name}/{path}": folder / path
        for path in below(folder)
        if not any(map(_is_left_out, Path(path).parts))
    }


def _is_left_out(part: str) -> bool:
    return part == "__pycache__" or part.startswith(".")


def _modules_with(interface: Interface) -> set[str]:
    """Return the names of the modules that have an Interface as a variable.

    Where a module of this package has it, it is from there, and whatever else has it
    has only imported it.
    """
    names = set()
    for name, module in list(sys.modules.items()):
        values = list(getattr(module, "__dict__", {}).values())
        if any(value is interface for value in values):
            names.add(name)
    return {name for name in names if name.startswith("shopwindow.")} or names


def _modules_of_parts(interface: Interface) -> Iterator[str]:
    """Yield the names of the modules that the parts of an Interface are from, at any
    depth, some more than once.
    """
    parts: list[Any] = [interface]
    # the parts themselves stay in memory: Python gives the id of an object that has
    # gone to another one
    seen: dict[int, Any] = {}
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
    """Return the values that a value of an Interface contains."""
    if isinstance(value, partial):
        return [value.func, *value.args, *value.keywords.values()]
    if is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in fields(value)]
    if isinstance(value, Mapping):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list | set | frozenset) else []
