"""Connects to a cluster of Dask's, begins a run there, and ends it.

The program forks processes for other stages while it is connected. These never touch
the connection, which belongs to the thread that Dask started.
"""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import dask
from distributed import Client, LocalCluster, Worker

from shopwindow.cluster import holders, tasks
from shopwindow.cluster.carrying import Packer
from shopwindow.cluster.relay import ObjectPrefix, RunObjects, SharedFolder
from shopwindow.cluster.stages import LOOKED_AT_SECONDS, Cluster, Say, own_folder
from shopwindow.cluster.tasks import Run
from shopwindow.content.scratch import SCRATCH_PREFIX, scratch
from shopwindow.interface.loading import DEFAULT
from shopwindow.problems import Failure, Misuse, number_of
from shopwindow.release.program import source_digest

SCHEDULER_ADDRESS = re.compile(
    r"(?:(?:tcp|tls|ws|wss)://)?[^/\s:]+:[0-9]+|\S+://\[[^]]+\]:[0-9]+"
)
LOCAL_WORKERS = re.compile(r"local:([1-9][0-9]?)")

CONNECTING_SECONDS = 10
"""How long a scheduler may take to answer, and to have its first worker. One that is
near answers at once; a longer wait would only be a later message.
"""

SILENCED = (
    "asyncio",
    "distributed",
    "distributed.client",
    "distributed.gc",
    "tornado.application",
)
"""Loggers whose warnings and tracebacks would stand beside what `Say` gets of the same
events. They stay silent: where a scheduler is lost, some write after the connection has
been closed.
"""

_LEFT_BEHIND = "which a builder has left that is gone"


@contextmanager
def connect(
    address: str,
    folder: Path | None,
    read: Sequence[Path],
    say: Say,
    *,
    objects: RunObjects | None = None,
    interface: str = DEFAULT,
) -> Iterator[Cluster]:
    """Yield a cluster, connected, whose workers all fit.

    Args:
        address: of a scheduler, `tcp://HOST:PORT`; or `local:N` for N workers that are
            started on this machine, and end with the block.
        folder: that all workers see under this path; for `local:N` it may be None. With
            ``objects`` it is a folder of this machine; None: below TMPDIR.
        read: folders with the feeds. All workers see them, or with ``objects`` none.
        say: gets what happens to the workers.
        objects: a target that files are passed through; None: the folder is for that.
        interface: its name, which workers load as well.

    Raises Misuse for what is no address, and Failure where there is no scheduler, where
    it has no workers, where one of them does not fit, or the target refuses something.
    """
    local = LOCAL_WORKERS.fullmatch(address)
    is_remote = SCHEDULER_ADDRESS.fullmatch(address) and not address.startswith(
        "local:"
    )
    if not (local or is_remote):
        raise Misuse(
            "cluster",
            f"{address}: is no address of a scheduler, such as "
            "tcp://scheduler.example:8786; local:4 starts 4 workers on this machine",
        )
    if local is None and folder is None and objects is None:
        raise Misuse(
            "cluster-folder",
            "is missing: with a scheduler's address it names a folder that all workers "
            "see under the same path, or a target such as s3://BUCKET/PREFIX",
        )
    for logger in SILENCED:
        logging.getLogger(logger).setLevel(logging.CRITICAL + 1)
    with ExitStack() as stack:
        settings = {"distributed.comm.timeouts.connect": CONNECTING_SECONDS}
        stack.enter_context(dask.config.set(settings))
        if local:
            address = stack.enter_context(_started(int(local[1])))
        client = stack.enter_context(_client(address))
        _wait_for_workers(client, address)
        run = stack.enter_context(_begun(folder, objects, read, interface))
        _require_fit(client, run)
        stack.callback(_let_forget, client, [run.name])
        if folder is not None:
            for name in holders.clear_folders(folder, Path(run.folder)):
                say(f"removed {folder}/{name}, {_LEFT_BEHIND}")
        if objects:
            removed = holders.clear_objects(objects, run.name)
            for name in removed:
                say(f"removed {objects.where}/{name}, {_LEFT_BEHIND}")
            _let_forget(client, removed)
        packer = Packer(
            Path(run.folder), [path.absolute() for path in read], run.objects
        )
        cluster = Cluster(client, address, run, packer, say)
        workers = client.nthreads()
        say(
            f"cluster {address}: {number_of(len(workers), 'worker')} with "
            f"{number_of(sum(workers.values()), 'thread')}; dashboard "
            f"{client.dashboard_link}"
        )
        cluster.follow_workers()
        try:
            yield cluster
        finally:
            cluster.ended = True


