"""`ClassPredictive`: probabilities of classes, with their entropy split into its two causes.

H(y) = E[H(y | θ)] (aleatoric) + I(y; θ) (epistemic, the mutual information), in nats
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from scipy.special import entr

from credo.diagnostics.labels import label_codes
from credo.errors import ParameterError, UnavailableError
from credo.prediction.predictive import Predictive

__all__ = ["ClassPredictive"]

# Rows may miss 1 by this much (float32 probabilities do) and are then rescaled; a larger gap is the caller's
# mistake.
SUM_TOLERANCE = 1e-5
# An aleatoric part above the entropy by less than this is quadrature or rounding error, and is clipped.
SPLIT_TOLERANCE = 1e-6


@dataclass(frozen=True, eq=False, repr=False, init=False)
class ClassPredictive(Predictive):
    """Predictive probabilities over classes, one row each.

    Classes are labels even where they are numbers, so that moments and quantiles are not defined: asking for
    them raises `UnavailableError`. A loss may still read numeric labels as numbers by
    `cr.decide(p, Square())`.

    Parameters
    ----------
    probabilities : (n, k), in [0, 1], rows sum to 1 (off by at most 1e-5; rescaled)
    classes : (k,) distinct labels, in the order of the columns
    aleatoric : (n,), E[H(y | θ)] in nats, or a function of nothing that gives them, called when they are first asked
        for; None for a plug-in predictive, whose `epistemic` raises
    inference : the rung that computed it; by default "exact", or "map" without `aleatoric`

    Examples
    --------
    >>> p = ClassPredictive.from_draws(np.array([[[0.9, 0.1]], [[0.1, 0.9]]]), ["no", "yes"])
    >>> p.probabilities.tolist(), p.mode.tolist()
    ([[0.5, 0.5]], ['no'])
    >>> p.aleatoric.round(4).item(), p.epistemic.round(4).item()
    (0.3251, 0.3681)
    """

    probabilities: np.ndarray
    classes: np.ndarray
    inference: str

    kind = "class"

    def __init__(self, probabilities: Any, classes: Any, aleatoric: Any = None, inference: str = "") -> None:
        table, classes = np.asarray(probabilities, dtype=np.float64), np.asarray(classes)
        if table.ndim != 2 or not np.all((table >= 0) & (table <= 1 + SUM_TOLERANCE)):
            raise ParameterError("ClassPredictive", "probabilities", "(rows, classes) in [0, 1]", probabilities)
        if classes.shape != table.shape[1:] or len(set(classes.tolist())) != classes.size:
            raise ParameterError("ClassPredictive", "classes", f"{table.shape[1]} distinct labels", classes)
        total = table.sum(axis=1, keepdims=True)
        if np.any(np.abs(total - 1.0) > SUM_TOLERANCE):
            raise ParameterError("ClassPredictive", "probabilities", "rows that sum to 1", total.ravel())
        # Rows that already sum to 1 up to rounding keep their digits: ties and thresholds stay where they
        # were put.
        table = np.where(np.abs(total - 1.0) > 1e-12, table / total, table)
        object.__setattr__(self, "probabilities", table)
        object.__setattr__(self, "classes", classes)
        object.__setattr__(self, "inference", inference or ("map" if aleatoric is None else "exact"))
        object.__setattr__(self, "_split", aleatoric)
        if not callable(aleatoric):
            _ = self.aleatoric  # what is wrong with it is said here

    @cached_property
    def aleatoric(self) -> Any:
        """E[H(y | θ)] (n,), in nats; None for a plug-in predictive."""
        split: Any = self._split  # type: ignore[attr-defined]
        if split is None:
            return None
        split = split() if callable(split) else split
        part, total = np.asarray(split, dtype=np.float64), self.entropy
        if part.shape != self.shape or not np.all((part >= -SPLIT_TOLERANCE) & (part <= total + SPLIT_TOLERANCE)):
            raise ParameterError(
                "ClassPredictive", "aleatoric", "(rows,), between 0 and the entropy of the probabilities", split
            )
        return np.clip(part, 0.0, total)

    @property
    def plugs_in(self) -> bool:
        """Whether the parameters are a point, so that nothing splits."""
        return self._split is None  # type: ignore[attr-defined]

    def relabelled(self, classes: Any) -> ClassPredictive:
        """The same probabilities of other labels (k,)."""
        return ClassPredictive(self.probabilities, classes, self._later(lambda part: part), self.inference)

    def _later(self, change: Callable[[np.ndarray], np.ndarray]) -> Any:
        """The changed split, when it is asked for; now where it is known."""
        if self.plugs_in:
            return None
        return change(self.aleatoric) if "aleatoric" in self.__dict__ else lambda: change(self.aleatoric)

    def __reduce__(self) -> Any:
        return ClassPredictive, (self.probabilities, self.classes, self.aleatoric, self.inference)

    @classmethod
    def from_draws(cls, draws: Any, classes: Any, inference: str = "draws", weights: Any = None) -> Self:
        """From probabilities (S, n, k) given each posterior draw: averages them, and their entropies.

        `weights` (S,) are importance weights (any positive scale); None is equal.
        """
        draws = np.asarray(draws, dtype=np.float64)
        if draws.ndim != 3 or draws.shape[0] == 0:
            raise ParameterError("ClassPredictive.from_draws", "draws", "(draws, rows, classes)", draws)
        return cls(
            np.average(draws, axis=0, weights=weights),
            classes,
            np.average(entr(draws).sum(axis=2), axis=0, weights=weights),
            inference,
        )

    @property
    def shape(self) -> tuple[int, ...]:
        return self.probabilities.shape[:1]

    @property
    def mode(self) -> np.ndarray:
        """The most probable label of each row (n,); ties go to the first class."""
        return self.classes[np.argmax(self.probabilities, axis=1)]

    @property
    def entropy(self) -> np.ndarray:
        """−Σ p log p (n,), in nats, between 0 and log k: aleatoric + epistemic."""
        return entr(self.probabilities).sum(axis=1)

    @property
    def epistemic(self) -> np.ndarray:
        """Mutual information I(y; θ) ≥ 0 (n,), in nats: what the parameters would tell about the label."""
        if self.aleatoric is None:
            return super().epistemic
        return self.entropy - self.aleatoric

    def log_prob(self, y: Any) -> np.ndarray:
        """Log probability of the labels `y` (n,), or of one label for every row; log 0 is −inf."""
        codes = np.broadcast_to(label_codes(self.classes, y, "ClassPredictive.log_prob"), self.shape)
        with np.errstate(divide="ignore"):
            return np.log(np.take_along_axis(self.probabilities, codes[:, None], axis=1)[:, 0])

    def prediction_set(self, mass: float = 0.9) -> np.ndarray:
        """The fewest classes that together hold ≥ `mass`, as booleans (n, k); ties in class order."""
        if not 0.0 < mass < 1.0:
            raise ParameterError("ClassPredictive", "mass", "between 0 and 1 (exclusive)", mass)
        order = np.argsort(-self.probabilities, axis=1, kind="stable")
        ranked = np.take_along_axis(self.probabilities, order, axis=1)
        # A class is in when those before it fall short, and not by rounding: .6 + .2 + .1 reaches .9.
        member = np.cumsum(ranked, axis=1) - ranked < mass - 1e-12
        return np.take_along_axis(member, np.argsort(order, axis=1), axis=1)

    def _draw(self, n: int, rng: np.random.Generator) -> np.ndarray:
        uniform = rng.random((n, *self.shape))
        codes = np.zeros(uniform.shape, dtype=np.intp)
        for edge in np.cumsum(self.probabilities, axis=1).T[:-1]:
            codes += uniform >= edge
        return self.classes[codes]

    def __getitem__(self, rows: Any) -> ClassPredictive:
        rows = np.atleast_1d(rows) if isinstance(rows, (int, np.integer)) else rows
        part = self._later(lambda part: part[rows])
        return ClassPredictive(self.probabilities[rows], self.classes, part, self.inference)

    def _undefined(self, what: str) -> NoReturn:
        raise UnavailableError(
            f"Classes are labels, so a class predictive has no {what}.",
            remedy="Read probabilities, mode, entropy or prediction_set(mass); to act on numeric labels use "
            "cr.decide(p, loss).",
        )

    @property
    def mean(self) -> np.ndarray:
        self._undefined("mean")

    @property
    def variance(self) -> np.ndarray:
        self._undefined("variance")

    def cdf(self, y: Any) -> np.ndarray:
        self._undefined("cdf")

    def quantile(self, q: Any) -> np.ndarray:
        self._undefined("quantile or interval")
