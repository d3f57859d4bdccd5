"""Slices and maps: the belief at the points they stand for; conditions; what is refused."""

import numpy as np
import pytest

from credo.design.tastes import believe_taste, map2
from credo.design.tastes import slice as along
from credo.errors import ParameterError
from tests.design.tastes.people import cube, mixed, pages


def rng(seed=0):
    return np.random.default_rng(seed)


def test_a_slice_is_the_belief_along_it():
    belief = believe_taste(cube(), pages(cube(), 6, rng(1)), rng=rng())
    at = {"x0": 0.2, "x1": 0.4, "x2": 0.9}
    found = along(belief, "x1", at)
    assert found.grid[0] == 0.0
    assert found.grid[-1] == 1.0
    mean, sd = belief.liking([{**at, "x1": v} for v in found.grid])
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.upper - found.lower, 2 * 1.645 * sd)


def test_a_map_is_the_belief_over_it():
    belief = believe_taste(cube(), pages(cube(), 6, rng(1)), rng=rng())
    at = {"x0": 0.2, "x1": 0.4, "x2": 0.9}
    found = map2(belief, "x2", "x0", at, n=5)
    assert found.mean.shape == found.sd.shape == (5, 5)
    mean, _ = belief.liking({**at, "x2": found.grids[0][1], "x0": found.grids[1][3]})
    assert found.mean[1, 3] == pytest.approx(mean[0])


def test_every_kind_of_parameter_has_its_own_grid():
    space = mixed()
    belief = believe_taste(space, [], rng=rng())
    at = {"rate": 0.01, "count": 3, "look": "soft", "level": 2, "glow": True, "fixed": 3.0}
    assert along(belief, "look", at).grid == ["soft", "hard", "none"]
    assert along(belief, "count", at).grid == list(range(1, 10))
    assert along(belief, "level", at).grid == [1, 2, 5]
    assert set(along(belief, "glow", at).grid) == {True, False}
    assert np.ptp(along(belief, "edge", at).mean) == 0.0  # it does not matter where look is soft
    for name in ("fixed", "other"):
        with pytest.raises(ParameterError, match="one of"):
            along(belief, name, at)
    with pytest.raises(ParameterError, match="another parameter"):
        map2(belief, "rate", "rate", at)


@pytest.mark.parametrize("n", [0, -3, 2.5, True, None, 10**9])
def test_grids_of_no_points_are_refused(n):
    belief = believe_taste(mixed(), [], rng=rng())
    at = {"rate": 0.01, "count": 3, "look": "soft", "level": 2, "glow": True, "fixed": 3.0}
    with pytest.raises(ParameterError, match=r"slice\.n"):
        along(belief, "rate", at, n)
    with pytest.raises(ParameterError, match=r"slice\.n"):
        map2(belief, "rate", "count", at, n)
    with pytest.raises(ParameterError, match="rate"):
        belief.liking({**at, "rate": -1.0})
