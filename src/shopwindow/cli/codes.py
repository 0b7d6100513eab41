"""`codes`: single-use codes are issued or imported, and counted.

What these commands need of the shop and the service they import when they are called,
so that `--help` needs none of it.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, BinaryIO

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside, audit
from shopwindow.cli.database import opened, require
from shopwindow.cli.options import DATABASE_URL, OUT, format_option, interface
from shopwindow.problems import Failure, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from shopwindow.service.database.database import Database

CODES_IN_A_BATCH = 10_000
"""Codes that are issued in one transaction: the service need not wait for more."""

MAX_LISTED_LINES = 100
"""Bad lines of an import that are printed; of the others only their number is."""

MAX_LISTED_PROMOTIONS = 40
"""Promotions that a message names where none of those wanted is there."""

REPORT_HEADINGS = (
    "promotion",
    "issued",
    "used",
    "first issued",
    "last issued",
    "first used",
    "last used",
)


@click.group()
def codes() -> None:
    """Issue or import single-use codes, and count them.

    To add codes, SHOPWINDOW_CODE_SECRET must hold the secret that the service has.
    """


@codes.command()
@click.argument("file", required=False, type=click.File("rb"))
@click.option(
    "--promotion",
    type=click.IntRange(1),
    metavar="ID",
    help="The promoId of all codes; without it each line of FILE names its own.",
)
@click.option(
    "--count",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help="Without FILE: how many codes are issued.",
)
@DATABASE_URL
@OUT
def add(
    file: BinaryIO | None,
    promotion: int | None,
    count: int | None,
    database: str,
    out: Path,
) -> None:
    """Issue codes that nobody can guess, and print them, one a line; or import those of
    FILE, all of them or none.

    Issued codes are printed this once: the database holds only digests.

    FILE (-: standard input) has one code a line: the promoId, a comma or space, and the
    code; with --promotion only the code. Exit status 0: all are imported; 1: some lines
    are bad, and nothing was imported.
    """
    if file is not None and count is None:
        _import(file, promotion, database, out)
    elif file is None and promotion is not None and count is not None:
        _issue(promotion, count, database, out)
    else:
        raise click.UsageError(
            "name a FILE of codes, or say with --promotion and --count which are issued"
        )


def _issue(promotion: int, count: int, database: str, out: Path) -> None:
    import secrets

    from shopwindow.retail.codes.issuing import keep
    from shopwindow.retail.codes.text import digest, new_code

    secret = _secret()
    _promotions([promotion], out, promotion)
    data, issued = _open(database), 0
    try:
        for start in range(0, count, CODES_IN_A_BATCH):
            number = min(CODES_IN_A_BATCH, count - start)
            batch = [new_code(secrets.token_bytes) for _ in range(number)]
            digests = [digest(code, secret) for code in batch]
            keep(data, {promotion: digests}, secret, data.now())
            click.echo("\n".join(batch))
            sys.stdout.flush()
            issued += number
    finally:  # what was issued before a failure is recorded, too
        data.close()
        audit.record("codes add", promotion=promotion, issued=issued)
    aside(f"issued {number_of(count, 'code')} of promotion {promotion}")


def _import(file: BinaryIO, promotion: int | None, database: str, out: Path) -> None:
    from shopwindow.retail.codes.issuing import CodesExist, keep, read_lines
    from shopwindow.retail.codes.text import digest

    secret = _secret()
    lines, bad = read_lines(file.read(), promotion)
    promotions = {of for of, _ in lines.values()} if promotion is None else {promotion}
    faults = _promotions(sorted(promotions), out, promotion)
    for number, (of, _) in lines.items():
        if of in faults:
            bad[number] = f"promotion {of}: {faults[of]}"

    line_of: dict[str, int] = {}
    digests: dict[int, list[str]] = defaultdict(list)
    for number, (of, code) in lines.items():
        code_digest = digest(code, secret)
        line_of[code_digest] = number
        digests[of].append(code_digest)

    if lines and not bad:
        data = _open(database)
        try:
            keep(data, digests, secret, data.now())
            counts = {str(of): len(its_digests) for of, its_digests in digests.items()}
            audit.record("codes add", imported=counts)
        except CodesExist as existing:
            fault = "the database has this code already"
            bad = {line_of[code_digest]: fault for code_digest in existing.digests}
        finally:
            data.close()
    if bad:
        _print_bad_lines(file.name, bad)
        sys.exit(PROBLEMS)

    _warn_of_guessable(lines.values())
    for of, its_digests in sorted(digests.items()):
        imported = number_of(len(its_digests), "code")
        click.echo(f"imported {imported} of promotion {of}")
    if not lines:
        click.echo("imported 0 codes")


def _print_bad_lines(name: str, bad: Mapping[int, str]) -> None:
    """Print what is wrong with lines of a file, by their number."""
    for number, fault in sorted(bad.items())[:MAX_LISTED_LINES]:
        click.echo(f"{name}:{number}: {fault}")
    if len(bad) > MAX_LISTED_LINES:
        click.echo(f"and {len(bad) - MAX_LISTED_LINES:,} lines more")
    aside(f"{number_of(len(bad), 'bad line')}; nothing is imported")


@codes.command("report")
@DATABASE_URL
@format_option(["text", "json"], "A table for people, or a list of JSON objects.")
def report(database: str, form: str) -> None:
    """Print how many codes of each promotion were issued and used, and when (UTC)."""
    import json
    from dataclasses import asdict

    from shopwindow.retail.codes.table import SINGLE_USE_CODES

    with opened(database) as data:
        require(data, SINGLE_USE_CODES)
        issues = data.read(lambda tables: tables[SINGLE_USE_CODES].report())
    promotions = [asdict(issue) for issue in issues]
    if form == "json":
        click.echo(json.dumps(promotions, indent=1))
        return
    cells = (counts.values() for counts in promotions)
    rows = [
        list(REPORT_HEADINGS),
        *(["-" if value is None else str(value) for value in row] for row in cells),
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo("  ".join(padded).rstrip())


# -- what they share -------------------------------------------------------------------


def _secret() -> bytes:
    """Return the secret that the environment holds. Raises Failure."""
    import os

    from shopwindow.interface.declaring.secret import SECRET, read_secret

    try:
        return read_secret(os.environ.get(SECRET))
    except ValueError as error:
        raise Failure(str(error)) from None


def _warn_of_guessable(lines: Iterable[tuple[int, str]]) -> None:
    """Warn of promotions whose codes somebody may guess. ``lines``: promotion and code."""
    from shopwindow.retail.codes.text import SAFE_BITS, bits

    codes_of: dict[int, list[str]] = defaultdict(list)
    for promotion, code in lines:
        codes_of[promotion].append(code)
    for promotion, its_codes in sorted(codes_of.items()):
        held = bits(its_codes)
        if held < SAFE_BITS:
            aside(
                f"shopwindow: the codes of promotion {promotion} hold at most {held:.0f} bits of"
                f" chance, fewer than {SAFE_BITS}: somebody may guess them; 12 random letters and"
                " digits hold 60, `shopwindow codes add --count N` makes 80"
            )


def _promotions(ids: Sequence[int], out: Path, chosen: int | None) -> dict[int, str]:
    """Return what is wrong with those promotions that the current release has not.

    It warns of those that are there and have no single-use codes. Raises Failure where
    the promotion that the option says is not there.
    """
    content = library.released_content(interface(), out)
    promotions = content.documents("promotion")
    single_use = [str(each["promoId"]) for each in promotions if each.get("singleUse")]
    there_are = "none has single-use codes"
    if single_use:
        listed = ", ".join(single_use[:MAX_LISTED_PROMOTIONS])
        there_are = f"those with single-use codes are {listed}"

    faults = {}
    for id in ids:
        promotion = content.document("promotion", "promoId", id)
        if promotion is None:
            faults[id] = (
                f"the current release in {out} has no such promotion; {there_are}"
            )
        elif not promotion.get("singleUse"):
            does_not_say = f"promotion {id} does not say `singleUse: true` in content"
            aside(f"shopwindow: {does_not_say}")
    if chosen in faults:
        raise Failure(f"--promotion {chosen}: {faults[chosen]}")
    return faults


def _open(url: str) -> Database:
    """Return the database after its migration. Raises Failure."""
    from shopwindow.retail.codes.table import SINGLE_USE_CODES
    from shopwindow.service.database.database import open_database

    database = open_database(url, interface().tables)
    require(database, SINGLE_USE_CODES)
    database.migrate()
    return database
