"""`build --site FILE`: what a place beside production has of its own is laid over site.yaml."""

import json
from pathlib import Path

import pytest

from harness.content import MINIMAL, write_files
from harness.program import build, built
from shopwindow.library import build as library_build
from shopwindow.problems import Failure
from shopwindow.shop import INTERFACE

FIRST = "https://staging.example"


def laid(folder: Path, text: str) -> Path:
    """A file beside the content folder."""
    return write_files(folder.parent, {"staging.yaml": text}) / "staging.yaml"


def site_of(out: Path) -> dict[str, object]:
    site = json.loads((out / "current/content.json").read_bytes())["site"]
    assert isinstance(site, dict)
    return site


def test_what_the_file_says_counts_and_the_rest_stays(minimal: Path) -> None:
    out = minimal.parent / "dist"
    write_files(minimal, {"site.yaml": MINIMAL["site.yaml"] + "origins: [https://www.shop.example]\n"})
    production = built(minimal, out)
    before = site_of(out)
    over = f"base_url: {FIRST}\norigins: null\nlifetimes: {{stores: {{maxAge: 5}}}}\n"
    over += "names: {place: '{{ base_url }}'}\n"
    staging = built(minimal, out, "--site", str(laid(minimal, over)))
    after = site_of(out)
    assert staging != production
    del before["origins"]
    assert after == {
        **before,
        "base_url": FIRST,
        "lifetimes": {**before["lifetimes"], "stores": {"maxAge": 5}},  # type: ignore[dict-item]
        "names": {**before.get("names", {}), "place": FIRST},  # type: ignore[dict-item]
    }
    assert built(minimal, out) == production


def test_texts_of_other_files_have_its_names(minimal: Path) -> None:
    out = minimal.parent / "dist"
    write_files(minimal, {"site.yaml": MINIMAL["site.yaml"] + "  city: Boston\n"})
    event = minimal / "events/one.yaml"
    event.write_text(event.read_text().replace("name: Opening", "name: 'Opening in {{ city }}'"))
    built(minimal, out, "--site", str(laid(minimal, "names: {city: Springfield}\n")))
    assert "Opening in Springfield" in (out / "current/content.json").read_text()


def test_a_changed_file_is_another_release(minimal: Path) -> None:
    out = minimal.parent / "dist"
    first = built(minimal, out, "--site", str(laid(minimal, f"base_url: {FIRST}\n")))
    assert built(minimal, out, "--site", str(laid(minimal, "base_url: https://second.example\n"))) != first


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# for staging\nbase_url: 7\n", ":2:11: base_url: 7 is not text"),
        ("names:\n  a: '{{ nothing }}'\n", ":2:6: names/a: the name 'nothing' is not defined"),
        ("base_url: null\n", ":1:1: 'base_url' is missing"),
        ("\norgins: null\n", ":2:1: orgins: null removes nothing"),
        ("base_url: [\n", ":1:11: a list in brackets is not closed"),
        ("- base_url\n", ":1:1: a list is not an object"),
        ("", ":1:1: the file holds no document"),
    ],
)
def test_a_mistake_in_it_has_its_own_line(minimal: Path, text: str, expected: str) -> None:
    file = laid(minimal, text)
    ran = build(minimal, minimal.parent / "dist", "--site", str(file))
    assert ran.status == 1
    assert f"{file}" in ran.out, ran.out
    assert expected in ran.out, ran.out


def test_a_mistake_in_site_yaml_stays_there(minimal: Path) -> None:
    write_files(
        minimal, {"site.yaml": "lifetimes: {default: {maxAge: often}}\n" + MINIMAL["site.yaml"].split("lifetimes")[0]}
    )
    ran = build(minimal, minimal.parent / "dist", "--site", str(laid(minimal, f"base_url: {FIRST}\n")))
    assert (ran.status, f"{minimal}/site.yaml:1:" in ran.out) == (1, True), ran


def test_a_file_that_is_not_there_says_what_to_write(minimal: Path) -> None:
    out = minimal.parent / "dist"
    ran = build(minimal, out, "--site", str(minimal.parent / "staging.yaml"))
    assert ran.status == 4
    wanted = "staging.yaml: No such file or directory; write what differs from site.yaml into it, as `base_url: "
    assert wanted in ran.err
    with pytest.raises(Failure):
        library_build(INTERFACE, minimal, out, site=minimal.parent)
    assert not out.exists()
