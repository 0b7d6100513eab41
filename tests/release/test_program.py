"""The program is more than the engine: an edited part of it, wherever it lies, is noticed by the next build."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.commands import SOURCES
from harness.content import AT, ROOT, write
from harness.program import Ran, shopwindow

COMPANY = {
    "company/__init__.py": "",
    "company/words.py": 'GREETING = "Good morning"\n',
    "company/closing.txt": "Good bye",
    "company/views.py": """
from pathlib import Path

from company.words import GREETING


def greeting(content, call):
    closing = Path(__file__).with_name("closing.txt").read_text()
    return {"greeting": GREETING, "closing": closing, "name": content.setting("names").get("shop", "nobody")}
""",
    "company/offer.py": """
from dataclasses import replace
from pathlib import Path

from company.views import greeting
from shopwindow.interface.declaring.operation import FromContent, Operation
from shopwindow.shop import INTERFACE as SHOP


def entries(content):
    return [{}]


hello = Operation("hello", "v1/hello", FromContent(greeting, entries), "hello", "A greeting.")
INTERFACE = replace(SHOP, operations=(*SHOP.operations, hello), schemas=Path(__file__).parent.parent / "schemas")
""",
    "schemas/responses/hello.json": """{
 "$schema": "https://json-schema.org/draft/2020-12/schema",
 "description": "A greeting.",
 "type": "object",
 "required": ["greeting", "name"],
 "additionalProperties": false,
 "properties": {
  "greeting": {"type": "string", "description": "What is said."},
  "closing": {"type": "string", "description": "What is said last."},
  "name": {"type": "string", "description": "Who says it."}
 }
}""",
}
"""An interface of a company's own: the shop's, and a greeting. Its schemas lie beside its package."""

CHOSEN = ("--interface", "company.offer:INTERFACE")
UNCOMPILED = {"PYTHONDONTWRITEBYTECODE": "1"}
"""For a program that is edited within the second, and keeps its size: Python would take what it compiled before."""


def ran(folder: Path, source: Path, *chosen: str, within: str = "", **environment: str) -> Ran:
    """Build the content in a folder, or ``within`` it, with the packages in ``source``, in a process of its own."""
    places = ["--content", f"{within}content", "--out", f"{within}dist"]
    paths = {"PYTHONPATH": f"{source}{os.pathsep}{SOURCES}", **environment}
    return shopwindow(*chosen, "build", "--at", AT, "--jobs", "1", *places, cwd=folder, env=paths)


def build(folder: Path, source: Path, *chosen: str, within: str = "", **environment: str) -> None:
    """Build a folder's content, which must succeed."""
    done = ran(folder, source, *chosen, within=within, **environment)
    assert done.status == 0, done.err


