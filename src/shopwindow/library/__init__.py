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
callers import the names from the package.
"""

from shopwindow.content.reading.steps import Steps, no_steps
from shopwindow.library.building import Build, build, counted, indexed_content
from shopwindow.library.checking import check, declared, moment_of, schemas
from shopwindow.library.edges import (
    NewKey,
    edge_configured,
    new_key,
    nginx_configuration,
    openapi_document,
    worker_module,
)
from shopwindow.library.editing import (
    ATTRIBUTE,
    MAX_CHECKED_AGAIN,
    SETTING,
    fixes,
    retire,
    uses,
    why,
    write_edits,
)
from shopwindow.library.operating import (
    ReleaseDifference,
    activate,
    difference,
    prune,
    released_content,
    releases,
    remedy,
    roll_back,
    urls_to_purge,
    verify,
)
from shopwindow.library.repositories import editor_schemas, new, start
from shopwindow.library.serving import application
from shopwindow.library.showing import (
    CALENDAR_DAYS,
    calendar,
    live_at,
    record_contract,
    require_format,
    rule_pages,
    show,
)

__all__ = [
    "ATTRIBUTE",
    "CALENDAR_DAYS",
    "MAX_CHECKED_AGAIN",
    "SETTING",
    "Build",
    "NewKey",
    "ReleaseDifference",
    "Steps",
    "activate",
    "application",
    "build",
    "calendar",
    "check",
    "counted",
    "declared",
    "difference",
    "edge_configured",
    "editor_schemas",
    "fixes",
    "indexed_content",
    "live_at",
    "moment_of",
    "new",
    "new_key",
    "nginx_configuration",
    "no_steps",
    "openapi_document",
    "prune",
    "record_contract",
    "released_content",
    "releases",
    "remedy",
    "require_format",
    "retire",
    "roll_back",
    "rule_pages",
    "schemas",
    "show",
    "start",
    "urls_to_purge",
    "uses",
    "verify",
    "why",
    "worker_module",
    "write_edits",
]
