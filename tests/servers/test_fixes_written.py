"""The one thing that a preview writes: a fix that a person has seen, on loopback, if no file was saved meanwhile."""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

from harness.browser import Preview, preview, save
from harness.content import edit

EVENT = "events/one.yaml"


@pytest.fixture
def shown(minimal: Path) -> Iterator[Preview]:
    """A preview of a folder with two mistakes that are certain, and one that is not."""
    edit(
        minimal,
        (EVENT, "name: Opening", "nmae: Opening  # of the doors"),
        (EVENT, "start: 2026-11-27 06:00", "start: 27/11/2026 06:00"),
        (EVENT, "storeId: [1]", "storeId: [1, 9]"),
    )
    with preview(minimal) as started:
        yield started


def fields(text: str) -> dict[str, str]:
    """The hidden fields of the last form of a page."""
    return dict(re.findall(r'<input type="hidden" name="([a-z]+)" value="([^"]*)">', text.rpartition("<form")[2]))


def offered(shown: Preview) -> list[tuple[str, str]]:
    """What the buttons of the page Problems say, and the page that each leads to."""
    _, text = shown.get("/problems")
    forms = re.findall(r'<form class="fix".*?</form>', text, re.DOTALL)
    return [
        (
            unescape(re.findall("<button[^>]*>(.*?)</button>", form)[0]),
            "/problems/fix" + "".join(f"?problem={id}" for id in re.findall('name="problem" value="(.*?)"', form)),
        )
        for form in forms
    ]


def test_each_fix_has_a_button_that_shows_the_change_and_another_that_writes_it(shown: Preview) -> None:
    before = (shown.folder / EVENT).read_text()
    assert [words for words, _ in offered(shown)] == [
        "Fix all that is certain",
        "Fix: write name in place of nmae",
        "Fix: write 2026-11-27 06:00",
    ]
    address = offered(shown)[1][1]
    status, text = shown.get(address)
    assert (status, (shown.folder / EVENT).read_text()) == (200, before)
    assert "<del>- nmae: Opening  # of the doors</del>" in text
    assert "<ins>+ name: Opening  # of the doors</ins>" in text
    status, text = shown.get(address, fields(text), Origin=shown.address)
    assert (status, (shown.folder / EVENT).read_text()) == (200, before.replace("nmae", "name"))
    assert [words for words, _ in offered(shown)] == ["Fix: write 2026-11-27 06:00"]
    status, text = shown.get(address)
    assert (status, "This is not there any more" in text) == (200, True)


def test_all_fixes_are_written_at_once(shown: Preview) -> None:
    before = (shown.folder / EVENT).read_text()
    address = offered(shown)[0][1]
    assert shown.get(address, fields(shown.get(address)[1]))[0] == 200
    assert (shown.folder / EVENT).read_text() == before.replace("nmae", "name").replace("27/11/2026", "2026-11-27")
    assert offered(shown) == []


def test_a_form_that_is_not_of_a_page_of_this_preview_writes_nothing(shown: Preview) -> None:
    before = (shown.folder / EVENT).read_text()
    address = offered(shown)[0][1]
    form = fields(shown.get(address)[1])
    assert [
        shown.get(address, {})[0],
        shown.get(address, form | {"token": "x"})[0],
        shown.get(address, {"digest": form["digest"]})[0],
        shown.get(address, form, Origin="https://elsewhere.example")[0],
        shown.get(address, form, Host="rebound.example")[0],
        shown.get(address, form | {"more": "x" * 2000})[0],
        shown.get("/problems", form)[0],
        shown.get(address, form | {"digest": ""})[0],
    ] == [403, 403, 403, 403, 421, 403, 405, 409]
    assert (shown.folder / EVENT).read_text() == before


def test_a_file_that_was_saved_meanwhile_is_not_written(shown: Preview) -> None:
    address = offered(shown)[1][1]
    form = fields(shown.get(address)[1])
    save(shown.folder / EVENT, "The doors open.", "The doors are open.")
    before = (shown.folder / EVENT).read_text()
    status, text = shown.get(address, form)
    assert (status, (shown.folder / EVENT).read_text()) == (409, before)
    assert "A file was saved meanwhile, so nothing was written. This is the change now." in text
    assert shown.get(address, fields(text))[0] == 200
    assert (shown.folder / EVENT).read_text() == before.replace("nmae", "name")


def test_where_others_reach_the_address_nothing_is_written(minimal: Path) -> None:
    edit(minimal, (EVENT, "name: Opening", "nmae: Opening"))
    before = (minimal / EVENT).read_text()
    with preview(minimal, bind="0.0.0.0:0") as shown:
        visitor = build_opener(HTTPCookieProcessor())
        problems = visitor.open(f"{shown.address}/problems{shown.secret}").read().decode()
        assert ("nmae" in problems, 'class="fix"' in problems) == (True, False)
        address = f"{shown.address}/problems/fix"
        for form, status in ((None, 404), ({"token": "", "digest": ""}, 403)):
            with pytest.raises(HTTPError) as refused:
                visitor.open(address, None if form is None else urlencode(form).encode())
            assert refused.value.code == status
    assert (minimal / EVENT).read_text() == before
