"""ARD: w_j ~ N(0, a_j), each variance a_j set where the evidence is highest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.support import REAL, Support
from credo.errors import UnavailableError

__all__ = ["ARD"]


@dataclass(frozen=True, eq=False)
class ARD(Family):
    """Automatic relevance determination: one prior variance a coefficient, learned; irrelevant ones go to zero.

    It is a recipe (type-II maximum likelihood), not a distribution: density, moments and draws raise
    `UnavailableError`. The variances it finds are `prior_scale_`.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.random.default_rng(0).normal(size=(60, 4))
    >>> model = cr.LinearRegression(prior=cr.ARD()).fit(X, X[:, 0] + 0.1 * X @ [0, 0, 0, 0] + np.sin(np.arange(60.0)))
    >>> model.coef_.shape
    (4,)

    References
    ----------
    MacKay (1994), Bayesian non-linear modelling for the prediction competition; Tipping (2001), JMLR 1; Wipf and
    Nagarajan (2008), A new view of automatic relevance determination, NIPS.
    """

    @property
    def support(self) -> Support:
        return REAL

    def log_prob(self, x: Any) -> Any:
        """Raises `UnavailableError`: the variances are unknown."""
        raise UnavailableError("ARD learns its variances, so it has no density.", remedy="Use Normal(0, sd).")

    def _draw(self, size: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        raise UnavailableError("ARD learns its variances, so it has no draws.", remedy="Use Normal(0, sd).")
