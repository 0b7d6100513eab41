"""examples/library: an interface that is none of ours, checked, built, shown and served as its README says."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.commands import SOURCES
from harness.databases import forget, open_database
from harness.program import Request, answered, manifest, served, shopwindow
from shopwindow.interface.declaring.loading import load as load_interface

EXAMPLE = Path(__file__).parent.parent / "examples" / "library"
NAME = "library.interface:INTERFACE"
USING = {"PYTHONPATH": f"{SOURCES}:{EXAMPLE}", "SHOPWINDOW_INTERFACE": NAME}
AT = "2026-12-01T12:00:00-05:00"


@pytest.fixture(autouse=True)
def _importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(EXAMPLE))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A release of the example's content."""
    ran = shopwindow("build", "--content", EXAMPLE / "content", "--out", tmp_path / "out", "--at", AT, env=USING)
    assert ran.status == 0, ran
    return tmp_path / "out"


def test_nothing_of_the_department_store_is_in_it() -> None:
    for path in EXAMPLE.rglob("*.py"):
        assert "retail" not in path.read_text()
        assert "catalog" not in path.read_text()


def test_its_content_is_checked_by_its_kinds(tmp_path: Path) -> None:
    content = EXAMPLE / "content"
    assert shopwindow("check", "--content", content, env=USING).status == 0
    by_option = shopwindow("--interface", NAME, "check", "--content", content, env={"PYTHONPATH": USING["PYTHONPATH"]})
    assert (by_option.status, by_option.out) == (0, f"{content}: 3 files, nothing wrong\n")
    (tmp_path / "readings").mkdir()
    (tmp_path / "site.yaml").write_text((content / "site.yaml").read_text())
    reading = (content / "readings" / "winter.yaml").read_text()
    (tmp_path / "readings" / "winter.yaml").write_text(reading.replace("seats: 40", "seats: many"))
    ran = shopwindow("check", "--content", tmp_path, env=USING)
    assert ran.status == 1
    assert "readings/winter.yaml:12:10: " in ran.out  # seats
    assert "readings/winter.yaml:3:13: " in ran.out  # no such branch


def test_a_release_holds_its_reads(out: Path) -> None:
    release = (out / "current").resolve()
    stems = ["branches", "readings", "readings/10", "readings/11", "readings;branch=1", "readings;branch=2"]
    listed = {entry["path"] for entry in manifest(release)["files"]}
    assert listed == {f"v1/{stem}.{form}" for stem in stems for form in ("json", "xml")}
    assert manifest(release)["nextChange"] == "2026-12-15T05:00:00+00:00"
    lifetimes = {entry["operation"]: entry["lifetime"] for entry in manifest(release)["files"]}
    assert lifetimes == {"branches": 3600, "readings": 300, "readings_by_id": 300}


def test_show_answers_from_the_folder() -> None:
    ran = shopwindow("show", "v1/readings?branch=2", "--content", EXAMPLE / "content", "--at", AT, env=USING)
    (reading,) = json.loads(ran.out)["readings"]
    assert (reading["readingId"], reading["title"]) == (11, "Stories for children, at Harborview Public Library")


def test_openapi_describes_it_without_keys(out: Path) -> None:
    ran = shopwindow("schemas", "--openapi", "--content", EXAMPLE / "content", "--out", out, env=USING)
    document = json.loads(ran.out)
    assert document["info"]["title"] == "Harborview Public Library"
    assert list(document["paths"]) == ["/v1/branches", "/v1/readings", "/v1/readings/{readingId}", "/v1/registrations"]
    assert "security" not in document


def test_the_service_answers_each_operation(out: Path, tmp_path: Path) -> None:
    interface = load_interface(NAME)
    database = open_database(f"sqlite:///{tmp_path / 'library.db'}", interface.tables)
    database.migrate()
    service = served(out, database, interface=interface)

    def ask(method: str, path: str, query: str = "", body: object = None) -> tuple[int, dict[str, object]]:
        data = b"" if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json"} if data else {}
        answer = answered(service, Request(f"/{path}?{query}", headers, method, data))
        value: dict[str, object] = json.loads(answer.body)
        return answer.status, value

    def seats(number: int, email: str = "ann@example.com", reading: int = 10) -> tuple[int, dict[str, object]]:
        return ask("POST", "v1/registrations", body={"readingId": reading, "email": email, "seats": number})

    try:
        status, value = ask("GET", "v1/branches", "_fields=name")
        assert (status, value) == (200, {"branches": [{"name": "Main Branch"}, {"name": "Mill Hill"}]})
        assert ask("GET", "v1/readings", "branch=1,2") == ask("GET", "v1/readings")
        assert ask("GET", "v1/readings/12")[0] == 404  # not announced before 15 December
        assert ask("GET", "v1/readings/10")[0] == 200
        status, value = seats(1)
        assert (status, value["seatsLeft"]) == (200, 1)
        status, value = seats(2)
        assert (status, value["errorDetail"]) == (400, ["seats: must be at most 1, which are left"])
        assert seats(1, "bob@example.com")[1]["seatsLeft"] == 0
        assert seats(1, reading=12)[0] == 404
        assert seats(0)[0] == 400
        assert forget(database, "user", "ann@example.com", datetime.now(UTC), "f" * 32)["registrations"] == 1
        assert seats(1)[1]["seatsLeft"] == 0
    finally:
        database.close()


def test_no_answer_depends_on_the_header_of_a_key(out: Path) -> None:
    answer = answered(served(out, interface=load_interface(NAME)), Request("/v1/branches", {}))
    assert (answer.status, answer.headers["vary"]) == (200, "Accept, Accept-Encoding")


def test_an_editor_is_offered_no_settings_of_the_department_store(tmp_path: Path) -> None:
    ran = shopwindow("schemas", "--editor", tmp_path, "--content", EXAMPLE / "content", env=USING)
    assert ran.status == 0, ran
    settings = json.loads((tmp_path / "site.json").read_bytes())["properties"].keys()
    assert settings.isdisjoint(("bags", "catalog", "mobile_log", "share"))
    assert {"base_url", "time_zone", "lifetimes"} <= settings


def test_openapi_names_no_refusal_for_want_of_a_key(out: Path) -> None:
    ran = shopwindow("schemas", "--openapi", "--content", EXAMPLE / "content", "--out", out, env=USING)
    components = json.loads(ran.out)["components"]
    assert "securitySchemes" not in components
    assert "401" not in {response for path in json.loads(ran.out)["paths"].values() for response in _responses(path)}
    assert "no_key" not in components["responses"]


def _responses(path: dict[str, dict[str, dict[str, object]]]) -> list[str]:
    return [status for operation in path.values() for status in operation["responses"]]


def test_keys_of_an_interface_that_has_no_applications_are_left_out(out: Path, tmp_path: Path) -> None:
    (tmp_path / "keys.txt").write_text(f"app {'k' * 24}\n")
    options = ("--api-keys", tmp_path / "keys.txt", "--content", EXAMPLE / "content", "--out", out)
    ran = shopwindow("edge", "nginx", *options, env=USING)
    assert ran.status == 0
    assert "k" * 24 not in ran.out
    assert ran.err == f"shopwindow: {tmp_path / 'keys.txt'}: line 1: left out, the content has no such application\n"
