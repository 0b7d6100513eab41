"""From the files of a content folder to its documents, each checked by itself.

site.yaml comes first, since its names stand in the expressions of the other files.
Layered documents come last, for they need the bases of all files. What follows from
several documents together is not seen here (`folder`).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import orjson

from shopwindow.content.check import tree
from shopwindow.content.check.locating import Locator, origin
from shopwindow.content.check.tree import Parsed, doubtful
from shopwindow.content.documents import expressions, site
from shopwindow.content.documents.characters import not_xml
from shopwindow.content.documents.documents import Document, Documents, Layer
from shopwindow.content.documents.finding import Finding
from shopwindow.content.documents.layers import (
    Assembly,
    assemble,
    merge,
    useless_nulls,
)
from shopwindow.content.kinds import SITE, Kind
from shopwindow.content.reading.listing import SITE_FILE, Source
from shopwindow.content.reading.yaml import Json
from shopwindow.content.rules.allowances import Allowance
from shopwindow.content.schemas.lines import LineFaults, LineGroup, LineGroups
from shopwindow.content.schemas.schema import Schemas
from shopwindow.problems import Place, Pointer, Problem

MOST_FAULTY = 20_000
"""Faulty documents of which more in the same file are passed over. They take a second,
and nobody mends them one by one.
"""


class FolderReading:
    """What was read of a content folder so far, and what is wrong with it.

    ``problems``: those of files; ``findings``: those in documents. ``broken``: documents
    with their findings and flaws. ``unreadable``: paths of files of which documents are
    missing. ``recognized``: documents of lists with faults that others before them have;
    ``at_least``: not all faulty documents were looked at. ``slips``: warnings of slips
    in texts. ``allowed``: by path, what comments allow. ``locator`` knows
    where all of it stands.
    """

    def __init__(
        self,
        folder: Path,
        by_path: Mapping[str, Source],
        kinds: Sequence[Kind],
        schemas: Schemas,
    ) -> None:
        self.problems: list[Problem] = []
        self.findings: list[tuple[Document, Finding]] = []
        self.broken: list[tuple[Document, list[Finding]]] = []
        self.unreadable: set[str] = set()
        self.slips: list[Problem] = []
        self.recognized: LineGroups = {}
        self.at_least = False
        self.allowed: dict[str, Sequence[Allowance]] = {}
        self.locator = Locator(folder, by_path, schemas)
        self._folder = folder
        self._by_path = by_path
        self._kinds = kinds
        self._by_name = {kind.name: kind for kind in (SITE, *kinds)}
        self._schemas = schemas

    @property
    def incomplete_kinds(self) -> frozenset[str]:
        """The names of kinds of which documents are missing.

        Nothing may be concluded from the absence of a document of these.
        """
        return frozenset(self._by_path[path].kind.name for path in self.unreadable)

    # -- site.yaml ---------------------------------------------------------------------

    def site(self) -> tuple[Document, expressions.Names | None]:
        """Return the document of site.yaml, and the names that other files may use.

        What is laid over the file is merged with it. Where one of them has faults, the
        document is empty, and the names are those that have no part in the faults. The
        names are None where the faults hide which names there are.
        """
        empty, texts = Document("site", {}, ()), self._site_texts()
        if not texts:
            return empty, None
        value = texts.pop(SITE_FILE)
        over = [Layer(path, None, text) for path, text in texts.items()]
        findings: list[Finding] = []
        for layer in over:
            findings += useless_nulls(layer.value, value)
            value = merge(value, layer.value)

        # The first rendering serves to find the faults.
        rendered, _, _ = site.render(value, frozenset())
        document = Document("site", rendered, (Layer(SITE_FILE, None, rendered), *over))
        findings += self._explained(document)
        flaws = self.locator.flaws_of(document)

        # The second one leaves out the names that are at fault, and so shows which
        # texts cannot be rendered because they use such a name.
        bad_names = site.names_at_fault(value, [*findings, *flaws])
        _, names, unrendered = site.render(value, bad_names or frozenset())
        self.problems += self.locator.problems(
            (document, one)
            for one in unrendered
            # Where nobody knows the names, an unknown one is no mistake.
            if bad_names is not None or not one.absent
        )
        flaws += [Finding(one.rule, one.pointer, "") for one in unrendered]
        self.locator.flaws[SITE_FILE, None] = flaws

        self.findings += [(document, finding) for finding in findings]
        if findings or flaws:
            self.broken.append((document, [*findings, *flaws]))
            document = empty
        else:
            document = Document("site", site.completed(rendered), document.layers)
        return document, None if bad_names is None else names

    def _site_texts(self) -> dict[str, Json]:
        """Return what site.yaml and what is laid over it say, by their paths.

        Nothing, where one of them cannot be read.
        """
        texts: dict[str, Json] = {}
        for path, source in self._by_path.items():
            if source.kind is SITE:
                file, parsed = tree.read_yaml(self._folder, source)
                self._record(parsed)
                if parsed.lost:
                    return {}
                texts[path] = file.value
        return texts if SITE_FILE in texts else {}

    # -- documents ---------------------------------------------------------------------

    def documents(
        self,
        site_document: Document,
        names: expressions.Names | None,
        parsed: Iterable[Parsed],
    ) -> Documents:
        """Return the valid documents, and add the others to ``broken``."""
        documents = Documents(site_document, names=names or {})
        recognizing = LineFaults(self._schemas)
        layers: dict[str, list[Layer]] = defaultdict(list)
        bases: dict[str, dict[str, Layer]] = defaultdict(dict)
        for file in parsed:
            self._record(file)
            kind = file.source.kind
            if file.source.is_base:
                self._add_base(file, bases[kind.name])
                continue
            for number, value in enumerate(file.documents):
                index = number if file.listed else None
                layer = Layer(file.source.path, index, value)
                if kind.layered:
                    layers[kind.name].append(layer)
                    continue
                valid = documents.of(kind.name)
                document = Document(kind.name, value, (layer,))
                if file.valid:
                    valid.append(document)
                elif number >= MOST_FAULTY and len(self.broken) >= MOST_FAULTY:
                    self.at_least = True
                    self.unreadable.add(file.source.path)
                    break
                else:
                    self._judge(document, file, recognizing, valid)
        for kind in self._kinds:
            if kind.layered:
                self._merge(
                    kind, layers[kind.name], bases[kind.name], documents.of(kind.name)
                )
        return documents

    def _judge(
        self,
        document: Document,
        file: Parsed,
        recognizing: LineFaults,
        valid: list[Document],
    ) -> None:
        """Sort out a document of a file in which something is wrong.

        In a list, it may have the faults of documents before it: then it is counted.
        """
        schema, value = file.source.kind.schema, document.value
        in_plain_list = file.listed and not file.flawed
        is_clear = in_plain_list and not doubtful(orjson.dumps(value))
        if is_clear and (same := recognizing.of(schema, value)):
            self.broken.append((document, [*same.unsound]))
            for common in same.causes:
                group = self.recognized.setdefault(common, LineGroup())
                group.lines[file.source.path] += 1
            return
        findings = self._sort_out(document, self._explained(document), valid)
        if is_clear:
            recognizing.learn(document.kind, schema, value, findings)

    def _record(self, file: Parsed) -> None:
        """Record what there is to say of a file beside its documents."""
        path = file.source.path
        self.problems += file.problems
        self.slips += file.warnings
        if file.allowed:
            self.allowed[path] = file.allowed
        if file.lost:
            self.unreadable.add(path)
        for number, flaws in file.flaws().items():
            self.locator.flaws[path, number] = flaws

    def _add_base(self, file: Parsed, bases: dict[str, Layer]) -> None:
        """Add the base that a file holds, by its path. A base must be one object."""
        path = file.source.path
        if file.lost:
            return
        if not file.listed and isinstance(file.documents[0], dict):
            bases[path] = Layer(path, None, file.documents[0])
            return
        self.problems.append(
            Problem(
                "extends.base",
                path,
                "a base that is no object",
                Place(1, 1, 1, 2),
                allowed="one object",
            )
        )
        self.unreadable.add(path)

    def _explained(self, document: Document) -> list[Finding]:
        """Return what the schema finds in a document, and what XML cannot hold.

        Messages repeat numbers as the editor wrote them: 7.10, where the value is 7.1.
        """

        def written(pointer: Pointer) -> str | None:
            layer, at = origin(document, Finding("", pointer, ""))
            return self.locator.files.text(layer.path).number(layer.in_file(at))

        schema = self._by_name[document.kind].schema
        found = self._schemas.findings(schema, document.value, written=written)
        return [*found, *not_xml(document.value)]

    def _sort_out(
        self, document: Document, findings: list[Finding], valid: list[Document]
    ) -> list[Finding]:
        """Add a document to the valid ones, or with what is wrong to the broken ones.

        Return what is wrong with it by its schema.
        """
        # what XML cannot hold comes last, and says nothing of the kind
        has_two = findings[1:] and findings[1].rule != "text.xml"
        if has_two and len(document.layers) == 1:
            findings = self._of_another_kind(document, findings)
        self.findings += [(document, finding) for finding in findings]
        # A text whose expression cannot be evaluated is text, and rules look at it.
        flaws = self.locator.flaws_of(document)
        wrong = [*findings, *(one for one in flaws if one.rule != "expression")]
        if wrong:
            self.broken.append((document, wrong))
        else:
            valid.append(document)
        return findings

    def _of_another_kind(
        self, document: Document, findings: list[Finding]
    ) -> list[Finding]:
        """Return the findings in a document, or one where it stands in the folder of
        another kind.
        """
        mine = self._by_name[document.kind]
        for kind in self._kinds:
            is_other = kind.schema != mine.schema and kind.name != mine.name
            if is_other and self._schemas.valid(kind.schema, document.value):
                found = f"this is a document of the kind {kind.name}"
                allowed = f"the kind {mine.name} below {mine.folder}/"
                wrong = Finding(
                    "tree.kind", (), found, f"{allowed}; this one below {kind.folder}/"
                )
                return [wrong, *(one.following for one in findings)]
        return findings

    def _merge(
        self,
        kind: Kind,
        layers: list[Layer],
        bases: dict[str, Layer],
        valid: list[Document],
    ) -> None:
        """Merge the documents of a layered kind with their bases, and check all of them.

        The bases are checked by themselves, too. A base alone, or a document without
        one of its bases, need not be complete, so what is missing is not reported.
        """
        unreadable = frozenset(
            path
            for path in self.unreadable
            if self._by_path[path].kind.name == kind.name
        )
        assembly = assemble(kind.name, layers, bases, unreadable)
        self.locator.users.update(assembly.users)
        for document in assembly.documents:
            findings = assembly.united(document, self._explained(document))
            self._sort_out(document, findings, valid)
        for layer, finding in assembly.findings:
            if layer not in assembly.forgotten:
                document = Document(kind.name, layer.value, (layer,))
                self.findings.append((document, finding))
        for document in assembly.partial:
            findings = self._explained(document)
            self._report_incomplete(document, findings, assembly)
            self.broken.append(
                (document, [*findings, *self.locator.flaws_of(document)])
            )
        for document, filled in assembly.bases:
            # Explaining is slow, and would find something in nearly every base alone.
            if not self._schemas.valid(kind.schema, filled) or not_xml(filled):
                self._report_incomplete(document, self._explained(document), assembly)

    def _report_incomplete(
        self, document: Document, findings: list[Finding], assembly: Assembly
    ) -> None:
        """Report the findings of an incomplete document, except what is missing.

        Where `assemble` has reported the document's `extends` already, the schema's
        finding about it is left out.
        """
        layer = document.own
        extends_reported = any(
            finding.pointer == ("extends",)
            for other, finding in assembly.findings
            if other is layer
        )
        self.findings += [
            (document, finding)
            for finding in findings
            if finding.missing is None
            and not (extends_reported and finding.pointer == ("extends",))
        ]
