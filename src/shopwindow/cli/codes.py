"""`codes`: single-use codes, issued, imported and counted."""

import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from shopwindow.cli import audit
from shopwindow.cli.database import database_option, opened, require
from shopwindow.cli.steps import OUT, PROBLEMS, interface

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from shopwindow.service.database.database import Database

TOGETHER = 10_000
"""Codes that are issued in one transaction: the service need not wait for more."""

MOST_SHOWN = 100


@click.group()
def codes() -> None:
    """Single-use codes. Issue and import need the secret SHOPWINDOW_CODE_SECRET, the same that
    the service has.
    """


@codes.command("issue")
@click.option(
    "--promotion",
    required=True,
    type=click.IntRange(1),
    metavar="ID",
    help="Its promoId in the current release.",
)
@click.option(
    "--count", required=True, type=click.IntRange(1, 10_000_000), metavar="N", help="How many."
)
@database_option
@OUT
def issue(promotion: int, count: int, database: str, out: str) -> None:
    """Make codes that nobody can guess and print them, one a line: this once, for only digests
    are kept.
    """
    import secrets

    from shopwindow.problems import Failure
    from shopwindow.retail.codes.issuing import keep
    from shopwindow.retail.codes.text import digest, new_code

    secret = _secret()
    if fault := _promotions([promotion], out).get(promotion):
        raise Failure(f"--promotion {promotion}: {fault}")
    data, issued = _open(database), 0
    try:
        for start in range(0, count, TOGETHER):
            made = [new_code(secrets.token_bytes) for _ in range(min(TOGETHER, count - start))]
            keep(data, {promotion: [digest(code, secret) for code in made]}, secret, data.now())
            click.echo("\n".join(made))
            sys.stdout.flush()
            issued += len(made)
    finally:
        data.close()
        audit.record("codes issue", promotion=promotion, issued=issued)
    click.echo(f"issued {count:,} code{'s' * (count > 1)} of promotion {promotion}", err=True)


@codes.command("import")
@click.argument("file", type=click.File("rb"))
@click.option(
    "--promotion",
    type=click.IntRange(1),
    metavar="ID",
    help="The promoId of all of them; else each line says it.",
)
@database_option
@OUT
def import_codes(file: BinaryIO, promotion: int | None, database: str, out: str) -> None:
    """Take over codes made elsewhere. All of them, or none.

    FILE (-: standard input) holds one a line: the promoId, a comma or blank, and the code; with
    --promotion the code.
    """
    from collections import defaultdict

    from shopwindow.problems import Failure
    from shopwindow.retail.codes.issuing import CodesExist, keep, read_lines
    from shopwindow.retail.codes.text import digest

    secret = _secret()
    lines, bad = read_lines(file.read(), promotion)
    wanted = {of for of, _ in lines.values()} if promotion is None else {promotion}
    faults = _promotions(sorted(wanted), out)
    if promotion in faults:
        raise Failure(f"--promotion {promotion}: {faults[promotion]}")
    bad |= {
        number: f"promotion {of}: {faults[of]}"
        for number, (of, _) in lines.items()
        if of in faults
    }
    digests: dict[str, int] = {}
    by_promotion: dict[int, list[str]] = defaultdict(list)
    for number, (of, code) in lines.items():
        made = digest(code, secret)
        digests[made] = number
        by_promotion[of].append(made)
    if not bad and lines:
        data = _open(database)
        try:
            keep(data, by_promotion, secret, data.now())
            counts = {str(of): len(made_of) for of, made_of in by_promotion.items()}
            audit.record("codes import", imported=counts)
        except CodesExist as known:
            bad = {
                digests[each]: "the database has this code already" for each in known.digests
            }
        finally:
            data.close()
    for number, fault in sorted(bad.items())[:MOST_SHOWN]:
        click.echo(f"{file.name}:{number}: {fault}")
    if len(bad) > MOST_SHOWN:
        click.echo(f"and {len(bad) - MOST_SHOWN:,} lines more")
    if bad:
        click.echo(
            f"{len(bad):,} bad line{'s' * (len(bad) > 1)}; nothing is imported", err=True
        )
        sys.exit(PROBLEMS)
    _warn_of_guessable(lines.values())
    for of, made_of in sorted(by_promotion.items()):
        click.echo(
            f"imported {len(made_of):,} code{'s' * (len(made_of) != 1)} of promotion {of}"
        )
    if not lines:
        click.echo("imported 0 codes")


