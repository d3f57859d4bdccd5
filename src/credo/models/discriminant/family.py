"""Vectors that are Normal given the class: point estimates, the Normal–inverse-Wishart belief, and what follows.

μ_c | Σ ~ N(m, Σ/κ),  Σ ~ InverseWishart(ν, Ψ),   one Σ for each class or one for all
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from credo.distributions.inverse_wishart import InverseWishart
from credo.distributions.normal import LOG_2PI
from credo.distributions.normal_inverse_wishart import NormalInverseWishart
from credo.errors import ParameterError, UnavailableError
from credo.models.discriminant.equations import SingularCovarianceError, shrunk
from credo.models.discriminant.held_out import STRENGTHS, LeftOut
from credo.models.discriminant.shrinkage import prior_rows
from credo.models.discriminant.statistics import ClassScatter
from credo.models.generative.family import Belief, Family
from credo.models.generative.memberships import Memberships
from credo.saving.registry import register

__all__ = ["DiscriminantFamily", "DiscriminantBelief"]


@register
@dataclass(frozen=True, eq=False)
class DiscriminantFamily(Family):
    """Normal vectors given the class.

    shared : one covariance, the mean of the classes' weighted by `class_prior` (None: by their rows)
    shares : of the sphere in every class (k,), or one number: the shrinkage
    added : as `reg_param`: (1 − added) Σ + added I
    covariances : (k, d, d) from elsewhere, or None for S_c/n_c
    prior : a `NormalInverseWishart`; a text or None: the default one. Unless None, the point estimate of a covariance
        is its posterior mean
    rows : that the default prior of each class's own covariance is worth; None: what the scatters say
    at_mode : point estimates are the mode of the posterior of (μ, Σ), as EM needs them; `prior` is then stated
    """

    shared: bool
    shares: Any = 0.0
    added: float = 0.0
    covariances: Any = None
    prior: Any = None
    class_prior: Any = None
    rows: float | None = None
    at_mode: bool = False

    name = "normal"

    @property
    def has_soft_fit(self) -> bool:  # type: ignore[override]
        """EM needs the maximum of the likelihood, which nothing that shrinks is."""
        plain = self.added == 0.0 and self.covariances is None and self.prior is None and self.class_prior is None
        return bool(plain and np.all(np.asarray(self.shares) == 0.0))

    def require_soft_fit(self, owner: str) -> None:
        if not self.has_soft_fit:
            raise UnavailableError(
                f"{owner}: rows without a label join by EM, whose steps maximise a likelihood, or a posterior.",
                remedy="Give prior='auto' in place of shrinkage, reg_param or covariance_estimator, or drop the rows.",
            )

    def accumulate(self, cells: np.ndarray, rows: Memberships) -> ClassScatter:
        return ClassScatter.accumulate(cells, rows, full=True)

    def finalize(self, statistics: ClassScatter, class_weight: np.ndarray) -> DiscriminantBelief:
        weight, mean, scatter = statistics.weight, statistics.mean, statistics.scatter
        posterior = self._posterior(statistics)
        if self.at_mode:
            return self._mode(*posterior)
        if self.prior is not None:
            d, df, psi = mean.shape[1], posterior[2], posterior[3]
            covariance = psi / np.maximum(df - d - 1.0, 1.0)[:, None, None]
            mean = posterior[0]
        else:
            covariance = self._estimates(weight, scatter)
        return DiscriminantBelief(mean, covariance, *posterior)

    def stated(self, statistics: ClassScatter) -> NormalInverseWishart:
        """The prior, the default one as these statistics have it."""
        if isinstance(self.prior, NormalInverseWishart):
            return self.prior
        return NormalInverseWishart(*self._learned(statistics.weight, statistics.mean, statistics.scatter))

    def _mode(self, m: np.ndarray, kappa: np.ndarray, df: np.ndarray, psi: np.ndarray) -> DiscriminantBelief:
        """Where p(μ, Σ | D) is largest, and log p(μ, Σ) there up to a constant: a mean is a row more of its Σ."""
        prior, (k, d) = self.prior, m.shape
        rows = df + d + 1.0 + (k if self.shared else 1.0)
        covariance = psi / rows[:, None, None]
        lower = np.stack([_factor(own, c) for c, own in enumerate(covariance)])
        log_det = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        inverse = np.linalg.inv(covariance)
        away = m - prior.mean
        spread = np.einsum("ci,cij,cj->c", away, np.broadcast_to(inverse, (k, d, d)), away)
        own = (prior.df + d + 1.0) * log_det + np.einsum("ij,cji->c", prior.scale_matrix, inverse)
        penalty = -0.5 * float(own.sum() + np.broadcast_to(log_det, (k,)).sum() + prior.kappa * spread.sum())
        return DiscriminantBelief(m, covariance, m, kappa, df, psi, penalty)

    def _estimates(self, weight: np.ndarray, scatter: np.ndarray) -> np.ndarray:
        """Σ̂ (k, d, d), or (1, d, d) where it is shared."""
        d = scatter.shape[-1]
        safe = np.where(weight > 0.0, weight, 1.0)
        each = scatter / safe[:, None, None] if self.covariances is None else self.covariances
        shares = np.broadcast_to(self.shares, weight.shape)
        each = np.stack([shrunk(own, share) if share > 0.0 else own for own, share in zip(each, shares)])
        if self.shared:
            total = weight / weight.sum() if self.class_prior is None else self.class_prior
            each = np.tensordot(total, each, axes=1)[None]
        return (1.0 - self.added) * each + self.added * np.eye(d) if self.added else each

    def _posterior(self, statistics: ClassScatter) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(m (k, d), κ (k,), ν, Ψ), the last two with an axis of k, or of 1 where Σ is shared."""
        weight, mean, scatter = statistics.weight, statistics.mean, statistics.scatter
        total = weight.sum()
        if self.prior is None or isinstance(self.prior, str):
            m, kappa, df, psi = self._learned(weight, mean, scatter)
        else:
            m, kappa, df, psi = self.prior.mean, self.prior.kappa, self.prior.df, self.prior.scale_matrix
            if len(m) != mean.shape[1]:
                raise ParameterError("prior", "mean", f"a vector of {mean.shape[1]}, one for each column", m)
        shift = np.where(weight[:, None] > 0.0, mean - m, 0.0)
        spread = scatter + (kappa * weight / (kappa + weight))[:, None, None] * shift[:, :, None] * shift[:, None, :]
        rows = weight
        if self.shared:
            spread, rows = spread.sum(axis=0)[None], np.array([total])
        return m + (weight / (kappa + weight))[:, None] * shift, kappa + weight, df + rows, psi + spread

    def _learned(
        self, weight: np.ndarray, mean: np.ndarray, scatter: np.ndarray
    ) -> tuple[np.ndarray, float, float, np.ndarray]:
        """The default prior (m, κ, ν, Ψ): class means as spread as the columns; a shared covariance worth one row of
        the variances within classes; and of each class its own, worth as many rows of the shared one as the classes say
        that they are alike."""
        d, total = mean.shape[1], weight.sum()
        m = weight @ mean / total
        pooled = scatter.sum(axis=0)
        within = np.diagonal(pooled) / total
        spread = within + weight @ np.square(mean - m) / total
        within = np.where(within > 0.0, within, np.where(spread > 0.0, spread, 1.0))
        kappa, psi = float(np.mean(within / np.maximum(spread, within))), np.diag(within)
        if self.shared:
            return m, kappa, d + 2.0, psi
        rows = prior_rows(scatter, np.maximum(weight - 1.0, 0.0), psi) if self.rows is None else self.rows
        return m, kappa, rows + d + 1.0, rows * (pooled + psi) / (total + 1.0)

    def left_out(self, statistics: ClassScatter, log_class: np.ndarray) -> LeftOut:
        """What scores strengths of the default prior by rows left out; log_class (k,)."""
        weight, mean = statistics.weight, statistics.mean
        d, one = mean.shape[1], replace(self, rows=1.0)
        _, kappa, df, _ = replace(self, rows=None)._learned(weight, mean, statistics.scatter)
        within = one._learned(weight, mean, statistics.scatter)[3]
        m, _, _, psi = one._posterior(statistics)
        strengths = np.append(df - d - 1.0, STRENGTHS)
        return LeftOut(weight, mean, m, kappa, psi - within, within, weight.sum() + 1.0, log_class, strengths)


