"""The options `--cluster` and `--cluster-folder`, and what they stand for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from shopwindow.cli import terminal
from shopwindow.cli.steps import interface_name
from shopwindow.cluster.relay import RunObjects
from shopwindow.content.executor import Executor, Processes
from shopwindow.problems import Failure, Misuse

CLUSTER = click.option(
    "--cluster",
    metavar="ADDRESS",
    help="Share the work on the catalog with a Dask cluster: the address of its scheduler, as "
    "tcp://HOST:8786, or local:N for N workers on this machine.",
)
CLUSTER_FOLDER = click.option(
    "--cluster-folder",
    metavar="DIR|TARGET",
    help="What the workers of --cluster pass files on through: a folder that all of them see, with "
    "the content folder, under the same path; or a target such as s3://BUCKET/PREFIX, and then "
    "they share no files.",
)


@contextmanager
def executor_of(
    cluster: str | None,
    folder: str | None,
    content: Path,
    jobs: int | None,
    default: Path | None = None,
) -> Iterator[Executor]:
    """Yield who shares the work on the catalog, as the options say.

    ``default`` is the cluster's folder where no option names one. Raises Misuse, and
    Failure where the cluster is not there or its workers do not fit.
    """
    if cluster is None:
        if folder is not None:
            raise Misuse("cluster-folder", "it needs --cluster, which says whose it is")
        yield Processes(jobs)
        return
    if not content.is_dir():
        raise Misuse("content", f"{content}: there is no such folder")
    try:
        from shopwindow.cluster.connected import connect
    except ImportError as error:
        raise Failure(
            f"--cluster needs the library {error.name}: install shopwindow with the "
            "extra cluster, here and on every worker, as the README says"
        ) from None

    objects = _objects(folder) if folder and "://" in folder else None
    chosen = Path(folder) if folder and not objects else None
    if chosen is None and (objects or not cluster.startswith("local:")):
        chosen = default
    with connect(
        cluster,
        chosen,
        [content],
        _say,
        objects=objects,
        interface=interface_name(),
    ) as executor:
        yield executor


def _objects(address: str) -> RunObjects:
    """Return the objects at a target. Raises Misuse and Failure."""
    try:
        from shopwindow.delivery.passing import TargetObjects
        from shopwindow.delivery.targets import parse
    except ImportError as error:
        raise Failure(
            f"--cluster-folder {address} needs the library {error.name}: install "
            "shopwindow with the extras cluster and delivery, here and on every worker, "
            "as the README says"
        ) from None

    try:
        return TargetObjects(parse(address))
    except Misuse as misuse:
        raise Misuse("cluster-folder", str(misuse)) from None


def _say(sentence: str) -> None:
    """Print what happens to the workers, in place of a progress bar that is drawn."""
    start = "\r\x1b[K" if terminal.is_used(sys.stderr) else ""
    click.echo(f"{start}{sentence}", err=True)
