"""The conformance table holds in process; tests/servers asks real servers."""

import re
from pathlib import Path

import pytest

from facts import conformance_catalog
from facts.conformance import AT, XML, documents, expected, outside, table, target
from facts.witness import canonical, witnessed
from harness.content import SAMPLE, write_files
from harness.program import Application, built, called, served
from shopwindow.interface.answering.answer import ERROR_CODES

BASE = "/mobile/api"
TABLE = [*table(), *conformance_catalog.table()]
BASES = {"": TABLE, BASE: [*TABLE, *outside()]}


# -- a release of the table's content ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of releases for each path of base_url."""
    folder = tmp_path_factory.mktemp("conformance")
    outputs = {}
    for name, base in (("plain", ""), ("below", BASE)):
        outputs[base] = folder / f"{name}-dist"
        built(write_files(folder / name, documents(base)), outputs[base], at=AT)
    return outputs


@pytest.fixture(scope="module")
def applications(outputs: dict[str, Path]) -> dict[str, Application]:
    return {base: served(out, describe=lambda *_: {}) for base, out in outputs.items()}


@pytest.fixture(scope="module", params=["", BASE], ids=["plain", "below a path"])
def base(request: pytest.FixtureRequest) -> str:
    chosen: str = request.param
    return chosen


# -- the table ---------------------------------------------------------------------------------------------------


def test_the_table_is_as_large_as_it_should_be() -> None:
    assert len(set(map(repr, TABLE))) >= 1000


@pytest.mark.parametrize("time", ["first", "again, from memory"])
def test_in_process(applications: dict[str, Application], base: str, time: str) -> None:
    found = []
    for case in BASES[base]:
        came = called(applications[base], target(base, case), case.sent, case.method, case.data or b"")
        if came != expected(case):
            found.append((str(case), expected(case), came))
    assert found == []


def test_the_page_of_errors_lists_every_code() -> None:
    page = (SAMPLE.parent / "docs/apps/errors.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([0-9, ]+) \| ([0-9, ]+) \| .+ \|$", page, re.MULTILINE)
    printed = {pair for row in rows for pair in zip(*(map(int, cell.split(", ")) for cell in row), strict=True)}
    assert printed == {(code.status, code.error_code) for code in ERROR_CODES.values()}


def test_xml_is_canonically_what_the_witness_writes() -> None:
    told = [case for case in TABLE if case.headers.get("content-type") == XML and case.value is not None]
    told = [case for case in told if b"&#13;" not in case.body]  # the witness loses carriage returns
    odd = [case for case in told if canonical(case.body) != canonical(witnessed(case.value, case.root))]
    assert (len(told) > 300, odd) == (True, [])
