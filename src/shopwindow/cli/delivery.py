"""`publish` and `pull`: bring releases to a target, and from there to a host."""

from __future__ import annotations

import os
import sys
from datetime import UTC
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shopwindow.cli import NOT_ACTIVATED
from shopwindow.cli.options import CONTENT_DIR, KEEP, OUT, REASON, interface, setting
from shopwindow.cli.places import (
    SIGNING_KEYS,
    Target,
    echo_signed,
    require_delivery,
    target_of,
)
from shopwindow.problems import number_of

if TYPE_CHECKING:
    from shopwindow.delivery.publishing import Publication
    from shopwindow.delivery.pulling import Pulled, ReleaseSource
    from shopwindow.release.chain import Link
    from shopwindow.release.releases import Releases


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
    from shopwindow.delivery import signing

    if place.signing is None:
        raise click.UsageError(
            "--renew needs keys: those of a name in site.yaml, or --keys DIR for an address"
        )
    signing.ready(place.bucket, place.signing, ("timestamp",), force=force)
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
    outcome = _outcome(done, place.where, "`shopwindow activate current --target`")
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


# -- pull ------------------------------------------------------------------------------


@click.command()
@click.argument("source")
@OUT
@CONTENT_DIR
@setting(
    "--root",
    may_be_empty=True,
    default="",
    metavar="FILE",
    help="The root.json of the shop's keys: believe only what is signed. Empty: believe SOURCE.",
)
@setting(
    "--floor",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="With --root, refuse targets with a lower number than N, which `publish --keys` prints.",
)
@KEEP
@click.option(
    "--follow",
    is_flag=True,
    help="Go on until SIGTERM: look every few seconds, pull what is new, and move to what follows.",
)
@setting(
    "--every",
    type=click.FloatRange(0.1, 86400),
    default=30.0,
    metavar="SECONDS",
    help="How often to look at SOURCE; chance adds or takes a fifth. While attempts fail, pauses grow.",
)
def pull(
    source: str,
    out: Path,
    content: Path,
    root: str,
    floor: int,
    keep: int,
    follow: bool,
    every: float,
) -> None:
    """Bring the current release of SOURCE to this host, make it current here, and bring
    those that follow it. With --follow each of these is current here at its instant.

    SOURCE is an address or a name, as `publish` takes them. What this host has is not
    fetched again; every byte is checked. With --root, what is not signed by the shop's
    keys is refused, and so is what is older than what this host has seen.

    Exit status 0: done; 3: the release is here, and another one is pinned on this host;
    4: refused, and what was current still is.
    """
    from shopwindow.release.releases import Releases

    releases = Releases(out)
    place = opened_source(source, content, releases, root, floor)
    if follow:
        _follow(place, releases, keep, every)
    else:
        _pull_once(place, releases, keep)


def opened_source(
    source: str, content: Path, releases: Releases, root: str, floor: int
) -> ReleaseSource:
    """Return the source that an argument means; with a ``root``, one that verifies.

    Raises Failure without the extra `delivery`, and where the root is none.
    """
    if floor and not root:
        raise click.UsageError("--floor needs --root: without it nothing is verified")
    require_delivery("pulling")
    from shopwindow.delivery.pulling import UnsignedSource
    from shopwindow.delivery.targets import configured, opened

    bucket = opened(configured(source, content).place, os.environ)
    if not root:
        return UnsignedSource(bucket)
    from shopwindow.delivery.verifying import TRUSTED, SignedSource, trusted_root

    trusted = trusted_root(Path(root))
    return SignedSource(bucket, trusted, releases.out / TRUSTED, floor)


def _pull_once(source: ReleaseSource, releases: Releases, keep: int) -> None:
    from shopwindow.cli.steps import progress_bar
    from shopwindow.delivery.pulling import pull
    from shopwindow.release.edge_notes import stale_edges

    done = pull(
        source,
        releases,
        indexes=interface().indexes,
        keep=keep,
        progress=progress_bar("fetching"),
    )
    fetched = f"{number_of(len(done.fetched), 'object')} fetched, {sum(done.fetched) / 1024:,.0f} KiB"
    outcome = _outcome(done, "this host", "`shopwindow activate`")
    click.echo(f"release {done.id[:12]}: {fetched}, {outcome}")
    for edge in stale_edges(releases, done.id) if done.activated else ():
        click.echo(f"  {edge.again}")
    if done.pinned:
        sys.exit(NOT_ACTIVATED)


def _follow(
    source: ReleaseSource,
    releases: Releases,
    keep: int,
    every: float,
) -> None:
    from shopwindow.delivery.following import follow
    from shopwindow.release.moving import Log, stopped_by_signals
    from shopwindow.service import journal

    log = Log(partial(journal.info, "pull"), partial(journal.error, "pull"))
    with stopped_by_signals() as stopped:
        follow(
            source,
            releases,
            indexes=interface().indexes,
            every=every,
            keep=keep,
            log=log,
            stopped=stopped,
        )


def _outcome(done: Publication | Pulled, where: str, unpins: str) -> str:
    """Return what became of the current release of a place, which is called ``where``.

    ``unpins``: the command that ends its being pinned.
    """
    previous = (done.previous or "")[:12]
    if done.activated:
        return f"current, previous {previous}" if previous else "current"
    if done.pinned:
        return f"not activated: {where} is pinned to {previous}; {unpins} ends that"
    return "it is current already"
