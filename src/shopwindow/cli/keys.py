"""`keys`: the keys that sign releases. (`new key` makes the API keys of apps.)"""

import os
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shopwindow.cli import PROBLEMS, audit
from shopwindow.cli.options import CONTENT_DIR, DAYS, PATH
from shopwindow.cli.places import require_delivery

if TYPE_CHECKING:
    from shopwindow.delivery.keys import KeySource
    from shopwindow.delivery.roots import KeyChange, RoleStatus
    from shopwindow.delivery.signing import Signing

KEY_FOLDER = click.argument("folder", metavar="DIR", type=PATH)

HELD = click.option(
    "--held",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Where the private root keys are, such as a stick; default: DIR itself.",
)

ENCRYPTED = click.option(
    "--passphrase",
    "encrypted",
    is_flag=True,
    help="Ask for a passphrase, or read SHOPWINDOW_KEY_PASSPHRASE, and encrypt the root keys "
    "that are written.",
)


@click.group()
def keys() -> None:
    """Make, replace and look after the keys that sign releases.

    Not to be confused with `shopwindow new key`, which makes an API key for an app.
    """
    require_delivery("signing", "signing")


@keys.command()
@KEY_FOLDER
@click.option(
    "--root-keys",
    type=click.IntRange(1, 16),
    default=3,
    metavar="N",
    help="How many people hold a root key.",
)
@click.option(
    "--threshold",
    type=click.IntRange(min=1),
    default=2,
    metavar="N",
    help="How many of them have to sign a change of keys.",
)
@ENCRYPTED
def init(folder: Path, root_keys: int, threshold: int, encrypted: bool) -> None:
    """Write DIR/root.json, and a private key for each role beside it.

    root.json is what hosts are given. The private keys (ROLE-ID.pem) are for their
    owner alone: move the root's to sticks, and take the others to the pipeline that
    publishes. Everything else in DIR is public.
    """
    from shopwindow.delivery import roots

    change = roots.init(
        folder,
        keys=root_keys,
        threshold=threshold,
        passphrase=_new_passphrase(encrypted),
        moment=datetime.now(UTC),
    )
    _print(folder, change)
    click.echo("move the root keys to sticks; docs: operate/signing")


@keys.command()
@KEY_FOLDER
@click.argument("role", type=click.Choice(["root", "targets", "snapshot", "timestamp"]))
@click.option("--add", is_flag=True, help="Make one more key, which signs as well.")
@click.option(
    "--remove",
    metavar="ID",
    help="The key that signs nothing any more, by its beginning. With --add: it is replaced.",
)
@click.option(
    "--threshold",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many keys of ROLE have to sign: of root, or of targets.",
)
@click.option(
    "--expires",
    type=DAYS,
    metavar="DAYS",
    help="For how many days a signature of ROLE is good. Default: root 365, targets 90, snapshot 30, timestamp 3.",
)
@HELD
@ENCRYPTED
def rotate(
    folder: Path,
    role: str,
    add: bool,
    remove: str | None,
    threshold: int | None,
    expires: int | None,
    held: Path | None,
    encrypted: bool,
) -> None:
    """Replace the key of ROLE by a new one; the old one signs nothing any more.

    With options, do what they say: more keys or fewer, how many of them sign, and for
    how long. Begins the next version of the root. It is in force when enough root keys
    have signed it, which `keys sign` does elsewhere, and when `publish` has brought it
    to the target. Signatures that exist are renewed by the next publication.
    """
    from shopwindow.delivery import roots

    if not (add or remove or threshold or expires):
        add, remove = True, ""
    change = roots.change(
        folder,
        role,
        _source(held or folder),
        add=add,
        remove=remove,
        threshold=threshold,
        days=expires,
        passphrase=_new_passphrase(encrypted and add and role == "root"),
        moment=datetime.now(UTC),
    )
    _print(folder, change)


