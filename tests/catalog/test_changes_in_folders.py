"""Facts about `catalog import --changes` for a folder of files, which are one feed together."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from releases import Ran, shopwindow
from shopwindow.catalog import mapping
from shopwindow.catalog.feed_files import FeedFiles
from shopwindow.catalog.marks import FeedMarks
from shopwindow.catalog.rewriting import AppliedCounts
from shopwindow.content.schema import Schemas
from shopwindow.problems import Failure
from test_changes import HEAD, MAPPING, ONE, applied, brand, changes, lines, packed, row, unpacked
from trees import write

Json = Any
BRANDS = "content/catalog/brands"


def parts(folder: Path, files: Mapping[str, list[Json]], mark: str = "m1") -> Path:
    """A feed of several files that goes up to a mark."""
    feed = folder / BRANDS
    feed.mkdir(parents=True, exist_ok=True)
    for name, brands in files.items():
        path = feed / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(packed(name, lines(*brands)))
    FeedMarks(feed).add(mark, FeedFiles(feed).digest())
    return feed


def held(feed: Path) -> dict[str, list[Json]]:
    """The documents of each file."""
    names = FeedFiles(feed).names()
    return {name: [json.loads(line) for line in unpacked(feed / name).splitlines()] for name in names}


# -- what changes do ---------------------------------------------------------------------------------------------


def test_each_upsert_goes_to_the_file_that_has_the_id_and_new_ones_to_the_last(
    tmp_path: Path, schemas: Schemas
) -> None:
    files = {"a.jsonl.gz": [brand(1), brand(2)], "b.jsonl": [brand(3), brand(4)], "c/d.jsonl.zst": [brand(5)]}
    feed = parts(tmp_path, files)
    more = [{"upsert": brand(9)}, {"upsert": brand(2, "B")}, {"delete": 5}, {"upsert": brand(8)}, {"delete": 1}]
    assert applied(feed, schemas, changes(*more)) == AppliedCounts("m2", 2, 1, 2, 5)
    assert held(feed) == {
        "a.jsonl.gz": [brand(2, "B")],
        "b.jsonl": [brand(3), brand(4)],
        "c/d.jsonl.zst": [brand(9), brand(8)],
    }
    assert FeedMarks(feed).current() == ("m2",)


def test_new_documents_go_to_the_file_that_is_named_which_need_not_exist(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl": [brand(2)]})
    assert applied(feed, schemas, changes(ONE), added_to="a.jsonl") == AppliedCounts("m2", 1, 0, 0, 3)
    more = changes({"upsert": brand(4)}, {"upsert": brand(1, "A")}, since="m2", mark="m3")
    assert applied(feed, schemas, more, added_to="2026/11-22.jsonl.gz") == AppliedCounts("m3", 1, 1, 0, 4)
    assert held(feed) == {
        "2026/11-22.jsonl.gz": [brand(4)],
        "a.jsonl": [brand(1, "A"), brand(3)],
        "b.jsonl": [brand(2)],
    }


def test_a_file_for_new_documents_is_not_created_where_there_are_none(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]})
    assert applied(feed, schemas, changes({"delete": 1}), added_to="b.jsonl") == AppliedCounts("m2", 0, 0, 1, 0)
    assert held(feed) == {"a.jsonl": []}


def test_what_no_change_touches_stays_the_same_file(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl.gz": [brand(2)]})
    write(
        feed, {"by-hand.yaml": "- {id: 7, name: By Hand, url: 'https://www.example/7'}\n", ".hidden": "x", "README": ""}
    )
    (feed / "a.jsonl").chmod(0o640)
    feed.chmod(0o750)
    names = ("b.jsonl.gz", "by-hand.yaml", ".hidden", "README")
    before = {name: (feed / name).stat().st_ino for name in names}
    assert applied(feed, schemas, changes({"upsert": brand(1, "A")}, {"upsert": brand(3)}), added_to="a.jsonl")
    assert {name: (feed / name).stat().st_ino for name in names} == before
    assert (feed.stat().st_mode & 0o777, (feed / "a.jsonl").stat().st_mode & 0o777) == (0o750, 0o640)
    assert sorted(path.name for path in feed.iterdir()) == [
        ".hidden",
        "README",
        "a.jsonl",
        "b.jsonl.gz",
        "by-hand.yaml",
    ]


def test_what_people_keep_beside_the_files_or_hide_leaves_the_mark(tmp_path: Path) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]})
    write(feed, {"by-hand.yaml": "[]\n", ".hidden.jsonl": "{}\n", ".older/b.jsonl": "{}\n"})
    assert FeedMarks(feed).current() == ("m1",)
    assert held(feed) == {"a.jsonl": [brand(1)]}
    write(feed, {"b.jsonl": ""})
    assert FeedMarks(feed).current() == ()


def test_changes_without_a_change_lead_to_their_mark(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl": []})
    inode = feed.stat().st_ino
    assert applied(feed, schemas, changes()) == AppliedCounts("m2", 0, 0, 0, 1)
    assert (feed.stat().st_ino, FeedMarks(feed).current()) == (inode, ("m1", "m2"))


ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
names = st.builds("{}{}".format, st.sampled_from(["a", "b", "c", "d"]), st.sampled_from(ENDINGS))
ids = st.integers(1, 9)


@settings(max_examples=examples(40), deadline=None)
@given(
    files=st.dictionaries(names, st.none(), min_size=1, max_size=4).flatmap(
        lambda files: st.dictionaries(ids, st.sampled_from(sorted(files))).map(lambda of: (sorted(files), of))
    ),
    days=st.lists(st.dictionaries(ids, st.sampled_from(["A", "B", None])), min_size=1, max_size=3),
)
def test_a_folder_holds_what_one_file_would_each_in_its_place(
    schemas: Schemas, files: tuple[list[str], dict[int, str]], days: list[dict[int, str | None]]
) -> None:
    """``files``: names, and the name by id; ``days``: by id the new name of a brand, or None where it is deleted."""
    listed, start = files
    place = dict(start)
    expected = {id: brand(id) for id in place}
    sent = []
    for number, day in enumerate(days):
        day = {id: name for id, name in day.items() if name or id in expected}
        rows = [{"upsert": brand(id, name)} if name else {"delete": id} for id, name in day.items()]
        for id, name in day.items():
            if name is None:
                del expected[id], place[id]
            else:
                expected[id] = brand(id, name)
                place.setdefault(id, listed[-1])
        sent.append(changes(*rows, since=f"m{number + 1}", mark=f"m{number + 2}"))
    with tempfile.TemporaryDirectory() as name:
        feed = parts(Path(name), {file: [brand(id) for id, of in start.items() if of == file] for file in listed})
        done = applied(feed, schemas, *sent)
        assert isinstance(done, AppliedCounts)
        documents = {document["id"]: (file, document) for file, of in held(feed).items() for document in of}
        assert documents == {id: (place[id], document) for id, document in expected.items()}
        assert done.documents == len(expected)
        assert FeedMarks(feed).current()[-1] == f"m{len(days) + 1}"


# -- what does not fit -------------------------------------------------------------------------------------------


def unchanged(feed: Path) -> tuple[Json, Json, int]:
    return held(feed), FeedMarks(feed).current(), feed.stat().st_ino


def test_faults_of_any_file_are_reported_by_file_and_line_and_nothing_changes(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1), {"name": "X"}], "b.jsonl.gz": [brand(2), brand(1)]})
    before = unchanged(feed)
    assert applied(feed, schemas, changes({"upsert": brand(1, "A")}, {"delete": 9})) == [
        "a.jsonl:2: no brand: it has no id",
        "b.jsonl.gz:2: brand 1 a second time, so nobody knows which is changed",
        "changes-0.ndjson:3: deletes brand 9, which brands does not have",
    ]
    assert unchanged(feed) == before


def test_a_document_that_people_keep_or_that_another_feed_has_is_reported(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]})
    write(feed, {"by-hand.yaml": f"- {json.dumps(brand(7))}\n- {{id: '{{{{ x }}}}', name: Y}}\n", "broken.yaml": "- ["})
    (feed.parent / "brands.jsonl.zst").write_bytes(packed(".zst", lines(brand(1), brand(8), 5)))
    before = unchanged(feed)
    rows = [{"upsert": brand(8, "E")}, {"delete": 7}, {"upsert": brand(2)}]
    reach = "which these changes do not reach: change it there"
    assert applied(feed, schemas, changes(*rows)) == [
        f"changes-0.ndjson:2: brand 8 is in catalog/brands.jsonl.zst, {reach}",
        f"changes-0.ndjson:3: brand 7 is in catalog/brands/by-hand.yaml, {reach}",
    ]
    assert unchanged(feed) == before


def test_a_row_that_the_mapping_skips_may_be_in_another_file(tmp_path: Path, schemas: Schemas) -> None:
    """A mapping for each part: every part gets all rows, and each skips those of the others."""
    mapped = mapping.read(MAPPING)
    one, other = (mapped.document(row(number, f"T{number}"), frozenset()) for number in (1, 2))
    feed = parts(tmp_path, {"a.jsonl": [one], "b.jsonl": [other]}) / "a.jsonl"
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    data = changes({"upsert": row(2, "T2", "closed")}, {"upsert": row(1, "New")})
    assert applied(feed, schemas, data, mapped=mapped) == AppliedCounts("m2", 0, 1, 0, 1)
    for left in feed.parent.glob("changes-*"):
        left.unlink()
    assert {name: len(brands) for name, brands in held(feed.parent).items()} == {"a.jsonl": 1, "b.jsonl": 1}


def test_one_file_of_a_folder_takes_no_change_of_what_another_file_has(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl": [brand(2)]}) / "b.jsonl"
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    assert applied(feed, schemas, changes({"upsert": brand(1)}, {"upsert": brand(3)})) == [
        "changes-0.ndjson:2: brand 1 is in catalog/brands/a.jsonl, which these changes do not reach: change it there"
    ]
    for left in feed.parent.glob("changes-*"):
        left.unlink()
    assert applied(feed, schemas, changes(ONE)) == AppliedCounts("m2", 1, 0, 0, 2)


def test_a_folder_of_several_kinds_is_no_feed(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]}).parent
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    head = {**HEAD, "kind": "review"}
    assert applied(feed, schemas, lines(head, {"end": 0})) == [
        f"changes-0.ndjson:1: changes of the kind review, and {feed.name}/brands/a.jsonl is for brand"
    ]


def test_a_damaged_file_of_a_folder_is_a_sentence(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl.gz": [brand(2)]})
    (feed / "b.jsonl.gz").write_bytes((feed / "b.jsonl.gz").read_bytes()[:-9])
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    with pytest.raises(Failure, match=r"b\.jsonl\.gz: the compressed feed is damaged"):
        applied(feed, schemas, changes({"upsert": brand(1, "A")}))
    assert unpacked(feed / "a.jsonl") == lines(brand(1))


def test_a_link_in_a_folder_is_refused(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]})
    (feed / "b.jsonl").symlink_to("a.jsonl")
    FeedMarks(feed).add("m1", FeedFiles(feed).digest())
    with pytest.raises(Failure, match=r"b\.jsonl: a link, and a folder of links is not changed in one step"):
        applied(feed, schemas, changes(ONE))


def test_a_folder_that_another_program_changes_meanwhile_stays_as_that_left_it(
    tmp_path: Path, schemas: Schemas
) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)], "b.jsonl": [brand(2)]})

    def deliver(rows: int) -> None:
        (feed / "c.jsonl").write_bytes(lines(brand(7)))

    with pytest.raises(Failure, match="another program changed it meanwhile"):
        applied(feed, schemas, changes(ONE), progress=deliver)
    assert held(feed) == {"a.jsonl": [brand(1)], "b.jsonl": [brand(2)], "c.jsonl": [brand(7)]}


def test_one_command_at_a_time_changes_a_folder_or_a_file_of_it(tmp_path: Path, schemas: Schemas) -> None:
    feed = parts(tmp_path, {"a.jsonl": [brand(1)]})
    file = feed / "a.jsonl"
    FeedMarks(file).add("m1", FeedFiles(file).digest())
    for held_by, other in ((file, feed), (feed, feed), (feed, file)):
        with FeedMarks(held_by).locked(), pytest.raises(Failure, match="another command changes it; try again"):
            applied(other, schemas, changes(ONE))
    for left in feed.rglob("changes-*"):
        left.unlink()
    assert applied(feed, schemas, changes(ONE)) == AppliedCounts("m2", 1, 0, 0, 2)


@pytest.mark.skipif(
    not Path("/dev/shm").is_dir() or os.stat("/dev/shm").st_dev == os.stat(tempfile.gettempdir()).st_dev,
    reason="there is one file system only",
)
def test_folders_that_the_system_cannot_link_or_exchange_are_a_sentence(tmp_path: Path) -> None:
    feed = FeedFiles(parts(tmp_path, {"a.jsonl": [brand(1)]}))
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        elsewhere = Path(name)
        with pytest.raises(OSError, match="Invalid cross-device link"):
            feed.copied(elsewhere / "copy", {})
        with pytest.raises(Failure, match="in one step: Invalid cross-device link; nothing was written"):
            feed.give_way(FeedFiles(elsewhere))
    assert held(feed.feed) == {"a.jsonl": [brand(1)]}


# -- the command -------------------------------------------------------------------------------------------------


def test_a_folder_is_marked_and_changed_by_the_command(tmp_path: Path) -> None:
    write(tmp_path, {f"{BRANDS}/a.jsonl": lines(brand(1)).decode(), f"{BRANDS}/b.jsonl": lines(brand(2)).decode()})
    (tmp_path / "c.jsonl").write_bytes(changes(ONE, {"delete": 1}))
    assert shopwindow("catalog", "mark", BRANDS, "m1", cwd=tmp_path) == Ran(0, f"{BRANDS}: m1\n", "")
    command = ("catalog", "import", "--changes", "c.jsonl", "--out", f"{BRANDS}/")
    assert shopwindow(*command, cwd=tmp_path) == Ran(
        0, f"{BRANDS}: 1 added to b.jsonl, 0 replaced, 1 deleted; 2 documents, up to the mark m2\n", ""
    )
    assert shopwindow(*command, cwd=tmp_path) == Ran(
        0, f"{BRANDS}: has these changes already; nothing was written\n", ""
    )
    assert shopwindow("catalog", "mark", BRANDS, cwd=tmp_path) == Ran(0, f"{BRANDS}: m2\n", "")


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["mark", BRANDS, ""], 2, "MARK is empty; allowed: text, such as a date"),
        (["mark", "empty"], 4, "empty: no file in it ends in .jsonl, .jsonl.gz, .jsonl.zst; put the whole feed there"),
        (["import", "c.jsonl", "--out", "b.jsonl", "--added-to", "a.jsonl"], 2, "--added-to goes with --changes"),
        (
            ["import", "c.jsonl", "--changes", "--out", f"{BRANDS}/a.jsonl", "--added-to", "a.jsonl"],
            2,
            f"--added-to: {BRANDS}/a.jsonl is one file, which gets all",
        ),
        *(
            (
                ["import", "c.jsonl", "--changes", "--out", BRANDS, "--added-to", name],
                2,
                f"--added-to {name}: allowed: a name below {BRANDS} that ends in .jsonl, .jsonl.gz, .jsonl.zst",
            )
            for name in ("a.yaml", "../a.jsonl", ".a.jsonl", "/a.jsonl")
        ),
    ],
)
def test_wrong_use_of_folders_is_answered_in_a_sentence(
    tmp_path: Path, arguments: list[str], status: int, words: str
) -> None:
    parts(tmp_path, {"a.jsonl": [brand(1)]})
    write(tmp_path, {"c.jsonl": "{}\n", "empty/note.txt": ""})
    ran = shopwindow("catalog", *arguments, cwd=tmp_path)
    assert (ran.status, ran.out) == (status, "")
    assert words in ran.err
