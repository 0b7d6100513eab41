"""Facts about checking a whole folder: what belongs to it, everything wrong in one run, and never a traceback."""

import json
import os
import random
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.content import (
    EVENT,
    EVERYWHERE,
    MINIMAL,
    ROOT,
    STORE,
    Memory,
    check,
    declared,
    edit,
    examples,
    found,
    live_documents,
    place,
    problems,
    program_schemas,
    scan,
    unmark,
    write_files,
)
from harness.program import Schemas
from shopwindow.cli import report, terminal
from shopwindow.cli.report import ProblemReport
from shopwindow.content.check.folder import Checked
from shopwindow.content.reading import yaml
from shopwindow.problems import Problem
from shopwindow.retail.storefront import events_by_store
from shopwindow.shop import INTERFACE


def test_the_sample_is_without_fault(sample: Path) -> None:
    known = declared(sample, INTERFACE, program_schemas(INTERFACE).under(sample / "schemas"))
    checked = check(sample, known.schemas, known.interface)
    assert checked.problems == []
    documents = checked.documents
    assert documents is not None
    kinds = {"app": 2, "store": 12, "event": 40, "promotion": 12}
    assert {kind: len(documents.of(kind)) >= count for kind, count in kinds.items()} == dict.fromkeys(kinds, True)


def test_the_smallest_tree_is_without_fault(minimal: Path, schemas: Schemas) -> None:
    assert found(minimal, schemas) == []


# -- one document in a file, and in a list --------------------------------------------------------------------------


JUDGED = {
    "nothing": {},
    "a window": {"publish": {"from": "2026-11-20", "until": "2026-12-24"}},
    "no store": {"stores": {"storeId": [9]}},
    "no day": {"start": "2026-02-30 06:00"},
    "the wrong order": {"finish": "2026-11-27 05:00"},
    "a window that is none": {"publish": {"from": "2026-12-24", "until": "2026-11-20"}},
    "an id of another": {"id": 6},
    "text that XML cannot carry": {"name": "A \x01"},
    "a link that is none": {"links": [{"href": "shop", "rel": "self"}]},
    "a fraction": {"id": 7.0},
    "nothing to show": {"name": None},
}


@pytest.mark.parametrize("change", JUDGED.values(), ids=JUDGED.keys())
def test_an_event_alone_in_its_file_is_judged_and_told_as_one_in_a_list(
    change: dict[str, Any], minimal: Path, schemas: Schemas, tmp_path: Path
) -> None:
    event = yaml.load(EVENT)
    judged = []
    for number, content in enumerate(([event | change], event | change)):
        folder = write_files(shutil.copytree(minimal, tmp_path / str(number)), {"events/one.yaml": json.dumps(content)})
        write_files(folder, {"events/six.yaml": json.dumps(event | {"id": 6})})
        checked = check(folder, schemas, INTERFACE)
        told = [(problem.rule, problem.pointer[-1:], problem.found) for problem in checked.problems]
        seen = [
            (live.encode(), list(live.derived(events_by_store)[100]))
            for documents in [checked.documents]
            if documents
            for live in [
                live_documents(documents, datetime(2026, 11, 27, tzinfo=UTC), INTERFACE.kinds, INTERFACE.clocks)
            ]
        ]
        judged.append((told, seen))
    assert judged[0] == judged[1]
    assert (judged[0][1] == []) == (change not in (JUDGED["nothing"], JUDGED["a window"]))


# -- everything in one run ---------------------------------------------------------------------------------------


def test_all_problems_of_all_files_are_told_in_one_run_sorted_by_place(minimal: Path, schemas: Schemas) -> None:
    expected = edit(minimal, *EVERYWHERE)
    write_files(minimal, {"events/two.yaml": EVENT.replace("id: 5", "id: 6").replace("[1]", "[‸8]"), "notes.txt": ""})
    expected += [*unmark(minimal, "events/two.yaml"), "notes.txt"]
    told = problems(minimal, schemas)
    hidden = [line for line in expected if line.startswith("events/one.yaml:3")]  # in a file that is no YAML
    assert sorted(place(problem) for problem in told) == sorted(set(expected) - set(hidden))
    assert [problem.order() for problem in told] == sorted(problem.order() for problem in told)


