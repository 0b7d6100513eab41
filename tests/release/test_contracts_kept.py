"""Contracts in builds and in repeated checks: what was read is recorded, and answered again where it changes."""

import json
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.content import AT, Memory, small, write
from harness.program import Content, build, built, shopwindow, tree
from shopwindow import library
from shopwindow.cli.steps import cache_of
from shopwindow.interface.answering.contracts import CONTRACT
from shopwindow.interface.declaring.operation import Call, FromContent
from shopwindow.problems import Failure, Misuse, sentence
from shopwindow.release.changes import opened, touched
from shopwindow.release.contracts import RECORDS
from shopwindow.shop import INTERFACE

Json = Any

CONTRACT_FILE = "contracts/phone.yaml"
READS = [
    {"request": "v2/utility/mobileapp", "fields": [{"path": "appLayout[]", "enum": ["shop", "bag"]}]},
    {"request": "v2/store/event?storeId=1", "fields": [{"path": "storeEvents[].name", "type": "string"}]},
    {"request": "v3/promotions?show=promotions", "fields": [{"path": "promotionDetailsResponse[].promoId"}]},
]
BROKEN = (
    "apps/phone.yaml: the 2nd entry "
    "of config/appLayout of app phone: this breaks phone 2.0: appLayout[] of v2/utility/mobileapp: 'scan'"
    " is not one of the allowed values (contracts/phone.yaml:1) (Name of a section); allowed: shop, bag"
)


def shop() -> dict[str, Json]:
    return {**deepcopy(small()), CONTRACT_FILE: {"app": "phone", "version": "2.0", "reads": READS}}


def layout(files: dict[str, Json], *sections: str) -> dict[str, Json]:
    files["apps/phone.yaml"]["config"]["appLayout"] = list(sections)
    return files


class Counted:
    """The shop's interface, whose views note the requests that they answer."""

    def __init__(self) -> None:
        self.answered: list[str] = []
        operations = [
            replace(operation, source=replace(operation.source, view=self._counting(operation.source)))
            if isinstance(operation.source, FromContent)
            else operation
            for operation in INTERFACE.operations
        ]
        self.interface = replace(INTERFACE, operations=tuple(operations))

    def _counting(self, source: FromContent) -> Any:
        def view(content: Content, call: Call) -> Json:
            self.answered.append(call.target)
            return source.view(content, call)

        return view

    def check(self, folder: Path, memory: Memory | None = None) -> tuple[list[str], list[str]]:
        """Check; return the problems, and what was answered."""
        self.answered.clear()
        found = library.check(self.interface, folder, at=AT, jobs=1, memory=memory)
        return [f"{one.path}: {sentence(one)}" for one in found.problems], sorted(self.answered)


ALL = sorted(["v2/utility/mobileapp", "v2/store/event?storeId=1", "v3/promotions?show=promotions"])


def test_a_repeated_check_answers_only_what_would_read_something_else(tmp_path: Path) -> None:
    counted, memory, files = Counted(), Memory(tmp_path / ".memory"), shop()
    folder = write(tmp_path, files)
    assert counted.check(folder, memory) == ([], ALL)
    assert counted.check(folder, memory) == ([], [])
    files["events/first.yaml"]["name"] = "Another name"
    assert counted.check(write(folder, files), memory) == ([], ["v2/store/event?storeId=1"])
    files["stores/two.yaml"]["name"] = "A store that nobody reads"
    assert counted.check(write(folder, files), memory)[0] == []
    layout(files, "bag", "shop")
    assert counted.check(write(folder, files), memory) == ([], ["v2/utility/mobileapp"])
    files[CONTRACT_FILE]["reads"] = READS[1:]
    assert counted.check(write(folder, files), memory) == ([], ALL[:1] + ALL[2:])


def test_a_warm_check_reports_what_a_cold_one_reports(tmp_path: Path) -> None:
    counted, memory, files = Counted(), Memory(tmp_path / ".memory"), shop()
    folder = write(tmp_path, files)
    for sections in (["shop"], ["shop", "scan"], ["shop", "scan"], ["bag"], ["shop", "scan"]):
        layout(files, *sections)
        write(folder, files)
        warm, _ = counted.check(folder, memory)
        cold, _ = counted.check(folder)
        assert warm == cold == ([BROKEN] if "scan" in sections else [])


