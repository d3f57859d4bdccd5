"""A warning points at the user's line, whatever lies between."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import credo as cr
from credo.errors import CredoWarning
from credo.models.tabular import TableModel

SOURCE = Path(cr.__file__).parent


def unseen():
    frame = pl.DataFrame(
        {"x": np.arange(40.0), "town": ["a", "b"] * 20, "y": np.cos(np.arange(40.0)) + np.tile([0, 5.5], 20)}
    )
    model = TableModel.fit(frame, "y")
    return lambda: model.predict(pl.DataFrame({"x": [1.0], "town": ["z"]}))


def constant():
    return lambda: cr.LinearRegression().fit(np.arange(20.0)[:, None], np.full(20, 3.0))


def dependent():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 1)), np.repeat(rng.normal(size=12), 10) + 0.1 * rng.normal(size=120)
    return lambda: cr.compare({"line": cr.LinearRegression()}, X, y)


def averaged():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    models = {"one": cr.LinearRegression(), "two": cr.LinearRegression(inference="evidence")}
    return lambda: cr.average(models, X, y, by="evidence")


@pytest.mark.parametrize("situation", [unseen, constant, dependent, averaged])
def test_warnings_point_at_the_caller(situation) -> None:
    act = situation()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    caught = [warning for warning in caught if issubclass(warning.category, CredoWarning)]
    assert caught
    assert {Path(warning.filename) for warning in caught} == {Path(__file__)}
    assert {warning.lineno for warning in caught} == {act.__code__.co_firstlineno}


def test_there_is_one_way_to_warn() -> None:
    for path in SOURCE.rglob("*.py"):
        if path != SOURCE / "errors.py":
            assert not re.search(r"warnings\.warn(_explicit)?\(|stacklevel", path.read_text(encoding="utf-8")), path
