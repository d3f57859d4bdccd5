"""Searches where hardly a row is complete."""

import numpy as np
import pytest

from credo.errors import DataError, DataWarning
from credo.models.network.learning.completing import climb_completed, few_complete
from credo.models.network.learning.hill_climbing import hill_climb
from credo.models.network.learning.rows import coded_rows

from .nets import draw

FAMILIES = [(), (0,), (1,), (1, 4), (), (3,)]


def _rows(seed, holes=True, n=3000):
    rng = np.random.default_rng(seed)
    tables = [np.array([[0.6, 0.4]] if not f else [[0.9, 0.1], [0.2, 0.8], [0.15, 0.85], [0.75, 0.25]][: 2 ** len(f)])
              for f in FAMILIES]  # fmt: skip
    codes = draw(rng, FAMILIES, tables, (2,) * 6, n)
    if holes:
        codes[np.arange(n), rng.integers(0, 6, n)] = -1
    return coded_rows("test", codes, (2,) * 6)


def test_the_edges_of_complete_rows_are_found_again():
    """Strong dependences in 3,000 rows with a hole each; seeds are fixed, so nothing is left to chance."""
    for seed in range(3):
        rows = _rows(seed)
        assert few_complete(rows)
        with pytest.warns(DataWarning, match="only 0 of 3000 rows"):
            found = climb_completed(rows, {})
        full = hill_climb(_rows(seed, holes=False))
        assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in full.edges}


def test_the_rows_themselves_stay_as_they_are():
    rows = _rows(0)
    before = rows.columns.copy()
    with pytest.warns(DataWarning):
        found = climb_completed(rows, {"max_parents": 1, "required": [("x5", "x0")]})
    np.testing.assert_array_equal(rows.columns, before)
    assert ("x5", "x0") in found.edges
    assert max(map(len, found.parents.values())) == 1


def test_when_it_is_called_for():
    assert not few_complete(_rows(0, holes=False))
    empty = coded_rows("test", [[0, -1], [1, -1]], (2, 2))
    assert not few_complete(empty)  # a column without a cell: nothing to fill it by
    with pytest.raises(DataError, match="chow_liu"):
        hill_climb(empty)