@keys.command()
@KEY_FOLDER
@HELD
@click.option(
    "--renew",
    is_flag=True,
    help="Begin a version of the root with the same keys that lasts as long again.",
)
def sign(folder: Path, held: Path | None, renew: bool) -> None:
    """Sign the next version of the root (DIR/draft.root.json) with a root key."""
    from shopwindow.delivery import roots

    source = _source(held or folder)
    change = roots.sign(folder, source, renew=renew, moment=datetime.now(UTC))
    _print(folder, change)


@keys.command()
@KEY_FOLDER
@click.argument("target", required=False)
@CONTENT_DIR
def status(folder: Path, target: str | None, content: Path) -> None:
    """List roles, keys, thresholds and ends, and what is due; with TARGET also of what
    is signed there.

    Exit status 0: nothing is due; 1: something is, as the lines say; 4: it cannot be
    read.
    """
    from shopwindow.delivery import roots, signing
    from shopwindow.delivery.targets import configured, opened

    ends: Mapping[str, tuple[int, datetime]] = {}
    if target:
        bucket = opened(configured(target, content).place, os.environ)
        ends = signing.ends(bucket, roots.read(folder).signed)
    listed = roots.status(folder, ends, datetime.now(UTC))
    for role in listed:
        _print_role(role)
    if any(role.due for role in listed):
        sys.exit(PROBLEMS)


def signing_of(folder: str) -> "Signing":
    """Return what `publish --keys` signs with. Raises Failure without the extra
    `delivery`.
    """
    require_delivery("signing", "signing")
    from shopwindow.delivery.signing import Signing

    return Signing(Path(folder), _source(Path(folder)))


def _source(folder: Path) -> "KeySource":
    from shopwindow.delivery.keys import KeySource

    # Whoever has to type a passphrase does so once.
    return KeySource(folder, os.environ, cache(_ask) if sys.stdin.isatty() else None)


def _ask(what: str) -> str:
    answer: str = click.prompt(f"Passphrase of {what}", hide_input=True, err=True)
    return answer


def _new_passphrase(encrypted: bool) -> str:
    """Return the passphrase for keys that are written; empty: they have none."""
    if not encrypted:
        return ""
    given = os.environ.get("SHOPWINDOW_KEY_PASSPHRASE", "")
    if given:
        return given
    answer: str = click.prompt(
        "Passphrase for the root keys",
        hide_input=True,
        confirmation_prompt=True,
        err=True,
    )
    return answer


def _print(folder: Path, change: "KeyChange") -> None:
    """Print what a command has done to the root, and let the audit log say so."""
    audit.record(
        "keys",
        folder=str(folder),
        version=change.version,
        missing=len(change.missing),
        created=[path.name for path in change.created],
        replaced=list(change.replaced),
    )
    for path in change.created:
        click.echo(f"wrote {path} (private)")
    for id in change.replaced:
        click.echo(f"key {id[:8]} signs nothing any more, once this is in force")
    if change.missing:
        click.echo(
            f"{folder / 'draft.root.json'}: version {change.version} is not yet signed"
        )
        for line in change.missing:
            click.echo(
                f"  still needs {line}: shopwindow keys sign {folder} --held STICK"
            )
    else:
        click.echo(f"wrote {folder / 'root.json'}: version {change.version}, signed")


def _print_role(role: "RoleStatus") -> None:
    """Print a line for a role, one for each of its keys, and what is due."""
    version = f"version {role.version}" if role.version else "not read"
    ends = f", until {role.expires:%Y-%m-%d %H:%MZ}" if role.expires else ""
    click.echo(
        f"{role.role}: {version}{ends}; {role.threshold} of {len(role.keys)} keys sign, "
        f"for {role.lifetime.days} days"
    )
    for id, where in role.keys.items():
        click.echo(f"  {id[:8]}  {where or 'private half is not here'}")
    if role.due:
        click.echo(f"  due: {role.due}")