@pytest.mark.parametrize("jobs", [1, 2, 7])
def test_any_number_of_processes_finds_the_same(minimal: Path, schemas: Schemas, jobs: int) -> None:
    edit(minimal, *EVERYWHERE)
    wrong = {f"stores/more/{number}.yaml": f"storeId: {number}\nname: {number}\n" for number in range(300)}
    write_files(minimal, wrong)
    counted: list[tuple[int, int]] = []
    alone = check(minimal, schemas, INTERFACE, jobs=1)
    shared = check(minimal, schemas, INTERFACE, jobs=jobs, progress=lambda *done: counted.append(done))
    assert shared.problems == alone.problems
    assert shared.sources == alone.sources
    assert len(alone.problems) > 300
    assert counted == sorted(counted)
    assert {total for _, total in counted} <= {len(shared.sources) - 1}


def test_the_order_in_which_a_folder_lists_its_files_does_not_matter(
    minimal: Path, schemas: Schemas, tmp_path: Path
) -> None:
    files = {f"stores/{name}.yaml": STORE for name in "dacbe"}
    write_files(minimal, files)
    other = tmp_path / "other"
    write_files(other, dict(reversed([*MINIMAL.items(), *files.items()])))
    assert problems(minimal, schemas) == problems(other, schemas)
    assert len(problems(minimal, schemas)) == 5  # five stores too many


# -- what belongs to a folder ------------------------------------------------------------------------------------

ALLOWED = [
    "stores/a.yaml",
    "stores/a.yml",
    "stores/a.jsonl",
    "stores/east/boston/a.yaml",
    "stores.jsonl",
    "events.jsonl",
    "promotions.jsonl",
    "apps.jsonl",
    "schemas/mine.json",
    "schemas/notes.txt",
    "templates/share.txt",
    "README",
    "README.md",
    "readme.txt",
    "stores/README.md",
    "stores/Readme",
    ".gitignore",
    ".git/config",
    "stores/.a.yaml.swp",
    ".yaml",
    "sample-keys.txt",
]

UNCLAIMED = {
    # path: the nearest name
    "evnts": "events/",
    "store/a.yaml": "stores/",
    "event/a.yaml": "events/",
    "Promotions/a.yaml": "promotions/",
    "application/a.yaml": "",
    "stores.yaml": "stores/",
    "sites.yaml": "site.yaml",
    "site.yml": "site.yaml",
    "promotion.jsonl": "promotions/",
    "site.jsonl": "site.yaml",
    "a.txt": "",
    "stores/a.txt": "",
    "stores/a.json": "",
    "stores/a.yaml.bak": "",
    "stores/yaml": "",
    "stores/sample-keys.txt": "",
    "stores/x.yaml/a.yaml": "",
    "README-first/a.yaml": "",
    "readme-day.yaml": "",
}


@pytest.mark.parametrize("path", ["events.csv", "stores/list.xlsx", "a.tsv", "events/b.ods"])
def test_a_table_is_a_problem_that_says_what_to_write(minimal: Path, path: str) -> None:
    write_files(minimal, {path: ""})
    (problem,) = scan(minimal, INTERFACE.kinds)[1]
    assert (problem.rule, problem.path, problem.found, problem.allowed) == (
        "tree.unclaimed",
        path,
        "a table, which no kind of document claims",
        "documents in YAML; write each row of the table as one, or as a line of JSON in a .jsonl file",
    )


@pytest.mark.parametrize("path", ALLOWED)
def test_what_stands_in_a_content_folder(minimal: Path, path: str) -> None:
    write_files(minimal, {path: ""})
    assert scan(minimal, INTERFACE.kinds)[1] == []


