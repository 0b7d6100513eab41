"""What programs over generated clients need: the document, a service that answers it, and a call of each operation."""

import json
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

from harness.content import SAMPLE, Json
from harness.program import shopwindow
from harness.servers import ADDRESS, own_server

DRIVERS = Path(__file__).parent.parent / "drivers"
HEADER = "x-svc-webservice-client-id"
CODE = "K7QX4MPR-92TDHWJ6"
"""The single-use code of the document's example."""
BAG_ORDER = {"bag_add": 0, "bag": 1, "bag_update": 2, "bag_remove": 3}
"""The order of a bag's operations, among which all others are asked first or last."""


@dataclass(frozen=True)
class Described:
    """A running service, its OpenAPI document with its address at all operations, and its order host's name."""

    document: Json
    address: str
    order_host: str

    @property
    def operations(self) -> list[Json]:
        return [operation for methods in self.document["paths"].values() for operation in methods.values()]

    def written(self, folder: Path) -> None:
        (folder / "openapi.json").write_text(json.dumps(self.document))


@contextmanager
def described_service(folder: Path, out: Path) -> Iterator[Described]:
    """The service over the sample's release, with one single-use code."""
    database = f"sqlite:///{folder}/store.sqlite"
    (folder / "codes").write_text(f"{CODE}\n")
    secret = {"SHOPWINDOW_CODE_SECRET": "0" * 64, "SHOPWINDOW_DATABASE": database}
    assert shopwindow("migrate", "--database", database).status == 0
    added = shopwindow("codes", "add", folder / "codes", "--promotion", "880501", "--out", out, env=secret)
    assert (added.status, added.err) == (0, "")
    printed = json.loads(shopwindow("schemas", "--openapi", "--out", out).out)
    with own_server(folder, out, "--workers", "1", **secret) as server:
        address = f"http://{ADDRESS}:{server.port}"
        (elsewhere,) = {
            operation["servers"][0]["url"]
            for methods in printed["paths"].values()
            for operation in methods.values()
            if "servers" in operation
        }
        yield Described(_at(printed, address), address, str(urlsplit(elsewhere).hostname))


def _at(document: Json, address: str) -> Json:
    """The document, with one address in place of its servers' addresses."""
    here = [{"url": address}]
    paths = {
        path: {
            method: {**operation, "servers": here} if "servers" in operation else operation
            for method, operation in methods.items()
        }
        for path, methods in document["paths"].items()
    }
    return {**document, "servers": here, "paths": paths}


def in_table(generator: str) -> tuple[int, int]:
    """What client_faults.md says of a generator: of so many operations or models, so many are without a fault."""
    page = (Path(__file__).parent.parent / "slow/client_faults.md").read_text()
    row = re.search(rf"^\| `{generator}`.*\| (\d+) \| (\d+) \|$", page, re.M)
    assert row, f"client_faults.md has no {generator}"
    return int(row[1]), int(row[2])


def installed(folder: Path, *packages: str) -> Path:
    """The folder of commands of an environment with some packages; skips where they cannot be had."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip does not install {packages[0]}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "bin"


def key() -> str:
    return (SAMPLE / "sample-keys.txt").read_text().split()[1]


def example(operation: Json, place: str) -> dict[str, Any]:
    """The examples of an operation's parameters in its path or its query."""
    return {
        each["name"]: each["example"]
        for each in operation["parameters"]
        if "example" in each and each["in"] == place and each["name"] != "others"
    }


def body(operation: Json) -> Any:
    """The example of an operation's body; None: it has none."""
    return operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")


def answers(described: Described) -> dict[str, Json]:
    """What the service answers to the example of each operation, a bag's being the one that was begun first."""
    found: dict[str, Json] = {}
    sent = {HEADER: key(), "Accept": "application/json", "Content-Type": "application/json"}
    places = [(path, *each) for path, methods in described.document["paths"].items() for each in methods.items()]
    for path, method, operation in sorted(places, key=lambda place: BAG_ORDER.get(place[2]["operationId"], 0)):
        bag = {"bagGuid": found["bag_add"]["bag"]["bagGUID"]} if "bag_add" in found else {}
        path = path.format(**{**example(operation, "path"), **bag})
        query = {name: _joined(value) for name, value in example(operation, "query").items()}
        if operation["operationId"] == "bag":
            query = bag
        host = {"Host": described.order_host} if "servers" in operation else {}
        data = body(operation)
        asked = urllib.request.Request(
            f"{described.address}{path}?{urlencode(query)}",
            None if data is None else json.dumps(data).encode(),
            sent | host,
            method=method.upper(),
        )
        with urllib.request.urlopen(asked, timeout=60) as came:
            found[operation["operationId"]] = json.load(came)
    return found


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def driven(python: Path, driver: str, folder: Path, package: str, described: Described) -> dict[str, str]:
    """What came of calling every operation through a generated package: operation → empty, or what went wrong."""
    calls = [
        [
            operation["tags"][0],
            operation["operationId"],
            {name: _several(value) for place in ("path", "query") for name, value in example(operation, place).items()},
            body(operation),
        ]
        for operation in sorted(described.operations, key=lambda each: BAG_ORDER.get(each["operationId"], 0))
    ]
    told = {
        "package": package,
        "base_url": described.address,
        "key": key(),
        "header": HEADER,
        "hosts": {each["operationId"]: described.order_host for each in described.operations if "servers" in each},
        "calls": calls,
    }
    command = [str(python), str(DRIVERS / driver)]
    done = subprocess.run(
        command, input=json.dumps(told), capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(folder)}
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, str] = json.loads(done.stdout)
    return results


def _several(value: Any) -> Any:
    """A list with two items at least: one of the generators repeats the name of a parameter for each item."""
    return value * 2 if isinstance(value, list) and len(value) == 1 else value
