"""From findings in documents to problems at places in files.

A check compares documents, while editors mend files. So a finding is traced in two
steps: to the layer that says the value (`origin`), and from there to line and
column. For the second step the file is read again. Nearly all files have no findings,
so no check pays for line numbers before it needs them.

Pointers come in two forms. In a document they start at the document. In a file that is
a list they start with the document's number (`Layer.in_file`).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import starmap
from pathlib import Path

from shopwindow.content.check import tree
from shopwindow.content.check.places import Files, layers_stating
from shopwindow.content.documents import expressions
from shopwindow.content.documents.documents import Document, Layer
from shopwindow.content.documents.finding import NOTHING, Finding
from shopwindow.content.reading import yaml
from shopwindow.content.reading.listing import Source
from shopwindow.content.rules import engine_rules
from shopwindow.content.rules.case import Case
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import (
    Level,
    Place,
    Pointer,
    Problem,
    cut,
    leads_through_list,
    ordinal,
)


def origin(document: Document, finding: Finding) -> tuple[Layer, Pointer]:
    """Return the layer of a document that a finding is about, and the pointer there.

    It is the layer nearest to the document that says the value. No layer says what is
    ``missing`` after merging, so that is reported at `extends` of the document's own.
    """
    top, pointer = document.own, finding.pointer
    if finding.missing is not None and len(document.layers) > 1:
        return top, ("extends",)
    for layer in layers_stating(document, pointer):
        return layer, pointer
    has_key = bool(pointer) and isinstance(top.value, dict) and pointer[0] in top.value
    return top, pointer[:1] if has_key else ()


class Locator:
    """Where findings stand in the files of one content folder.

    The check fills two tables while it reads, and before it calls `problems`.
    ``flaws``: path and document number (None: no list) → what is flawed there.
    ``users``: path of a base → the files that build on it.
    """

    def __init__(
        self, folder: Path, by_path: Mapping[str, Source], schemas: Schemas
    ) -> None:
        self.flaws: dict[tuple[str, int | None], list[Finding]] = {}
        self.users: dict[str, set[str]] = {}
        self.files = Files(folder, by_path)
        self._schemas = schemas

    def flaws_of(self, document: Document) -> list[Finding]:
        """Return the flaws in a document's layers. An expression in a layer is none where
        another layer says something else in its place.
        """
        return [
            flaw
            for layer in document.layers
            for flaw in self.flaws.get((layer.path, layer.index), ())
            if flaw.rule != "expression" or origin(document, flaw)[0] is layer
        ]

    def problems(
        self,
        findings: Iterable[tuple[Document, Finding]],
        level: Level = Level.ERROR,
    ) -> list[Problem]:
        """Return findings as problems at their places, without repetitions.

        A finding that follows from a flaw is left out: that is a problem itself. So is
        one that follows from another finding. A problem in a base names the files that
        build on it: those with this finding, or all where the finding is about the base
        alone.
        """
        users: dict[Problem, set[str]] = defaultdict(set)
        for document, finding in findings:
            flaws = self.flaws_of(document)
            if finding.follows or any(tree.follows(finding, flaw) for flaw in flaws):
                continue
            layer, pointer = origin(document, finding)
            problem = self._problem(layer, layer.in_file(pointer), finding, level)
            users[problem] |= {document.own.path} - {layer.path}
        return [
            replace(problem, used_by=tuple(sorted(paths)))
            if paths
            else self.with_users(problem)
            for problem, paths in users.items()
        ]

    def _problem(
        self, layer: Layer, in_file: Pointer, finding: Finding, level: Level
    ) -> Problem:
        """Return a finding as a problem.

        ``in_file``: pointer in the file to the value whose place is shown. The
        problem's own pointer is the finding's, which may be missing in the file.
        """
        path = layer.path
        place = yaml.place_at(self.files.spots(path), in_file, on_key=finding.on_key)
        found = finding.found + self._line_beside(finding)
        if found == NOTHING:
            written = self.files.text(path).written(in_file)
            if expressions.EXPRESSION_START in written:
                found = "the expression gives nothing"
        pointer = layer.in_file(finding.pointer)
        return replace(finding, found=found).problem(path, pointer, place, level)

    def _line_beside(self, finding: Finding) -> str:
        """Return `:` and the line of the other place that a finding's text ends with.

        Such a text ends with a file's name. Empty where there is no other place.
        """
        if finding.beside is None:
            return ""
        path, in_file = finding.beside
        spot = self.files.spots(path).get(in_file)
        return f":{spot.value.line}" if spot else ""

    def placeholders(self, case: Case) -> list[tuple[str, Place | None, Pointer]]:
        """Return file, place and pointer of what the kinds' notes point at.

        A place in a base is returned once, however many documents build on it.
        """
        origins = starmap(origin, engine_rules.findings(case, level=None))
        in_files = dict.fromkeys(
            (layer.path, layer.in_file(pointer)) for layer, pointer in origins
        )
        return [
            (path, yaml.place_at(self.files.spots(path), pointer), pointer)
            for path, pointer in in_files
        ]

    def with_users(self, problem: Problem) -> Problem:
        """Return a problem with the files that build on its file, where that is a base."""
        users = self.users.get(problem.path, set()) - {problem.path}
        return replace(problem, used_by=tuple(sorted(users)))

    def described(self, problem: Problem) -> Problem:
        """Return a problem with its document's name, where words need it, and with the
        schema's description, where it has no other yet.
        """
        source, pointer = self.files.sources.get(problem.path), problem.pointer
        if source is None:
            return problem
        if leads_through_list(pointer):
            problem = replace(problem, document=self._called(source, pointer))
        if problem.about or (problem.absent and not pointer):
            return problem
        in_document = (
            pointer[1:] if pointer and isinstance(pointer[0], int) else pointer
        )
        return replace(
            problem, about=self._schemas.about(source.kind.schema, in_document)
        )

    def _called(self, source: Source, pointer: Pointer) -> str:
        """Return what a sentence calls the document around a pointer in a file: its kind
        and its identity as written, or its number in the file; empty where it is alone
        there without an identity.

        Files of streamed kinds may be large, and are not read for a name.
        """
        kind = source.kind
        is_in_list = isinstance(pointer[0], int)
        if kind.identity and not kind.streamed:
            place = (*pointer[:is_in_list], kind.identity)
            written = self.files.text(source.path).written(place).strip("\"'")
            if _NAME.fullmatch(written):
                return f"{kind.name} {cut(written)}"
        if not is_in_list:
            return ""
        if source.is_feed:
            return f"this {kind.name}"
        return f"the {ordinal(int(pointer[0]))} {kind.name}"


_NAME = re.compile(r"[\w.-]+(?: [\w.-]+)*")
"""An identity that stands in a sentence as it is: no list, alias or expression."""
