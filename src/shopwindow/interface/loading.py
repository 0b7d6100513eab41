"""Which Interface a command or a worker is handed: named `package.module:NAME`, as WSGI
servers name an application.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from shopwindow.content.listing import shipped
from shopwindow.content.schema import Schemas
from shopwindow.interface.interface import Interface
from shopwindow.problems import Failure

VARIABLE = "SHOPWINDOW_INTERFACE"
DEFAULT = "shopwindow.shop:INTERFACE"
"""Only a name: the engine imports no shop unless it is told to."""


def load(name: str) -> Interface:
    """Return the Interface of that name. Raises Failure where there is none, in words
    for whoever wrote the name.
    """
    module_name, separator, attribute = name.partition(":")
    if not separator or not attribute.isidentifier():
        raise Failure(
            f"--interface {name}: must be package.module:NAME, such as {DEFAULT}"
        )
    try:
        module = import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name and (
            module_name == error.name or module_name.startswith(f"{error.name}.")
        ):
            raise Failure(
                f"--interface {name}: there is no module {error.name} to import"
            ) from None
        raise  # one that the module itself wants: its author needs the traceback
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


def program_schemas(interface: Interface, *own: Path) -> Schemas:
    """Return the schemas of the engine and of an Interface; ``own`` are folders of
    editors', which go on top.

    site.yaml's schema has the engine's part, those of the Interface's ``families``, and
    what the Interface brings itself.
    """
    brought = [Path(str(interface.schemas))] if interface.schemas else []
    return Schemas([shipped("schemas"), *own], brought, interface.families)


def template_folders(interface: Interface, *own: Path) -> list[Path]:
    """Return the folders in which a template is looked for, the first that has it
    decides.

    ``own`` are folders of editors or operators; then come the Interface's and the
    program's.
    """
    brought = [Path(str(interface.templates))] if interface.templates else []
    return [*own, *brought, shipped("templates")]