@register
@dataclass(frozen=True, eq=False)
class DiscriminantBelief(Belief):
    """mean (k, d), covariance (k or 1, d, d): point estimates; m (k, d), kappa (k,), df, psi (k or 1, …): posterior.

    penalty : what the estimates maximise beside the likelihood
    """

    mean: np.ndarray
    covariance: np.ndarray
    m: np.ndarray
    kappa: np.ndarray
    df: np.ndarray
    psi: np.ndarray
    penalty: float = 0.0

    def log_penalty(self) -> float:
        return self.penalty

    def log_plug(self, cells: np.ndarray) -> np.ndarray:
        """log N(x; μ_c, Σ_c) (n, k), over the observed cells of each row."""
        return self._by_pattern(cells, self.mean, self.covariance, lambda delta, d, c: -0.5 * (delta + d * LOG_2PI))

    def log_predictive(self, cells: np.ndarray) -> np.ndarray:
        """log t(x; ν − d + 1, m_c, Ψ (1 + 1/κ_c)/(ν − d + 1)) (n, k)."""
        df = np.broadcast_to(self.df - self.mean.shape[1] + 1.0, self.kappa.shape)
        scale = self.psi * ((1.0 + 1.0 / self.kappa) / df)[:, None, None]

        def density(delta: np.ndarray, d: int, c: int) -> np.ndarray:
            constant = gammaln(0.5 * (df[c] + d)) - gammaln(0.5 * df[c]) - 0.5 * d * np.log(df[c] * np.pi)
            return constant - 0.5 * (df[c] + d) * np.log1p(delta / df[c])

        return self._by_pattern(cells, self.m, scale, density)

    def _by_pattern(self, cells: np.ndarray, mean: np.ndarray, scale: np.ndarray, density: Any) -> np.ndarray:
        """density(δᵀ S⁻¹ δ, columns, class) − ½ log |S|, rows with the same cells missing together."""
        value = np.zeros((len(cells), len(mean)))
        if np.isnan(cells.sum()):
            patterns, which = np.unique(np.isnan(cells), axis=0, return_inverse=True)
            groups = [(np.flatnonzero(which.ravel() == i), ~missing) for i, missing in enumerate(patterns)]
        else:
            groups = [(slice(None), np.ones(cells.shape[1], dtype=bool))]
        for rows, seen in groups:
            if not seen.any():
                continue
            x = cells[rows][:, seen]
            lowers = [_factor(own[np.ix_(seen, seen)], c) for c, own in enumerate(scale)]
            for c, centre in enumerate(mean):
                lower = lowers[c if len(lowers) > 1 else 0]
                white = solve_triangular(lower, (x - centre[seen]).T, lower=True, check_finite=False)
                half = float(np.log(np.diagonal(lower)).sum())
                value[rows, c] = density(np.einsum("ij,ij->j", white, white), int(seen.sum()), c) - half
        return value

    def draw(self, rng: np.random.Generator) -> DiscriminantBelief:
        sigma = np.stack([InverseWishart(df, psi)._draw((), rng) for df, psi in zip(self.df, self.psi)])
        lower = np.linalg.cholesky(sigma)
        z = rng.standard_normal(self.m.shape) / np.sqrt(self.kappa)[:, None]
        mean = self.m + np.einsum("cij,cj->ci", np.broadcast_to(lower, (len(z), *lower.shape[1:])), z)
        return DiscriminantBelief(mean, sigma, self.m, self.kappa, self.df, self.psi)

    def sample(self, codes: np.ndarray, rng: np.random.Generator, *, integrated: bool) -> np.ndarray:
        lower = np.stack([_factor(own, c) for c, own in enumerate(self.covariance)])
        z = rng.standard_normal((len(codes), self.mean.shape[1]))
        if len(lower) == 1:
            return self.mean[codes] + z @ lower[0].T
        return self.mean[codes] + np.einsum("nij,nj->ni", lower[codes], z)


def _factor(matrix: np.ndarray, c: int) -> np.ndarray:
    """Lower Cholesky factor of a covariance.

    Raises
    ------
    SingularCovarianceError : it has none.
    """
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError as error:
        raise SingularCovarianceError(
            f"The covariance of class {c} has no inverse, so the model has no density.",
            value=c,
            remedy="Give shrinkage or prior='auto', or drop columns that repeat others.",
        ) from error
