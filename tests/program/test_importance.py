"""Importance sampling of hyperparameters: what its weights do not certify."""

from __future__ import annotations

import numpy as np
import pytest

from credo.program.importance import tail_of_moments


@pytest.mark.parametrize(("scale", "usable"), [(0.3, True), (3.0, False)])
def test_good_weights_do_not_vouch_for_a_heavy_tail(scale: float, usable: bool):
    """Equal weights are the best there are; yet 4,000 draws of a log-Normal of sd 3 do not give its mean, exp(4.5):
    most of that lies 3 sds out. k̂ over twenty seeds: at most .21 of the first, .79 to 9.5 of the other."""
    z = np.random.default_rng(0).standard_normal((4000, 2))
    x = np.column_stack([z[:, 0], np.exp(scale * z[:, 1])])
    assert (tail_of_moments(x, np.full(4000, 1 / 4000)) < 0.7) == usable
