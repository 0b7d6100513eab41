"""What a program calls: check content, build and operate releases, print the edge's
configuration, answer requests.

Each function takes an Interface where it needs one, and plain arguments, and returns
what it did. Every command of the command line parses, calls one of them, prints and
ends with a status. Problems of content are returned. What an operator has to mend is
raised as a Failure, and an argument that cannot be meant as Misuse. Nothing here
prints, reads settings from the environment, or ends a process.

The work is done in the rooms below: `content` checks, `release` builds and activates,
`edge` prints, `service` answers. Where a function here has more than one line of its
own, it says in which order these are called. The modules of this package are chapters;
callers import the names from the package. A chapter is loaded with the first of its
names that somebody uses: `why` needs nothing of what builds a release.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

# ruff: noqa: F403 (for the type checker alone: `__getattr__` returns the names below)
if TYPE_CHECKING:
    from shopwindow.library.answering import *
    from shopwindow.library.building import *
    from shopwindow.library.checking import *
    from shopwindow.library.edges import *
    from shopwindow.library.editing import *
    from shopwindow.library.opening import *
    from shopwindow.library.operating import *
    from shopwindow.library.repositories import *
    from shopwindow.library.serving import *
    from shopwindow.library.showing import *

_CHAPTERS = {
    "answering": ("why_answered",),
    "building": (
        "Build",
        "build",
        "counted",
        "indexed_content",
    ),
    "checking": ("check",),
    "edges": (
        "NewKey",
        "new_key",
        "nginx_configuration",
        "openapi_document",
        "worker_module",
    ),
    "editing": (
        "fixes",
        "retire",
        "uses",
        "why",
        "write_edits",
    ),
    "opening": (
        "ContentAtFault",
        "OpenedContent",
        "declared",
        "live_at",
        "memory_of",
        "opened",
        "schemas",
    ),
    "operating": (
        "ReleaseDifference",
        "activate",
        "difference",
        "prune",
        "released_content",
        "releases",
        "remedy",
        "roll_back",
        "urls_to_purge",
        "verify",
    ),
    "repositories": (
        "editor_schemas",
        "new",
        "start",
    ),
    "serving": ("application",),
    "showing": (
        "calendar",
        "record_contract",
        "show",
    ),
}
"""The names that programs call, by the chapter that has them."""


def __getattr__(name: str) -> Any:
    """Load the chapter that has a name (PEP 562)."""
    for chapter, names in _CHAPTERS.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{chapter}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
