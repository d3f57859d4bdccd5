"""What links utilities to outcomes: noise, threshold of ties, cut-points of grades, the scale of ratings.

    noisy utilities   u_i = f_i + e_i, e_i of sd `noise`: Normal ("probit") or Gumbel ("logit")
    duel              a ≻ b if u_a − u_b > t, tied if |u_a − u_b| ≤ t     Thurstone and Glenn–David; Bradley–Terry and
                                                                          Rao–Kupper
    choice            the largest u: softmax(f/scale) under "logit", Luce's rule
    grade             level k if s f + e lies between cut-points c_k and c_{k+1}
    rating            y = offset + slope f + N(0, sd²)

ψ holds what is learned of these, on the whole line: logarithms of what is positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from credo.distributions.likelihoods import OrdinalLogit, OrdinalProbit
from credo.models.preference.outcomes import GRADE, RATING, TIE, Outcomes
from credo.saving.registry import register

__all__ = ["Link", "Scales", "ScalesSpace"]

#: "probit" or "logit"
Link = str

# Prior medians and sds of logarithms: weak where the data speak, proper where they do not.
# t in sds of a duel's noise: one tie in six to five in six between equals (± one sd).
TIE_PRIOR = (float(np.log(0.5)), 1.0)
# One noise sd of utility is one of a grade's, within a factor of e (± one sd); likewise one sd of the ratings.
SLOPE_SD = 1.0
# Half of the ratings' sd is noise, within a factor of e.
NOISE_SHARE = 0.5


@register
@dataclass(frozen=True)
class Scales:
    """Natural values; those that the history does not need are None.

    link, noise : see the module; threshold : t ≥ 0, in units of utility
    grade_slope, cutpoints (K − 1,) : of grades; rating_offset, rating_slope, rating_noise : of ratings
    """

    link: Link
    noise: float
    threshold: float = 0.0
    grade_slope: float | None = None
    cutpoints: np.ndarray | None = None
    rating_offset: float | None = None
    rating_slope: float | None = None
    rating_noise: float | None = None

    @property
    def ratings(self) -> tuple[float, float, float] | None:
        """Offset, slope and noise of ratings, None where none was seen."""
        values = self.rating_offset, self.rating_slope, self.rating_noise
        return None if None in values else values  # type: ignore[return-value]

    @property
    def scale(self) -> float:
        """σ: e is σ times a standard Normal or Gumbel variable, whose sd is π/√6."""
        return self.noise if self.link == "probit" else self.noise * float(np.sqrt(6.0)) / np.pi

    @property
    def duel(self) -> float:
        """κ: the noise of a duel is a standard Normal or logistic variable over κ."""
        return 1.0 / (np.sqrt(2.0) * self.noise) if self.link == "probit" else 1.0 / self.scale


class _Part(NamedTuple):
    """One component of ψ."""

    name: str
    start: float
    centre: float
    sd: float


class ScalesSpace:
    """ψ of one set of outcomes: its names, start, bounds and prior."""

    def __init__(self, link: Link, noise: float, outcomes: Outcomes) -> None:
        self.link, self.noise = link, noise
        self.parts: list[_Part] = []
        self.grades: Any = None
        self.cuts = slice(0, 0)
        self.rating_mean, self.rating_sd = 0.0, 1.0
        unit = Scales(link, noise).duel
        if outcomes.has(TIE):
            centre, sd = TIE_PRIOR
            self.parts.append(_Part("log_threshold", centre - np.log(unit), centre - np.log(unit), sd))
        if outcomes.has(GRADE):
            self._add_grades(*outcomes.marks(GRADE), unit)
        if outcomes.has(RATING):
            self._add_ratings(*outcomes.marks(RATING))
        self.start = np.array([part.start for part in self.parts])
        self._centre = np.array([part.centre for part in self.parts])
        self._sd = np.array([part.sd for part in self.parts])
        # Twelve prior sds, or twelve units of a cut-point: nothing lives beyond.
        reach = 12.0 * np.where(np.isfinite(self._sd), self._sd, 1.0)
        self.bounds = np.stack([self.start - reach, self.start + reach], axis=1).reshape(-1, 2)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.name for part in self.parts)

    def _add_grades(self, levels: np.ndarray, counts: np.ndarray, unit: float) -> None:
        n_levels = max(int(levels.max()) + 1, 2)
        self.grades = (OrdinalProbit if self.link == "probit" else OrdinalLogit)(n_levels)
        self.parts.append(_Part("log_grade_slope", np.log(unit), np.log(unit), SLOPE_SD))
        start = self.grades.initial_auxiliary(np.repeat(levels, counts.astype(int)))
        self.cuts = slice(len(self.parts), len(self.parts) + start.size)
        # A sd of ∞: the likelihood's own prior of its cut-points takes its place.
        self.parts += [_Part(name, x, x, np.inf) for name, x in zip(self.grades.auxiliary, start, strict=True)]

    def _add_ratings(self, values: np.ndarray, counts: np.ndarray) -> None:
        mean = float(np.average(values, weights=counts))
        sd = float(np.sqrt(np.average((values - mean) ** 2, weights=counts)))
        sd = sd if sd > 1e-12 * abs(mean) and sd > 0.0 else max(abs(mean), 1.0)  # one rating, or all alike
        self.rating_mean, self.rating_sd = mean, sd
        self.parts += [
            _Part("rating_offset", 0.0, 0.0, 1.0),  # in sds of the ratings from their mean
            _Part("log_rating_slope", np.log(sd) - np.log(self.noise), np.log(sd) - np.log(self.noise), SLOPE_SD),
            _Part("log_rating_noise", np.log(NOISE_SHARE * sd), np.log(NOISE_SHARE * sd), SLOPE_SD),
        ]

    def scales(self, psi: np.ndarray) -> Scales:
        """Natural values at ψ."""
        at = dict(zip(self.names, psi, strict=True))
        found: dict[str, Any] = {}
        if "log_threshold" in at:
            found["threshold"] = float(np.exp(at["log_threshold"]))
        if self.grades is not None:
            found["grade_slope"] = float(np.exp(at["log_grade_slope"]))
            found["cutpoints"] = np.asarray(self.grades.cutpoints(psi[self.cuts]))
        if "rating_offset" in at:
            found["rating_offset"] = float(self.rating_mean + self.rating_sd * at["rating_offset"])
            found["rating_slope"] = float(np.exp(at["log_rating_slope"]))
            found["rating_noise"] = float(np.exp(at["log_rating_noise"]))
        return Scales(self.link, self.noise, **found)

    def log_prior(self, psi: np.ndarray) -> tuple[float, np.ndarray]:
        """log density of ψ and its gradient."""
        z = (psi - self._centre) / self._sd
        stated = np.isfinite(self._sd)
        value = float(np.sum((-0.5 * z * z - np.log(np.sqrt(2.0 * np.pi) * self._sd))[stated]))
        gradient = -z / self._sd
        if self.grades is not None:
            part, slope, _ = self.grades.auxiliary_log_prior(psi[self.cuts])
            value += float(part)
            gradient[self.cuts] = slope
        return value, gradient
