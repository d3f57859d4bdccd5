import itertools

import numpy as np
import pytest

from credo.errors import DataError, DataWarning, ParameterError
from credo.models.network.learning.counts import Counter, compressed
from credo.models.network.learning.rows import coded_rows

from .nets import random_rows


def _by_hand(rows, child, parents):
    """{(configuration, state): weight}, row by row."""
    found = {}
    weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
    for codes, weight in zip(rows.columns.T.tolist(), weights):
        key = (*(codes[p] for p in parents), codes[child])
        if min(key) >= 0:
            found[key] = found.get(key, 0.0) + weight
    return found


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dense_cells", [2**22, 1])
def test_counts_are_those_of_a_loop_over_rows(seed, dense_cells):
    rng = np.random.default_rng(seed)
    sizes = (2, 3, 4, 2)
    codes = np.stack([rng.integers(-1, r, 60) for r in sizes], axis=1)
    rows = coded_rows("test", codes, sizes, weights=rng.integers(0, 4, 60) / 2)
    counter = Counter(rows, dense_cells)
    for child, parents in itertools.product(range(4), [(), (1,), (0, 2), (2, 0), (0, 1, 2, 3)]):
        parents = tuple(p for p in parents if p != child)
        counts = counter.family(child, parents)
        assert counts.n_configurations == np.prod([sizes[p] for p in parents], dtype=int)
        configurations = counts.configurations
        if counts.dense:
            configurations = list(itertools.product(*(range(sizes[p]) for p in parents)))
        found = {
            (*map(int, c), y): n
            for c, row in zip(configurations, counts.table.tolist(), strict=True)
            for y, n in enumerate(row)
            if n
        }
        assert found == _by_hand(rows, child, parents)
        assert counter.family(child, parents) is counts


def test_a_family_too_large_to_hold_is_refused_as_a_table():
    rows, _ = random_rows(0, d=6)
    with pytest.raises(ParameterError, match=r"table of x0 .* 5 parents"):
        Counter(rows, 30).dense(0, (1, 2, 3, 4, 5))


def test_configurations_beyond_64_bits():
    codes = np.random.default_rng(0).integers(0, 1000, (50, 9))
    codes[10] = codes[3]
    key, first = compressed(np.ascontiguousarray(codes.T, dtype=np.int32), [1000] * 9, range(9))
    assert key[10] == key[3]
    assert len(first) == 49
    np.testing.assert_array_equal(codes[first][key], codes)
    counts = Counter(coded_rows("test", codes, [1000] * 9)).family(0, tuple(range(1, 9)))
    assert counts.n_configurations == 1000**8
    assert counts.table.sum() == 50


def test_equal_rows_become_one():
    codes = np.array([[0, 1], [1, 1], [0, 1], [0, -1], [0, 1], [0, -1], [0, 1]])
    rows = coded_rows("test", codes, (2, 2), weights=[1, 2, 3, 4, 0, 1, 2]).merged()
    found = sorted(zip(map(tuple, rows.columns.T.tolist()), rows.weights.tolist()))
    assert found == [((0, -1), 5.0), ((0, 1), 6.0), ((1, 1), 2.0)]
    many = coded_rows("test", np.tile(codes, (10, 1)), (2, 2)).merged()
    assert many.n_rows == 3
    assert many.total == 70


def test_different_rows_stay_as_they_are():
    rows, _ = random_rows(1, d=12, n=50)
    assert rows.merged() is rows


def test_rows_with_missing_cells_are_left_out_aloud():
    rows = coded_rows("test", [[0, -1], [1, 1], [0, 0]], (2, 2))
    with pytest.warns(DataWarning, match="1 of 3 rows"):
        assert rows.complete("test").n_rows == 2
    with pytest.raises(DataError, match=r"every row .* x1 have no cell"):
        coded_rows("test", [[0, -1], [1, -1]], (2, 2)).complete("test")


@pytest.mark.parametrize(
    ("codes", "sizes", "options", "error"),
    [
        ([[0.5]], (2,), {}, DataError),
        (np.empty((0, 2), dtype=int), (2, 2), {}, DataError),
        ([[2]], (2,), {}, DataError),
        ([[-2]], (2,), {}, DataError),
        ([[0, 0]], (2,), {}, ParameterError),
        ([[0, 0]], (2, 0), {}, ParameterError),
        ([[0, 0]], (2, 2), {"names": ("a", "a")}, ParameterError),
        ([[0, 0]], (2, 2), {"weights": [-1.0]}, ParameterError),
        ([[0, 0]], (2, 2), {"weights": [0.0]}, ParameterError),
        ([[0, 0]], (2, 2), {"weights": [1.0, 1.0]}, ParameterError),
    ],
)
def test_what_is_no_table_of_codes(codes, sizes, options, error):
    with pytest.raises(error):
        coded_rows("test", codes, sizes, **options)
