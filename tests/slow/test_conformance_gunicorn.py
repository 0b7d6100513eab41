"""The conformance table holds behind gunicorn."""

from pathlib import Path

from facts import conformance_catalog
from facts.conformance import AT, differing, documents, table
from harness.content import write_files
from harness.program import built
from harness.servers import gunicorn


def test_over_gunicorn(tmp_path: Path) -> None:
    built(write_files(tmp_path / "content", documents()), tmp_path / "dist", at=AT)
    with gunicorn(tmp_path, tmp_path / "dist") as server:
        assert differing(server.port, "", [*table(), *conformance_catalog.table()]) == []
