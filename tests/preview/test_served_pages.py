"""Pages of the preview over HTTP, without a browser; tests/slow looks at them in a real one."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from previews import PATHS, Preview, preview
from releases import shopwindow

SAMPLE = Path(__file__).parent.parent.parent / "content"
INSTANT = "2026-11-22 09:00"


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Preview]:
    """A preview of the sample, with a release of it as it was a day before its first change to come."""
    out = tmp_path_factory.mktemp("preview") / "dist"
    assert shopwindow("build", "--content", SAMPLE, "--out", out, "--at", INSTANT).status == 0
    with preview(SAMPLE, "--out", str(out)) as started:
        yield started


@pytest.mark.parametrize("path", PATHS)
def test_every_page_answers(sample: Preview, path: str) -> None:
    status, text = sample.get(path)
    assert (status, "<h1>" in text) == (404 if path == "/nowhere" else 200, True)


def test_every_kind_has_a_list_and_every_document_a_card(sample: Preview) -> None:
    _, overview = sample.get("/")
    kinds = re.findall(r'href="(/documents/[a-z]+)"', overview)
    assert {"/documents/app", "/documents/event", "/documents/banner"} <= set(kinds)
    for kind in kinds:
        status, listing = sample.get(kind)
        cards = re.findall(rf'href="({kind}/[^"?]+)"', listing)
        assert (kind, status, {sample.get(card)[0] for card in cards} - {200}) == (kind, 200, set())


def test_a_day_that_the_slider_does_not_have_is_now(sample: Preview) -> None:
    assert [sample.get(f"/?day={day}")[0] for day in ("30", "91", "-1", "9" * 5000)] == [200] * 4


def test_windows_are_past_at_the_instant_that_is_chosen(sample: Preview) -> None:
    def past(at: str) -> set[str]:
        _, text = sample.get(f"/problems?at={at}")
        return set(re.findall(r"publish/until: ([0-9-]+) is past", text))

    assert past("2026-11-22T09:00") == set()
    assert past("2027-12-01T09:00") > past("2026-12-05T09:00") > set()


def test_requests_of_other_sites_are_refused(sample: Preview) -> None:
    assert [
        sample.get("/", Host="rebound.example")[0],
        sample.get("/", Origin="https://elsewhere.example")[0],
        sample.get("/", Origin=sample.address)[0],
        sample.get("/documents/nothing")[0],
        sample.get("/documents/event/../../../etc/passwd")[0],
        sample.get("/static/../server.py")[0],
    ] == [421, 403, 200, 404, 404, 404]


FAULTY = """
from dataclasses import replace
from library.interface import INTERFACE as LIBRARY

def dates(*arguments):
    raise RuntimeError("<b>a fault of the interface")

INTERFACE = replace(LIBRARY, kinds=tuple(replace(kind, dates=dates) for kind in LIBRARY.kinds))
"""


def test_a_fault_of_the_program_is_a_page_that_says_so_and_the_other_pages_go_on(tmp_path: Path) -> None:
    example = SAMPLE.parent / "examples" / "library"
    (tmp_path / "faulty.py").write_text(FAULTY)
    own = {"SHOPWINDOW_INTERFACE": "faulty:INTERFACE", "PYTHONPATH": os.pathsep.join([str(tmp_path), str(example)])}
    with preview(example / "content", **own) as shown:
        status, text = shown.get("/calendar")
        assert (status, "Traceback" in text) == (500, False)
        assert "RuntimeError: &lt;b&gt;a fault of the interface" in text
        assert [shown.get(path)[0] for path in ("/", "/compare")] == [200, 200]


def test_a_port_that_is_taken_is_one_sentence(sample: Preview) -> None:
    bind = sample.address.removeprefix("http://")
    ran = shopwindow("preview", "--content", SAMPLE, "--bind", bind)
    reason = "Address already in use; is another preview running? Choose another port with --bind"
    assert (ran.status, ran.err) == (4, f"shopwindow: {bind} cannot be used: {reason}\n")
