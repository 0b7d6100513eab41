"""What an Interface leaves unsaid is a fault: of operations, and of kinds."""

import sys

import pytest

from facts.reference_pages import DOCUMENTS
from harness.content import ROOT
from harness.program import Interface
from shopwindow.interface.declaring.loading import load
from shopwindow.interface.declaring.operation import FromStore
from shopwindow.shop import INTERFACE

sys.path.insert(0, str(ROOT / "examples/library"))
LIBRARY = load("library.interface:INTERFACE")
sys.path.pop(0)


@pytest.mark.parametrize("interface", [INTERFACE, LIBRARY], ids=["shop", "library"])
def test_every_write_has_an_allowance_or_says_why_it_needs_none(interface: Interface) -> None:
    silent = [
        operation.name
        for operation in interface.operations
        if isinstance(operation.source, FromStore)
        and operation.source.writes
        and (operation.allowance is None) == (operation.unlimited == "")
    ]
    assert silent == []


def test_every_kind_has_a_table_of_properties() -> None:
    assert {kind.schema for kind in INTERFACE.kinds} - set(DOCUMENTS.values()) == set()
