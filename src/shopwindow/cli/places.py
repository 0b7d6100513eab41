"""Where releases live: an output directory, or a target of `publish`.

Both have the same verbs: list, activate and pin, verify, prune. So the commands are the
same ones, too, and `--target` says that they mean a target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shopwindow import library
from shopwindow.cli import PROBLEMS, aside
from shopwindow.cli.options import interface, setting
from shopwindow.problems import Failure, number_of

if TYPE_CHECKING:
    from shopwindow.delivery.bucket import Bucket
    from shopwindow.delivery.purging import Purger
    from shopwindow.delivery.signing import Signature, Signing
    from shopwindow.release.releases import Release

SIGNING_KEYS = setting(
    "--keys",
    "folder",
    default="",
    metavar="DIR",
    help="For an address: the folder of the keys that sign there; a name has that in site.yaml.",
)
TARGET_OPTION = click.option(
    "--target",
    default="",
    show_default=False,
    metavar="TARGET",
    help="Mean a target of `publish`, by its name in site.yaml or its address, instead of the "
    "output directory.",
)

LATE = (
    "look at its /checks. The next run purges again what it may have filled caches with"
)


@dataclass(frozen=True)
class Folder:
    """An output directory. Every method raises Failure, and so do those of a Target."""

    out: Path

    @property
    def where(self) -> str:
        """What messages call it."""
        return str(self.out)

    def listing(self) -> list[Release]:
        """Return the releases, the newest first."""
        return library.releases(self.out)

    def activate(self, id: str | None, reason: str, *, pin: bool) -> None:
        """Make a release current, pin or unpin it, and print that."""
        change = library.roll_back if pin else library.activate
        done = change(self.out, id, reason)
        previous = f", previous {done.previous[:12]}" if done.previous else ""
        click.echo(f"current is {done.id[:12]}{previous}")
        for edge in done.edges:
            click.echo(f"  {edge.again}")
        if pin:
            click.echo(
                "pinned: builds activate nothing until `shopwindow activate` does"
            )

    def verify(self, id: str) -> tuple[str, list[str], str]:
        """Return a release's id, what is wrong with it, and what mends that."""
        release, wrong = library.verify(self.out, id, interface())
        mend = library.remedy(self.out, id) if wrong else ""
        return release, wrong, f"release {release[:12]} is damaged: {mend}"

    def prune(self, keep: int) -> tuple[Sequence[str], str]:
        """Delete old releases; return the ids of those deleted, and what to print."""
        deleted, remaining = library.prune(self.out, keep)
        more = "; what was current in the last hour stays" * (remaining > keep)
        releases = number_of(len(deleted), "release")
        return deleted, f"{releases} deleted, {remaining} kept{more}"


@dataclass(frozen=True)
class Target:
    """A target of `publish`. ``follow``: how often ``hosts`` look that pull, in seconds."""

    bucket: Bucket
    purgers: Sequence[Purger]
    follow: float
    hosts: Sequence[str]
    signing: Signing | None

    @property
    def where(self) -> str:
        return self.bucket.where

    def listing(self) -> list[Release]:
        from shopwindow.delivery.upkeep import listing

        return listing(self.bucket)

    def activate(self, id: str | None, reason: str, *, pin: bool) -> None:
        from shopwindow.delivery import publishing, upkeep

        only_unpins = id == "current" and not pin
        signs = None if only_unpins else self.signing
        if not signs and not only_unpins:
            publishing.require_unsigned(self.bucket)
        moved = upkeep.activate(
            self.bucket,
            id,
            reason,
            pin=pin,
            purges=bool(self.purgers),
            signs=signs,
        )
        previous = f", previous {moved.previous[:12]}" * (moved.previous != moved.id)
        click.echo(f"current is {moved.id[:12]}{previous}")
        until = "publications activate nothing until `shopwindow activate` does"
        click.echo(
            f"pinned: {until}" if pin else "the next publication activates its own"
        )
        echo_signed(moved.signature)
        self.purge()

    def verify(self, id: str) -> tuple[str, list[str], str]:
        from shopwindow.cli.steps import progress_bar
        from shopwindow.delivery import signing, upkeep
        from shopwindow.delivery.layout import release_key

        ids, wrong = upkeep.verify(self.bucket, id, progress_bar("reading"))
        release, keys = ids[0], ", ".join(map(release_key, ids))
        mend = bool(wrong) * (
            f"to mend it, delete what is listed and {keys} there, and "
            f"publish release {release[:12]} again: objects that exist are never overwritten"
        )
        if self.signing:
            wrong += signing.faults(self.bucket, release, self.signing.folder)
        return release, wrong, mend

    def prune(self, keep: int) -> tuple[Sequence[str], str]:
        from shopwindow.delivery.upkeep import prune

        done = prune(self.bucket, keep)
        releases = number_of(len(done.deleted), "release")
        deleted = f"{releases} and {number_of(done.objects, 'object')} deleted"
        more = "; nothing younger than a day is deleted" * (done.remaining > keep)
        more += "" if done.ended else "; run it again for the rest"
        kept = number_of(done.remaining, "release")
        return done.deleted, f"{deleted}, {kept} kept{more}"

    def purge(self) -> None:
        """Purge what this run or an earlier one has left, where somebody says how.

        A host that still serves something else ends the command with PROBLEMS.
        """
        from shopwindow.delivery.purging import purge

        if not self.purgers:
            return
        done = purge(self.bucket, self.purgers, self.follow, self.hosts)
        if done.releases:
            click.echo(f"{number_of(done.urls, 'URL')} purged")
        for host in done.late:
            aside(f"{host} does not serve the current release: {LATE}")
        if done.late:
            sys.exit(PROBLEMS)


def echo_signed(signature: Signature | None) -> None:
    """Print what was signed, and warn of what could not be."""
    if signature is None:
        return
    done = "signed" if signature.changed else "is signed already"
    number = f"targets number {signature.targets}"
    click.echo(f"release {signature.id[:12]}: {done}, {number}")
    for role in signature.due:
        what = f"{role} expires soon, and its private key is not here"
        aside(f"shopwindow: {what}")


def require_delivery(what: str, module: str = "targets") -> None:
    """Raise Failure without the extra `delivery`, which ``what`` needs; that is why its
    modules are imported within functions. ``module``: one of them.
    """
    try:
        import_module(f"shopwindow.delivery.{module}")
    except ModuleNotFoundError as error:
        install = "`pip install -e '.[delivery]'` in a checkout installs it"
        raise Failure(
            f"{error.name} is not installed, and {what} needs it: {install}"
        ) from None


def place_of(out: Path, target: str, **at: Any) -> Folder | Target:
    """Return the place that `--target` means, or else the output directory.

    ``at`` are the arguments of `target_of`.
    """
    return target_of(target, **at) if target else Folder(out)


def target_of(target: str, content: Path, *, folder: str = "") -> Target:
    """Return the target that an argument means, as site.yaml has it.

    ``folder``: of the keys that sign at an address, of which site.yaml says nothing.

    Raises Failure without the extra `delivery`.
    """
    from shopwindow.cli.keys import signing_of

    require_delivery("publishing")
    from shopwindow.delivery.purging import purger_of
    from shopwindow.delivery.targets import configured, opened

    settings = configured(target, content)
    bucket = opened(settings.place, os.environ)
    purgers = [purger_of(way, os.environ) for way in settings.purge]
    keys = folder or settings.keys
    signing = signing_of(keys) if keys else None
    return Target(bucket, purgers, settings.follow, settings.hosts, signing)
