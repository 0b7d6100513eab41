"""What a program calls: check content, build and operate releases, print the edge's
configuration, answer requests.

Each function takes an Interface where it needs one, and plain arguments, and returns
what it did. Every command of the command line parses, calls one of them, prints and
ends with a status. Problems of content are returned. What an operator has to mend is
raised as a Failure, and an argument that cannot be meant as Misuse. Nothing here
prints, reads settings from the environment, or ends a process.

The work is done in the rooms below: `content` checks, `release` builds and activates,
`edge` prints, `service` answers. Where a function here has more than one line of its
own, it says in which order these are called; a name without such a function is that of
its room. The modules of this package are chapters; callers import the names from the
package. A module is loaded with the first of its names that somebody uses: `why` needs
nothing of what builds a release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# ruff: noqa: F401 (imported for the type checker alone: `__getattr__` returns the names)
if TYPE_CHECKING:
    from shopwindow.library.building import (
        Build,
        build,
        counted,
        indexed_content,
    )
    from shopwindow.library.checking import check
    from shopwindow.library.edges import (
        NewKey,
        new_key,
        nginx_configuration,
        openapi_document,
        worker_module,
    )
    from shopwindow.library.editing import (
        fixes,
        retire,
        uses,
        why,
        write_edits,
    )
    from shopwindow.library.following import follow
    from shopwindow.library.opening import (
        ContentAtFault,
        OpenedContent,
        declared,
        live_at,
        memory_of,
        opened,
        schemas,
    )
    from shopwindow.library.operating import (
        ReleaseDifference,
        activate,
        difference,
        folder_of_release,
        prune,
        released_content,
        releases,
        remedy,
        roll_back,
        urls_to_purge,
        verify,
    )
    from shopwindow.library.repositories import (
        editor_schemas,
        new,
        start,
    )
    from shopwindow.library.serving import application
    from shopwindow.library.showing import (
        AnsweredValue,
        DocumentRead,
        calendar,
        documents_read,
        record_contract,
        show,
        why_answered,
    )
    from shopwindow.release.edge_notes import record_edge
    from shopwindow.release.releases import OutputBusy

_HOMES = {
    "library.building": (
        "Build",
        "build",
        "counted",
        "indexed_content",
    ),
    "library.checking": ("check",),
    "library.edges": (
        "NewKey",
        "new_key",
        "nginx_configuration",
        "openapi_document",
        "worker_module",
    ),
    "library.editing": (
        "fixes",
        "retire",
        "uses",
        "why",
        "write_edits",
    ),
    "library.following": ("follow",),
    "library.opening": (
        "ContentAtFault",
        "OpenedContent",
        "declared",
        "live_at",
        "memory_of",
        "opened",
        "schemas",
    ),
    "library.operating": (
        "ReleaseDifference",
        "activate",
        "difference",
        "folder_of_release",
        "prune",
        "released_content",
        "releases",
        "remedy",
        "roll_back",
        "urls_to_purge",
        "verify",
    ),
    "library.repositories": (
        "editor_schemas",
        "new",
        "start",
    ),
    "library.serving": ("application",),
    "library.showing": (
        "AnsweredValue",
        "DocumentRead",
        "calendar",
        "documents_read",
        "record_contract",
        "show",
        "why_answered",
    ),
    "release.edge_notes": ("record_edge",),
    "release.releases": ("OutputBusy",),
}
"""The names that programs call, by the module that has them: a chapter, or where nothing
is to be added, a room below.
"""

__all__ = [name for names in _HOMES.values() for name in names]


def __getattr__(name: str) -> Any:
    """Load the module that has a name (PEP 562)."""
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"shopwindow.{home}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
