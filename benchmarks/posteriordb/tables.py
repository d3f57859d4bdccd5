"""The data and what is known of the posteriors: files of tests/data/posteriordb."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["DATA", "known", "numbers", "table"]

# One posterior in two parametrisations; draws are published of the second.
SCHOOLS = "eight_schools-eight_schools"
DATA = Path(__file__).parents[2] / "tests" / "data" / "posteriordb"


def _text(name: str) -> str:
    path = DATA / name
    return gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()


def table(name: str) -> dict[str, np.ndarray]:
    """Columns of a CSV file."""
    lines = _text(name).splitlines()
    columns = np.array([line.split(",") for line in lines[1:]], dtype=float).T
    return dict(zip(lines[0].split(","), columns, strict=True))


def numbers(name: str) -> dict[str, np.ndarray]:
    """Arrays of a JSON file."""
    return {key: np.asarray(value, dtype=float) for key, value in json.loads(_text(f"{name}.json")).items()}


@cache
def known() -> dict[str, Any]:
    """Posterior → "draws" and "exact" of its parameters (SOURCES.md says what these are)."""
    facts = json.loads(_text("references.json"))
    facts[f"{SCHOOLS}_centered"] = facts[f"{SCHOOLS}_noncentered"]
    return facts
