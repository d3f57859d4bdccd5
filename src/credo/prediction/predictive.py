"""`Predictive`: what is believed about new outcomes, one distribution per row of a batch.

It integrates over the posterior, and splits its uncertainty:

    real outcomes   variance = E[Var(y | θ)] (aleatoric)  +  Var(E[y | θ]) (epistemic)
    classes         entropy  = E[H(y | θ)]   (aleatoric)  +  I(y; θ)       (epistemic), in nats

Aleatoric uncertainty stays however much data there is; epistemic uncertainty is what more data would remove.
A plug-in predictive (built on a point estimate) says so: `inference == "map"` and `epistemic` raises.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.numerics.random import as_generator

__all__ = ["Predictive"]


class Predictive:
    """Base of the predictive records. Arrays have shape `shape` = (rows,) or (rows, targets).

    Subclasses supply `shape`, `mean`, `variance`, `aleatoric`, `epistemic`, `cdf`, `quantile`, `log_prob`, `_draw`
    and `inference`; the rest follows.
    """

    kind: str = "real"  # "real", "count" or "class": decisions and scores read it
    inference: str = "exact"

    @property
    def shape(self) -> tuple[int, ...]:
        raise NotImplementedError

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def mean(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def variance(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def sd(self) -> np.ndarray:
        return np.sqrt(self.variance)

    @property
    def aleatoric(self) -> np.ndarray:
        raise NotImplementedError

    @property
    def epistemic(self) -> np.ndarray:
        raise UnavailableError(
            f"This predictive plugs in a point estimate (inference={self.inference!r}), so it has no epistemic part.",
            remedy="Fit with an inference that integrates over the parameters.",
        )

    def cdf(self, y: Any) -> np.ndarray:
        """P(Y ≤ y), elementwise over rows; a scalar `y` serves every row."""
        raise NotImplementedError

    def quantile(self, q: Any) -> np.ndarray:
        """Quantile(s): a scalar q gives `shape`, a vector of m gives (m, *shape)."""
        raise NotImplementedError

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Central interval (lower, upper) holding `mass` of the probability in each row."""
        if not 0.0 < mass < 1.0:
            raise ParameterError(type(self).__name__, "mass", "between 0 and 1 (exclusive)", mass)
        lower, upper = self.quantile(np.array([(1.0 - mass) / 2.0, (1.0 + mass) / 2.0]))
        return lower, upper

    def log_prob(self, y: Any) -> np.ndarray:
        """Log predictive density (or mass) of the outcomes `y`, one per row."""
        raise NotImplementedError

    def sample(self, n: int, rng: Any = None) -> np.ndarray:
        """n draws per row, shape (n, *shape)."""
        return self._draw(int(n), as_generator(rng))

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        raise NotImplementedError

    def __getitem__(self, rows: Any) -> Predictive:
        """The predictive of some of the rows (a slice, an index array or a boolean mask)."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(shape={self.shape}, inference={self.inference!r})"
