"""The edges that are not nginx, real, on loopback: Varnish, and workerd with the worker."""

import atexit
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
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


def varnish_required() -> str:
    """Varnish, with the module that takes digests."""
    search = os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin"
    program = _required(shutil.which("varnishd", path=search), "there is no Varnish here")
    modules = [*Path("/usr/lib").glob("*/varnish/vmods"), *Path("/usr/lib").glob("varnish*/vmods")]
    has_digest = any((folder / "libvmod_digest.so").exists() for folder in modules)
    return _required(program if has_digest else None, "Varnish has no vmod digest here (Debian: varnish-vmod-digest)")


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
def varnish(folder: Path, configuration: str, port: int) -> Iterator[Path]:
    """A Varnish on ``port``. Yields its folder, in which `storage*` hold all that it stores, Vary included."""
    # Not below pytest's own folders: the worker process has a user of its own, and the way there is long.
    home = Path(mkdtemp(prefix="shopwindow-varnish-"))
    home.chmod(0o755)
    folder.mkdir(parents=True, exist_ok=True)
    vcl, stored = folder / "edge.vcl", home / "storage"
    vcl.write_text(configuration)
    command = [varnish_required(), "-F", "-n", str(home / "work"), "-a", f"{ADDRESS}:{port}", "-f", str(vcl)]
    command += ["-s", f"file,{stored},64m", "-s", f"Transient=file,{stored}-of-transients,64m"]
    command += ["-j", "none"]
    try:
        with _server(command, port, folder / "log"):
            yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def counters(home: Path) -> Mapping[str, int]:
    """What a Varnish has counted, by name."""
    done = subprocess.run(["varnishstat", "-1", "-j", "-n", str(home / "work")], capture_output=True, check=True)
    return {name: each["value"] for name, each in json.loads(done.stdout)["counters"].items()}


def loaded(home: Path, folder: Path, configuration: str) -> None:
    """Give a running Varnish another configuration; what it has stored stays."""
    (folder / "other.vcl").write_text(configuration)
    for command in (("vcl.load", "other", str(folder / "other.vcl")), ("vcl.use", "other")):
        subprocess.run(["varnishadm", "-n", str(home / "work"), *command], capture_output=True, check=True)


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
