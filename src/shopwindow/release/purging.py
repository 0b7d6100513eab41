"""Which URLs to purge if the content were built now, without building it.

How this works: a build knows, from the recorded reads of the current release, which
answers would read something else now (`plan`). Only these are rendered here, and a file
whose bytes differ from the release's has a URL to purge. Nothing is written.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import orjson

from shopwindow.content.documents import Content
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.indexes import index_state
from shopwindow.release.order import BuildOrder
from shopwindow.release.plan import planned
from shopwindow.release.prerender import File, prerender
from shopwindow.release.previous import Previous, previous_release
from shopwindow.release.publish import Releases

ANSWERS_RENDERED = 1000
"""Answers that are rendered to know their URLs: a page that waits for more of them is
no longer a preview.
"""


@dataclass(frozen=True)
class Purge:
    """The URLs to purge, sorted; or a sentence on why nobody can say which they are.

    ``but``: a sentence about URLs that are not among them, mostly empty.
    """

    urls: tuple[str, ...] = ()
    unknown: str = ""
    but: str = ""


def urls_to_purge(order: BuildOrder, content: Content, releases: Releases) -> Purge:
    """Return the URLs of the files that a build of ``content`` would change.

    ``content`` holds what of the order's documents is live, without indexes: those of
    the release answer instead, since a new one takes a while to build.
    """
    previous = previous_release(releases, order.interface, order.built_by)
    if not previous.same_program:
        return Purge(
            unknown="The current release was built by another version of this program: "
            "only a build tells which files differ."
        )
    opened, changed = _indexes(order, content, previous)
    try:
        indexed = content.with_indexes(opened)
        digests = {
            name: index.note["sha256"] for name, index in previous.indexes.items()
        }
        plan = planned(order, indexed, previous, digests)
    except Failure as failure:
        return Purge(unknown=str(failure))
    answers = list(chain.from_iterable(plan.answers))
    if len(answers) > ANSWERS_RENDERED:
        return Purge(
            unknown=f"{len(answers):,} answers would be rendered again, too many to "
            "compare here: only a build tells which files differ."
        )

    files = list(prerender(answers, indexed, order.schemas, {}))
    rendered = {file.entry["path"] for file in files}
    gone = previous.lines.keys() - plan.reused.keys() - rendered
    urls = {*_differing(files, previous.lines), *_urls(gone, previous.lines)}
    but = ""
    if changed:
        but = f"Files of the {' and the '.join(changed)} differ, too: URLs of its answers are not among these."
    return Purge(tuple(sorted(urls)), but=but)


def _indexes(
    order: BuildOrder, content: Content, previous: Previous
) -> tuple[Mapping[str, Any], list[str]]:
    """Return the opened indexes of the release, and the names of those that a build
    would write again.
    """
    opened, changed = {}, []
    for index in order.interface.indexes:
        feeds = order.documents.feeds.get(index.name)
        old = previous.indexes.get(index.name)
        if old is not None:
            opened[index.name] = index.open(old.path)
        if (old is None) != (feeds is None):
            changed.append(index.name)
        elif old is not None:
            _, state = index_state(index, feeds, content, order.program)
            if not old.is_of(state):
                changed.append(index.name)
    return opened, changed


def _differing(files: Iterable[File], lines: Mapping[str, bytes]) -> Iterator[str]:
    for file in files:
        line = lines.get(file.entry["path"])
        if line is None or manifest.digest_of(line) != file.entry["sha256"]:
            yield file.entry["url"]


def _urls(paths: Iterable[str], lines: Mapping[str, bytes]) -> Iterator[str]:
    for path in paths:
        yield orjson.loads(lines[path])["url"]