@pytest.mark.parametrize(("path", "nearest"), UNCLAIMED.items())
def test_what_no_kind_claims_is_a_problem_with_the_nearest_name(minimal: Path, path: str, nearest: str) -> None:
    write_files(minimal, {path: ""})
    (problem,) = scan(minimal, INTERFACE.kinds)[1]
    assert (problem.rule, problem.nearest) == ("tree.unclaimed", nearest)
    assert path == problem.path or path.startswith(problem.path + "/")
    assert problem.allowed


def test_a_file_that_only_begins_like_readme_is_read(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"events/readme-day.yaml": "‸text"})
    assert found(minimal, schemas)
    assert "events/readme-day.yaml" in [source.path for source in scan(minimal, INTERFACE.kinds)[0]]


def test_a_folder_without_site_yaml_is_told(tmp_path: Path) -> None:
    assert scan(tmp_path, INTERFACE.kinds) == (
        [],
        [Problem("tree.site", "site.yaml", "the file is missing", allowed="every content folder has one")],
    )


def numbered(number: int) -> str:
    """A store with other numbers."""
    text = STORE.replace("storeId: 1\n", f"storeId: {number}\n")
    return text.replace("Number: 10\n", f"Number: {number}\n").replace("Number: 100\n", f"Number: {number}\n")


def test_documents_come_from_files_lists_and_feeds_alike(minimal: Path, schemas: Schemas) -> None:
    def line(number: int) -> bytes:
        return orjson.dumps(yaml.load(numbered(number))) + b"\n"

    entries = [numbered(number).replace("\n", "\n  ").rstrip(" ") for number in (2, 3)]
    files: dict[str, str | bytes] = {
        "stores/list.yaml": "- " + "- ".join(entries),
        "stores/feed.jsonl": line(4) + b"\n" + line(5),
        "stores.jsonl": line(6),
    }
    checked = check(write_files(minimal, files), schemas, INTERFACE)
    assert checked.problems == []
    assert checked.documents is not None
    layers = {
        (store.value["storeId"], store.layers[0].path, store.layers[0].index) for store in checked.documents.of("store")
    }
    assert layers == {
        (1, "stores/one.yaml", None),
        (2, "stores/list.yaml", 0),
        (3, "stores/list.yaml", 1),
        (4, "stores/feed.jsonl", 0),
        (5, "stores/feed.jsonl", 1),
        (6, "stores.jsonl", 0),
    }


def test_the_lines_of_a_feed_are_read_on_after_a_fault(minimal: Path, schemas: Schemas) -> None:
    lines = ['‸{"id": 6}', '{"id": ‸}', "", '‸{"id": 7}', "  ‸[]"]
    write_files(minimal, {"events.jsonl": "\n".join(lines)})
    places = unmark(minimal, "events.jsonl")
    told = problems(minimal, schemas)
    assert sorted({place(problem) for problem in told}) == places
    assert {problem.pointer for problem in told} == {(0,), (), (1,), (2,)}


# -- nothing ends in a traceback ---------------------------------------------------------------------------------


def _sparse(path: Path, size: int = 2**30) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def _deep_folders(folder: Path, depth: int) -> None:
    here = os.open(folder, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a", dir_fd=here)
        below = os.open("a", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)


LAUGHS = "\n".join(["a0: &a0 ha", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12))])

