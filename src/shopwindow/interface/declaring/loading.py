"""Loads an Interface by its name, `package.module:NAME`.

WSGI servers name applications in the same way. Commands have the option `--interface`,
and a worker process the environment variable VARIABLE.
"""

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path

from shopwindow.content.reading.listing import below, shipped
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.declaring.interface import Interface
from shopwindow.problems import Failure

VARIABLE = "SHOPWINDOW_INTERFACE"
DEFAULT = "shopwindow.shop:INTERFACE"
"""A name and no import: the engine imports a shop only when this name is loaded."""


def load(name: str) -> Interface:
    """Return the Interface of a name.

    Raises Failure where there is none, in words for the person who wrote the name. An
    import that fails within the module raises what it raises.
    """
    module_name, _, attribute = name.partition(":")
    if not attribute.isidentifier():
        raise Failure(
            f"--interface {name}: must be package.module:NAME, such as {DEFAULT}"
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if f"{module_name}.".startswith(f"{error.name}."):
            raise Failure(
                f"--interface {name}: there is no module {error.name} to import;"
                " install it, or name the folder that holds it in PYTHONPATH"
            ) from None
        raise  # the module imports what is missing: its author needs the traceback
    interface = getattr(module, attribute, None)
    if not isinstance(interface, Interface):
        what = "nothing" if interface is None else f"a {type(interface).__name__}"
        raise Failure(
            f"--interface {name}: {module_name} has {what} of that name, and an Interface is needed"
        )
    return interface


def from_environment(environment: Mapping[str, str]) -> Interface:
    """Return the Interface that the environment names, or the default."""
    return load(environment.get(VARIABLE) or DEFAULT)


def program_schemas(interface: Interface) -> Schemas:
    """Return the schemas of the engine and of an Interface.

    The schema of site.yaml consists of the engine's part, the parts of the Interface's
    ``families``, and a part in the Interface's own folder.
    """
    folders = tuple(filter(None, (shipped("schemas"), interface.schemas)))
    files = [folder / name for folder in folders for name in below(folder, ".json")]
    state = [(path, path.stat().st_mtime_ns, path.stat().st_size) for path in files]
    return _program_schemas(folders, interface.families, tuple(state))


# Reading and compiling them takes 20 ms, and a preview checks at each save. Those of
# one program are cached.
@lru_cache(maxsize=1)
def _program_schemas(
    folders: Sequence[Path], families: Sequence[str], state: Hashable
) -> Schemas:
    engine, *of_interface = folders
    return Schemas(engine, of_interface, families)


def template_folders(interface: Interface, *own: Path) -> list[Path]:
    """Return the folders to search for a template; the first that has it wins.

    ``own`` are folders of editors or operators. The Interface's and the program's
    follow.
    """
    folders = (*own, interface.templates, shipped("templates"))
    return [folder for folder in folders if folder]
