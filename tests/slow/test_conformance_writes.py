"""The scripts of codes and bags hold in process, over `serve`, gunicorn and nginx, on a store of their own."""

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from facts.conformance_writes import Script, Step, answer_of, data_of, filled, scripts
from facts.witness import canonical, witnessed
from harness import servers
from harness.content import Json
from harness.databases import ENGINES, Engine, engine_of
from harness.program import (
    JSON,
    KEY,
    PHONE,
    SECRET,
    SECRET_TEXT,
    TABLET,
    XML,
    Answer,
    Database,
    nginx_configuration,
    release_of_codes,
    shopping,
)
from harness.servers import ADDRESS, ask, free_port, gunicorn, own_server
from harness.waits import PATIENCE
from shopwindow.retail.bags.table import BAGS
from shopwindow.retail.codes.issuing import keep
from shopwindow.retail.codes.table import SINGLE_USE_CODES
from shopwindow.retail.codes.text import digest

SCRIPTS = scripts()
Ask = Callable[[str, str, Mapping[str, str], bytes | None], Answer]
"""Method, target, headers and body → the answer of a server, or of none."""

BASES = {"": ("", ""), "below paths": ("/mobile/api", "/orders")}
"""The paths of base_url and order_base_url."""


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release for each pair of paths."""
    folder = tmp_path_factory.mktemp("scripts")
    urls = {
        name: {"base_url": f"https://api.shop.example{base}", "order_base_url": f"https://orders.shop.example{order}"}
        for name, (base, order) in BASES.items()
    }
    return {name: release_of_codes(folder / (name or "plain"), **each) for name, each in urls.items()}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    return engine_of(request, request.param, tmp_path_factory.mktemp("engine"))


@pytest.fixture
def database(engine: Engine) -> Iterator[Database]:
    database = engine.open()
    database.migrate()
    yield database
    database.close()


@pytest.fixture
def live(outputs: dict[str, Path], name: str, engine: Engine, tmp_path: Path) -> Iterator[int]:
    """The port of a real `serve`."""
    env = {"SHOPWINDOW_CODE_SECRET": SECRET_TEXT, "SHOPWINDOW_DATABASE": engine.url}
    with own_server(tmp_path / "own_server", outputs[name], "--workers", "2", **env) as server:
        yield server.port


# -- running a script --------------------------------------------------------------------------------------------


def differing(
    script: Script, media_type: str, ask: Ask, base: tuple[str, str], database: Database, run: str
) -> list[Any]:
    """The steps that are answered otherwise, with what is owed and what came; the state, if it is another."""
    known: dict[str, Json] = {"run": run}
    codes = {filled(code, known): promotion for code, promotion in script.codes.items()}
    for code, promotion in codes.items():
        keep(database, {promotion: [digest(code, SECRET)]}, SECRET, datetime.now(UTC))
    found: list[Any] = []
    for step in script.steps:
        if step.only in ("", media_type):
            came = _asked(step, media_type, ask, base, known)
            if "guid" not in known and (made := _BAG.search(came.body.decode())):
                known |= {"bag": int(made[1]), "guid": made[2], "user": int(made[3])}
            owed = Answer(*answer_of(step, media_type, known))
            if came != owed:
                found.append((f"{step.method} {filled(step.target, known)[:90]}", owed, came))
    used = {filled(code, known): orders for code, orders in script.used.items()}
    for code in codes:
        kept = database.read(lambda shop, code=code: shop[SINGLE_USE_CODES].find(digest(code, SECRET)))  # type: ignore[misc]
        if kept is None or (kept.order, kept.reservation) != used.get(code, (None, None)):
            found.append((code, used.get(code), kept))
    if "guid" in known:
        bag = database.read(lambda shop: shop[BAGS].find("phone", "bagGuid", known["guid"]))
        lines = [(line.sequence, line.upc, line.quantity) for line in bag.lines] if bag else []
        if lines != list(script.lines):
            found.append(("the bag", script.lines, lines))
    return found


_BAG = re.compile(r"bagId\W+([0-9]+)\W.*?bagGUID\W+([0-9a-f-]{36})\W.*?userId\W+([0-9]+)\W")


def _asked(step: Step, media_type: str, ask: Ask, base: tuple[str, str], known: Mapping[str, Json]) -> Answer:
    data = data_of(step, media_type, known)
    sent = {KEY: PHONE, "accept": media_type, **({} if data is None else {"content-type": media_type})}
    sent |= {name: filled(value, known) for name, value in step.sent.items()}
    path = base["Host" in step.sent]
    headers = {name: value for name, value in sent.items() if value}
    return ask(step.method, f"{path}/{filled(step.target, known)}", headers, data)


def over(port: int) -> Ask:
    """A way to ask the server at a port, each time on a connection of its own."""

    def asked(method: str, target: str, headers: Mapping[str, str], data: bytes | None) -> Answer:
        connection = HTTPConnection(ADDRESS, port, timeout=PATIENCE)
        try:
            return ask(connection, target, headers, method, data)
        finally:
            connection.close()

    return asked


def differing_all(ask: Ask, name: str, engine: Engine, runs: Iterator[str]) -> list[Any]:
    """What all scripts find in both formats."""
    database = engine.open()
    database.migrate()
    found = [
        (script.name, media_type, each)
        for script in SCRIPTS
        for media_type in (JSON, XML)
        for each in differing(script, media_type, ask, BASES[name], database, next(runs))
    ]
    database.close()
    return found


@pytest.fixture(scope="module")
def runs() -> Iterator[str]:
    """A text that no other run of a script has."""
    return iter(f"{number:05}" for number in range(2, 100_000))


# -- the scripts -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("media_type", [JSON, XML])
@pytest.mark.parametrize("script", SCRIPTS, ids=[script.name for script in SCRIPTS])
@pytest.mark.parametrize("name", BASES)
def test_in_process(
    outputs: dict[str, Path], name: str, script: Script, media_type: str, database: Database, runs: Iterator[str]
) -> None:
    shop = shopping(database, outputs[name])

    def asked(method: str, target: str, headers: Mapping[str, str], data: bytes | None) -> Answer:
        return shop.ask(method, target, data, {KEY: "", "content-type": "", **headers})

    assert differing(script, media_type, asked, BASES[name], database, next(runs)) == []


@pytest.mark.parametrize("name", BASES)
def test_over_serve(live: int, name: str, engine: Engine, runs: Iterator[str]) -> None:
    assert differing_all(over(live), name, engine, runs) == []


@pytest.mark.parametrize("name", BASES)
def test_through_nginx(
    outputs: dict[str, Path], live: int, name: str, engine: Engine, runs: Iterator[str], tmp_path: Path
) -> None:
    keys, port = {PHONE: "phone", TABLET: "tablet"}, free_port()
    written = nginx_configuration(outputs[name], keys, f"{ADDRESS}:{live}", f"{ADDRESS}:{port}")
    with servers.running_nginx(tmp_path / "nginx", written, port):
        assert differing_all(over(port), name, engine, runs) == []


def test_over_gunicorn(outputs: dict[str, Path], engine: Engine, runs: Iterator[str], tmp_path: Path) -> None:
    engine.open().migrate()
    env = {"SHOPWINDOW_CODE_SECRET": SECRET_TEXT, "SHOPWINDOW_DATABASE": engine.url}
    with gunicorn(tmp_path, outputs[""], **env) as server:
        assert differing_all(over(server.port), "", engine, runs) == []


def test_xml_is_canonically_what_the_witness_writes() -> None:
    known = {"run": "1", "bag": 1, "guid": "g", "user": 2}
    steps = [step for script in SCRIPTS for step in script.steps if step.method != "HEAD"]
    odd = []
    for step in steps:
        value = filled(step.value, known)
        body = answer_of(step, XML, known)[2]
        if canonical(body) != canonical(witnessed(value if step.root == "response" else value[step.root], step.root)):
            odd.append(step)
    assert (len(steps) > 120, odd) == (True, [])