# What an editor can put into stores/, and the rules by which it is told.
NASTY: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "binary": (lambda stores: (stores / "x.yaml").write_bytes(bytes(range(256)) * 9), {"yaml.encoding"}),
    "an image": (lambda stores: (stores / "x.yaml").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"), {"yaml.encoding"}),
    "utf-16": (lambda stores: (stores / "x.yaml").write_text("storeId: 1", encoding="utf-16"), {"yaml.encoding"}),
    "latin-1": (lambda stores: (stores / "x.yaml").write_bytes(b"name: Caf\xe9\n"), {"yaml.encoding"}),
    "nulls": (lambda stores: (stores / "x.yaml").write_bytes(b"\0" * 99), {"yaml.character"}),
    "empty": (lambda stores: (stores / "x.yaml").touch(), {"yaml.empty"}),
    "a byte order mark alone": (lambda stores: (stores / "x.yaml").write_bytes(b"\xef\xbb\xbf"), {"yaml.empty"}),
    "a comment alone": (lambda stores: (stores / "x.yaml").write_text("# later\n"), {"yaml.empty"}),
    "tabs": (lambda stores: (stores / "x.yaml").write_text("a:\n\tb: 1\n"), {"yaml.syntax"}),
    "a nest": (lambda stores: (stores / "x.yaml").write_text("[" * 100_000), {"yaml.depth"}),
    "a nest of blocks": (lambda stores: (stores / "x.yaml").write_text("- " * 100_000), {"yaml.depth"}),
    "a nest in a feed": (lambda stores: (stores / "x.jsonl").write_text("[" * 100_000), {"yaml.depth"}),
    "a billion laughs": (lambda stores: (stores / "x.yaml").write_text(LAUGHS), {"yaml.alias"}),
    "1 GB": (lambda stores: _sparse(stores / "x.yaml"), {"tree.size"}),
    "1 GB of holes": (lambda stores: _sparse(stores / "x.jsonl"), {"tree.sparse"}),
    "a huge number": (lambda stores: (stores / "x.yaml").write_text(numbered(10**400)), {"yaml.number"}),
    "a huge number in a feed": (lambda stores: (stores / "x.jsonl").write_text(f"1{'0' * 400}"), {"yaml.number"}),
    "a key of JavaScript": (
        lambda stores: (stores / "x.yaml").write_text(numbered(2) + "__proto__: {a: 1}\n"),
        {"schema.additionalProperties"},
    ),
    "a lone surrogate": (
        lambda stores: (stores / "x.yaml").write_text(numbered(2).replace("name: First", "name: '{{ \"\\udc00\" }}'")),
        {"expression"},
    ),
    "a folder": (lambda stores: (stores / "x.yaml").mkdir(), {"tree.unclaimed"}),
    "deep folders": (lambda stores: _deep_folders(stores, 30), {"tree.depth"}),
    "a dangling link": (lambda stores: (stores / "x.yaml").symlink_to("gone.yaml"), {"tree.link"}),
    "a link to itself": (lambda stores: (stores / "x.yaml").symlink_to("x.yaml"), {"tree.link"}),
    "a link out of the folder": (lambda stores: (stores / "x.yaml").symlink_to("/etc/hostname"), {"tree.link"}),
    "a link up and out": (lambda stores: (stores / "x.yaml").symlink_to("../../outside.yaml"), {"tree.link"}),
    "a link to a folder": (lambda stores: (stores / "x").symlink_to("../events"), {"tree.link"}),
    "a link in a circle": (lambda stores: (stores / "x").symlink_to(".."), {"tree.link"}),
    "a fifo": (lambda stores: os.mkfifo(stores / "x.yaml"), {"tree.file"}),
    "a socket": (lambda stores: os.mknod(stores / "x.yaml", stat.S_IFSOCK | 0o600), {"tree.file"}),
    "a name with a line end": (lambda stores: (stores / "x\n::error::y.yaml").write_text("- a"), {"schema.type"}),
    "a name with an escape": (lambda stores: (stores / "\x1b[31mx.yaml").write_text("- a"), {"schema.type"}),
    "a name that is no text": (
        lambda stores: open(os.fsencode(stores) + b"/\xff\xfe.yaml", "wb").close(),
        {"tree.name"},
    ),
    "a folder whose name is no text": (lambda stores: os.mkdir(os.fsencode(stores) + b"/\xff"), {"tree.name"}),
}


@pytest.fixture
def nasty(minimal: Path) -> Iterator[Path]:
    write_files(minimal.parent, {"outside.yaml": STORE})
    yield minimal
    for path, folders, _ in sorted(os.walk(minimal, topdown=False), reverse=True):  # pytest's own way is recursive
        for name in folders:
            if not os.path.islink(os.path.join(path, name)):
                shutil.rmtree(os.path.join(path, name), ignore_errors=True)


