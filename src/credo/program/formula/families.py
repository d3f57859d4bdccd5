"""How the response scatters about the linear predictor: what `family=` and `link=` may name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Exponential,
    Gamma,
    LogNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    StudentT,
)
from credo.errors import DataError, ParameterError
from credo.program import math
from credo.program.formula.zero_inflated import ZeroInflatedPoisson
from credo.program.ordinal import ordinal

__all__ = ["FAMILIES", "ResponseFamily", "family_of", "parameter_of"]

_BINARY = ("logit", "probit", "cloglog")
_INVERSES: dict[str, Callable[[Any], Any]] = {
    "identity": lambda eta: eta,
    "log": math.exp,
    "logit": math.expit,
    "probit": math.ndtr,
    "cloglog": math.inv_cloglog,
}


@dataclass(frozen=True)
class ResponseFamily:
    """A family of responses.

    values : what a response may be: "real", "positive", "unit", "binary", "trials", "count", "ordered" or "classes"
    link : of its mean; links : those it may have
    parameters : names of what it has beside the mean
    law : (linear predictor η, its mean, parameters by name, trials) → the response's law
    """

    name: str
    values: str
    links: tuple[str, ...]
    parameters: tuple[str, ...]
    law: Callable[[Any, Any, Mapping[str, Any], Any], Any]
    chosen: str = ""

    @property
    def link(self) -> str:
        return self.chosen or self.links[0]

    @property
    def is_ordered(self) -> bool:
        return self.values == "ordered"

    @property
    def is_nominal(self) -> bool:
        """Whether responses are classes without an order, and there is a linear predictor for each but the first."""
        return self.values == "classes"

    @property
    def is_normal(self) -> bool:
        """Whether responses, or their logarithms, are Normal about the linear predictor."""
        return self.name in ("gaussian", "lognormal")

    @property
    def has_levels(self) -> bool:
        return self.is_ordered or self.is_nominal

    def of(self, eta: Any, own: Mapping[str, Any], trials: Any) -> Any:
        """The response's law at a linear predictor; of classes, at the list of theirs."""
        if self.is_nominal:
            return Categorical(math.softmax(math.stack(0.0 * eta[0], *eta).T))
        if self.is_ordered:
            return Categorical(ordinal(eta, own["cuts"], self.link))
        return self.law(eta, _INVERSES[self.link](eta), own, trials)

    def check(
        self, y: np.ndarray, levels: tuple[str, ...], trials: np.ndarray | None, text: str, rows: np.ndarray
    ) -> None:
        """Raise `DataError` for responses that the family cannot give; rows : their numbers in the user's table."""
        if self.has_levels:
            return
        _check_levels(self, levels, text)
        if self.values != "real":
            bad = np.flatnonzero(~_possible(self.values, y, trials))
            if bad.size:
                raise DataError(
                    f"The response {text} must be {_KINDS[self.values]} for family {self.name!r}; row {rows[bad[0]]} "
                    f"has {y[bad[0]]:g}.",
                    rows=np.asarray(rows)[bad[:20]].tolist(),
                    columns=[text],
                    value=float(y[bad[0]]),
                    remedy=_REMEDIES.get(self.values),
                )
        if self.values in ("real", "positive", "unit") and np.all(y == y[0]):
            raise DataError(f"The response {text} is {y[0]:g} in all {len(y)} rows.", columns=[text], value=y[0])


