"""Converts a foreign feed to documents, row by row, as a mapping file says.

Each row is read (`foreign`), mapped (`mapping`) and checked by the schema of its kind.
A row that fails one of these steps is reported with its place and left out; the caller
decides whether the others are written. Only names and keys of rows are in memory, so a
feed may have millions of rows.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from shopwindow.catalog import foreign
from shopwindow.catalog.mapping import BadRow, Mapped
from shopwindow.catalog.mapping_paths import FeedRow, path
from shopwindow.content.characters import not_xml
from shopwindow.content.finding import Finding, shown
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Problem, sentence


class FeedImport:
    """One conversion of a feed.

    ``report`` is called for each bad row with its place, such as `line 7`, and with
    what is wrong. ``progress`` is called with the number of rows read. The counts grow
    as `documents` goes on: rows ``read``, documents ``written``, rows ``skipped`` as the
    mapping says, and ``bad`` rows.
    """

    def __init__(
        self,
        feed: Path,
        mapped: Mapped,
        schemas: Schemas,
        report: Callable[[str, str], None],
        progress: Callable[[int], None] = lambda rows: None,
    ) -> None:
        self._feed, self._mapped, self._schemas = feed, mapped, schemas
        self._report, self._progress = report, progress
        self.read = self.written = self.skipped = self.bad = 0

    def documents(self) -> Iterator[Json]:
        """Yield the documents of the good rows, in the order of the feed.

        Raises Failure for a feed that cannot be read, and UnusableMapping for a mapping
        that does not fit it.
        """
        names = self._names()
        seen: set[str] = set()
        for where, row in foreign.rows(self._feed, self._mapped):
            if self.written == self._mapped.limit:
                break
            self.read += 1
            self._progress(self.read)
            if isinstance(row, Malformed):
                self._bad(where, f"{row.found}; allowed: {row.allowed}")
                continue
            if not isinstance(row, dict):
                self._bad(where, f"{shown(row)} where an object should be")
                continue
            try:
                if self._mapped.skipped(row) or self._is_repeated(row, seen):
                    self.skipped += 1
                    continue
                document = self._mapped.document(row, names)
            except BadRow as bad:
                self._bad(where, str(bad))
                continue
            if faults := document_faults(self._schemas, self._mapped.kind, document):
                self._bad(where, "; ".join(faults))
                continue
            self.written += 1
            yield document

    def _names(self) -> frozenset[Json]:
        """Return what the rows are called, if a row may refer to another by its name.

        A row's name is the value that its `id` is made from. All names are needed
        before the first reference is, so the feed is read twice.
        """
        if not self._mapped.references:
            return frozenset()
        name_of = path(self._mapped.own, ())
        rows = foreign.rows(self._feed, self._mapped)
        names = (name_of(row) for _, row in rows if isinstance(row, dict))
        return frozenset(name for name in names if isinstance(name, (str, int)))

    def _is_repeated(self, row: FeedRow, seen: set[str]) -> bool:
        """Return whether an earlier row had the same key, if the mapping names one.

        ``seen`` are the keys so far. Of equal keys the mapping wants the first row
        only.
        """
        if not self._mapped.once:
            return False
        key = json.dumps(self._mapped.once(row), sort_keys=True)
        if key in seen:
            return True
        seen.add(key)
        return False

    def _bad(self, where: str, fault: str) -> None:
        self.bad += 1
        self._report(where, fault)


def document_faults(schemas: Schemas, kind: str, document: Json) -> list[str]:
    """Return what its kind's schema finds in a document, and characters that XML lacks."""
    findings = schemas.findings(f"catalog/{kind}.json", document)
    faults = [sentence(_problem(finding)) for finding in findings]
    for pointer, fault, _ in not_xml(document):
        faults.append(f"{'/'.join(map(str, pointer))}: {fault}")
    return faults


def _problem(finding: Finding) -> Problem:
    """Return a finding as a problem without a file, so that `sentence` words it."""
    return Problem(
        finding.rule,
        "",
        finding.found,
        allowed=finding.allowed,
        about=finding.about,
        nearest=finding.nearest,
        pointer=finding.pointer,
    )