@pytest.mark.parametrize(("make", "rules"), NASTY.values(), ids=NASTY)
def test_whatever_an_editor_writes_is_told_and_never_ends_in_a_traceback(
    nasty: Path, schemas: Schemas, make: Callable[[Path], object], rules: set[str]
) -> None:
    make(nasty / "stores")
    told = problems(nasty, schemas)
    assert {problem.rule for problem in told} == rules
    printed = re.sub("\x1b[^m]*m", "", terminal.layout(ProblemReport(Checked(None, told), nasty))).split("\n")
    assert all(line.isprintable() or "\t" in line for line in printed)
    for form in report.REPORT_FORMATS.values():
        assert form(ProblemReport(Checked(None, told), nasty)).encode()


@pytest.mark.parametrize(("make", "rules"), NASTY.values(), ids=NASTY)
def test_the_same_in_place_of_site_yaml(
    nasty: Path, schemas: Schemas, make: Callable[[Path], object], rules: set[str]
) -> None:
    del rules
    (nasty / "site.yaml").unlink()
    before = set(os.listdir(os.fsencode(nasty)))
    make(nasty)
    (made,) = set(os.listdir(os.fsencode(nasty))) - before
    os.rename(os.path.join(os.fsencode(nasty), made), nasty / "site.yaml")
    assert problems(nasty, schemas)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_line_ends_and_a_byte_order_mark_change_nothing(minimal: Path, schemas: Schemas, end: str) -> None:
    for path in MINIMAL:
        text = (minimal / path).read_text()
        (minimal / path).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", end).encode())
    assert found(minimal, schemas) == []
    event = (minimal / "events/one.yaml").read_bytes()
    (minimal / "events/one.yaml").write_bytes(event.replace(b"Opening", b"5"))
    assert found(minimal, schemas) == ["events/one.yaml:4:7 schema.type name"]


def test_a_long_text_is_no_reason_to_wait(minimal: Path, schemas: Schemas) -> None:
    edit(
        minimal,
        ("apps/one.yaml", "ERROR|WARN", "ERROR" * 2000),
        ("apps/one.yaml", "https://apps.example/one", "https://" + "a." * 20_000 + "/"),
        ("stores/one.yaml", "hours:", "features: [" + "a, 1, " * 2000 + "]\nhours:"),
    )
    started = time.process_time()
    assert len(problems(minimal, schemas, most=5000)) > 4000
    assert time.process_time() - started < 20


SAMPLE = ROOT / "content"
FILES = {path.relative_to(SAMPLE).as_posix(): path.read_bytes() for path in sorted(SAMPLE.rglob("*.yaml"))}


@pytest.fixture(scope="module")
def mutable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample, to be changed and put back."""
    folder = tmp_path_factory.mktemp("mutable")
    shutil.copytree(SAMPLE / "schemas", folder / "schemas")
    for path in FILES:
        put_back(folder, path)
    return folder


LONG_AGO = time.time() - 60
"""The memory has no file that was changed just now."""


def put_back(folder: Path, path: str) -> None:
    """Give a file the sample's bytes, as if nobody had touched it since ``LONG_AGO``."""
    write_files(folder, {path: FILES[path]})
    os.utime(folder / path, (LONG_AGO, LONG_AGO))


@pytest.fixture(scope="module")
def unchanged(mutable: Path, schemas: Schemas, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """With this a check reads what an example changed, and remembers the other files: 15 times faster.

    The memory is believed here because `test_cache.py` compares what is found with it and without.
    """
    how = {"jobs": 1, "memory": Memory(tmp_path_factory.mktemp("memory"))}
    assert problems(mutable, schemas, **how) == []
    return how


ODD = [
    "\n",
    " \t",
    "  ",
    ": ",
    "- ",
    "[",
    "}",
    '"',
    "'",
    "#",
    "&a ",
    "*a",
    "{{ ",
    " }}",
    "\x00",
    "null",
    "1e999",
    "é\u2028",
    "",
    "",
]


def mutated(data: bytes, seed: int) -> bytes:
    """A file with a few random changes: bytes replaced, cut out, put in, doubled."""
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice([1, 1, 2, 5, 30]))
        odd = chance.choice([*map(str.encode, ODD), b"\xff", data[start:end] * 2])
        data = data[:start] + odd + data[end if chance.random() < 0.7 else start :]
    return data


