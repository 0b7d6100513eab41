"""Facts about `catalog import --changes`: a feed with its changes is the whole feed of the day after, or as it was."""

import gzip
import json
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from releases import Ran, shopwindow
from shopwindow.catalog import mapping
from shopwindow.catalog.applying import ChangesImport
from shopwindow.catalog.feed_files import FeedFiles
from shopwindow.catalog.importing import FeedImport
from shopwindow.catalog.mapping import Mapped
from shopwindow.catalog.mapping_checks import UnusableMapping
from shopwindow.catalog.marks import FeedMarks
from shopwindow.catalog.rewriting import AppliedCounts
from shopwindow.content.schema import Schemas
from shopwindow.problems import Failure
from trees import write

Json = Any
OUT = "content/catalog/brands.jsonl"
HEAD = {"kind": "brand", "since": "m1", "mark": "m2"}


def brand(id: int, name: str = "") -> Json:
    return {"id": id, "name": name or f"Brand {id}", "url": f"https://www.example/{id}"}


def lines(*values: Json) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def changes(*rows: Json, **head: Json) -> bytes:
    return lines({**HEAD, **head}, *rows, {"end": len(rows)})


def packed(name: str, data: bytes) -> bytes:
    """A feed's bytes, compressed as the end of its name says."""
    if name.endswith(".gz"):
        return gzip.compress(data, mtime=0)
    return zstandard.compress(data) if name.endswith(".zst") else data


def unpacked(feed: Path) -> bytes:
    """The lines of a feed."""
    data = feed.read_bytes()
    if feed.suffix == ".gz":
        return gzip.decompress(data)
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if feed.suffix == ".zst" else data


def marked(folder: Path, *brands: Json, mark: str = "m1", path: str = OUT) -> Path:
    """A feed that goes up to a mark."""
    feed = folder / path
    feed.parent.mkdir(parents=True, exist_ok=True)
    feed.write_bytes(packed(path, lines(*brands)))
    FeedMarks(feed).add(mark, FeedFiles(feed).digest())
    return feed


def applied(
    feed: Path,
    schemas: Schemas,
    *files: bytes,
    mapped: Mapped | None = None,
    added_to: str = "",
    progress: Callable[[int], None] = lambda rows: None,
) -> AppliedCounts | list[str] | None:
    """Apply files of changes; what is reported, or what has been done."""
    reported: list[str] = []
    paths = [feed.parent / f"changes-{number}.ndjson" for number, _ in enumerate(files)]
    for path, data in zip(paths, files, strict=True):
        path.write_bytes(data)

    def report(file: Path, line: int, fault: str) -> None:
        reported.append(f"{file.name}:{line}: {fault}".replace(str(feed), feed.name))

    importing = ChangesImport(feed, mapped, schemas, report, progress, added_to)
    done = importing.apply(paths)
    assert importing.bad == len(reported)
    assert not feed.with_name(f".{feed.name}.changing").exists()
    return reported or done


# -- what changes do ---------------------------------------------------------------------------------------------


def test_changes_replace_in_place_add_at_the_end_and_delete(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1), brand(2), brand(3))
    more = [{"upsert": brand(9)}, {"delete": 2}, {"upsert": brand(1, "Cobbold")}, {"upsert": brand(4)}]
    assert applied(feed, schemas, changes(*more)) == AppliedCounts("m2", 2, 1, 1, 4)
    assert feed.read_bytes().splitlines()[0] != lines(brand(1)).strip()
    assert [json.loads(line) for line in feed.read_bytes().splitlines()] == [
        brand(1, "Cobbold"),
        brand(3),
        brand(9),
        brand(4),
    ]
    assert FeedMarks(feed).current() == ("m2",)


