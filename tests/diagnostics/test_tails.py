"""The shape of a tail: against laws whose shape is known."""

import numpy as np
import pytest

from credo.diagnostics.tails import tail_shape


@pytest.mark.parametrize(("df", "k"), [(1.0, 1.0), (2.0, 0.5), (4.0, 0.25)])
def test_student_t_has_shape_one_over_its_degrees_of_freedom(df, k):
    """20 sets of 4,000: their mean errs by 0.03, and is drawn towards ½ by a twentieth; five errors."""
    x = np.random.default_rng(0).standard_t(df, size=(4000, 20))
    assert tail_shape(x).mean() == pytest.approx(k, abs=0.15)


def test_either_tail_counts_and_none_where_there_is_none():
    rng = np.random.default_rng(0)
    pareto = rng.pareto(1.0, size=4000)
    assert tail_shape(pareto) == pytest.approx(tail_shape(-pareto), rel=1e-12)
    assert tail_shape(pareto) > 0.7
    light = np.column_stack([rng.normal(size=4000), rng.random(4000), rng.exponential(size=4000)])
    assert np.all(tail_shape(light) < 0.5)
    odd = np.column_stack([np.ones(4000), rng.poisson(1.0, 4000), np.r_[np.inf, np.ones(3999)]])
    assert np.all(tail_shape(odd) == -np.inf)
    assert tail_shape(rng.normal(size=3)) == -np.inf
    assert tail_shape(rng.normal(size=(100, 2, 3))).shape == (2, 3)