@settings(max_examples=examples(50), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.sampled_from(sorted(FILES)), seed=st.integers(0, 2**32))
def test_any_change_to_a_file_of_the_sample_is_checked(
    mutable: Path, schemas: Schemas, unchanged: dict[str, Any], path: str, seed: int
) -> None:
    (mutable / path).write_bytes(mutated(FILES[path], seed))
    told = problems(mutable, schemas, **unchanged)
    put_back(mutable, path)
    assert all(problem.place is not None for problem in told)
    assert terminal.layout(ProblemReport(Checked(None, told), mutable)).encode() or not told


@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.sampled_from(["stores/x.yaml", "events/x.jsonl", "apps/_x.yaml", "apps/x.yaml", "site.yaml"]),
    data=st.binary(max_size=200),
)
def test_any_bytes_are_checked(
    mutable: Path, schemas: Schemas, unchanged: dict[str, Any], name: str, data: bytes
) -> None:
    (mutable / name).write_bytes(data)
    try:
        problems(mutable, schemas, **unchanged)
    finally:
        (mutable / name).unlink()
        put_back(mutable, "site.yaml")


# -- what keeps a file from being read ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        (
            EVENT + "‸id: 6\n‸name: b\n‸nope: c\n",
            ("yaml.duplicate id", "yaml.duplicate name", "schema.additionalProperties nope"),
        ),
        (
            "id: ‸!!int 5\n‸1: x\n‸null: x\nfinish: ‸*then\nstores: {storeId: [‸99999999999999999999]}\nname: ‸!a b\n"
            "start: ‸6am\nshortDesc: ‸'{{ nope }}'\n‸*no : x\n",
            (
                "yaml.tag id",
                "yaml.key 1",
                "yaml.key null",
                "yaml.alias finish",
                "yaml.number stores/storeId/0",
                "yaml.tag name",
                "schema.pattern start",
                "expression shortDesc",
                "yaml.alias *no",
            ),
        ),
        (
            "‸id: 6\nname: ‸{{ www }}\nshortDesc: ‸{{ brand }}\nstores: {storeId: [‸9]}\nstart: 2026-11-27 06:00\n",
            ("schema.required", "yaml.key name", "yaml.key shortDesc", "reference stores/storeId/0"),
        ),
        ("‸<<: {name: A}\nname: ‸[b]\n", ("yaml.key", "schema.type name")),
        ("? ‸[a]\n: b\nname: ‸[b]\n", ("yaml.key", "schema.type name")),
        # one fault, though reading ends there: a comma is missing, a line goes on, a nest is not closed
        ("links: [{href: ‸{{ www }}/x, rel: y}]\nname: !a b\n", ("yaml.key links/0/href",)),
        ("name: ‸{{ brand }} shop\nshortDesc: !a b\n", ("yaml.key name",)),
        ("name: ‸" + "{{ " * 200, ("yaml.key name",)),
        ("? ‸" + "? " * 1000, ("yaml.key",)),
        ("id: 5\n‸id: 6\nname: ‸% no\n", ("yaml.duplicate id", "yaml.syntax")),
        ("a: &a [‸*a, ‸*b]\n‸!x b: 1\n", ("yaml.alias a/0",)),
        ("id: 5\n‸id: 6\n‸---\nid: ‸!a 7\n", ("yaml.duplicate id", "yaml.second")),
    ],
)
def test_every_fault_of_a_file_is_told_up_to_one_that_reading_cannot_go_beyond(
    minimal: Path, schemas: Schemas, text: str, rules: tuple[str, ...]
) -> None:
    write_files(minimal, {"events/two.yaml": text})
    places = unmark(minimal, "events/two.yaml")
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=False)]


