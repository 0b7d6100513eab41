"""The options `--cluster` and `--cluster-folder`, and what they stand for."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from shopwindow.cli import terminal
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
    metavar="DIR",
    help="The folder through which the workers of --cluster pass files on. All of them see it, and "
    "the content folder, under the same path.",
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

    chosen = Path(folder) if folder else None
    if chosen is None and not cluster.startswith("local:"):
        chosen = default
    with connect(cluster, chosen, [content], _say) as executor:
        yield executor


def _say(sentence: str) -> None:
    """Print what happens to the workers, in place of a progress bar that is drawn."""
    start = "\r\x1b[K" if terminal.is_used(sys.stderr) else ""
    click.echo(f"{start}{sentence}", err=True)
