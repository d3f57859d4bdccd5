"""`cr.noise`: how outcomes scatter around a regression's prediction. The noise is the loss.

A noise record states a *scale* (standard deviation for `Normal`); None means learned from the data, a scalar is
known, an array is known row by row, `LogLinear` varies with the features.

    Normal      least squares
    Laplace     absolute loss: the line is a median
    StudentT    far outcomes count little: robust
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions.base import is_concrete
from credo.errors import ParameterError
from credo.saving.registry import register

__all__ = ["Laplace", "LogLinear", "Normal", "StudentT"]


@register
@dataclass(frozen=True)
class LogLinear:
    """A noise scale that varies with the features: log scale = γ₀ + zᵀγ, z the standardised columns.

    prior : belief about γ, a `Normal` on the standardised columns; None is Normal(0, 1): across one standard deviation
        of a column the scale changes by a factor e or less, most likely. γ₀ is flat.

    >>> import credo as cr
    >>> cr.noise.Normal(scale=cr.noise.LogLinear()).scale
    LogLinear(prior=None)
    """

    prior: Any = None

    def __post_init__(self) -> None:
        if self.prior is not None and type(self.prior).__name__ != "Normal":
            raise ParameterError("noise.LogLinear", "prior", "None or a Normal", self.prior)


@register
@dataclass(frozen=True)
class Normal:
    """Normal noise, y = f(x) + N(0, scale²): least squares.

    scale : None, learned; a number > 0, known; an array (rows,) of numbers > 0, known per row (precision weights
        1/scale²); `LogLinear()`, learned as a function of the features.
    variance_prior : `InverseGamma` on scale² where the scale is learned; None is the scale-free 1/scale².
    scale_prior : or any law of a positive number on the scale itself, such as `HalfCauchy(2.5)`, `HalfNormal(10)`, or
        `Flat()`, uniform on scale > 0.

    >>> import credo as cr
    >>> cr.noise.Normal(0.5).scale
    0.5
    """

    scale: Any = None
    variance_prior: Any = None
    scale_prior: Any = None

    def __post_init__(self) -> None:
        check_priors("noise.Normal", self.scale, self.scale_prior, self.variance_prior)
        if self.variance_prior is not None and type(self.variance_prior).__name__ != "InverseGamma":
            raise ParameterError("noise.Normal", "variance_prior", "an InverseGamma or None", self.variance_prior)
        if self.scale is None or isinstance(self.scale, LogLinear) or not is_concrete(self.scale):
            return
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim > 1 or not np.all(np.isfinite(scale) & (scale > 0)):
            raise ParameterError(
                "noise.Normal", "scale", "None, or finite numbers > 0 (a scalar or one per row)", self.scale
            )
        if isinstance(self.scale, (list, tuple)):
            object.__setattr__(self, "scale", scale)


@register
@dataclass(frozen=True)
class Laplace:
    """Laplace noise, y = f(x) + Laplace(0, scale): the absolute loss, so that f is a median.

    scale : None, learned; a number > 0, known. The standard deviation is √2 scale.
    scale_prior : a law of a positive number on the scale where it is learned; None is the scale-free 1/scale.

    >>> import credo as cr
    >>> cr.noise.Laplace().scale is None
    True
    """

    scale: Any = None
    scale_prior: Any = None

    def __post_init__(self) -> None:
        check_priors("noise.Laplace", self.scale, self.scale_prior)
        check_number("noise.Laplace", "scale", self.scale)


@register
@dataclass(frozen=True)
class StudentT:
    """Student-t noise, y = f(x) + scale · t(df): rows far from the line count little.

    df : degrees of freedom > 0, known; None, learned under Gamma(shape=2, rate=0.1), which keeps both heavy tails and
        nearly Normal ones likely (Juárez and Steel 2010, Journal of Applied Econometrics 25), or under `df_prior`.
    scale : None, learned; a number > 0, known. The standard deviation is scale √(df/(df − 2)).
    scale_prior : a law of a positive number on the scale where it is learned; None is the scale-free 1/scale.

    >>> import credo as cr
    >>> cr.noise.StudentT(df=4).df
    4
    """

    df: Any = None
    scale: Any = None
    scale_prior: Any = None
    df_prior: Any = None

    def __post_init__(self) -> None:
        check_priors("noise.StudentT", self.scale, self.scale_prior)
        check_number("noise.StudentT", "scale", self.scale)
        check_number("noise.StudentT", "df", self.df)
        check_law("noise.StudentT", "df_prior", self.df_prior)
        if self.df is not None and self.df_prior is not None:
            raise ParameterError("noise.StudentT", "df_prior", "None when df is known", self.df_prior)


def check_number(owner: str, name: str, value: Any) -> None:
    """None, or one finite number > 0; what is not concrete passes."""
    if value is None or not is_concrete(value):
        return
    if np.ndim(value) or isinstance(value, str) or not (np.isfinite(value) and value > 0):
        raise ParameterError(owner, name, "None or a finite number > 0", value)


def check_priors(owner: str, scale: Any, scale_prior: Any, variance_prior: Any = None) -> None:
    """At most one prior of a scale, and none where the scale is known."""
    check_law(owner, "scale_prior", scale_prior)
    if scale_prior is not None and variance_prior is not None:
        raise ParameterError(owner, "scale_prior", "None when variance_prior is given", scale_prior)
    for name, prior in (("variance_prior", variance_prior), ("scale_prior", scale_prior)):
        if scale is not None and prior is not None:
            raise ParameterError(owner, name, "None when the scale is known", prior)


def check_law(owner: str, name: str, prior: Any) -> None:
    """A scalar family with density on positive numbers, or None."""
    from credo.distributions.scalar import ScalarFamily

    if prior is None:
        return
    if not isinstance(prior, ScalarFamily) or prior.support.is_discrete or prior.batch_shape != ():
        raise ParameterError(owner, name, "None or a continuous law of one number, such as HalfNormal(1)", prior)
    if type(prior).__name__ != "Flat" and prior.support.low < 0:
        raise ParameterError(owner, name, "a law of positive numbers, such as HalfNormal(1) or HalfCauchy(1)", prior)