def test_every_fault_of_site_yaml_is_told(minimal: Path, schemas: Schemas) -> None:
    places = edit(minimal, ("site.yaml", "names:", "‸base_url: x\n‸7: x\nnames:\n  no: ‸7\n  yes: ‸!x y"))
    rules = ("yaml.duplicate base_url", "yaml.key 7", "schema.type names/no", "yaml.tag names/yes")
    assert found(minimal, schemas) == [f"{place} {rule}" for place, rule in zip(places, rules, strict=True)]


def test_what_has_a_fault_of_yaml_hides_nothing_else_and_nothing_follows_from_it(
    minimal: Path, schemas: Schemas
) -> None:
    brands = "- {id: !x 1, name: A, url: 'https://a'}\n- {id: 2, name: B, name: A, url: 'https://b', nope: 1}\n"
    write_files(minimal, {"catalog/brands.yaml": brands})
    edit(
        minimal,
        ("apps/one.yaml", "appLayout: [shop, bag]", "appLayout: [shop, bga, *bag]"),
        ("apps/one.yaml", "extraAssets:", "extraAssets: !x"),
        ("events/one.yaml", "[1]", "[9]\n  locationNumber: [9]"),
        ("events/one.yaml", "name: Opening", "name: Opening\nname: '{{ www }}'"),
        ("promotions/one.yaml", "expiry: 2026-12-31\npromotionS", "expiry: !x 2025-12-31\npromotionS"),
        ("promotions/one.yaml", "channels: [SITE]", "channels: [CITY]"),
        ("stores/one.yaml", "storeId: 1\n", "storeId: !x 1\n"),
        ("stores/one.yaml", "state: MA", "state: Massachusetts"),
    )
    assert found(minimal, schemas) == [
        "apps/one.yaml:7:21 app.layout config/appLayout/1",
        "apps/one.yaml:7:26 yaml.alias config/appLayout/2",
        "apps/one.yaml:90:16 yaml.tag config/extraAssets",
        "catalog/brands.yaml:1:8 yaml.tag 0/id",
        "catalog/brands.yaml:2:20 yaml.duplicate 1/name",
        "catalog/brands.yaml:2:47 schema.additionalProperties 1/nope",
        "events/one.yaml:4:20 reference stores/locationNumber/0",
        "events/one.yaml:6:1 yaml.duplicate name",
        "promotions/one.yaml:7:9 yaml.tag expiry",
        "promotions/one.yaml:9:12 schema.enum channels/0",
        "stores/one.yaml:1:10 yaml.tag storeId",
        "stores/one.yaml:8:55 schema.pattern address/state",
    ]


def test_a_key_that_stands_twice_with_less_below_it_is_one_problem(minimal: Path, schemas: Schemas) -> None:
    write_files(minimal, {"catalog/brands.yaml": "- {id: 1, name: A, url: 'https://a', name: {a: {}}}\n"})
    for path, text in (("apps/one.yaml", "config:\n  a: 1\n"), ("stores/one.yaml", "address: {a: 1}\n")):
        (minimal / path).write_text((minimal / path).read_text() + text)
    assert found(minimal, schemas) == [
        "apps/one.yaml:106:1 yaml.duplicate config",
        "catalog/brands.yaml:1:38 yaml.duplicate 0/name",
        "stores/one.yaml:14:1 yaml.duplicate address",
    ]


def test_what_is_wrong_within_an_alias_is_told_at_the_alias(minimal: Path, schemas: Schemas) -> None:
    edit(minimal, ("events/one.yaml", "name: Opening", "attributes: {A: &a ['{{ nope }}'], B: *a}\nname: A"))
    assert found(minimal, schemas) == [
        "events/one.yaml:4:21 expression",
    ]
