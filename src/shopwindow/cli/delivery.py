"""`publish`: brings releases to a target, and looks after what is there."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shopwindow.cli import audit
from shopwindow.cli.keys import KEY_COMMAND, signing_of
from shopwindow.cli.releases import print_release
from shopwindow.cli.steps import (
    CONTENT_DIR,
    NOT_ACTIVATED,
    OUT,
    PROBLEMS,
    interface,
    progress_bar,
    setting,
)
from shopwindow.problems import Failure, number_of

if TYPE_CHECKING:
    from shopwindow.delivery.bucket import Bucket
    from shopwindow.delivery.outgoing import Outgoing
    from shopwindow.delivery.publishing import Publication, PublishOptions
    from shopwindow.delivery.purging import Purger
    from shopwindow.delivery.signing import Signature, Signing

NOT_OF_SITES = {
    "--verify": "a site has one release, so say it without ID",
    "--rollback": "a site has the files of one release: roll back where releases are built "
    "(shopwindow rollback), and publish that with --layout site --force",
    "--pin": "a site has no pin: shopwindow rollback pins what is current where releases are "
    "built, and publications send that",
    "--unpin": "a site has no pin: shopwindow activate ends the one where releases are built",
    "--prune": "a site has nothing to prune: each publication deletes what its release does "
    "not have. shopwindow prune deletes releases where they are built",
    "--keys": "a site cannot be signed: browsers and CDNs read it, and verify nothing",
}
"""Options that mean nothing with --layout site, and what to do instead."""

WITHOUT_ID = ""
"""What an option with an optional ID has where it was given without one."""


@dataclass(frozen=True)
class _Order:
    """What to do at a target, and what all of it may need."""

    bucket: "Bucket"
    out: Path
    reason: str
    force: bool
    purgers: Sequence["Purger"]
    follow: float
    signing: "Signing | None" = None
    is_site: bool = False


@click.command()
@click.argument("target")
@OUT
@CONTENT_DIR
@click.option(
    "--list",
    "listing",
    is_flag=True,
    help="List the releases at TARGET, the newest first.",
)
@click.option(
    "--verify",
    is_flag=False,
    flag_value=WITHOUT_ID,
    metavar="[ID]",
    help="Read every object of release ID back; default: of the current one. With --keys, its "
    "signatures, too.",
)
@click.option(
    "--rollback",
    is_flag=False,
    flag_value=WITHOUT_ID,
    metavar="[ID]",
    help="Make an earlier release current at TARGET, and pin it; without ID the newest that "
    "was never rolled back from.",
)
@click.option(
    "--pin",
    is_flag=True,
    help="Pin what is current at TARGET: publications activate nothing until --unpin.",
)
@click.option("--unpin", is_flag=True, help="Let publications activate again.")
@click.option(
    "--prune",
    type=click.IntRange(min=1),
    metavar="KEEP",
    help="Delete all but the newest KEEP releases; never the current one, and nothing "
    "younger than a day.",
)
@click.option(
    "--force",
    is_flag=True,
    help="Publish over a newer build, too; with --keys also over what nobody has signed, or "
    "what a publisher with a wrong clock signed in the future; of a site that has this release "
    "already, every file again.",
)
@setting(
    "--keys",
    "folder",
    default="",
    metavar="DIR",
    help="Sign, with the keys of `shopwindow keys init DIR`. Private keys come from DIR, from "
    "SHOPWINDOW_KEY_TARGETS, _SNAPSHOT and _TIMESTAMP, or from --key-command.",
)
@KEY_COMMAND
@click.option(
    "--renew",
    is_flag=True,
    help="With --keys: sign the timestamp again, and what else is due; publish nothing.",
)
@click.option(
    "--layout",
    type=click.Choice(["objects", "site"]),
    default="objects",
    show_default=True,
    help="objects: each release whole, under digests; site: the current files under their "
    "paths, for plain static hosting.",
)
@click.option(
    "--purge",
    "ways",
    multiple=True,
    metavar="HOW",
    help="Purge what changed from a cache: fastly, cloudflare, http://HOST:PORT (PURGE), or "
    "'command:PROGRAM ARGUMENTS', which reads URLs. May be repeated.",
)
@click.option(
    "--follow",
    type=click.FloatRange(0, 86400),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="With --purge: how often hosts look that pull from TARGET. The purge waits until they have "
    "had twice that time. 0: none pulls.",
)
@click.option(
    "--reason", default="", metavar="TEXT", help="Why; goes into the history."
)
def publish(
    target: str,
    out: str,
    content: str,
    listing: bool,
    verify: str | None,
    rollback: str | None,
    pin: bool,
    unpin: bool,
    prune: int | None,
    force: bool,
    folder: str,
    key_command: str,
    renew: bool,
    layout: str,
    ways: Sequence[str],
    follow: float,
    reason: str,
) -> None:
    """Send what TARGET lacks of the current release, and make it current there.

    TARGET is an address (s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX,
    file:///PATH) or its name under `targets` in site.yaml. Credentials come from the
    variables that other clients of the store read.

    Exit status 0: done; 1: --verify found damage; 3: the release was sent, and another
    one is pinned; 4: refused, and nothing has changed.
    """
    chosen = [
        listing,
        verify is not None,
        rollback is not None,
        pin,
        unpin,
        bool(prune),
        renew,
    ]
    if sum(chosen) > 1:
        raise click.UsageError(
            "--list, --verify, --rollback, --pin, --unpin, --prune and --renew exclude each "
            "other"
        )
    if renew and not folder:
        raise click.UsageError("--renew needs --keys DIR")
    if layout == "site":
        _require_for_sites(
            {
                "--verify": bool(verify),
                "--rollback": rollback is not None,
                "--pin": pin,
                "--unpin": unpin,
                "--prune": bool(prune),
                "--keys": bool(folder),
            }
        )
    order = _ordered(target, Path(content), Path(out), reason, force, ways, follow)
    signing = signing_of(folder, key_command) if folder else None
    order = replace(order, is_site=layout == "site", signing=signing)
    if listing:
        _list(order)
    elif verify is not None:
        _verify(order, verify or None)
    elif rollback is not None:
        _roll_back(order, rollback or None)
    elif pin or unpin:
        _pin(order, pinned=pin)
    elif prune:
        _prune(order, prune)
    elif renew and signing:
        _renew(order, signing)
    else:
        _publish(order)


def _require_for_sites(chosen: Mapping[str, bool]) -> None:
    """Raise UsageError where an option was chosen that a site cannot have."""
    for option, is_chosen in chosen.items():
        if is_chosen:
            raise click.UsageError(f"{option}: {NOT_OF_SITES[option]}")


def _ordered(
    target: str,
    content: Path,
    out: Path,
    reason: str,
    force: bool,
    ways: Sequence[str],
    follow: float,
) -> _Order:
    """Return what the arguments mean. Raises Failure without the extra `delivery`.

    That is why its modules are imported within functions here.
    """
    try:
        from shopwindow.delivery.opening import opened
        from shopwindow.delivery.purging import purger_of
        from shopwindow.delivery.targets import target_of
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra delivery, as the README says"
        is_missing = f"{error.name} is not installed, and publishing needs it"
        raise Failure(f"{is_missing}: {install}") from None
    bucket = opened(target_of(target, content), os.environ)
    purgers = [purger_of(way, os.environ) for way in ways]
    return _Order(bucket, out, reason, force, purgers, follow)


def _publish(order: _Order) -> None:
    from shopwindow.delivery.outgoing import outgoing, require_secret_keys

    signature = None
    require_secret_keys(order.out, interface())
    release = outgoing(order.out)
    if order.signing:
        from shopwindow.delivery import signed_publishing

        done, signature = signed_publishing.publish(
            release,
            order.bucket,
            order.signing,
            _options(order),
        )
    else:
        done = _publish_unsigned(order, release)
    previous = (done.previous or "")[:12]
    if done.activated:
        outcome = f"current{f', previous {previous}' if previous else ''}"
    elif done.pinned:
        outcome = f"not activated: {order.bucket.where} is pinned to {previous}; --unpin ends that"
    else:
        outcome = "it is current already"
    what = "files" if order.is_site else "objects"
    sent = f"{done.sent:,} {what} sent, {done.size / 1024:,.0f} KiB"
    click.echo(f"release {done.id[:12]}: {sent}, {outcome}")
    _print_signature(signature)
    _purge(order)
    if done.pinned:
        sys.exit(NOT_ACTIVATED)


def _publish_unsigned(order: _Order, release: "Outgoing") -> "Publication":
    from shopwindow.delivery import publishing
    from shopwindow.delivery.site_layout import publish_site

    publishing.require_right_clock(order.bucket, datetime.now(UTC))
    if not order.is_site:
        publishing.require_unsigned(order.bucket)
    send = publish_site if order.is_site else publishing.publish
    return send(release, order.bucket, _options(order))


def _options(order: _Order) -> "PublishOptions":
    from shopwindow.delivery.publishing import PublishOptions

    return PublishOptions(
        order.reason or "publish",
        order.force,
        bool(order.purgers),
        progress_bar("sending"),
    )


def _renew(order: _Order, signing: "Signing") -> None:
    from shopwindow.delivery.signing import ready, renew

    ready(order.bucket, signing, ("timestamp",), force=order.force)
    _print_signature(renew(order.bucket, signing))


def _print_signature(signature: "Signature | None") -> None:
    """Print what was signed, and warn of what could not be."""
    if signature is None:
        return
    done = "signed" if signature.changed else "is signed already"
    number = f"targets number {signature.targets}"
    click.echo(f"release {signature.id[:12]}: {done}, {number}")
    for role in signature.due:
        click.echo(
            f"shopwindow: {role} expires soon, and its private key is not here",
            err=True,
        )


def _purge(order: _Order) -> None:
    """Purge what this run or an earlier one has left, where somebody says how."""
    from shopwindow.delivery.pointer import OBJECTS, SITE
    from shopwindow.delivery.purging import purge

    if not order.purgers:
        return
    layout = SITE if order.is_site else OBJECTS
    done = purge(order.bucket, order.purgers, layout, order.follow)
    if done.releases:
        click.echo(f"{number_of(done.urls, 'URL')} purged")


def _list(order: _Order) -> None:
    from shopwindow.delivery import site_upkeep, upkeep

    look_after = site_upkeep if order.is_site else upkeep
    listed = look_after.listing(order.bucket)
    if not listed:
        click.echo(f"{order.bucket.where}: nothing was published there yet", err=True)
    for release in listed:
        print_release(release)


def _verify(order: _Order, id: str | None) -> None:
    from shopwindow.delivery import site_upkeep, upkeep
    from shopwindow.delivery.layout import OBJECTS, release_key

    progress = progress_bar("reading")
    where = order.bucket.where
    if order.is_site:
        release, wrong = site_upkeep.verify(order.bucket, progress)
        mend = (
            f"`shopwindow publish {where} --layout site --force` sends every file again"
        )
    else:
        indexes = interface().indexes
        release, wrong = upkeep.verify(order.bucket, id, indexes, progress)
        # An index whose rows are wrong came so from the build: no object is at fault.
        is_mendable = any(line.startswith(OBJECTS) for line in wrong)
        mend = is_mendable * (
            f"delete what is listed and {release_key(release)} there, and publish release "
            f"{release[:12]} again: objects that exist are never overwritten"
        )
    advice = f"to mend it, {mend}" if wrong and mend else ""
    if order.signing:
        from shopwindow.delivery import signed_publishing

        wrong += signed_publishing.faults(order.bucket, release, order.signing.folder)
    for line in wrong:
        click.echo(line)
    if advice:
        click.echo(advice, err=True)
    if wrong:
        sys.exit(PROBLEMS)
    click.echo(f"release {release[:12]} is intact at {where}")


def _roll_back(order: _Order, id: str | None) -> None:
    from shopwindow.delivery import activation, publishing

    signature = None
    purges = bool(order.purgers)
    if order.signing:
        from shopwindow.delivery import signed_publishing

        moved, signature = signed_publishing.roll_back(
            order.bucket,
            id,
            order.signing,
            order.reason,
            force=order.force,
            purges=purges,
        )
    else:
        publishing.require_unsigned(order.bucket)
        moved = activation.roll_back(order.bucket, id, order.reason, purges=purges)
    click.echo(f"current is {moved.id[:12]}, previous {moved.previous[:12]}")
    click.echo("pinned: publications activate nothing until --unpin")
    _print_signature(signature)
    _purge(order)


def _pin(order: _Order, *, pinned: bool) -> None:
    from shopwindow.delivery import activation

    change = activation.pin if pinned else activation.unpin
    id = change(order.bucket, order.reason)
    if pinned:
        click.echo(f"pinned to {id[:12]}: publications activate nothing until --unpin")
    else:
        click.echo(f"current is {id[:12]}; the next publication activates its release")


def _prune(order: _Order, keep: int) -> None:
    from shopwindow.delivery.upkeep import prune

    done = prune(order.bucket, keep)
    audit.record("publish --prune", target=order.bucket.where, deleted=done.deleted)
    releases = number_of(len(done.deleted), "release")
    deleted = f"{releases} and {number_of(done.objects, 'object')} deleted"
    more = "; nothing younger than a day is deleted" * (done.remaining > keep)
    more += "" if done.ended else "; run it again for the rest"
    click.echo(f"{deleted}, {number_of(done.remaining, 'release')} kept{more}")
