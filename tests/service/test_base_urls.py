"""Where a request lies, below base_url or order_base_url: what is said of a path that its host does not have."""

import json
from pathlib import Path

import pytest

from harness.databases import Engine
from harness.program import PHONE, Service, called, release_of_writes, served

KEY = {"x-svc-webservice-client-id": PHONE}
API, ORDERS = "api.shop.example", "orders.shop.example"
CODES, PROMOTIONS = "v3/order/supc", "v2/promotions"
UNKNOWN = "path: is not one of the interface"
HINT = f"path: is one of the order host's (order_base_url in site.yaml); send it there, with the header Host: {ORDERS}"
WRONG_METHOD = "method: must be OPTIONS, PUT, not GET"


@pytest.fixture(scope="module")
def two_hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("two")
    return release_of_writes(folder, base_url=f"https://{API}/a", order_base_url=f"https://{ORDERS}/o")


@pytest.fixture(scope="module")
def one_host(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("one")
    return release_of_writes(folder, base_url=f"https://{API}/a", order_base_url=f"https://{API}/a/o")


def reason(release: Path, host: str, path: str) -> str:
    """Why a GET of a path is refused."""
    answer = called(served(release), path, {**KEY, "host": host})
    body = json.loads(answer.body)
    own: str = body.get("errorMessage", "").removeprefix("Error processing request: ")
    return own or str(body["errorDetail"][0])


@pytest.mark.parametrize(
    ("host", "path", "why"),
    [
        (API, f"a/{CODES}", HINT),
        (API, f"o/{CODES}/", HINT),
        ("localhost", f"o/{CODES}", HINT),
        (API, CODES, UNKNOWN),  # below no base URL
        (API, "a/nowhere", UNKNOWN),
        (API, f"o/{PROMOTIONS}", UNKNOWN),
        (ORDERS, f"o/{CODES}", WRONG_METHOD),
        (ORDERS, f"a/{CODES}", UNKNOWN),
        (ORDERS, f"o/{PROMOTIONS}", UNKNOWN),
        (ORDERS, f"a/{PROMOTIONS}", UNKNOWN),
    ],
)
def test_who_tries_an_operation_of_the_order_host_elsewhere_learns_its_host(
    two_hosts: Path, host: str, path: str, why: str
) -> None:
    assert reason(two_hosts, host, path) == why


@pytest.mark.parametrize(
    ("path", "why"), [(f"a/o/{CODES}", WRONG_METHOD), (f"a/{CODES}", UNKNOWN), (f"a/o/{PROMOTIONS}", UNKNOWN)]
)
def test_where_both_base_urls_have_one_host_no_other_is_named(one_host: Path, path: str, why: str) -> None:
    assert reason(one_host, API, path) == why


@pytest.mark.parametrize(("path", "status"), [("%7Bshop%7D/a", 200), ("%7Bshop%7D/a/", 404), ("x/a", 404)])
def test_braces_in_the_path_of_a_base_url_are_no_parameter(tmp_path: Path, path: str, status: int) -> None:
    release = release_of_writes(tmp_path, base_url=f"https://{API}/%7Bshop%7D/a")
    answer = called(served(release), f"{path}/store/v2/stores/1", {**KEY, "host": API})
    assert answer.status == status


def test_an_idempotency_key_holds_for_the_path_below_the_base_url(two_hosts: Path, tmp_path: Path) -> None:
    database = Engine("sqlite", f"sqlite:///{tmp_path / 'store.sqlite'}").open()
    database.migrate()
    path, wish = "v2/utility/mobileoptinout", {"deviceID": "d", "optInOrOptOut": "IN"}
    moved = Service(release_of_writes(tmp_path, base_url=f"https://{API}/b"), database)
    answers = [
        service.post(target, wish, host=API, idempotency_key="same")
        for service, target in (
            (Service(two_hosts, database), f"/a/{path}"),
            (Service(two_hosts, database), f"/a/{path}/"),
            (moved, f"/b/{path}"),
        )
    ]
    database.close()
    replayed = [(answer.status, answer.headers.get("idempotent-replayed")) for answer in answers]
    assert replayed == [(200, None), (200, "true"), (200, "true")]
