"""One store event of version 2 written as XML: our writer, lxml's tree and dicttoxml,
beside orjson's JSON.

    python -m benchmarks.xml

Prints the median time a record of several rounds.
"""

import logging
import timeit
from statistics import median
from typing import Any

import dicttoxml
import orjson
from lxml import etree

from shopwindow.content.reading.listing import shipped
from shopwindow.content.schemas.schema import Schemas
from shopwindow.interface.formats import XML

RECORDS = 100
EVENT = {
    "eventId": 510104,
    "storeId": 301,
    "storeNumber": 4204,
    "name": "An Hour with a Personal Shopper",
    "shortDesc": "Tell us the occasion & the budget, and we lay out three ideas.\nTea and honest opinions included.",
    "startDate": "12/05/2026 05:00 PM",
    "finishDate": "12/05/2026 08:00 PM",
    "attributes": [
        {"name": "EVENT_DETAIL_ENABLED", "values": ["TRUE"]},
        {"name": "STORE_EVENT_TYPE", "values": ["Personal Shopping", "Beauty"]},
        {"name": "WC_EVENT", "values": ["FALSE"]},
        {"name": "START_TIME", "values": ["5PM"]},
        {"name": "END_TIME", "values": ["8PM"]},
    ],
}


def tree(value: dict[str, Any]) -> bytes:
    """The same bytes by way of lxml's tree."""

    def fill(parent: Any, part: dict[str, Any]) -> None:
        for key, item in part.items():
            for entry in item if isinstance(item, list) else (item,):
                child = etree.SubElement(parent, key)
                if isinstance(entry, dict):
                    fill(child, entry)
                else:
                    child.text = (
                        entry
                        if isinstance(entry, str)
                        else orjson.dumps(entry).decode()
                    )

    root = etree.Element("response")
    fill(root, value)
    return etree.tostring(root, encoding="UTF-8", xml_declaration=True)


def main() -> None:
    logging.getLogger("dicttoxml").setLevel(logging.WARNING)
    shape = Schemas(shipped("schemas")).shape("responses/events_v2.json")
    value = {"storeEvents": [EVENT] * RECORDS, "success": True}
    data = tree(value)
    assert XML.encode(value, shape) == data
    writers = {
        "orjson (JSON)": lambda: orjson.dumps(value),
        "ours": lambda: XML.encode(value, shape),
        "lxml": lambda: tree(value),
        "lxml, read as a request": lambda: XML.read(data, shape),
        "dicttoxml": lambda: dicttoxml.dicttoxml(value, attr_type=False),
    }
    print("| Writer | µs a record |\n|---|---|")
    for name, write in writers.items():
        rounds = timeit.repeat(write, number=3, repeat=7)
        print(f"| {name} | {median(rounds) / 3 / RECORDS * 1e6:.1f} |")


if __name__ == "__main__":
    main()
