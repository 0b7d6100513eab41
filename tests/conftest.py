"""What every test may ask for: schemas, sample content, the smallest valid content, both engines of the store."""

import shutil
from pathlib import Path

import pytest

from engines import database, engine, postgresql
from trees import MINIMAL, write
from vitrine.content.listing import shipped
from vitrine.content.schema import Schemas

__all__ = ["database", "engine", "postgresql"]

SAMPLE = Path(__file__).parent.parent / "content"


@pytest.fixture(scope="module")
def schemas() -> Schemas:
    """The schemas that come with the program."""
    return Schemas([shipped("schemas")])


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample content, to be changed at will."""
    return Path(shutil.copytree(SAMPLE, tmp_path / "content"))


@pytest.fixture
def minimal(tmp_path: Path) -> Path:
    """A content folder with one small document of each kind, to be changed at will."""
    return write(tmp_path / "content", MINIMAL)
