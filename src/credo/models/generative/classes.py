"""The belief about the probabilities of the classes: known, or frequencies with a Dirichlet posterior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.errors import ParameterError
from credo.saving.registry import register

__all__ = ["ClassBelief", "checked_class_prior"]

# What rows of a class weigh at least when its uncertainty is told.
_LEAST = 1e-3


@register
@dataclass(frozen=True, eq=False)
class ClassBelief:
    """weight (k,) of the rows of each class; known (k,), probabilities that were given, or None.

    The posterior is Dirichlet(weight): its mean is the frequencies, so that point estimate and predictive agree.
    """

    weight: np.ndarray
    known: Any = None

    @property
    def probability(self) -> np.ndarray:
        return self.weight / self.weight.sum() if self.known is None else np.asarray(self.known)

    @property
    def log_probability(self) -> np.ndarray:
        with np.errstate(divide="ignore"):  # a class announced and not yet seen
            return np.log(self.probability)

    def moments(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Mean and variance (k,) of log p(c): over the posterior, and after one more row of that class."""
        zero = np.zeros(len(self.weight))
        if self.known is not None:
            return self.log_probability, zero, self.log_probability, zero
        seen = self.weight > 0
        # rows of next to no weight leave the class next to unknown, and log p without bound: _LEAST says so
        a = np.where(seen, np.maximum(self.weight, _LEAST), 1.0)
        total = max(float(self.weight.sum()), float(a[seen].sum()))
        psi, trigamma = scipy.special.digamma, lambda x: scipy.special.polygamma(1, x)
        empty = np.where(seen, 0.0, -np.inf)
        return (
            psi(a) - psi(total) + empty,
            trigamma(a) - trigamma(total),
            psi(a + 1.0) - psi(total + 1.0) + empty,
            trigamma(a + 1.0) - trigamma(total + 1.0),
        )

    def draw(self, rng: np.random.Generator) -> ClassBelief:
        if self.known is not None:
            return self
        seen = self.weight > 0
        probability = np.zeros(len(seen))
        probability[seen] = rng.dirichlet(self.weight[seen])
        return ClassBelief(self.weight, probability)


def checked_class_prior(owner: str, name: str, value: Any, n_classes: int) -> np.ndarray | None:
    """Probabilities (k,) that the user states; None stays None."""
    if value is None:
        return None
    prior = np.asarray(value, dtype=np.float64)
    if prior.shape != (n_classes,):
        remedy = f"Number of priors must match number of classes: one probability for each of {n_classes}."
        raise ParameterError(owner, name, f"of shape ({n_classes},)", value, remedy)
    if not np.all(prior >= 0.0):
        raise ParameterError(owner, name, "probabilities", value, "Priors must be non-negative.")
    # as scikit-learn: rounded probabilities pass, a forgotten class does not
    if abs(prior.sum() - 1.0) > 1e-5:
        raise ParameterError(owner, name, "probabilities", value, "The sum of the priors should be 1.")
    return prior
