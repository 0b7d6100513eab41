"""The fixes of a folder: tried by checks in memory, one uncovering another, and only what is certain stays."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.content import EVENT, MINIMAL, STORE, check, edit, examples, program_schemas, scan, write_files
from harness.program import Checked
from shopwindow import library
from shopwindow.content.editing.mending import Repair, repair
from shopwindow.problems import Problem
from shopwindow.shop import INTERFACE

SCHEMAS = program_schemas(INTERFACE)


def repaired(folder: Path) -> Repair:
    """What mends a folder, by checks that share their schemas."""

    def again(unsaved: Mapping[str, bytes]) -> Checked:
        listed, _ = scan(folder, INTERFACE.kinds, ())
        over = [each.with_unsaved(unsaved[each.path]) for each in listed if each.path in unsaved]
        return check(folder, SCHEMAS, INTERFACE, jobs=1, over=over)

    return repair(folder, again({}), again)


def left(folder: Path) -> list[Problem]:
    """What is wrong with a folder once it is mended."""
    library.write_edits(folder, repaired(folder))
    return check(folder, SCHEMAS, INTERFACE, jobs=1).problems


def titles(folder: Path) -> list[str]:
    """Where each fix of a folder is, and what it does."""
    return [
        f"{mended.problem.path}:{mended.problem.place.line}: {mended.fix.title}"  # type: ignore[union-attr]
        for mended in repaired(folder).fixes
    ]


def test_what_a_fix_uncovers_is_fixed_as_well(minimal: Path) -> None:
    edit(
        minimal,
        ("events/one.yaml", "  storeId: [1]", "\tstoreId: 1"),
        ("events/one.yaml", "start: 2026-11-27 06:00", "strat: 27/11/2026 06:00"),
        ("events/one.yaml", "name: Opening", "nmae: 5.10"),
    )
    assert [mended.fix.title for mended in repaired(minimal).fixes] == [
        "indent by spaces in place of tabs",
        "write [1]",
        "write name in place of nmae",
        "put 5.10 in quotes",
        "write start in place of strat",
        "write 2026-11-27 06:00",
    ]
    assert left(minimal) == []
    assert (minimal / "events/one.yaml").read_text() == EVENT.replace("Opening", '"5.10"')


def test_every_document_of_a_list_is_fixed(minimal: Path) -> None:
    second = STORE.replace("storeId: 1", "storeId: '2'").replace("storeNumber: 10", "storeNumber: 20.0")
    second = second.replace("locationNumber: 100", "locationnumber: 200")
    documents = [STORE.replace("storeNumber: 10", "storeNumber: '10'  # old"), second]
    listed = "".join("- " + text.replace("\n", "\n  ").rstrip(" ") for text in documents)
    write_files(minimal, {"stores/one.yaml": listed})
    (file,) = repaired(minimal).edits
    meant = listed.replace("'10'", "10").replace("'2'", "2").replace("20.0", "20").replace("nnumber", "nNumber")
    assert file.after.decode() == meant
    assert len(repaired(minimal).fixes) == 4


def test_a_fix_whose_value_is_refused_at_its_place_is_left(minimal: Path) -> None:
    edit(minimal, ("events/one.yaml", "start: 2026-11-27 06:00", "strat: at dawn"))
    assert titles(minimal) == []


def test_a_problem_that_a_fix_uncovers_elsewhere_is_no_reason_to_leave_it(minimal: Path) -> None:
    edit(
        minimal,
        ("events/one.yaml", "finish: 2026-11-27 12:00", "finish: 2026-11-27 05:00"),
        ("events/one.yaml", "name: Opening", "nmae: Opening"),
    )
    assert titles(minimal) == ["events/one.yaml:4: write name in place of nmae"]
    assert [problem.pointer for problem in left(minimal)] == [("finish",)]


def test_a_base_is_fixed_once_and_a_key_of_its_own_hides_no_key_of_the_base(minimal: Path) -> None:
    text = (minimal / "apps/one.yaml").read_text()
    head, _, config = text.partition("config:\n")
    base = "config:\n" + config.replace('"500"', "500")
    upper = f"{head}extends: _base.yaml\nconfig:\n  poorNetwork:\n    poorWifiMaxSecsLatensy: 9\n"
    write_files(minimal, {"apps/_base.yaml": base, "apps/one.yaml": upper})
    write_files(minimal, {"apps/two.yaml": "name: two\nplatform: Android\napiKeys: []\nextends: _base.yaml\n"})
    assert titles(minimal) == [
        f"apps/_base.yaml:{base[: base.index('500')].count(chr(10)) + 1}: put 500 in quotes",
        f"apps/one.yaml:{upper.count(chr(10))}: write poorWifiMaxSecsLatency in place of poorWifiMaxSecsLatensy",
    ]


def test_a_value_that_an_alias_repeats_is_left_and_one_with_an_anchor_alone_is_not(minimal: Path) -> None:
    edit(minimal, ("events/one.yaml", "name: Opening", "name: &title 5.10"))
    assert titles(minimal) == ["events/one.yaml:4: put 5.10 in quotes"]
    edit(minimal, ("events/one.yaml", "shortDesc: The doors open.", "shortDesc: *title"))
    assert titles(minimal) == []


def test_feeds_conflicts_and_files_of_no_document_are_left(minimal: Path) -> None:
    edit(
        minimal,
        ("events/one.yaml", "name: Opening", "<<<<<<< HEAD\nname: 5\n=======\nname: 6\n>>>>>>> other"),
    )
    (minimal / "promotions.jsonl").write_text('{"promoId": "9"}\n')
    (minimal / "collections.yaml").write_text("notes:\n\tfolder: notes\n")
    assert titles(minimal) == []


def test_names_of_the_site_are_fixed(minimal: Path) -> None:
    edit(minimal, ("site.yaml", "time_zone: ", "timezone: "), ("site.yaml", "maxAge: 300", "maxAge: '300'"))
    assert titles(minimal) == [
        "site.yaml:3: write time_zone in place of timezone",
        "site.yaml:5: write 300 without quotes",
    ]


def test_a_text_that_comes_from_an_expression_is_left(minimal: Path) -> None:
    edit(
        minimal,
        ("site.yaml", "names:\n", "names:\n  day: 27/11/2026 06:00\n"),
        ("events/one.yaml", "start: 2026-11-27 06:00", 'start: "{{ day }}"'),
    )
    assert titles(minimal) == []


# -- any layout ------------------------------------------------------------------------------------------------------


MISTAKES = {
    "quotes": ("name: 5.10", 'name: "5.10"'),
    "a key": ("nmae: Opening", "name: Opening"),
    "a list": ("stores: {storeId: 1}", "stores: {storeId: [1]}"),
    "a day": ("start: 27.11.2026 06:00", "start: 2026-11-27 06:00"),
    "a tab": ("stores:\n\tstoreId: [1]", "stores:\n  storeId: [1]"),
    "an entry": ("links:\n    href: https://a.example\n    rel: x", "links:\n  - href: https://a.example\n    rel: x"),
}
REST = {
    "id": "id: 5",
    "stores": "stores: {storeId: [1]}",
    "name": "name: Opening",
    "shortDesc": "shortDesc: |-\n  The doors\n \n  # open.",
    "start": "start: '2026-11-27 06:00'",
    "finish": "finish: 2026-11-27 12:00",
}
_comments = st.sampled_from(["", "", "# a note\n", "\n", "  # <5.10>, nmae: 'x'\n", "# é 雪 🎄\n", "#\tstoreId: 1\n\n"])
_behind = st.sampled_from(["", "", "  # to the end", ' # it\'s "so"', "   "])


@settings(max_examples=examples(80), suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    mistakes=st.sets(st.sampled_from(list(MISTAKES)), min_size=1),
    order=st.permutations([*REST, "links"]),
    comments=st.lists(_comments, min_size=8, max_size=8),
    behind=st.lists(_behind, min_size=8, max_size=8),
    line_end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from([b"", b"\xef\xbb\xbf"]),
    in_list=st.booleans(),
)
def test_around_a_mistake_every_byte_stays(
    mistakes: set[str],
    order: list[str],
    comments: list[str],
    behind: list[str],
    line_end: str,
    mark: bytes,
    in_list: bool,
    tmp_path: Path,
) -> None:
    wrong, right = dict(REST), dict(REST)
    for mistake in mistakes - ({"a list"} if "a tab" in mistakes else set()):
        before, after = MISTAKES[mistake]
        key = after.partition(":")[0]
        wrong[key], right[key] = before, after

    def laid_out(pieces: dict[str, str]) -> bytes:
        lines = ""
        for comment, key, end in zip(comments, order, behind, strict=False):
            if key in pieces:
                lines += comment + pieces[key] + end * (key != "shortDesc") + "\n"
        lines += comments[-1]
        if in_list and "a tab" not in mistakes:
            lines = "-\n  " + lines.replace("\n", "\n  ").rstrip(" ")
        return mark + lines.replace("\n", line_end).encode()

    folder = write_files(tmp_path / "content", MINIMAL)
    (folder / "events/one.yaml").write_bytes(laid_out(wrong))
    (file,) = repaired(folder).edits
    assert file.after == laid_out(right)
    assert left(folder) == []


@pytest.mark.parametrize("width", [2, 3, 4, 8])
def test_tabs_beside_spaces_have_the_width_that_can_be_read(width: int, minimal: Path) -> None:
    spaces = " " * width
    edit(
        minimal,
        (
            "events/one.yaml",
            "name: Opening",
            f"name: Opening\nlinks:\n{spaces}- href: https://a.example\n\t  rel: details",
        ),
    )
    (file,) = repaired(minimal).edits
    assert file.after.decode().count(f"\n{spaces}  rel: details\n") == 1
