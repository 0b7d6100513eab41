"""Clients that other people's generators make of the OpenAPI document call every operation of the running service.

Generators and compilers come from PyPI and npm, into environments of their own.
"""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.browser import npm_installed
from harness.content import ROOT, Json
from harness.generators import (
    BAG_ORDER,
    DRIVERS,
    HEADER,
    Described,
    body,
    described_service,
    driven,
    example,
    in_table,
    installed,
    key,
)

PYTHON_CLIENT = "openapi-python-client==0.29.1"
TYPESCRIPT = ["openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@20.19.25"]
"""From PyPI and npm: the releases that the expectations were written with."""


@pytest.fixture(scope="module")
def described(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with described_service(tmp_path_factory.mktemp("service"), sample_out) as running:
        yield running


def test_openapi_python_client_calls_every_operation_and_parses_every_answer(
    described: Described, tmp_path: Path
) -> None:
    commands = installed(tmp_path / "env", PYTHON_CLIENT)
    described.written(tmp_path)
    command = ["generate", "--path", "openapi.json", "--output-path", "generated", "--meta", "none"]
    subprocess.run(
        [str(commands / "openapi-python-client"), *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
    )
    results = driven(commands / "python", "of_openapi_python_client.py", tmp_path, "generated", described)
    assert "\n".join(f"{name}: {result}" for name, result in results.items() if result) == ""
    assert set(results) == {each["operationId"] for each in described.operations}
    assert in_table("openapi-python-client") == (len(results), len(results))


def given(operation: Json) -> Json:
    """What a call of an operation gives, with the document's examples: its parameters and its body."""
    params = {place: example(operation, place) for place in ("path", "query")}
    options = {"params": {place: texts for place, texts in params.items() if texts}, "body": body(operation)}
    return {name: value for name, value in options.items() if value}


def calls(document: Json) -> str:
    """A program that calls every operation that needs nothing of an earlier answer."""
    lines = [
        f"  {'orders' if 'servers' in operation else 'client'}.{method.upper()}("
        f"{json.dumps(path)}, {json.dumps(given(operation))}),\n"
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if "/bags" not in path
    ]
    return f"""
import type {{ Client }} from "openapi-fetch";
import type {{ paths }} from "./api.js";

export const calls = (client: Client<paths>, orders: Client<paths>) => [
{"".join(lines)}];
"""


def test_openapi_typescript_and_openapi_fetch_call_every_operation(described: Described, tmp_path: Path) -> None:
    """tsc with --strict accepts a call of every operation and a bag's whole life, and the service answers each."""
    npm_installed(tmp_path, *TYPESCRIPT)
    commands = tmp_path / "node_modules" / ".bin"
    (tmp_path / "package.json").write_text('{"type": "module"}')
    described.written(tmp_path)
    subprocess.run([str(commands / "openapi-typescript"), "openapi.json", "-o", "api.ts"], cwd=tmp_path, check=True)
    (tmp_path / "calls.ts").write_text(calls(described.document))
    (tmp_path / "main.ts").write_text((DRIVERS / "of_openapi_fetch.ts").read_text())
    (tmp_path / "core.ts").write_text((ROOT / "clients/typescript/src/index.ts").read_text())
    options = ["--strict", "--module", "nodenext", "--target", "es2022", "--skipLibCheck"]
    compile_all = [str(commands / "tsc"), *options, "main.ts"]
    compiled = subprocess.run(compile_all, cwd=tmp_path, capture_output=True, text=True)
    assert (compiled.returncode, compiled.stdout) == (0, "")

    command = ["node", "main.js", described.address, described.order_host, HEADER, key()]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (ran.returncode, ran.stderr) == (0, "")
    others = [each for each in described.operations if not each["operationId"].startswith("bag")]
    assert json.loads(ran.stdout) == {
        "called": len(others),
        "failed": [],
        "bag": [2, 5, 0],
        "refused": "item: is missing",
        "core": [5, True],
    }
    assert in_table("openapi-typescript") == (len(described.operations), len(others) + len(BAG_ORDER))
