"""The edge's rules, printed as a JavaScript worker for Cloudflare and workerd.

How this works. The template worker.js is the whole program, and has one slot: the
rules, as JSON. It answers a request with a file where the rules lead to one, and hands
every other request to the service.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shopwindow.edge.printing import rendered
from shopwindow.edge.rules import APPLICATION, MAX_DROPPED, Rules, place

WORKER_TEMPLATE = "worker.js"


def module(rules: Rules, templates: Sequence[Path]) -> str:
    """Return the worker, an ECMAScript module.

    ``templates``: the folders in which the template is looked for. Raises Failure for a
    template that cannot be rendered.
    """
    table = json.dumps(_table(rules), indent=1, ensure_ascii=True)
    return rendered(WORKER_TEMPLATE, templates, {}, {"rules": rules, "table": table})


def _table(rules: Rules) -> dict[str, Any]:
    """Return the rules, with what the worker cannot make of them.

    Whatever a client's text is looked up in is a list of pairs, of which the worker
    makes a Map: an object of JavaScript has more names than were written into it.
    """
    return {
        **asdict(rules),
        "application": APPLICATION,
        "max_dropped": MAX_DROPPED,
        "base": re.escape(f"{rules.base_path}/"),
        "places": [place(route) for route in rules.routes],
    }
