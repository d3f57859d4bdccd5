"""`TablePrior`: what is believed of a node's probabilities before any row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["PRIORS", "TablePrior", "checked_prior"]

PRIORS = ("bdeu", "k2", "m_estimate", "none")


@dataclass(frozen=True, eq=False)
class TablePrior:
    """A Dirichlet for each row of a table; with n_jk rows its mean is (n_jk + a_k)/(n_j + Σa).

    kind : "bdeu"  a = ess/(q r): `equivalent_sample_size` rows spread evenly over the whole table, so that equivalent
                   structures agree
           "k2"    a = 1, Laplace's rule
           "m_estimate"  a_k = m p_k: every row of the table is worth m = `equivalent_sample_size` rows, as in
                   `CategoricalNB`
           "none"  a = 0: maximum likelihood
    prior_estimate : p, node → probabilities of its states, of "m_estimate"; nodes left out have 1/r
    """

    kind: str
    equivalent_sample_size: float = 1.0
    prior_estimate: Mapping[str, np.ndarray] | None = None

    def concentration(self, node: str, q: int, r: int) -> np.ndarray:
        """a (r,), of every row of a table of q rows."""
        if self.kind == "bdeu":
            return np.full(r, self.equivalent_sample_size / (float(q) * r))
        if self.kind == "k2":
            return np.ones(r)
        if self.kind == "none":
            return np.zeros(r)
        return self.equivalent_sample_size * (self.prior_estimate or {}).get(node, np.full(r, 1.0 / r))

    @property
    def proper(self) -> bool:
        return self.kind != "none" and (self.kind != "m_estimate" or self.equivalent_sample_size > 0.0)


def checked_prior(
    owner: str, prior: Any, equivalent_sample_size: Any, prior_estimate: Any, sizes: Mapping[str, int]
) -> TablePrior:
    """The prior that the arguments say; None for the sample size is 1.

    Raises
    ------
    ParameterError : an unknown prior; a sample size < 0 (or 0 of "bdeu"); a prior_estimate of another prior, of an
        unknown node, or that is no distribution.
    """
    if prior not in PRIORS:
        raise ParameterError(owner, "prior", f"one of {', '.join(PRIORS)}", prior, "'none' is maximum likelihood.")
    size = 1.0 if equivalent_sample_size is None else equivalent_sample_size
    if isinstance(size, bool) or not isinstance(size, (int, float, np.number)) or not 0.0 <= size < np.inf:
        raise ParameterError(owner, "equivalent_sample_size", "a number ≥ 0", size)
    if equivalent_sample_size is not None and prior in ("k2", "none"):
        raise ParameterError(owner, "equivalent_sample_size", f"None beside prior={prior!r}", size)
    if prior == "bdeu" and size == 0.0:
        raise ParameterError(owner, "equivalent_sample_size", "> 0", size, "Maximum likelihood is prior='none'.")
    if prior_estimate is None:
        return TablePrior(prior, float(size))
    if prior != "m_estimate":
        raise ParameterError(owner, "prior_estimate", "None unless prior='m_estimate'", prior_estimate)
    if not isinstance(prior_estimate, Mapping):
        raise ParameterError(owner, "prior_estimate", "a mapping from nodes to probabilities", prior_estimate)
    return TablePrior(
        prior, float(size), {node: _estimate(owner, node, p, sizes) for node, p in prior_estimate.items()}
    )


def _estimate(owner: str, node: Any, value: Any, sizes: Mapping[str, int]) -> np.ndarray:
    if node not in sizes:
        raise ParameterError(owner, "prior_estimate", f"about nodes among {', '.join(list(sizes)[:12])}", node)
    p = np.asarray(value, dtype=np.float64)
    if p.shape != (sizes[node],) or not np.all(p >= 0.0) or abs(p.sum() - 1.0) > 1e-6:
        raise ParameterError(
            owner, f"prior_estimate[{node!r}]", f"{sizes[node]} probabilities that sum to 1, in the states' order",
            value,
        )  # fmt: skip
    return p / p.sum()
