"""Which URLs to purge if the content were built now, without building it.

How this works: a build knows, from the recorded reads of the current release, which
answers would read something else now. Only these are rendered here, and a file whose
line of the manifest differs from the release's has a URL to purge. Nothing is written.

Recorded reads number the answers of the release. A document that was added or removed
gives them other numbers. So the answers of the release are listed once more, from its
own content, and told from those of now by what they answer, not by their numbers.

Where too many answers would have to be rendered, none is. The URLs are then an upper
bound: those of all answers that read something else, though some of them may come out
the same.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from shopwindow.content.documents.documents import Content
from shopwindow.interface.formats import JSON
from shopwindow.problems import Failure
from shopwindow.release import manifest
from shopwindow.release.indexes import digests_of, index_state
from shopwindow.release.order import BuildInputs
from shopwindow.release.prerender import (
    PlannedAnswer,
    digest_of_answers,
    planned_answers,
    planned_operations,
    prerender,
)
from shopwindow.release.previous import Previous, previous_release
from shopwindow.release.reads import Digests
from shopwindow.release.releases import Releases

ANSWERS_RENDERED = 1000
"""Answers that are rendered to know their URLs: a page that waits for more of them is
no longer a preview. Of an upper bound so many answers' URLs are listed.
"""


@dataclass(frozen=True)
class Purge:
    """The URLs to purge, sorted; or a sentence on why nobody can say which they are.

    ``count``: how many there are. It is larger than the list where that is cut, which
    only an upper bound is (``is_upper_bound``). ``but``: a sentence about URLs that are
    not among them, mostly empty.
    """

    urls: tuple[str, ...] = ()
    count: int = 0
    is_upper_bound: bool = False
    unknown: str = ""
    but: str = ""


def urls_to_purge(
    inputs: BuildInputs,
    content: Content,
    releases: Releases,
    most: int = ANSWERS_RENDERED,
) -> Purge:
    """Return the URLs of the files that a build of ``content`` would change.

    ``content`` holds what of the documents is live, without indexes: those of
    the release answer instead, since a new one takes a while to build. More answers
    than ``most`` are not rendered.
    """
    previous = previous_release(releases, inputs)
    released = None
    if previous.same_program:
        released = previous.read_content(inputs.interface)
    if released is None:
        return Purge(
            unknown="The current release was built by another version of this program: "
            "only a build tells which files differ."
        )
    try:
        opened, changed = _indexes(inputs, content, previous)
        indexed = content.with_indexes(opened)
        released = released.with_indexes(opened)
        answers, gone = _differing_answers(inputs, released, indexed, previous)
        count = sum(len(answer.spellings) for answer in (*answers, *gone))
        is_upper_bound = len(answers) > most
        if is_upper_bound:
            few = [*gone, *answers][:most]
            urls = set(_urls(few, content.setting("base_url")))
        else:
            files = prerender(answers, indexed, inputs.schemas, {}, {})
            rendered = {file.entry["path"]: orjson.dumps(file.entry) for file in files}
            lines = previous.lines.items()
            before = {path: line for path, line in lines if path in rendered}
            urls = manifest.differing_urls(before, rendered)
            urls.update(_urls(gone, released.setting("base_url")))
            count = len(urls)
    except Failure as failure:
        return Purge(unknown=str(failure))
    but = ""
    if changed:
        but = f"Files of the {' and the '.join(changed)} differ, too: URLs of its answers are not among these."
    return Purge(tuple(sorted(urls)), count, is_upper_bound, but=but)


def _differing_answers(
    inputs: BuildInputs, released: Content, content: Content, previous: Previous
) -> tuple[list[PlannedAnswer], list[PlannedAnswer]]:
    """Return the answers that may differ from the release's, new ones among them; and
    those of the release that there are no more.
    """
    before = planned_operations(inputs.interface, released)
    after = planned_operations(inputs.interface, content)
    state = digest_of_answers(before)
    record = previous.read_record((*inputs.built_by, state))
    digests = Digests(content, digests_of(previous.indexes))
    every = range(sum(map(len, before)))
    outdated = record.forget(digests) if record else set(every)
    if digest_of_answers(after) == state:
        return planned_answers(after, outdated), []

    # Numbers mean other answers now.
    before_named = {_named(answer): answer for answer in planned_answers(before)}
    after_named = {_named(answer): answer for answer in planned_answers(after)}
    differing = [
        answer
        for name, answer in after_named.items()
        if name not in before_named or before_named[name].number in outdated
    ]
    gone = [before_named[name] for name in before_named.keys() - after_named.keys()]
    return differing, gone


def _named(answer: PlannedAnswer) -> tuple[str, str | None, bytes]:
    """Return what an answer is to, whatever its number."""
    spellings = orjson.dumps(answer.spellings, default=repr)
    return answer.operation.name, answer.application, spellings


def _indexes(
    inputs: BuildInputs, content: Content, previous: Previous
) -> tuple[Mapping[str, Any], list[str]]:
    """Return the opened indexes of the release, and the names of those that a build
    would write again.
    """
    opened, changed = {}, []
    for index in inputs.interface.indexes:
        feeds = inputs.documents.feeds.get(index.name)
        old = previous.indexes.get(index.name)
        if old is not None:
            opened[index.name] = index.open(old.path)
        if (old is None) != (feeds is None):
            changed.append(index.name)
        elif old is not None:
            state = index_state(index, feeds, content, inputs.program)
            if old.note.get("state") != state:
                changed.append(index.name)
    return opened, changed


def _urls(answers: Iterable[PlannedAnswer], base: str) -> Iterator[str]:
    """Yield the URLs of all files of some answers. All formats have the same."""
    for answer in answers:
        for call in answer.calls(JSON):
            if call.filenames():
                yield f"{base}/{call.target}"
