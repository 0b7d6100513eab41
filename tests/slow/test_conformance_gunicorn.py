"""The conformance table holds behind gunicorn."""

from pathlib import Path

import conformance_catalog
from conformance import AT, differing, documents, table
from releases import built
from served import gunicorn
from trees import write


def test_over_gunicorn(tmp_path: Path) -> None:
    built(write(tmp_path / "content", documents()), tmp_path / "dist", at=AT)
    with gunicorn(tmp_path, tmp_path / "dist") as server:
        assert differing(server.port, "", [*table(), *conformance_catalog.table()]) == []
