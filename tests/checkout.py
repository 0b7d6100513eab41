"""Where the checkout is that is tested, whatever folder below tests/ a test lies in."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
