"""`catalog import`: foreign feeds become ours."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import orjson

from shopwindow import library
from shopwindow.catalog import foreign
from shopwindow.catalog import mapping as mappings
from shopwindow.catalog.mapping import BadRow, FeedRow, Mapped, UnusableMapping
from shopwindow.cli.steps import CONTENT, MAX_PROBLEMS, PROBLEMS, interface
from shopwindow.content import yaml
from shopwindow.content.characters import not_xml
from shopwindow.content.finding import shown
from shopwindow.content.schema import Schemas
from shopwindow.content.yaml import Json, Malformed
from shopwindow.problems import Problem, pointer_text, sentence


@click.group()
def catalog() -> None:
    """The product catalog."""


@catalog.command("import")
@click.argument("feed", metavar="FEED")
@click.option(
    "--map",
    "mapping",
    required=True,
    metavar="FILE",
    help="The mapping file: what of a row becomes what.",
)
@click.option("--out", required=True, metavar="FILE", help="The .jsonl file to write.")
@click.option("--skip-bad", is_flag=True, help="Write the good rows although others are bad.")
@CONTENT
@MAX_PROBLEMS
def import_(feed: str, mapping: str, out: str, skip_bad: bool, content: str, most: int) -> None:
    """Make documents of the rows of FEED: JSON lines, a JSON or YAML list, or CSV, as its name
    ends.

    Schemas of the content folder, where it is there, come before the program's own. Every bad
    row is told with its line. Exit 0; 1: bad rows, and nothing was written; 2: wrong use.
    """
    if not out.endswith(".jsonl"):
        raise click.UsageError(f"--out {out}: the name of what is written ends in .jsonl")
    mapped = _mapping(Path(mapping))
    importing = _Import(
        Path(feed), Path(mapping), mapped, library.schemas(interface(), Path(content)), most
    )
    target = Path(out)
    target.parent.mkdir(parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}-{os.getpid()}")
    try:
        with open(draft, "wb") as file:
            for document in importing.documents():
                file.write(orjson.dumps(document) + b"\n")
        if importing.bad and not skip_bad:
            click.echo(
                f"{feed}: nothing was written; --skip-bad writes the {importing.written:,} good rows",
                err=True,
            )
        else:
            os.replace(draft, target)
            click.echo(importing.summary(out))
    finally:
        draft.unlink(missing_ok=True)
    if importing.bad and not skip_bad:
        sys.exit(PROBLEMS)


class _Import:
    """One feed being read; the bad rows are told on the way, and counted."""

    def __init__(
        self, feed: Path, mapping: Path, mapped: Mapped, schemas: Schemas, most: int
    ) -> None:
        self.feed, self.mapping, self.mapped, self.schemas, self.most = (
            feed,
            mapping,
            mapped,
            schemas,
            most,
        )
        self.read = self.written = self.skipped = self.bad = 0

    def documents(self) -> Iterator[Json]:
        """The documents of the good rows, in the order of the feed."""
        known = self._known()
        seen: set[str] = set()
        for where, row in self._rows():
            if self.written == self.mapped.limit:
                break
            self.read += 1
            if isinstance(row, Malformed):
                self._say(where, f"{row.found}; allowed: {row.allowed}")
                continue
            if not isinstance(row, dict):
                self._say(where, f"{shown(row)} where an object should be")
                continue
            try:
                if self.mapped.skipped(row) or (
                    self.mapped.once and not _first(self.mapped.once(row), seen)
                ):
                    self.skipped += 1
                    continue
                document = self.mapped.document(row, known)
            except BadRow as bad:
                self._say(where, str(bad))
                continue
            if self._sound(where, document):
                self.written += 1
                yield document
        if self.bad > self.most:
            click.echo(f"and {self.bad - self.most:,} more bad rows")

    def _known(self) -> frozenset[Json]:
        """What the rows call themselves, where one may name another: the value that `id` is
        made from.
        """
        if not self.mapped.references:
            return frozenset()
        way = mappings.path(self.mapped.own, ())
        names = (way(row) for _, row in self._rows() if isinstance(row, dict))
        return frozenset(name for name in names if isinstance(name, (str, int)))

    def _rows(self) -> Iterator[tuple[str, FeedRow]]:
        try:
            yield from foreign.rows(self.feed, self.mapped)
        except UnusableMapping as unfit:
            raise click.UsageError(
                f"{self.mapping}: {unfit.found}; allowed: {unfit.allowed}"
            ) from None

    def _sound(self, where: str, document: Json) -> bool:
        """Whether a document satisfies its schema; where not, why is told."""
        name = f"catalog/{self.mapped.kind}.json"
        found = self.schemas.findings(name, document)
        words = [
            sentence(
                Problem(
                    each.rule,
                    "",
                    each.found,
                    None,
                    each.pointer,
                    each.allowed,
                    each.about,
                    each.nearest,
                )
            )
            for each in found
        ]
        words += [
            f"{'/'.join(map(str, pointer))}: {what}" for pointer, what, _ in not_xml(document)
        ]
        if words:
            self._say(where, "; ".join(words))
        return not words

    def _say(self, where: str, words: str) -> None:
        self.bad += 1
        if self.bad <= self.most:
            click.echo(f"{self.feed}: {where}: {words}")

    def summary(self, out: str) -> str:
        """How many rows became what."""
        told = [f"{self.read:,} rows read", f"{self.written:,} written to {out}"]
        told += [f"{self.skipped:,} skipped as the mapping says"] * bool(self.skipped)
        told += [f"{self.bad:,} bad ones left out"] * bool(self.bad)
        return ", ".join(told)


def _first(value: Json, seen: set[str]) -> bool:
    """Whether a value comes for the first time."""
    key = json.dumps(value, sort_keys=True)
    if key in seen:
        return False
    seen.add(key)
    return True


def _mapping(path: Path) -> Mapped:
    """The mapping file. Raises UsageError with the place of what is wrong in it."""
    try:
        text = yaml.decode(path.read_bytes())
        value = yaml.load(text)
    except OSError as error:
        raise click.UsageError(f"--map {path}: {error.strerror}") from None
    except Malformed as fault:
        where = f"{path}:{fault.place.line}:{fault.place.column}"
        raise click.UsageError(f"{where}: {fault.found}; allowed: {fault.allowed}") from None
    try:
        return mappings.read(value)
    except UnusableMapping as unfit:
        spots = yaml.locate(text)
        spot = spots.get(unfit.pointer) or spots.get(unfit.pointer[:-1])
        where = f"{path}:{spot.value.line}:{spot.value.column}" if spot else str(path)
        close = f"; did you mean {unfit.nearest}?" if unfit.nearest else ""
        name = f"{pointer_text(unfit.pointer)}: " if unfit.pointer else ""
        raise click.UsageError(
            f"{where}: {name}{unfit.found}; allowed: {unfit.allowed}{close}"
        ) from None
