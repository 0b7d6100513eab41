"""`publish`: brings releases to a target, and says which one is current there."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shopwindow.cli.steps import CONTENT_DIR, NOT_ACTIVATED, OUT, progress_bar
from shopwindow.problems import Failure

if TYPE_CHECKING:
    from shopwindow.delivery.bucket import Bucket


@click.command()
@click.argument("target")
@OUT
@CONTENT_DIR
@click.option("--force", is_flag=True, help="Publish over a newer build, too.")
@click.option(
    "--reason", default="", metavar="TEXT", help="Why; goes into the history."
)
def publish(target: str, out: str, content: str, force: bool, reason: str) -> None:
    """Send what TARGET lacks of the current release, and make it current there.

    TARGET is an address (s3://BUCKET/PREFIX, az://CONTAINER/PREFIX, gs://BUCKET/PREFIX,
    file:///PATH) or its name under `targets` in site.yaml. Credentials come from the
    variables that other clients of the store read. Exit status 0: the release is
    current there; 3: it was sent, and another one is pinned.
    """
    bucket = _opened(target, Path(content))
    _publish(bucket, Path(out), reason, force=force)


def _opened(text: str, content: Path) -> "Bucket":
    """Return the Bucket of a target. Raises Failure without the extra `delivery`."""
    try:
        from shopwindow.delivery.opening import opened
        from shopwindow.delivery.targets import target_of
    except ModuleNotFoundError as error:
        install = "install shopwindow with the extra delivery, as the README says"
        is_missing = f"{error.name} is not installed, and publishing needs it"
        raise Failure(f"{is_missing}: {install}") from None
    return opened(target_of(text, content), os.environ)


def _publish(bucket: "Bucket", out: Path, reason: str, *, force: bool) -> None:
    from shopwindow.delivery.outgoing import outgoing
    from shopwindow.delivery.publishing import publish as publish_release

    release = outgoing(out)
    progress = progress_bar("sending")
    done = publish_release(
        release, bucket, reason=reason, force=force, progress=progress
    )
    sent = f"{done.sent:,} objects sent, {done.size / 1024:,.0f} KiB"
    if done.pinned:
        pin = f"{bucket.where} is pinned to {(done.previous or '')[:12]}"
        click.echo(f"release {done.id[:12]}: {sent}, not activated: {pin}")
        sys.exit(NOT_ACTIVATED)
    previous = f", previous {done.previous[:12]}" if done.previous else ""
    outcome = f"current{previous}" if done.activated else "it is current already"
    click.echo(f"release {done.id[:12]}: {sent}, {outcome}")
