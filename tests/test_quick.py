"""The quick subset: what it names is there, and starts no server."""

from pathlib import Path

from conftest import BOUNDS, QUICK

TESTS = Path(__file__).parent


def test_every_quick_module_is_one_that_the_test_command_runs() -> None:
    modules = {path.stem for path in TESTS.rglob("test_*.py") if path.parent.name not in BOUNDS}
    assert set(QUICK) - modules == set()
