"""The edge's rules, printed as a JavaScript worker for Cloudflare and workerd.

How this works. The template worker.js is the whole program, and has one slot: the
rules, as JSON. It answers a request with a file where the rules lead to one, and hands
every other request to the service.
"""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shopwindow.edge.printing import rendered
from shopwindow.edge.rules import APPLICATION, MAX_DROPPED, Error, Rules, place

WORKER_TEMPLATE = "worker.js"


def module(rules: Rules, templates: Sequence[Path] = ()) -> str:
    """Return the worker, an ECMAScript module.

    ``templates``: the folders in which the template is looked for, by default the
    program's own. Raises Failure for a template that cannot be rendered.
    """
    table = json.dumps(_table(rules), indent=1, ensure_ascii=True)
    return rendered(WORKER_TEMPLATE, templates, {}, {"rules": rules, "table": table})


def _table(rules: Rules) -> dict[str, Any]:
    """Return the rules as the worker names them.

    Whatever a client's text is looked up in is a list of pairs, of which the worker
    makes a Map: an object of JavaScript has more names than were written into it.
    """
    errors = {error.code: error for error in rules.errors}
    own_errors = {error.code: error for error in rules.own_errors}
    base = re.escape(f"{rules.base_path}/")
    return {
        "keyHeader": rules.key_header,
        "challenge": rules.challenge,
        "orderHost": rules.order_host,
        "vary": rules.vary,
        "application": APPLICATION,
        "maxDropped": MAX_DROPPED,
        "format": rules.media_types[0][0],
        "mediaTypes": dict(rules.media_types),
        "accepts": [(value.lower(), format) for value, format in rules.accepts],
        "applications": [
            (digest, name) for name, digests in rules.applications for digest in digests
        ],
        "routes": [
            {
                "place": base + place(route),
                "query": route.query,
                "cacheControl": route.cache_control,
                "targets": [
                    (base + target.pattern, target.stem) for target in route.targets
                ],
            }
            for route in rules.routes
        ],
        "noKey": _error(errors.get("no_key")),
        "unavailable": _error(errors["unavailable"]),
        "openPaths": rules.open_paths,
        "ownPaths": rules.own_paths,
        "ownUnavailable": _error(own_errors.get("unavailable")),
    }


def _error(error: Error | None) -> dict[str, Any] | None:
    """Return an error's status and its bodies by format; None where there is none."""
    if error is None:
        return None
    return {"status": error.status, "bodies": dict(error.bodies)}
