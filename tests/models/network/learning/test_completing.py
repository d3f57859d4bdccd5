"""Rows with missing cells as weighted complete rows, against enumeration of the joint law."""

import itertools

import numpy as np
import pytest

from credo.errors import MemoryLimitError
from credo.models.network.learning import completing
from credo.models.network.learning.completing import completed
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.rows import coded_rows

from .nets import random_families, random_rows, random_tables


def _case(seed, d=5, n=60, share=0.3):
    rng = np.random.default_rng(seed)
    rows, _ = random_rows(seed, d, n)
    codes = rows.columns.T.copy()
    codes[rng.random(codes.shape) < share] = -1
    weights = rng.integers(1, 4, n) if seed % 2 else None
    rows = coded_rows("test", codes, rows.sizes, weights=weights)
    families = random_families(rng, d)
    return rows, families, random_tables(rng, families, rows.sizes), rng


@pytest.mark.parametrize("seed", range(8))
def test_counts_of_families_are_those_expected(seed):
    """Of each family, and of a pair that is none."""
    rows, families, tables, rng = _case(seed)
    found = completed(rows, families, tables, rng, draws=10_000)
    assert found.columns.min() >= 0
    np.testing.assert_allclose(found.total, rows.total)
    joint, expected = _joint(rows.sizes, families, tables), np.zeros(rows.sizes)
    for i, column in enumerate(rows.columns.T):
        at = tuple(slice(None) if c < 0 else slice(c, c + 1) for c in column)
        expected[at] += (1.0 if rows.weights is None else rows.weights[i]) * joint[at] / joint[at].sum()
    counter = Counter(found)
    for child, family in [*enumerate(families), (3, (0,))]:
        kept = (*family, child)
        small = np.einsum(expected, list(range(5)), list(kept))
        np.testing.assert_allclose(counter.dense(child, family).ravel(), small.ravel(), atol=1e-9)


def test_draws_come_from_the_joint_law_of_the_missing_cells():
    """One row, 20,000 draws: each of 16 or more cells within 5 standard errors, missed once in 1e5 runs."""
    rows, families, tables, rng = _case(2, n=1, share=0.0)
    rows = coded_rows("test", [[rows.columns[0, 0], -1, -1, -1, -1]], rows.sizes)
    n = 20_000
    drawn = completing._drawn(rows, families, tables, n, rng)
    assert np.all(drawn.columns[0] == rows.columns[0, 0])
    law = _joint(rows.sizes, families, tables)[rows.columns[0, 0]]
    law = law / law.sum()
    shares = np.zeros(law.shape)
    np.add.at(shares, tuple(drawn.columns[1:]), drawn.weights)
    assert np.all(np.abs(shares - law) <= 5 * np.sqrt(law * (1 - law) / n) + 1e-12)


def test_rows_with_many_completions_are_drawn_and_the_seed_decides():
    rows, families, tables, _ = _case(4)
    first, second = (completed(rows, families, tables, np.random.default_rng(7), draws=4) for _ in range(2))
    np.testing.assert_array_equal(first.columns, second.columns)
    np.testing.assert_allclose(first.total, rows.total)
    exact = completed(rows, families, tables, None, draws=10_000)
    assert first.n_rows < exact.n_rows


def test_impossible_completions_are_left_out_and_complete_rows_stay():
    rows = coded_rows("test", [[0, 0], [1, -1]], (2, 2))
    tables = [np.array([0.5, 0.5]), np.array([[1.0, 0.0], [0.0, 1.0]])]
    found = completed(rows, [(), (0,)], tables, None)
    assert found.columns.T.tolist() == [[0, 0], [1, 1]]
    whole = coded_rows("test", [[0, 0], [1, 1]], (2, 2))
    assert completed(whole, [(), (0,)], tables, None).columns.tolist() == whole.columns.tolist()


def test_too_many_rows_are_refused_with_the_figure(monkeypatch):
    rows, families, tables, rng = _case(1)
    monkeypatch.setattr(completing, "_MOST_CELLS", 100)
    with pytest.raises(MemoryLimitError, match="missing='drop'"):
        completed(rows, families, tables, rng)


def _joint(sizes, families, tables):
    joint = np.empty(sizes)
    for cell in itertools.product(*map(range, sizes)):
        p = 1.0
        for child, family in enumerate(families):
            at = 0
            for parent in family:
                at = at * sizes[parent] + cell[parent]
            p *= tables[child][at, cell[child]]
        joint[cell] = p
    return joint