FAMILIES = {
    family.name: family
    for family in (
        ResponseFamily(
            "gaussian", "real", ("identity",), ("sigma",), lambda eta, mean, own, n: Normal(eta, own["sigma"])
        ),
        ResponseFamily(
            "student_t", "real", ("identity",), ("sigma", "df"),
            lambda eta, mean, own, n: StudentT(own["df"], eta, own["sigma"]),
        ),
        ResponseFamily("bernoulli", "binary", _BINARY, (), lambda eta, mean, own, n: Bernoulli(mean)),
        ResponseFamily("binomial", "trials", _BINARY, (), lambda eta, mean, own, n: Binomial(n, mean)),
        ResponseFamily("poisson", "count", ("log",), (), lambda eta, mean, own, n: Poisson(mean)),
        ResponseFamily(
            "negative_binomial", "count", ("log",), ("overdispersion",),  # 1/√shape: 0 is the Poisson
            lambda eta, mean, own, n: NegativeBinomial(mean, own["overdispersion"] ** -2),
        ),
        ResponseFamily(
            "zero_inflated_poisson", "count", ("log",), ("zi",),
            lambda eta, mean, own, n: ZeroInflatedPoisson(mean, own["zi"]),
        ),
        ResponseFamily(
            "gamma", "positive", ("log",), ("cv",),  # sd/mean, 1/√shape
            lambda eta, mean, own, n: _gamma(own["cv"] ** -2, mean),
        ),
        ResponseFamily("exponential", "positive", ("log",), (), lambda eta, mean, own, n: Exponential(1.0 / mean)),
        ResponseFamily(
            "lognormal", "positive", ("identity",), ("sigma",), lambda eta, mean, own, n: LogNormal(eta, own["sigma"])
        ),
        ResponseFamily(
            "beta", "unit", _BINARY, ("phi",),
            lambda eta, mean, own, n: Beta(mean * own["phi"], (1.0 - mean) * own["phi"]),
        ),
        ResponseFamily("ordinal", "ordered", _BINARY, (), lambda eta, mean, own, n: None),
        ResponseFamily("categorical", "classes", ("logit",), (), lambda eta, mean, own, n: None),
    )
}  # fmt: skip
#: names of the same elsewhere
_ALIASES = {
    "normal": "gaussian", "student": "student_t", "t": "student_t", "negbinomial": "negative_binomial",
    "negativebinomial": "negative_binomial", "nb": "negative_binomial", "cumulative": "ordinal",
    "logistic": "bernoulli", "multinomial": "categorical", "softmax": "categorical", "nominal": "categorical",
    "log_normal": "lognormal", "zero_inflated": "zero_inflated_poisson",
    "zip": "zero_inflated_poisson",
}  # fmt: skip


def _gamma(shape: Any, mean: Any) -> Any:
    return Gamma(shape=shape, rate=shape / mean)


def parameter_of(name: str, eta: Any) -> Any:
    """A parameter beside the mean at its linear predictor: all are exp η but a share."""
    return math.expit(eta) if name == "zi" else math.exp(eta)


def family_of(name: Any, link: str | None = None) -> ResponseFamily:
    """The family of that name, and with that link.

    Raises
    ------
    ParameterError : there is none; the family does not have the link.
    """
    key = name.lower() if isinstance(name, str) else ""
    family = FAMILIES.get(_ALIASES.get(key, key))
    if family is None:
        close = difflib.get_close_matches(key, [*FAMILIES, *_ALIASES], 1)
        remedy = f"Did you mean {_ALIASES.get(close[0], close[0])!r}?" if close else None
        raise ParameterError("regress", "family", f"one of {', '.join(map(repr, FAMILIES))}", name, remedy)
    if link is None or link == family.link:
        return family
    if link not in family.links:
        told = " or ".join(map(repr, family.links))
        raise ParameterError("regress", "link", f"{told} for family {family.name!r}", link)
    return replace(family, chosen=link)


_KINDS = {
    "binary": "0 and 1", "trials": "whole numbers from 0 to trials", "count": "counts", "positive": "numbers > 0",
    "unit": "numbers between 0 and 1, both left out",
}  # fmt: skip
_REMEDIES = {
    "unit": "Shares of whole numbers are k | trials(n) with family 'binomial'; zeros and ones of a share that is "
    "measured are pulled in first, (y (n − 1) + ½)/n.",
}


def _possible(values: str, y: np.ndarray, trials: np.ndarray | None) -> np.ndarray:
    if values == "positive":
        return y > 0
    if values == "unit":
        return (y > 0) & (y < 1)
    most: Any = 1.0 if values == "binary" else np.inf if trials is None else trials
    return (y >= 0) & (y <= most) & (y == np.floor(y))


def _check_levels(family: ResponseFamily, levels: tuple[str, ...], text: str) -> None:
    binary = family.values == "binary"
    if levels and not (binary and len(levels) == 2):
        raise DataError(
            f"The response {text} has levels {', '.join(map(repr, levels[:5]))}; family {family.name!r} needs "
            f"{'two of them' if binary else 'numbers'}.",
            columns=[text],
            value=levels,
            remedy="Of two levels: family 'bernoulli'."
            if len(levels) == 2
            else "Of classes: family 'categorical'; of ordered ones: 'ordinal'.",
        )
