"""A funnel's spike, where scales and effects go to 0 together, is integrable: no sign of an improper posterior."""

import numpy as np
import pytest

import credo as cr
from credo.errors import NotIdentifiedError
from credo.inference.transforms import unconstrained
from credo.program.collapsed import Collapsed
from credo.program.modes import Modes, require_an_end
from credo.program.plan import plan_of
from credo.program.quadrature import density_rows


def ends(prior):
    """Whether all is well with draws that lie at scales of e⁻⁵⁰⁰."""
    m = cr.Model()
    scale = m.latent("scale", prior, low=0.0)
    y = np.random.default_rng(0).standard_normal(8)
    m.observed(
        "y", cr.Normal(m.latent("effect", cr.Normal(0, scale)), cr.math.exp(m.latent("log_sd", cr.Normal(0, 1)))), y
    )
    collapsed = Collapsed(plan_of(m))
    free, bijection = unconstrained(collapsed.target)
    d = bijection.free
    modes = Modes(np.zeros((1, d)), np.eye(d)[None], 0.0, np.zeros(d), np.ones(d))
    far = np.where(np.broadcast_to(bijection.half_lines, d), -500.0, 0.0)[None]
    return require_an_end(collapsed, far, np.ones(1), density_rows(collapsed, free, bijection), modes)


def test_proper_priors_are_not_refused():
    assert not ends(cr.HalfNormal(1.0))


def test_flat_priors_are():
    with pytest.raises(NotIdentifiedError, match="scale"):
        ends(cr.Flat())
