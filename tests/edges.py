"""Real servers on loopback that are not nginx: workerd with the worker, and Varnish."""

import atexit
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import cache
from http.client import HTTPConnection
from pathlib import Path
from tempfile import mkdtemp
from urllib.parse import unquote

import pytest

from children import ends_with_us
from nginx import ADDRESS

LOCKED = Path(__file__).parent / "edge" / "workerd"
"""What npm installs: workerd, with the digests of its packages."""


def _required(program: str | None, reason: str) -> str:
    """A program of this machine. Without it the test is skipped, or fails where everything is to be tested."""
    if program is not None:
        return program
    if os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


def workerd_required() -> str:
    """Cloudflare's runtime of workers: that of SHOPWINDOW_WORKERD, or one from npm."""
    return os.environ.get("SHOPWINDOW_WORKERD") or _required(*_installed())


@cache
def _installed() -> tuple[str | None, str]:
    """The workerd of the lock file, installed without running any script; without one None and the reason."""
    npm = shutil.which("npm")
    if not (npm and shutil.which("node")):
        return None, "workerd needs node and npm"
    folder = Path(mkdtemp(prefix="shopwindow-workerd-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(LOCKED / name, folder)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    # Not node_modules/.bin/workerd: that starts this program as its child, which goes on when it is terminated.
    programs = list(folder.glob("node_modules/@cloudflare/workerd-*/bin/workerd"))
    return (str(programs[0]) if programs else None), f"npm does not install workerd: {done.stderr.strip()[:300]}"


def _await(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until a server answers a request, whatever it says."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with closing(HTTPConnection(ADDRESS, port, timeout=10)) as connection:
                connection.request("OPTIONS", "/")
                connection.getresponse().read()
                return
        except OSError:
            time.sleep(0.02)
    raise AssertionError(f"nobody listens: {log.read_text()}")


@contextmanager
def _server(command: list[str], port: int, log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, preexec_fn=ends_with_us)
    try:
        _await(process, port, log)
        yield
    finally:
        process.terminate()
        process.wait(20)


# -- Varnish -----------------------------------------------------------------------------------------------------


@contextmanager
def varnish(folder: Path, configuration: str, port: int) -> Iterator[None]:
    """A Varnish on ``port``."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    program = _required(shutil.which("varnishd", path=search), "there is no Varnish here")
    # Not below pytest's own folders: the way there is too long for Varnish's socket.
    home = mkdtemp(prefix="shopwindow-varnish-")
    vcl = folder / "cache.vcl"
    vcl.write_text(configuration)
    command = [program, "-F", "-j", "none", "-n", home, "-a", f"{ADDRESS}:{port}", "-f", str(vcl), "-s", "malloc,64m"]
    try:
        with _server(command, port, folder / "varnish.log"):
            yield
    finally:
        shutil.rmtree(home, ignore_errors=True)


# -- workerd -----------------------------------------------------------------------------------------------------

_WORKERD = """\
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "edge", worker = .edge),
    (name = "shopwindow", external = (address = "{service}", http = ())),
    {services}
  ],
  sockets = [(name = "http", address = "{address}", http = (), service = "edge")],
);
const edge :Workerd.Worker = (
  modules = [(name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "2026-01-01",
  bindings = [(name = "SERVICE", service = "shopwindow"), {bindings}],
);
"""


@contextmanager
def workerd(folder: Path, module: str, port: int, service: str, services: str, bindings: str) -> Iterator[Path]:
    """A workerd with the worker on ``port``. Yields the file with what it prints.

    ``service``: the address of `shopwindow serve`. ``services`` and ``bindings``: where the files are, as workerd's
    configuration names it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "worker.js").write_text(module)
    text = _WORKERD.format(service=service, address=f"{ADDRESS}:{port}", services=services, bindings=bindings)
    (folder / "config.capnp").write_text(text)
    log = folder / "log"
    with _server([workerd_required(), "serve", str(folder / "config.capnp")], port, log):
        yield log


def store_of_disk(folder: Path, layout: str) -> dict[str, str]:
    """A store that is a folder, as workerd's own service of a disk serves it."""
    return {
        "services": f'(name = "store", disk = (path = "{folder}")),',
        "bindings": f'(name = "STORE", service = "store"), (name = "LAYOUT", text = "{layout}")',
    }


def store_of_namespace(address: str, prefix: str) -> dict[str, str]:
    """A store that is a KV namespace, which somebody at ``address`` answers for (``key_of_namespace``)."""
    bindings = '(name = "STORE", kvNamespace = "store"), (name = "LAYOUT", text = "files"), '
    return {
        "services": f'(name = "store", external = (address = "{address}", http = ())),',
        "bindings": bindings + f'(name = "PREFIX", text = "{prefix}")',
    }


def store_of_url(address: str, prefix: str) -> dict[str, str]:
    """A store that is a URL. workerd lets a worker reach loopback only where its configuration says so."""
    bindings = f'(name = "STORE", text = "http://{address}/"), (name = "LAYOUT", text = "files"), '
    return {
        "services": '(name = "internet", network = (allow = ["private", "local"])),',
        "bindings": bindings + f'(name = "PREFIX", text = "{prefix}")',
    }


def key_of_namespace(target: str) -> str:
    """The key that workerd asks a namespace for by a target."""
    return unquote(target.partition("?")[0].removeprefix("/"))