def rewrite(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


def answer(folder: Path, path: str) -> str:
    return (folder / "dist/current/files" / path).read_text()


def test_an_edited_view_of_the_shop_is_rendered_by_the_next_build(minimal: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("schemas", "templates"):
        (tmp_path / name).symlink_to(ROOT / name)
    build(tmp_path, tmp_path / "src", **UNCOMPILED)
    before = {path: path.read_bytes() for path in (tmp_path / "dist/current/files").rglob("*.json")}
    assert any(b"storeEvents" in data for data in before.values())
    views = tmp_path / "src/shopwindow/retail/events/operations.py"
    rewrite(views, '{"storeEvents": events, "success": True}', '{"success": True, "storeEvents": events}')
    build(tmp_path, tmp_path / "src", **UNCOMPILED)
    changed = [path for path in before if path.read_bytes() != before[path]]
    assert changed == [path for path, data in before.items() if b'"storeEvents"' in data]
    assert {path.read_bytes()[:16] for path in changed} == {b'{"success":true,'}


def company_in(folder: Path) -> Path:
    """A folder with the company's interface."""
    for name, text in COMPANY.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture
def company(minimal: Path, tmp_path: Path) -> Path:
    """A folder with the company's interface and some content, built twice."""
    company_in(tmp_path)
    for _ in range(2):
        build(tmp_path, tmp_path, *CHOSEN)
    assert json.loads(answer(tmp_path, "v1/hello.json")) == {
        "greeting": "Good morning",
        "closing": "Good bye",
        "name": "nobody",
    }
    return tmp_path


@pytest.mark.parametrize(
    ("edited", "old", "new"),
    [("company/words.py", "Good morning", "Good evening"), ("company/closing.txt", "Good bye", "See you")],
)
def test_an_edited_file_of_an_interface_s_package_is_rendered_by_the_next_build(
    company: Path, edited: str, old: str, new: str
) -> None:
    rewrite(company / edited, old, new)
    build(company, company, *CHOSEN)
    assert f'"{new}"' in answer(company, "v1/hello.json")


@pytest.mark.parametrize("schemas", ["schemas", "content/schemas"])
def test_an_edited_schema_is_held_against_answers_by_the_next_build(company: Path, schemas: str) -> None:
    """Nothing of the answer has changed, and the previous release holds it."""
    if schemas != "schemas":
        place = company / schemas / "responses" / "hello.json"
        place.parent.mkdir(parents=True)
        place.write_text(COMPANY["schemas/responses/hello.json"])
        build(company, company, *CHOSEN)
    edited = company / schemas / "responses" / "hello.json"
    rewrite(edited, '"closing": {"type": "string"', '"closing": {"type": "string", "maxLength": 7')
    done = ran(company, company, *CHOSEN)
    assert done.status != 0
    assert "'Good bye' is too long" in done.out + done.err


def test_an_edited_collection_is_rendered_by_the_next_build(company: Path) -> None:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "description": "A notice.",
        "type": "object",
        "properties": {
            "noticeId": {"type": "integer", "description": "Identifies it."},
            "rank": {"type": "integer", "description": "Its place."},
        },
        "required": ["noticeId", "rank"],
        "additionalProperties": False,
    }
    notice = {"folder": "notices", "schema": "notice.json", "id": "noticeId", "path": "v1/notices"}
    content = company / "content"
    write(
        content,
        {
            "schemas/notice.json": schema,
            "notices/all.yaml": [{"noticeId": 1, "rank": 2}, {"noticeId": 2, "rank": 1}],
            "collections.yaml": {"notice": notice},
        },
    )
    orders = []
    for order in (["noticeId"], ["rank"]):
        write(content, {"collections.yaml": {"notice": {**notice, "order": order}}})
        build(company, company, *CHOSEN)
        orders.append([each["noticeId"] for each in json.loads(answer(company, "v1/notices.json"))["notices"]])
    assert orders == [[1, 2], [2, 1]]


def test_content_and_releases_in_the_interface_s_package_are_no_part_of_the_program(company: Path) -> None:
    within = company / "company"
    (company / "content").rename(within / "content")
    programs = []
    for text in ("first", "second"):
        (within / "content" / "README.md").write_text(text)
        build(company, company, *CHOSEN, within="company/")
        programs.append(json.loads((within / "dist/current/build.json").read_bytes())["program"])
        (within / "dist/current").unlink()
        shutil.rmtree(within / "dist/releases")
    assert programs[0] == programs[1]


def program(folder: Path, source: Path) -> str:
    """The program's digest as a first build records it."""
    shutil.rmtree(folder / "dist", ignore_errors=True)
    build(folder, source, *CHOSEN)
    digest: str = json.loads((folder / "dist/current/build.json").read_bytes())["program"]
    return digest


def install(folder: Path, name: str, version: str, *files: str) -> None:
    """Install a version of a library in place of any other, as pip does."""
    for earlier in folder.glob(f"{name}-*.dist-info"):
        shutil.rmtree(earlier)
    write_texts(folder, dict.fromkeys(files, "PRICE = 7\n"))
    record = "".join(f"{file},,\n" for file in (*files, f"{name}-{version}.dist-info/RECORD"))
    write_texts(folder, {f"{name}-{version}.dist-info/RECORD": record})


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def test_a_version_of_an_installed_library_makes_another_program(minimal: Path, tmp_path: Path) -> None:
    company_in(tmp_path)
    rewrite(tmp_path / "company/words.py", "GREETING", "def later():\n    import rates\nGREETING")
    libraries = tmp_path / "site-packages"
    path = Path(f"{libraries}{os.pathsep}{tmp_path}")
    install(libraries, "Daily_Rates", "1.0", "rates/__init__.py", "rates/net.py")
    first = program(tmp_path, path)
    assert program(tmp_path, path) == first
    install(libraries, "Daily_Rates", "1.1", "rates/__init__.py", "rates/net.py")
    assert program(tmp_path, path) != first


def test_whoever_imports_the_shop_runs_the_same_program(tmp_path: Path) -> None:
    """A process has more modules than those that the program consists of: an operator's tools, or tests."""
    write_texts(tmp_path, {"tool.py": "from shopwindow.shop import INTERFACE\n", "beside.py": ""})
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCES}"}
    digests = set()
    for module in ("shopwindow.shop", "tool"):
        code = f"from {module} import INTERFACE\nfrom pathlib import Path\n"
        code += "from shopwindow.release.program import program_digest\n"
        code += "print(program_digest(INTERFACE, Path('content')))"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_an_interface_that_is_installed_is_read_as_any_other(minimal: Path, tmp_path: Path) -> None:
    """pip may install another state of it under the same version."""
    libraries = company_in(tmp_path / "site-packages")
    install(libraries, "company", "1.0", *COMPANY)
    company_in(libraries)
    first = program(tmp_path, libraries)
    assert program(tmp_path, libraries) == first
    programs = [first]
    for edited, old, new in [
        ("company/words.py", "morning", "evening"),
        ("schemas/responses/hello.json", "What is said last", "What is said at the end"),
    ]:
        rewrite(libraries / edited, old, new)
        programs.append(program(tmp_path, libraries))
    assert len(set(programs)) == 3
