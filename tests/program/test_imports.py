"""What a small model does not wait for: modules that take longer to import than it takes to fit."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("sklearn", "pandas", "polars", "numba", "jax", "scipy.special", "scipy.stats", "scipy.optimize",
         "scipy.spatial", "scipy.ndimage", "scipy.interpolate")  # fmt: skip
EIGHT_SCHOOLS = """
m.dim("school", 8)
mu, tau = m.latent("mu", cr.Normal(0, 5)), m.latent("tau", cr.HalfCauchy(5))
theta = m.latent("theta", cr.Normal(mu, tau), dims="school")
m.observed("y", cr.Normal(theta, [15.0, 10, 16, 11, 9, 11, 10, 18]), [28.0, 8, -3, 7, -1, 1, 18, 12], dims="school")
"""
LINE = """
x = m.data("x", np.arange(6.0), dims="row")
w, sigma = m.latent("w", cr.Normal(0, 5)), m.latent("sigma", cr.HalfCauchy(2))
m.observed("y", cr.Normal(w * x, sigma), np.arange(6.0) + np.sin(np.arange(6.0)), dims="row")
"""


@pytest.mark.parametrize("declared", [EIGHT_SCHOOLS, LINE], ids=["eight schools", "a line"])
def test_a_linear_model_imports_nothing_heavy(declared: str):
    """Integrated out and drawn: in a process of its own, which tells every module it loaded."""
    script = (
        f"import sys, numpy as np, credo as cr\nm = cr.Model()\n{declared}\nassert m.fit(random_state=0).result.ok\n"
        f"print(*set(sys.modules) & set({HEAVY}))"
    )
    ran = subprocess.run([sys.executable, "-c", script], check=True, timeout=120, capture_output=True, text=True)
    assert ran.stdout.split() == []