@codes.command("report")
@database_option
@click.option(
    "--format", "form", type=click.Choice(("text", "json")), default="text", show_default=True
)
def report(database: str, form: str) -> None:
    """Say of each promotion how many codes were issued and used, and when (UTC)."""
    import json
    from dataclasses import asdict

    from shopwindow.retail.codes.table import SINGLE_USE_CODES

    with opened(database) as data:
        require(data, SINGLE_USE_CODES)
        issues = data.read(lambda tables: tables[SINGLE_USE_CODES].report())
    if form == "json":
        click.echo(json.dumps([asdict(each) for each in issues], indent=1))
        return
    rows = [
        (
            "promotion",
            "issued",
            "used",
            "first issued",
            "last issued",
            "first used",
            "last used",
        )
    ]
    rows += [
        tuple("-" if value is None else str(value) for value in asdict(each).values())  # type: ignore[misc]
        for each in issues
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        click.echo(
            "  ".join(
                text.ljust(width) for text, width in zip(row, widths, strict=True)
            ).rstrip()
        )


# -- what they share ---------------------------------------------------------------------------


def _secret() -> bytes:
    """The secret of the environment. Raises Failure."""
    import os

    from shopwindow.interface.secret import SECRET, read_secret
    from shopwindow.problems import Failure

    try:
        return read_secret(os.environ.get(SECRET))
    except ValueError as error:
        raise Failure(str(error)) from None


def _warn_of_guessable(codes: "Iterable[tuple[int, str]]") -> None:
    """Warn of promotions, each with its codes, that somebody may guess."""
    from collections import defaultdict

    from shopwindow.retail.codes.text import SAFE_BITS, bits

    by_promotion: dict[int, list[str]] = defaultdict(list)
    for of, code in codes:
        by_promotion[of].append(code)
    for of, its_codes in sorted(by_promotion.items()):
        held = bits(its_codes)
        if held < SAFE_BITS:
            click.echo(
                f"shopwindow: the codes of promotion {of} hold at most {held:.0f} bits of chance, fewer than"
                f" {SAFE_BITS}: somebody may guess them; 12 random letters and digits hold 60,"
                " `shopwindow codes issue` makes 80",
                err=True,
            )


def _promotions(ids: "Sequence[int]", out: str) -> dict[int, str]:
    """What is wrong with those that the current release has not; warns of such as are none of
    single-use codes.
    """
    from pathlib import Path

    from shopwindow.release.changes import content_of
    from shopwindow.release.publish import Releases

    releases = Releases(Path(out))
    content = content_of(releases.path(releases.find("current")), interface())
    single = [
        str(each["promoId"]) for each in content.documents("promotion") if each.get("singleUse")
    ]
    known = (
        f"those with single-use codes are {', '.join(single[:40])}"
        if single
        else "none has single-use codes"
    )
    faults = {}
    for id in ids:
        promotion = content.document("promotion", "promoId", id)
        if promotion is None:
            faults[id] = f"the current release in {out} has no such promotion; {known}"
        elif not promotion.get("singleUse"):
            click.echo(
                f"shopwindow: promotion {id} does not say `singleUse: true` in content",
                err=True,
            )
    return faults


def _open(url: str) -> "Database":
    """Return the database, in this program's form. Raises Failure."""
    from shopwindow.retail.codes.table import SINGLE_USE_CODES
    from shopwindow.service.database.database import open_database

    database = open_database(url, interface().tables)
    require(database, SINGLE_USE_CODES)
    database.migrate()
    return database