@contextmanager
def _started(workers: int) -> Iterator[str]:
    """Start a scheduler and workers on this machine; yield the scheduler's address."""
    with LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=logging.CRITICAL + 1,
    ) as cluster:
        yield cluster.scheduler_address


@contextmanager
def _client(address: str) -> Iterator[Client]:
    """Yield a connection to a scheduler. Raises Failure."""
    try:
        client = Client(
            address, timeout=CONNECTING_SECONDS, set_as_default=False, name="shopwindow"
        )
    except (OSError, ValueError):
        raise Failure(
            f"--cluster {address}: no scheduler answers there; `dask scheduler` starts "
            "one"
        ) from None
    try:
        yield client
    finally:
        with suppress(Exception):  # a scheduler that is gone needs no good-bye
            client.close(timeout=LOOKED_AT_SECONDS)


def _wait_for_workers(client: Client, address: str) -> None:
    try:
        client.wait_for_workers(1, timeout=CONNECTING_SECONDS)
    except TimeoutError:
        raise Failure(
            f"--cluster {address}: the scheduler has no workers; `dask worker {address} "
            "--nthreads 1 --nworkers auto` starts some on a machine"
        ) from None


@contextmanager
def _begun(
    parent: Path | None,
    objects: RunObjects | None,
    read: Sequence[Path],
    interface: str,
) -> Iterator[Run]:
    """Yield a run, of which nothing is left at the end."""
    if parent is not None:
        parent = parent.absolute()
        parent.mkdir(parents=True, exist_ok=True)
    holder = holders.this_process()
    listed = [(path.absolute(), tasks.listing(path)) for path in read if not objects]
    with scratch(parent) as folder, ExitStack() as stack:
        relay: SharedFolder | ObjectPrefix = SharedFolder(str(folder))
        written = relay.create(holders.HOLDER, holder.encoded())
        if objects:
            relay = ObjectPrefix(objects, f"{SCRATCH_PREFIX}{holder.token}")
            relay.probe(holders.HOLDER)  # fails soon where nobody answers
            stack.callback(_remove, relay)
            written = relay.create(holders.HOLDER, holder.encoded())
        yield Run(
            relay,
            str(folder),
            holder.token,
            written,
            tasks.versions(),
            (interface, source_digest(interface)),
            tuple((str(path), digest) for path, digest in listed),
        )


def _remove(relay: ObjectPrefix) -> None:
    """Remove the objects of a run. Where nobody answers, the next builder does it."""
    with suppress(Failure):
        relay.probe(holders.HOLDER)
        holders.remove_objects(relay.objects, relay.run)


def _let_forget(client: Client, runs: Sequence[str]) -> None:
    """Let the workers delete the files that they have of runs."""
    if client.status == "running":
        with suppress(Exception):  # workers that are gone need not
            client.run(_forget, runs, on_error="ignore")


def _forget(runs: Sequence[str], dask_worker: Worker) -> None:
    """Delete what a worker has of runs. Runs in the worker, which Dask hands over."""
    for run in runs:
        tasks.forget(run, own_folder(dask_worker))


def _require_fit(client: Client, run: Run) -> None:
    """Raise Failure where a worker does not fit."""
    answers = client.run(tasks.misfit, run, on_error="return")
    misfits = {worker: _misfit(answer) for worker, answer in answers.items() if answer}
    if misfits:
        raise Failure(misfits_in_words(misfits, len(answers)))


def misfits_in_words(misfits: Mapping[str, str], workers: int) -> str:
    """Return the sentence about workers that do not fit, of ``workers`` in all.

    It has the reason of one: with another worker it may be another reason.
    """
    worker, reason = min(misfits.items())
    sentence = f"the worker {worker} {reason}"
    if len(misfits) == 1:
        return sentence
    return f"{sentence}; of {workers} workers {len(misfits)} do not fit"


def _misfit(answer: str | Exception) -> str:
    """Return in words what a worker said when it was called."""
    if isinstance(answer, ImportError | AttributeError):
        return (
            f"lacks this version of shopwindow, or a library that it needs ({answer}): "
            "install the same on every worker"
        )
    return str(answer)
