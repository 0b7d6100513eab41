"""The independent witness of our XML: dicttoxml, made to write our convention (interface W1) by an adapter."""

import logging
from collections.abc import Iterator
from typing import Any

from dicttoxml import dicttoxml
from lxml import etree

logging.getLogger("dicttoxml").setLevel(logging.WARNING)  # it logs every value as INFO


class _Repeating(dict[str, Any]):
    """An object whose items() repeats the key of an array for each of its entries."""

    def __init__(self, value: dict[str, Any]) -> None:
        super().__init__()
        self._value = value

    def items(self) -> Iterator[tuple[str, Any]]:  # type: ignore[override]
        for key, entry in self._value.items():
            for part in entry if isinstance(entry, list) else [entry]:
                yield key, _Repeating(part) if isinstance(part, dict) else part


def witnessed(value: dict[str, Any], root: str) -> bytes:
    """What dicttoxml writes for an object below a root element."""
    data: bytes = dicttoxml(_Repeating(value), custom_root=root, attr_type=False)
    return data


def canonical(xml: bytes) -> bytes:
    """The canonical form (C14N) of a document: the same for the same information."""
    return etree.tostring(etree.fromstring(xml), method="c14n2")
