"""`publish`: brings releases to a target."""

from __future__ import annotations

import sys
from datetime import UTC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shopwindow.cli import NOT_ACTIVATED
from shopwindow.cli.options import CONTENT_DIR, OUT, REASON, interface
from shopwindow.cli.places import SIGNING_KEYS, Target, echo_signed, target_of

if TYPE_CHECKING:
    from shopwindow.release.chain import Link


@click.command()
@click.argument("target")
@OUT
@CONTENT_DIR
@click.option(
    "--force",
    is_flag=True,
    help="Also over a newer build, over what nobody has signed, or what a publisher with a "
    "wrong clock signed in the future.",
)
@SIGNING_KEYS
@click.option(
    "--renew",
    is_flag=True,
    help="Sign the timestamp again, and what else is due; publish nothing.",
)
@REASON
def publish(
    target: str, out: Path, force: bool, renew: bool, reason: str, **at: Any
) -> None:
    """Send what TARGET lacks of the current release and of those that `build --ahead` has
    written after it, and make it current there. The others follow it at their instants.

    TARGET is a name under `targets` in site.yaml, which also says who signs there and
    how caches are purged, or an address (s3://BUCKET/PREFIX, az://CONTAINER/PREFIX,
    gs://BUCKET/PREFIX, file:///PATH). Credentials come from the variables that other
    clients of the store read. `releases`, `activate`, `rollback`, `verify` and `prune`
    look after it, with --target.

    Exit status 0: done; 1: a host of the target does not serve the release yet; 3: the
    release was sent, and another one is pinned; 4: refused, and nothing has changed.
    """
    place = target_of(target, **at)
    if renew:
        _renew(place, force=force)
    elif not _published(place, out, reason, force=force):
        sys.exit(NOT_ACTIVATED)


def _following(link: Link) -> str:
    """Return a release that follows in the chain, and from when it is in force."""
    return f"{link.id[:12]} from {link.start.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def _renew(place: Target, *, force: bool) -> None:
    from shopwindow.delivery import pointer, signing

    if place.signing is None:
        raise click.UsageError(
            "--renew needs keys: those of a name in site.yaml, or --keys DIR for an address"
        )
    signing.ready(place.bucket, place.signing, ("timestamp",), force=force)
    pointer.require_right_clock(place.bucket, place.signing.clock())
    echo_signed(signing.sign(place.bucket, place.signing))


def _published(place: Target, out: Path, reason: str, *, force: bool) -> bool:
    """Publish, and return whether no other release is pinned."""
    from shopwindow.cli.steps import progress_bar
    from shopwindow.delivery.outgoing import outgoing, require_secret_keys
    from shopwindow.delivery.publishing import (
        PublishOptions,
        publish,
        require_unsigned,
    )

    require_secret_keys(out, interface())
    release = outgoing(out)
    if not place.signing:
        require_unsigned(place.bucket)
    options = PublishOptions(
        reason=reason or "publish",
        force=force,
        purges=bool(place.purgers),
        progress=progress_bar("sending"),
        signing=place.signing,
    )
    done = publish(release, place.bucket, options)
    previous = (done.previous or "")[:12]
    outcome = "it is current already"
    if done.activated:
        outcome = f"current{f', previous {previous}' if previous else ''}"
    elif done.pinned:
        outcome = (
            f"not activated: {place.where} is pinned to {previous}; "
            "`shopwindow activate current --target` ends that"
        )
    sent = f"{len(done.sent):,} objects sent, {sum(done.sent) / 1024:,.0f} KiB"
    click.echo(f"release {done.id[:12]}: {sent}, {outcome}")
    for link in done.ahead:
        click.echo(f"  {_following(link)}")
    for link in done.omitted:
        click.echo(
            f"  {_following(link)}: left out, for the signature ends before; publish again "
            "by then"
        )
    echo_signed(done.signature)
    place.purge()
    return not done.pinned
