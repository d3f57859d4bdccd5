"""`DuelBelief`: what is believed of a choice between two items, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

from credo.distributions.likelihoods import BernoulliLogit, BernoulliProbit, OrdinalLogit, OrdinalProbit
from credo.errors import ParameterError
from credo.models.preference.scales import Scales
from credo.numerics.inversion import invert_cdf

__all__ = ["DuelBelief"]


@dataclass(frozen=True, eq=False)
class DuelBelief:
    """Beliefs about p pairs (a, b); every member has the shape of the pairs asked for.

    difference : means (S, p) of f_a − f_b under each of S equally likely components; variance (p,) in each
    scales : noise, link and threshold

    Examples
    --------
    >>> import credo as cr
    >>> model = cr.PreferenceGP().fit(cr.Preferences(2).with_duel(0, 1, count=3))
    >>> duel = model.duel(0, 1)
    >>> bool(duel.win > 0.5), bool(abs(duel.win + duel.tie + duel.lose - 1) < 1e-12), bool(duel.superiority > duel.win)
    (True, True, True)
    """

    difference: np.ndarray
    variance: np.ndarray
    scales: Scales
    single: bool = False

    @property
    def win(self) -> Any:
        """P(a ≻ b) of the next choice, averaged over the belief."""
        return self._shaped(self._probabilities()[..., 2])

    @property
    def tie(self) -> Any:
        """P(tie); 0 where none was ever seen."""
        return self._shaped(self._probabilities()[..., 1])

    @property
    def lose(self) -> Any:
        """P(b ≻ a)."""
        return self._shaped(self._probabilities()[..., 0])

    @property
    def superiority(self) -> Any:
        """P(f_a > f_b): that a is the better one, without the noise of a choice; ½ where nothing tells them apart."""
        sd = np.sqrt(self.variance)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(self.difference == 0.0, 0.0, self.difference / sd)
        return self._shaped(scipy.special.ndtr(z).mean(axis=0))

    @property
    def sd(self) -> Any:
        """Of the win probability, over the belief: how well P(a ≻ b) is known."""
        m, v = self._shifted()
        p = self._binary.predictive_mean(m, v).mean(axis=0)
        # Var p = p̄ (1 − p̄) − E p (1 − p)
        return self._shaped(np.sqrt(np.maximum(p * (1.0 - p) - self._binary.aleatoric(m, v).mean(axis=0), 0.0)))

    def interval(self, mass: float = 0.9) -> tuple[Any, Any]:
        """Central interval of the win probability over the belief."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("DuelBelief.interval", "mass", "between 0 and 1 (exclusive)", mass)
        return self.quantile(0.5 * (1.0 - mass)), self.quantile(0.5 * (1.0 + mass))

    def quantile(self, q: float) -> Any:
        """Of the win probability over the belief: it rises with f_a − f_b, so that quantiles go through."""
        if not 0.0 < q < 1.0:
            raise ParameterError("DuelBelief.quantile", "q", "between 0 and 1 (exclusive)", q)
        m, v = self._shifted()
        sd, z = np.sqrt(v[0]), scipy.special.ndtri(q)
        each = m + sd * z
        if len(m) > 1 and np.any(sd > 0.0):
            safe = np.where(sd > 0.0, sd, 1.0)
            eta = invert_cdf(
                lambda x: scipy.special.ndtr((x - m) / safe).mean(axis=0), q, each.min(axis=0), each.max(axis=0)
            )
        else:
            eta = each[0]
        return self._shaped(self._binary.mean(eta))

    @property
    def entropy(self) -> Any:
        """Of the next outcome, nats: `aleatoric` + `epistemic`."""
        return self._shaped(scipy.special.entr(self._probabilities()).sum(axis=-1))

    @property
    def aleatoric(self) -> Any:
        """Mean entropy of the outcome were the utilities known, nats: what no further choice takes away."""
        scale = self.scales.duel
        m, v = scale * self.difference, np.broadcast_to(scale**2 * self.variance, self.difference.shape)
        law, psi = self._law()
        return self._shaped(np.reshape(law.expected_entropy(m.ravel(), v.ravel(), psi), m.shape).mean(axis=0))

    @property
    def epistemic(self) -> Any:
        """Information (nats) that the outcome of this duel is expected to give of the utilities: BALD.

        Houlsby, Huszár, Ghahramani and Lengyel (2011), Bayesian active learning for classification and preference
        learning.
        """
        return np.maximum(self.entropy - self.aleatoric, 0.0)

    def _law(self) -> tuple[Any, np.ndarray | None]:
        """The outcome's likelihood in κ (f_a − f_b): of two, or of three with ties between ∓κt."""
        probit, edge = self.scales.link == "probit", self.scales.duel * self.scales.threshold
        if edge == 0.0:
            return self._binary, None
        return (OrdinalProbit if probit else OrdinalLogit)(3), np.array([-edge, np.log(2.0 * edge)])

    @property
    def _binary(self) -> Any:
        return BernoulliProbit() if self.scales.link == "probit" else BernoulliLogit()

    def _shifted(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean and variance (S, p) of κ (f_a − f_b − t), what a win takes to exceed its noise."""
        scale = self.scales.duel
        m = scale * (self.difference - self.scales.threshold)
        return m, np.broadcast_to(scale**2 * self.variance, m.shape)

    def _probabilities(self) -> np.ndarray:
        """(p, 3): lose, tie, win."""
        scale = self.scales.duel
        v = np.broadcast_to(scale**2 * self.variance, self.difference.shape)
        t = self.scales.threshold
        win = self._binary.predictive_mean(scale * (self.difference - t), v).mean(axis=0)
        lose = self._binary.predictive_mean(scale * (-self.difference - t), v).mean(axis=0)
        tie = np.zeros_like(win) if t == 0.0 else np.maximum(1.0 - win - lose, 0.0)
        total = win + tie + lose
        return np.stack([lose, tie, win], axis=-1) / total[..., None]

    def _shaped(self, values: np.ndarray) -> Any:
        return float(values[0]) if self.single else values
