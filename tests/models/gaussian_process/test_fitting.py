"""`choose_theta` with solvers whose places or neighbours are settled before a search."""

from __future__ import annotations

import numpy as np
import pytest

import credo as cr
from credo.errors import ConvergenceWarning, DataError
from credo.models.gaussian_process.solvers.exact import Exact
from credo.models.gaussian_process.solvers.inducing import Inducing
from credo.models.gaussian_process.solvers.state_space import StateSpace
from credo.models.gaussian_process.solvers.vecchia import Vecchia


def wave(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 1))
    return X, np.sin(5 * X[:, 0]) + 0.1 * rng.standard_normal(n)


@pytest.mark.parametrize("solver", [Inducing(40), Vecchia(n_neighbors=60)], ids=lambda solver: type(solver).__name__)
def test_an_approximation_that_has_all_it_needs_learns_what_exact_learns(solver):
    X, y = wave(60)
    exact = cr.GaussianProcessRegressor(solver="auto").fit(X, y)
    found = cr.GaussianProcessRegressor(solver=solver).fit(X, y)
    assert found.result_.ok
    assert found.log_evidence_ == pytest.approx(exact.log_evidence_, abs=1e-2)
    assert found.noise_scale_ == pytest.approx(exact.noise_scale_, rel=1e-2)


def test_places_are_chosen_once_a_search(monkeypatch):
    X, y = wave(60)
    calls, at = [], Inducing.at
    monkeypatch.setattr(Inducing, "at", lambda self, *rest: calls.append(self.locations is None) or at(self, *rest))
    cr.GaussianProcessRegressor(solver=Inducing(20)).fit(X, y)
    assert sum(calls) == 3  # two searches and the answer, however many evaluations


def test_what_a_solver_advises_is_in_the_result():
    X, _ = wave(200)
    y = np.sin(400 * X[:, 0])
    kernel = cr.kernels.RBF(0.002)
    found = cr.GaussianProcessRegressor(kernel, noise=0.1, optimizer=None, solver=Inducing(10)).fit(X, y)
    assert found.belief_.conditioned.factored.advice
    assert set(found.belief_.conditioned.factored.advice) <= set(found.result_.advice)


def test_slopes_and_paths_where_the_state_space_was_taken():
    """The filter knows values alone: another solver answers, from the same belief."""
    x = np.linspace(0.0, 20.0, 300)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * np.random.default_rng(0).normal(size=300)
    options = {"kernel": 1.0 * cr.kernels.Matern(2.0, nu=2.5), "noise": 0.1, "optimizer": None}
    exact, filtered = (
        cr.GaussianProcessRegressor(**options, solver=solver).fit(x, y) for solver in (Exact(), StateSpace())
    )
    here = [[5.0], [7.5]]
    dense, quick = (m.predict_slope_distribution(here, 0) for m in (exact, filtered))
    assert quick.mean == pytest.approx(dense.mean, abs=1e-8)
    assert quick.sd == pytest.approx(dense.sd, rel=1e-6)
    assert np.asarray(filtered.sample_paths(2)(here)).shape == np.asarray(exact.sample_paths(2)(here)).shape


@pytest.mark.parametrize("lengthscale", [30.0, 1e3, 1e12])
def test_rows_that_a_kernel_without_noise_cannot_meet_are_told(lengthscale):
    """Sixty rows of a sine under a kernel all but constant: jitter alone makes K positive definite."""
    x = np.sort(np.random.default_rng(0).uniform(0.0, 10.0, 60))[:, None]
    model = cr.GaussianProcessRegressor(cr.kernels.RBF(lengthscale), noise=0, optimizer=None)
    with pytest.warns(ConvergenceWarning, match="missed by up to"):
        model.fit(x, np.sin(x[:, 0]))
    assert model.result_.status == "not_certified"
    told = float(model.result_.advice[-1].split("up to ")[1].split()[0])
    assert np.abs(model.predict(x) - np.sin(x[:, 0])).max() == pytest.approx(told, rel=0.01)


def test_rows_that_are_met_to_rounding_are_not():
    x = np.linspace(0.0, 10.0, 60)[:, None]
    model = cr.GaussianProcessRegressor(cr.kernels.RBF(1.0), noise=0, optimizer=None).fit(x, np.sin(x[:, 0]))
    assert model.result_.ok
    assert np.abs(model.predict(x) - np.sin(x[:, 0])).max() < 1e-3


@pytest.mark.parametrize("size", [1e300, 1e160, 1e-160, 1e-300])
@pytest.mark.parametrize("kernel", [None, 1.0 * cr.kernels.RBF(1.0)], ids=["default", "stated"])
def test_outcomes_whose_squares_are_no_numbers_are_refused(size, kernel):
    X, y = wave(20)
    with pytest.raises(DataError, match="another unit"):
        cr.GaussianProcessRegressor(kernel).fit(X, y * size)
