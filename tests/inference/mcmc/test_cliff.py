"""What is learned while chains still fall from where they began."""

import numpy as np

from credo.inference.map import maximise
from credo.inference.mcmc.metric import learn_metric
from credo.inference.target import Target


def test_no_metric_from_a_fall():
    """Gradients of e^50 beside draws of 1: an exp link from a start far out."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    g = np.exp(rng.uniform(0, 50, size=(20, 3)))
    for kind in ("diagonal", "dense", "low_rank"):
        assert learn_metric(kind, x, g) is None
        assert learn_metric(kind, x, -x) is not None


def test_a_start_that_is_lost_is_one_of_several():
    """log p = −(x − 1)²/2, whose slope is NaN right of 50."""

    def both(x):
        return -0.5 * float(np.sum((x - 1.0) ** 2)), np.where(x > 50.0, np.nan, 1.0 - x)

    target = Target(lambda x: both(x)[0], {"x": ()}, value_and_gradient=both)
    mode = maximise(target, initial=np.array([[0.0], [3.0], [49.0]]), rng=0)
    np.testing.assert_allclose(mode["x"], 1.0, atol=1e-6)
