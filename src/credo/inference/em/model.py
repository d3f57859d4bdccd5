"""`EMModel`: what the engine asks of a model; statistics are records with `merge`, or arrays and tuples of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.blocks.source import Block
from credo.errors import UnavailableError

__all__ = ["EMModel", "merge", "scaled"]


class EMModel:
    """A latent-variable model as EM sees it. Subclass and supply the first three.

    Parameters are whatever `finalize` returns; statistics are a record with `merge` (and `scaled`, for online EM), or
    arrays, or tuples or dicts of arrays, which are added.

    Engines of other inferences fit the same shape: for variational Bayes the parameters are those of q, and the bound
    is the ELBO.
    """

    def accumulate(self, block: Block, params: Any) -> Any:
        """E-step: the expected sufficient statistics of one block under p(z | x, params), and what `bound` needs."""
        raise NotImplementedError

    def finalize(self, statistics: Any) -> Any:
        """M-step: the parameters that maximise E log p(x, z | ·) (+ log prior, for a MAP) given the statistics."""
        raise NotImplementedError

    def bound(self, statistics: Any, params: Any) -> float:
        """The objective at `params`, from statistics gathered *at* them: log p(x | params) + log prior, or an ELBO."""
        raise NotImplementedError

    # -- each of these adds an ability ---------------------------------------------------------------------------

    def expected(self, statistics: Any, params: Any) -> float:
        """L(params, q) = E_q log p(x, z | params) + H(q), q being the E-step that gathered the statistics.

        With it the trace holds the gap KL(q ‖ p(z | x, params)) that each M-step opens.
        """
        raise UnavailableError(f"{type(self).__name__} does not compute the gap.")

    def pack(self, params: Any) -> np.ndarray:
        """Parameters as an unconstrained vector, for acceleration."""
        raise UnavailableError(f"{type(self).__name__} has no vector of parameters, so it cannot be accelerated.")

    def unpack(self, vector: np.ndarray) -> Any:
        raise UnavailableError(f"{type(self).__name__} has no vector of parameters, so it cannot be accelerated.")

    def tempered(self, power: float) -> EMModel:
        """The model whose E-step is p(z | x)^power, normalised, and whose bound is the free energy of that."""
        raise UnavailableError(f"{type(self).__name__} cannot be annealed.")

    def perturbed(self, params: Any, rng: np.random.Generator) -> Any:
        """Parameters a little away from `params` (0.01 on the packed scale), so that equal components can part."""
        vector = self.pack(params)
        return self.unpack(vector + 0.01 * rng.standard_normal(vector.shape))

    def slack(self, statistics: Any, params: Any) -> float:
        """By how much the bound may fall between two steps without being wrong, beyond the engine's own rounding."""
        return 0.0


def merge(first: Any, second: Any) -> Any:
    """Statistics of both sets of rows."""
    if hasattr(first, "merge"):
        return first.merge(second)
    if isinstance(first, dict):
        return {key: merge(value, second[key]) for key, value in first.items()}
    if isinstance(first, tuple):
        return tuple(merge(a, b) for a, b in zip(first, second, strict=True))
    return np.add(first, second)


def scaled(statistics: Any, factor: float) -> Any:
    """Statistics of rows that each count `factor` times."""
    if hasattr(statistics, "scaled"):
        return statistics.scaled(factor)
    if isinstance(statistics, dict):
        return {key: scaled(value, factor) for key, value in statistics.items()}
    if isinstance(statistics, tuple):
        return tuple(scaled(value, factor) for value in statistics)
    return np.multiply(statistics, factor)