def test_a_build_refuses_what_breaks_a_contract_and_leaves_current_as_it_is(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    first = built(write(content, shop()), out)
    before = tree(out / "releases")
    ran = build(write(content, layout(shop(), "shop", "scan")), out)
    assert (ran.status, ran.err.splitlines()[0]) == (1, "1 problem, 3 warnings")
    assert ran.out.endswith(BROKEN.removeprefix("apps/phone.yaml") + "\n")
    assert (tree(out / "releases"), (out / "current").resolve().name) == (before, first)
    note = json.loads((out / "last-build.json").read_text())
    assert (note["status"], BROKEN.removeprefix("apps/phone.yaml: ") in note["description"]) == ("FAILED", True)


def records_of(content: Path) -> Path:
    """What a build remembers of the answers to contracts."""
    cache = cache_of(content)
    assert cache
    return cache / RECORDS


def test_what_builds_record_and_a_fresh_build_make_no_difference(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    built(write(content, shop()), out)
    assert records_of(content).is_file()
    for more in ([], ["--no-cache"]):
        assert build(write(content, layout(shop(), "shop", "scan")), out, *more).status == 1
    second = built(write(content, layout(shop(), "bag", "shop")), out)
    assert second == built(content, tmp_path / "other", "--no-cache")
    assert build(write(content, layout(shop(), "shop", "scan")), out).status == 1


def test_a_damaged_record_is_no_record(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    built(write(content, shop()), out)
    records_of(content).write_bytes(b"nonsense")
    assert build(write(content, layout(shop(), "shop", "scan")), out).status == 1


def test_a_release_holds_its_contracts_and_the_difference_names_what_they_read(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    files = shop()
    first = built(write(content, files), out)
    files["apps/tablet.yaml"]["config"]["configVersion"] = "3"
    second = built(write(content, files), out)
    layout(files, "bag", "shop")
    files["events/first.yaml"]["shortDesc"] = "Another text"
    third = built(write(content, files), out)
    assert library.difference(INTERFACE, out, first, second).contracts == []
    (touched,) = library.difference(INTERFACE, out, second, third).contracts
    assert (touched.reader, touched.request, touched.paths) == ("phone 2.0", "v2/utility/mobileapp", ("appLayout[]",))

    read = "appLayout[] of v2/utility/mobileapp"
    printed = {
        form: shopwindow("diff", second, third, "--out", out, "--format", form).out
        for form in ("text", "markdown", "html", "json")
    }
    assert f"phone 2.0 reads this: {read}" in printed["text"].splitlines()
    assert "#### Contracts that read this\n\n- phone 2.0: " in printed["markdown"]
    assert f"<li>phone 2.0: {read}</li>" in printed["html"]
    assert json.loads(printed["json"])["contracts"] == [
        {"reader": "phone 2.0", "request": "v2/utility/mobileapp", "paths": ["appLayout[]"]}
    ]


def test_where_a_program_lacks_what_a_contract_asks_for_the_difference_has_the_rest(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    files = shop()
    first = built(write(content, files), out)
    second = built(write(content, layout(files, "bag", "shop")), out)
    others = tuple(each for each in INTERFACE.operations if each.name != "promotions_v3")
    bare = replace(INTERFACE, operations=others)
    (only,) = touched(*(opened(out / "releases" / id, bare) for id in (first, second)))
    assert (only.request, only.paths) == ("v2/utility/mobileapp", ("appLayout[]",))


def test_a_contract_that_was_added_is_a_change_of_its_own(tmp_path: Path) -> None:
    content, out = tmp_path / "content", tmp_path / "dist"
    first = built(write(content, small()), out)
    second = built(write(content, shop()), out)
    lines = shopwindow("diff", first, second, "--out", out).out.splitlines()
    assert lines == ["contract phone 2.0: appears", "0 URLs to purge"]


def test_only_looking_at_content_that_breaks_a_contract_is_no_problem(tmp_path: Path) -> None:
    folder = write(tmp_path, layout(shop(), "shop", "scan"))
    shown = shopwindow("show", "v2/utility/mobileapp", "--app", "phone", "--content", folder)
    assert (shown.status, json.loads(shown.out)["appLayout"]) == (0, ["shop", "scan"])
    why = shopwindow("why", "phone", "config/appLayout/1", "--content", folder)
    assert (why.status, "scan" in why.out) == (0, True)


# -- new contract -------------------------------------------------------------------------------------------------


def record(folder: Path, *requests: str, app: str = "phone", version: str = "2.0") -> Any:
    return shopwindow("new", "contract", app, *requests, "--version", version, "--content", folder)


def test_a_contract_is_recorded_and_holds(tmp_path: Path) -> None:
    folder = write(tmp_path, small())
    ran = record(folder, "v2/utility/mobileapp", "v3/promotions?show=coupons", "v2/store/event?storeId=1")
    assert (ran.status, ran.out.splitlines()[0], ran.err) == (0, f"{folder}/contracts/phone-2.0.yaml", "")
    text = (folder / "contracts/phone-2.0.yaml").read_text()
    assert text.startswith("# Recorded from the content as it was.")
    assert "      - {path: loggingInfo.maxLogCount, type: string}\n" in text
    assert '      - {path: "promotionDetailsResponse[].coupon.couponNumber", type: string}\n' in text
    assert '      - {path: "storeEvents[].eventId", type: integer}\n' in text
    assert shopwindow("check", "--content", folder, "--at", AT).status == 0


def test_a_recorded_contract_is_broken_by_what_is_gone(tmp_path: Path) -> None:
    folder, files = tmp_path, small()
    files["apps/phone.yaml"]["config"]["urlInterception"]["singleSignIn"] = ["/in"]
    record(write(folder, files), "v2/utility/mobileapp")
    value = library.check(INTERFACE, folder, at=AT, jobs=1).documents
    assert value is not None
    (contract,) = value.of(CONTRACT)
    paths = [field["path"] for field in contract.value["reads"][0]["fields"]]
    assert {"appLayout[]", "urlInterception.singleSignIn[]", "urlInterception.forcedSignOn[]"} <= set(paths)


def test_a_recorded_contract_is_never_written_over_a_file(tmp_path: Path) -> None:
    folder = write(tmp_path, small())
    file = folder / "contracts/phone-2.0.yaml"
    file.parent.mkdir()
    file.write_text(
        'app: tablet\nversion: "2.0"\nreads: [{request: v2/utility/mobileapp, fields: [{path: appLayout}]}]\n'
    )
    before = file.read_text()
    ran = record(folder, "v2/utility/mobileapp")
    assert (ran.status, ran.err) == (
        4,
        f"shopwindow: {file} is there already, and is not replaced; add to it, or delete it first\n",
    )
    assert file.read_text() == before


REFUSED = {
    "an app": (
        ({"app": "phnoe"}, "v2/utility/mobileapp"),
        "'phnoe': the applications are phone, tablet; did you mean phone?",
    ),
    "a request": (
        ({}, "v2/utility/mobilap"),
        "v2/utility/mobilap: the content answers no 'v2/utility/mobilap'; allowed: a read that the content answers, as"
        " `shopwindow build --list` names them; did you mean v2/utility/mobileapp?",
    ),
    "a write": (
        ({}, "v3/promotions/share"),
        "v3/promotions/share: the content answers no 'v3/promotions/share'; allowed: a read that the content answers,"
        " as `shopwindow build --list` names them; did you mean v3/promotions/sorted?",
    ),
    "a parameter": (
        ({}, "v2/store/event"),
        "v2/store/event: storeId: one of storeId, storeNumber is required; allowed: a request that the interface"
        " admits",
    ),
    "another host": (
        ({}, "https://other.example/v2/utility/mobileapp"),
        "https://other.example/v2/utility/mobileapp: not below base_url, https://api.shop.example, and not below"
        " order_base_url, https://orders.shop.example",
    ),
}


@pytest.mark.parametrize(("asked", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_recorded_is_wrong_use(tmp_path: Path, asked: Any, expected: str) -> None:
    reader, request = asked
    ran = record(write(tmp_path, small()), request, **reader)
    assert (ran.status, ran.out, ran.err.splitlines()[-1]) == (2, "", f"Error: {expected}")
    assert not (tmp_path / "contracts").exists()


WRONG_USE = {
    "no request": (
        ("contract", "phone", "--version", "2.0"),
        "a contract needs an app, --version and a REQUEST at least",
    ),
    "no app for a key": (("key",), "a key needs an app: shopwindow new key APP"),
    "a request of a document": (("event", "Lights", "v1/x"), "--version, --at and REQUEST are of `new contract`"),
    "a version of a key": (("key", "phone", "--version", "2.0"), "--version, --at and REQUEST are of `new contract`"),
}


@pytest.mark.parametrize(("arguments", "expected"), WRONG_USE.values(), ids=WRONG_USE)
def test_what_a_contract_takes_and_nothing_else(tmp_path: Path, arguments: Any, expected: str) -> None:
    ran = shopwindow("new", *arguments, "--content", write(tmp_path, small()))
    assert (ran.status, ran.out, ran.err.splitlines()[-1]) == (2, "", f"Error: {expected}")


def test_an_interface_without_contracts_says_so(tmp_path: Path) -> None:
    kinds = tuple(kind for kind in INTERFACE.kinds if kind.name != CONTRACT)
    bare = replace(INTERFACE, kinds=kinds)
    folder = write(tmp_path, small())
    opened = library.opened(bare, folder)
    with pytest.raises((Misuse, Failure), match="has no contracts"):
        library.record_contract(opened, "phone", "2.0", ["v2/utility/mobileapp"])
