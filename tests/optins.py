"""Opt-ins and opt-outs sent to a running service, and those that its database has."""

import json
from collections import Counter
from collections.abc import Mapping
from http.client import HTTPConnection
from typing import Any

from conformance import PHONE
from engines import Engine
from nginx import ADDRESS, Answer
from served import Server

PATH = "/v2/utility/mobileoptinout"


def post(
    server: Server,
    device: str = "device",
    choice: Any = "IN",
    headers: Mapping[str, str] | None = None,
    key: str = PHONE,
    path: str = PATH,
) -> Answer:
    """One opt-in or opt-out, on a connection of its own."""
    connection = HTTPConnection(ADDRESS, server.port, timeout=30)
    sent = {"x-svc-webservice-client-id": key, "Content-Type": "application/json", **(headers or {})}
    try:
        connection.request("POST", path, json.dumps({"deviceID": device, "optInOrOptOut": choice}), sent)
        response = connection.getresponse()
        received = {name.lower(): value for name, value in response.getheaders()}
        return Answer(response.status, received, response.read())
    finally:
        connection.close()


def devices(engine: Engine) -> Counter[str]:
    """How often each device chose."""
    database = engine.open()
    try:
        return Counter(
            device for (device,) in database.read(lambda shop: shop.session.run("SELECT device FROM consent_history"))
        )
    finally:
        database.close()
