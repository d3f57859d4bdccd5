"""`Paths`: draws of the whole function, each a function with values and slopes.

A posterior path is a prior one moved to what was seen (Matheron's rule; Wilson et al. 2020, ICML):

    f | y (x) = h(x)ᵀβ + f₀(x) + k(x, X) K_y⁻¹(y − Hβ − f₀(X) − ε),    β ~ p(β | y), f₀ ~ GP(0, k), ε ~ N(0, v)

so that only f₀ is approximated, by random features; near the rows the second term makes up for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError, UnavailableError
from credo.kernels import Differentiated
from credo.models.gaussian_process.belief import Belief, as_values
from credo.models.gaussian_process.fitting import Units
from credo.models.gaussian_process.reading import parts
from credo.models.gaussian_process.slopes import slope_rows
from credo.models.gaussian_process.spectra import PriorDraws, prior_draws
from credo.numerics.cholesky import solve_lower

__all__ = ["Paths", "paths_of"]


@dataclass(frozen=True, eq=False)
class Bundle:
    """Paths at one θ: f₀, dual weights v (n, S) of the correction (zeros a priori), and β (q, S)."""

    belief: Belief
    prior: PriorDraws
    dual: np.ndarray
    beta: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        """Values or slopes (m, S) at rows [x, which] of one kind."""
        X, which = rows[:, :-1], int(rows[0, -1]) if len(rows) else -1
        values = self.prior(X) if which < 0 else self.prior.slope(X, which)
        sloped = self.belief
        values = values + sloped.mean.design(rows) @ self.beta
        if self.dual.any():
            values = values + sloped.kernel(rows, sloped.observations.X) @ self.dual
        return values


@dataclass(frozen=True, eq=False)
class Paths:
    """S draws of a function; call them with rows X (m, d).

    >>> import credo as cr
    >>> from credo.models.gaussian_process import GaussianProcessRegressor
    >>> x = np.linspace(0, 1, 9)[:, None]
    >>> model = GaussianProcessRegressor(cr.kernels.RBF(0.3), noise=1e-3, optimizer=None).fit(x, np.sin(6 * x[:, 0]))
    >>> paths = model.sample_paths(3, random_state=0)
    >>> paths(x).shape, paths.slope(x).shape, bool(np.abs(paths(x) - np.sin(6 * x[:, 0])).max() < 0.01)
    ((3, 9), (3, 9, 1), True)
    """

    bundles: tuple[Bundle, ...]
    units: Units
    n_columns: int

    def __len__(self) -> int:
        return sum(bundle.beta.shape[1] for bundle in self.bundles)

    def __call__(self, X: Any) -> np.ndarray:
        """Values (S, m) at rows X (m, d), in the user's units."""
        rows = as_values(self._checked(X))
        values = np.concatenate([bundle(rows) for bundle in self.bundles], axis=1)
        return float(self.units.location[0]) + self.units.common * values.T

    def slope(self, X: Any) -> np.ndarray:
        """∂f/∂x (S, m, d) at rows X (m, d)."""
        X = self._checked(X)
        each = [
            np.concatenate([bundle(slope_rows(X, j)) for bundle in self.bundles], axis=1).T
            for j in range(self.n_columns)
        ]
        return self.units.common * np.stack(each, axis=2)

    def _checked(self, X: Any) -> np.ndarray:
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_columns or not np.all(np.isfinite(X)):
            raise DataError(f"A path takes finite rows of {self.n_columns} columns, got shape {X.shape}.", value=X)
        return X


def paths_of(model: Any, n: int, *, prior: bool, features: int, rng: np.random.Generator) -> Paths:
    """n paths of a fitted model of one target; where hyperparameters were integrated over, at as many θ as there are.

    prior : before the rows were seen; a flat mean then stands where the rows put it
    """
    for name, value in (("n", n), ("features", features)):
        if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
            raise ParameterError("sample_paths", name, "an integer ≥ 1", value)
    if not model.single_:
        raise UnavailableError("Paths are of one target.", remedy="Fit each target by itself.")
    several = parts(model)
    chosen = rng.permutation(len(several))[: min(n, len(several))]
    counts = np.bincount(np.arange(n) % len(chosen), minlength=len(chosen))
    bundles = tuple(
        _bundle(several[i], count, prior, features, rng) for i, count in zip(chosen, counts.tolist(), strict=True)
    )
    return Paths(bundles, model.units_, model.n_features_in_)


def _bundle(belief: Belief, n: int, prior: bool, features: int, rng: np.random.Generator) -> Bundle:
    sloped = belief.sloped()
    kernel: Any = sloped.kernel
    assert isinstance(kernel, Differentiated)
    seen, rows = sloped.observations, sloped.observations.X
    drawn = prior_draws(kernel.kernel, rows.shape[1] - 1, n, features, rng)
    c = sloped.conditioned
    q = c.design.shape[1]
    if prior:
        beta = np.repeat(c.coefficients, n, axis=1)
        if q and not c.flat:
            root = np.linalg.cholesky(np.linalg.inv(c.precision))
            beta = c.location[:, None] + root @ rng.standard_normal((q, n))
        return Bundle(sloped, drawn, np.zeros((len(rows), n)), beta)
    beta = c.coefficients + solve_lower(c.root, rng.standard_normal((q, n)), transpose=True)
    start = _of_kinds(drawn, rows)
    noise = np.sqrt(seen.noise(sloped.variance))[:, None] * rng.standard_normal((len(rows), n))
    return Bundle(sloped, drawn, c.factored.solve(seen.y - c.design @ beta - start - noise), beta)


def _of_kinds(drawn: PriorDraws, rows: np.ndarray) -> np.ndarray:
    """f₀ (n, S) at rows [x, which]."""
    values = np.empty((len(rows), drawn.level.size))
    for which in np.unique(rows[:, -1]):
        own = rows[:, -1] == which
        values[own] = drawn(rows[own, :-1]) if which < 0 else drawn.slope(rows[own, :-1], int(which))
    return values