def test_a_line_that_nothing_changes_stays_byte_for_byte(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    odd = b'\xef\xbb\xbf{"url" : "https://www.example/7","name":"\\u00e9", "id":7}\r\n\n  \n' + lines(brand(8))[:-1]
    feed.write_bytes(odd)
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    assert applied(feed, schemas, changes({"upsert": brand(9)})) == AppliedCounts("m2", 1, 0, 0, 3)
    first = odd.splitlines()[0]
    assert (
        feed.read_bytes()
        == first + b"\n" + lines(brand(8)) + json.dumps(brand(9), separators=(",", ":")).encode() + b"\n"
    )


@pytest.mark.parametrize("path", [OUT, f"{OUT}.gz", f"{OUT}.zst"])
def test_a_feed_stays_packed_as_it_is_and_equal_documents_are_equal_bytes(
    tmp_path: Path, schemas: Schemas, path: str
) -> None:
    written = []
    for name in ("one", "other"):
        feed = marked(tmp_path / name, brand(1), brand(2), path=path)
        applied(feed, schemas, changes({"delete": 1}), changes({"upsert": brand(1)}, since="m2", mark="m3"))
        written.append(feed.read_bytes())
    plain = unpacked(feed)
    assert [json.loads(line)["id"] for line in plain.splitlines()] == [2, 1]
    assert written[0] == written[1]


def test_several_files_are_applied_in_order(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    second = changes({"delete": 2}, {"upsert": brand(1, "B")}, since="m2", mark="m3")
    files = (changes({"upsert": brand(2)}, {"upsert": brand(1, "A")}), second)
    assert applied(feed, schemas, *files) == AppliedCounts("m3", 1, 2, 1, 1)
    assert json.loads(feed.read_bytes()) == brand(1, "B")


def test_changes_that_the_feed_contains_are_passed_over(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    first, second = changes({"upsert": brand(2)}), changes({"upsert": brand(3)}, since="m2", mark="m3")
    applied(feed, schemas, first)
    before = feed.stat()
    assert applied(feed, schemas, first) is None
    assert feed.stat() == before
    assert applied(feed, schemas, first, second) == AppliedCounts("m3", 1, 0, 0, 3)
    assert applied(feed, schemas, first, second) is None


def test_a_feed_in_which_nothing_changed_goes_up_to_both_marks(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    assert applied(feed, schemas, changes()) == AppliedCounts("m2", 0, 0, 0, 1)
    assert FeedMarks(feed).current() == ("m1", "m2")
    assert applied(feed, schemas, changes({"delete": 1}, mark="m3")) == AppliedCounts("m3", 0, 0, 1, 0)


def test_what_a_killed_command_left_harms_nobody(tmp_path: Path, schemas: Schemas) -> None:
    """Its draft, and the line of a state that never came to be, cut off or whole."""
    feed = marked(tmp_path, brand(1))
    write(feed.parent, {f".{feed.name}.changing/{feed.name}": "half a dr"})
    marks = FeedMarks(feed)
    marks.add("m2", "0" * 64)
    with open(marks.file, "ab") as file:
        file.write(b'{"mark": "m2", "sha2')
    assert marks.current() == ("m1",)
    assert applied(feed, schemas, changes({"upsert": brand(2)})) == AppliedCounts("m2", 1, 0, 0, 2)
    assert marks.current() == ("m2",)


def test_what_a_link_leads_to_is_changed(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1), path="elsewhere/brands.jsonl")
    link = tmp_path / "brands.jsonl"
    link.symlink_to(feed)
    assert applied(link, schemas, changes({"delete": 1})) == AppliedCounts("m2", 0, 0, 1, 0)
    assert link.is_symlink()
    assert feed.read_bytes() == b""


def test_one_command_at_a_time_changes_a_feed(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    with FeedMarks(feed).locked(), pytest.raises(Failure, match="another command changes it; try again"):
        applied(feed, schemas, changes(ONE))
    assert applied(feed, schemas, changes(ONE)) == AppliedCounts("m2", 1, 0, 0, 2)


# -- what does not fit -------------------------------------------------------------------------------------------

ONE = {"upsert": brand(3)}
UNFIT: list[tuple[bytes, list[str]]] = [
    (changes(ONE, since="m0"), ["0:1: since 'm0', and brands.jsonl goes up to 'm1'; allowed: changes since that mark"]),
    (changes({"delete": 9}, {"delete": 1}, {"delete": "2"}),
     ["0:2: deletes brand 9, which brands.jsonl does not have",
      "0:4: deletes brand '2', which brands.jsonl does not have"]),
    (changes(ONE, {"delete": 1}, ONE, {"upsert": brand(1)}),
     ["0:4: brand 3 a second time: line 2 changes it already",
      "0:5: brand 1 a second time: line 3 changes it already"]),
    (lines(HEAD, ONE), ['0:2: the file breaks off behind this line: {"end": …} is missing; fetch it again']),
    (lines(HEAD), ['0:1: the file breaks off behind this line: {"end": …} is missing; fetch it again']),
    (lines(HEAD, ONE, {"end": 2}),
     ["0:3: the end counts 2, and 1 stand before it: something is missing; fetch it again"]),
    (lines(HEAD, ONE, {"end": 1}, ONE), ['0:4: something stands after {"end": …}']),
    (changes(ONE)[:-20], [
        "0:2: no JSON: a text without its closing quote; allowed: one JSON object a line",
        '0:2: the file breaks off behind this line: {"end": …} is missing; fetch it again',
    ]),
    (b"", ['0:1: not the first line of changes; allowed: {"kind": …, "since": …, "mark": …}']),
    (lines(ONE, {"end": 1}), ['0:1: not the first line of changes; allowed: {"kind": …, "since": …, "mark": …}']),
    (changes(kind="brnad"),
     ["0:1: kind: 'brnad'; allowed: category, brand, product, inventory, review, recommendation; did you mean brand?"]),
    (changes(kind="synonym"),
     ["0:1: kind: 'synonym'; allowed: category, brand, product, inventory, review, recommendation"]),
    (changes(since=7, mark=""),
     ["0:1: since: 7; allowed: text, such as a date or a number in quotes; "
      "mark: ''; allowed: text, such as a date or a number in quotes"]),
    (changes(ONE, since="m1", mark="m1"),
     ["0:1: mark: 'm1', which is the mark that they begin at; allowed: another one, which they lead to"]),
    (changes(kind="review"), ["0:1: changes of the kind review, and brands.jsonl is for brand"]),
    (changes({"upsrt": brand(3)}, {"upsert": brand(3), "delete": 1}, 5), [
        "0:2: 'upsrt' is no change; allowed: {\"upsert\": …}, {\"delete\": …}, or {\"end\": N} as the last line; "
        "did you mean upsert?",
        '0:3: an object; allowed: {"upsert": …}, {"delete": …}, or {"end": N} as the last line',
        '0:4: 5; allowed: {"upsert": …}, {"delete": …}, or {"end": N} as the last line',
    ]),
    (changes({"upsert": {"id": 3, "name": "C\u0007"}}, {"delete": [1]}, {"upsert": 5}), [
        "0:2: 'url' is missing (Address of the brand's page); allowed: an http or https URL; "
        "name: the character U+0007, which XML cannot carry",
        "0:3: a list; allowed: the id itself",
        "0:4: 5 is not an object; allowed: an object: lines of `key: value` below, indented",
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("data", "reported"), UNFIT)
def test_what_does_not_fit_is_reported_by_its_line_and_nothing_changes(
    tmp_path: Path, schemas: Schemas, data: bytes, reported: Sequence[str]
) -> None:
    feed = marked(tmp_path, brand(1), brand(2))
    before = feed.read_bytes(), FeedMarks(feed).file.read_bytes()
    assert applied(feed, schemas, data) == [f"changes-{line.replace(':', '.ndjson:', 1)}" for line in reported]
    assert (feed.read_bytes(), FeedMarks(feed).file.read_bytes()) == before


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text("a\u0007\u202e")
    | st.just("brand"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["kind", "since", "mark", "upsert", "delete", "end", "id", "name"]), inner)
    ),
    max_leaves=8,
)
heads = st.fixed_dictionaries({name: st.one_of(st.just(right), values) for name, right in HEAD.items()})


@settings(max_examples=examples(150), deadline=None)
@given(head=st.one_of(values, heads, st.just(HEAD)), rest=st.lists(values, max_size=4), cut=st.integers(0, 60))
def test_whatever_a_file_holds_the_feed_changes_or_faults_are_reported(
    schemas: Schemas, head: Json, rest: list[Json], cut: int
) -> None:
    with tempfile.TemporaryDirectory() as name:
        feed = marked(Path(name), brand(1))
        before = feed.read_bytes()
        data = lines(head, *rest, {"end": len(rest)})
        done = applied(feed, schemas, data[:-cut] if cut > 30 else data)
        assert isinstance(done, AppliedCounts) or (done and feed.read_bytes() == before)


def test_a_gap_between_two_files_is_reported(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))
    assert applied(feed, schemas, changes(ONE), changes(since="m3", mark="m4")) == [
        "changes-1.ndjson:1: since 'm3', and the changes before go up to 'm2'; allowed: changes since that mark"
    ]


def test_a_feed_that_has_what_changes_twice_or_no_id_is_reported(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1), brand(1), {"name": "X"}, brand(2), brand(2))
    assert applied(feed, schemas, changes({"delete": 1})) == [
        "brands.jsonl:2: brand 1 a second time, so nobody knows which is changed",
        "brands.jsonl:3: no brand: it has no id",
    ]


@pytest.mark.parametrize("name", ["changes.jsonl.gz", "changes.jsonl.zst"])
@pytest.mark.parametrize("kept", [0, 20, -3])
def test_a_compressed_file_that_breaks_off_changes_nothing(
    tmp_path: Path, schemas: Schemas, name: str, kept: int
) -> None:
    """The file of changes, and the feed itself."""
    path = f"content/catalog/brands{name.removeprefix('changes')}"
    whole = packed(name, changes(ONE, *({"upsert": brand(number)} for number in range(10, 99))))
    feed = marked(tmp_path, brand(1), brand(2), path=path)
    before = feed.read_bytes()
    broken = tmp_path / name
    broken.write_bytes(whole[:kept])
    importing = ChangesImport(feed, None, schemas, lambda *fault: None, lambda rows: None)
    with pytest.raises(Failure, match=f"{name}: the compressed feed is damaged"):
        importing.apply([broken])
    assert (feed.read_bytes(), FeedMarks(feed).current()) == (before, ("m1",))

    feed.write_bytes(before[:kept])
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    with pytest.raises(Failure, match=f"{feed.name}: the compressed feed is damaged"):
        applied(feed, schemas, changes(ONE))
    assert (feed.read_bytes(), FeedMarks(feed).current()) == (before[:kept], ("m1",))


@pytest.mark.parametrize("path", [OUT, f"{OUT}.gz", f"{OUT}.zst"])
def test_a_feed_whose_last_document_is_deleted_is_empty_and_takes_changes(
    tmp_path: Path, schemas: Schemas, path: str
) -> None:
    feed = marked(tmp_path, brand(1), path=path)
    assert applied(feed, schemas, changes({"delete": 1})) == AppliedCounts("m2", 0, 0, 1, 0)
    assert unpacked(feed) == b""
    more = changes({"upsert": brand(1)}, since="m2", mark="m3")
    assert applied(feed, schemas, more) == AppliedCounts("m3", 1, 0, 0, 1)


def test_a_feed_that_another_program_changes_meanwhile_stays_as_that_left_it(tmp_path: Path, schemas: Schemas) -> None:
    feed = marked(tmp_path, brand(1))

    def deliver(rows: int) -> None:
        feed.write_bytes(lines(brand(7)))

    with pytest.raises(Failure, match="another program changed it meanwhile"):
        applied(feed, schemas, changes(ONE), progress=deliver)
    assert feed.read_bytes() == lines(brand(7))


# -- with a mapping ----------------------------------------------------------------------------------------------

MAPPING: Json = {
    "kind": "brand",
    "skip": [{"from": "state", "is": "closed"}],
    "fields": {
        "id": {"from": "uuid", "id": 9},
        "name": {"from": "title"},
        "url": {"from": "title", "style": "slug", "template": "https://www.example/{}"},
    },
}


def row(number: int, title: str, state: str = "open") -> Json:
    return {"uuid": f"u{number}", "title": title, "state": state}


def test_rows_of_another_system_are_mapped_and_those_left_out_are_deleted(tmp_path: Path, schemas: Schemas) -> None:
    mapped = mapping.read(MAPPING)
    feed = marked(tmp_path, *(mapped.document(row(number, f"T{number}"), frozenset()) for number in (1, 2, 3)))
    rows = [
        {"upsert": row(1, "T1", "closed")},
        {"upsert": row(4, "T4", "closed")},
        {"delete": {"uuid": "u2"}},
        {"delete": {"uuid": "u5"}},
        {"upsert": row(6, "T6")},
    ]
    assert applied(feed, schemas, changes(*rows), mapped=mapped) == AppliedCounts("m2", 1, 0, 2, 2)
    assert [json.loads(line)["name"] for line in feed.read_bytes().splitlines()] == ["T3", "T6"]


def test_with_a_mapping_that_skips_nothing_what_is_deleted_must_exist(tmp_path: Path, schemas: Schemas) -> None:
    mapped = mapping.read({**MAPPING, "skip": []})
    feed = marked(tmp_path, mapped.document(row(1, "T1"), frozenset()))
    data = changes({"delete": {"uuid": "u2"}}, {"delete": "u1"}, {"delete": {}}, kind="brand")
    assert applied(feed, schemas, data, mapped=mapped) == [
        "changes-0.ndjson:3: 'u1'; allowed: a row, which the mapping reads",
        "changes-0.ndjson:4: nothing in it identifies a document, as the mapping has it",
        f"changes-0.ndjson:2: deletes brand {mapped.id_of({'uuid': 'u2'})}, which brands.jsonl does not have",
    ]
    assert applied(feed, schemas, changes(kind="review"), mapped=mapped) == [
        "changes-0.ndjson:1: kind: review, and the mapping makes a brand of a row"
    ]


KNOWN = {"fields": {**MAPPING["fields"], "id": {"from": "uuid", "known": True}}}
ALL_ROWS: list[tuple[Json, str, str]] = [
    ({"once": "uuid"}, "once needs", "once"),
    ({"limit": 5}, "limit needs", "limit"),
    (KNOWN, "known needs", "known"),
    ({"once": "uuid", "limit": 5, **KNOWN}, "once, limit and known need", "these"),
]


@pytest.mark.parametrize(("more", "need", "them"), ALL_ROWS)
def test_a_mapping_that_needs_all_rows_is_refused(
    tmp_path: Path, schemas: Schemas, more: Json, need: str, them: str
) -> None:
    feed = marked(tmp_path, brand(1))
    with pytest.raises(UnusableMapping) as caught:
        applied(feed, schemas, changes(), mapped=mapping.read({**MAPPING, **more}))
    assert (caught.value.found, caught.value.allowed) == (
        f"{need} all rows of a feed, and changes are only some of them",
        "the whole feed without --changes, and then `shopwindow catalog mark` for its mark; "
        f"or a mapping without {them}, for the whole feed as well",
    )


def test_the_command_names_the_place_in_the_mapping(tmp_path: Path) -> None:
    marked(tmp_path, brand(1))
    write(tmp_path, {"map.yaml": json.dumps({**MAPPING, "limit": 5}), "changes.jsonl": changes()})
    ran = shopwindow("catalog", "import", "--changes", "changes.jsonl", "--map", "map.yaml", "--out", OUT, cwd=tmp_path)
    assert (ran.status, "Error: map.yaml:1:" in ran.err, ": limit: limit needs all rows of a feed" in ran.err) == (
        2,
        True,
        True,
    ), ran.err


# -- the whole feed ----------------------------------------------------------------------------------------------

rows = st.dictionaries(
    st.integers(0, 12),
    st.tuples(st.text("ab", min_size=1, max_size=2), st.sampled_from(["open", "closed"])),
    max_size=10,
)


def whole(folder: Path, state: dict[int, tuple[str, str]], mapped: Mapped, schemas: Schemas) -> list[Json]:
    """The documents that a whole feed becomes."""
    feed = folder / "whole.jsonl"
    feed.write_bytes(lines(*(row(number, *rest) for number, rest in state.items())))
    importing = FeedImport(feed, mapped, schemas, lambda where, fault: None)
    documents = list(importing.documents())
    assert importing.bad == 0
    return documents


def difference(old: dict[int, tuple[str, str]], new: dict[int, tuple[str, str]]) -> list[Json]:
    """What another system would send."""
    upserts = [{"upsert": row(number, *rest)} for number, rest in new.items() if old.get(number) != rest]
    return upserts + [{"delete": {"uuid": f"u{number}"}} for number in old.keys() - new.keys()]


@settings(max_examples=examples(40))
@given(states=st.lists(rows, min_size=2, max_size=4), data=st.data())
def test_changes_lead_to_the_whole_feed_of_the_day(schemas: Schemas, states: list[Json], data: st.DataObject) -> None:
    """Day by day, or all days in one command."""
    mapped = mapping.read(MAPPING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feed = marked(folder, *whole(folder, states[0], mapped, schemas), mark="day 0")
        days = []
        for day, (old, new) in enumerate(pairwise(states)):
            shuffled = data.draw(st.permutations(difference(old, new)))
            days.append(changes(*shuffled, since=f"day {day}", mark=f"day {day + 1}"))
        at_once = data.draw(st.booleans())
        for files in [days] if at_once else [[day] for day in days]:
            done = applied(feed, schemas, *files, mapped=mapped)
            assert isinstance(done, AppliedCounts)
            count = done.documents
        documents = sorted(map(json.loads, feed.read_bytes().splitlines()), key=lambda document: document["id"])
        assert documents == sorted(whole(folder, states[-1], mapped, schemas), key=lambda document: document["id"])
        assert count == len(documents)
        assert FeedMarks(feed).current()[-1] == f"day {len(days)}"


# -- the command -------------------------------------------------------------------------------------------------


def command(folder: Path, *files: bytes, more: Sequence[str] = ()) -> Ran:
    names = [f"c{number}.jsonl" for number, _ in enumerate(files)]
    for name, data in zip(names, files, strict=True):
        (folder / name).write_bytes(data)
    return shopwindow("catalog", "import", "--changes", *names, "--out", OUT, *more, cwd=folder)


def test_a_marked_feed_is_changed_and_says_its_mark(tmp_path: Path) -> None:
    write(tmp_path, {OUT: lines(brand(1), brand(2)).decode()})
    assert shopwindow("catalog", "mark", OUT, cwd=tmp_path) == Ran(
        1, "", f"{OUT}: no mark, or it was changed since it had one\n"
    )
    refused = command(tmp_path, changes(ONE))
    assert (refused.status, refused.out) == (4, "")
    assert refused.err.startswith(f"shopwindow: {OUT}: nobody says up to which mark it goes")
    assert shopwindow("catalog", "mark", OUT, "m1", cwd=tmp_path) == Ran(0, f"{OUT}: m1\n", "")
    assert command(tmp_path, changes(ONE, {"delete": 1})) == Ran(
        0, f"{OUT}: 1 added, 0 replaced, 1 deleted; 2 documents, up to the mark m2\n", ""
    )
    assert shopwindow("catalog", "mark", OUT, cwd=tmp_path) == Ran(0, f"{OUT}: m2\n", "")
    assert command(tmp_path, changes(ONE, {"delete": 1})) == Ran(
        0, f"{OUT}: has these changes already; nothing was written\n", ""
    )


def test_faults_are_listed_up_to_a_number_and_end_with_1(tmp_path: Path) -> None:
    marked(tmp_path, brand(1))
    ran = command(tmp_path, changes({"delete": 5}, {"delete": 6}, {"delete": 7}), more=["--max-problems", "1"])
    first = f"c0.jsonl: line 2: deletes brand 5, which {OUT} does not have\n"
    assert ran == Ran(1, f"{first}and 2 more faults\n", f"{OUT}: nothing was written\n")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["a.jsonl", "--changes", "--out", "b.yaml"], 2, "b.yaml: the name of a feed ends in .jsonl, .jsonl.gz"),
        (["a.jsonl", "--changes", "--out", "b.jsonl"], 4, "b.jsonl: there is no such feed"),
        (["a.jsonl", "--changes", "--out", OUT, "--skip-bad"], 2, "applied together or not at all"),
        (["no.jsonl", "--changes", "--out", OUT], 4, "no.jsonl"),
        (["a.jsonl", "--out", "b.jsonl"], 2, "Missing option '--map'"),
        (["a.jsonl", "b.jsonl", "--out", "b.jsonl", "--map", "m.yaml"], 2, "several FEEDs"),
    ],
)
def test_wrong_use_is_answered_in_a_sentence(tmp_path: Path, arguments: list[str], status: int, words: str) -> None:
    marked(tmp_path, brand(1))
    write(tmp_path, {"m.yaml": json.dumps(MAPPING), "a.jsonl": "{}\n"})
    ran = shopwindow("catalog", "import", *arguments, cwd=tmp_path)
    assert ran.status == status, ran
    assert words in ran.err
