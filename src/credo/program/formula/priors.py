"""Priors of a regression: weakly informative, in the data's units, and printed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.distributions import Gamma, HalfNormal, Normal
from credo.distributions.base import Family
from credo.errors import DataError, ParameterError
from credo.program.formula.design import Design
from credo.program.formula.families import ResponseFamily
from credo.program.formula.groups import GroupDesign
from credo.saving import register

__all__ = ["Priors", "default_priors", "stated_priors", "sd_name", "correlation_name"]

# Standard deviations of the response that a prior's scale spans (Gelman et al. 2008; Goodrich et al., rstanarm): wide
# of what a table can show, narrow enough to keep what is absurd out.
_WIDE = 2.5
# Of correlations: a little less than uniform near ±1, where few groups could put them by chance.
_LKJ = 2.0


@register
@dataclass(frozen=True, eq=False)
class Priors(Mapping[str, Any]):
    """Prior laws by the name of what they are about; it prints as a table.

    Names are "Intercept", those of the fixed effects' columns, "sd(x | g)", "cor(g)" and the family's own ("sigma"). A
    correlation's entry is η of LKJ(η): density ∝ det(correlations)^(η−1), 1 is uniform.

    notes : what else there is to say of one
    """

    laws: dict[str, Any]
    notes: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.laws[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.laws)

    def __len__(self) -> int:
        return len(self.laws)

    def __str__(self) -> str:
        rows = [(name, _written(law), self.notes.get(name, "")) for name, law in self.laws.items()]
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        return "\n".join(f"{a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}".rstrip() for a, b, c in rows)

    __repr__ = __str__


def sd_name(effect: str, group: GroupDesign) -> str:
    return f"sd({effect} | {group.name})"


def correlation_name(group: GroupDesign) -> str:
    return f"cor({group.name})"


def default_priors(design: Design, family: ResponseFamily) -> Priors:
    """The priors that `regress` takes where none are stated.

    With s_y the response's standard deviation (1 on a log or logit scale) and s_x that of a column:

    ====================  ==========================================================================
    intercept             Normal(mean of y, 2.5 s_y), at the mean of all columns
    a coefficient         Normal(0, 2.5 s_y / s_x)
    sd of a group's       HalfNormal(2.5 s_y / s_x); of its intercepts s_x = 1
    correlations          LKJ(2)
    sigma                 HalfNormal(2.5 s_y)
    ====================  ==========================================================================

    Without an intercept s_y and s_x are root mean squares about 0, since then the coefficients carry the mean too.
    Scales are rounded to three digits: what is printed is what is used.

    Reference: Gelman, Jakulin, Pittau and Su (2008), A weakly informative default prior distribution for logistic and
    other regression models; Lewandowski, Kurowicka and Joe (2009), Generating random correlation matrices.

    Examples
    --------
    >>> from credo.program.formula import design
    >>> from credo.program.formula.families import FAMILIES
    >>> table = {"y": [1.0, 2.0, 4.0, 5.0], "x": [0.0, 10.0, 20.0, 30.0], "g": ["u", "u", "v", "v"]}
    >>> print(default_priors(design("y ~ x + (x | g)", table), FAMILIES["gaussian"]))
    Intercept            Normal(3, 3.95)  at the columns' means
    x                    Normal(0, 0.354)
    sd(Intercept | g)    HalfNormal(3.95)
    sd(x | g)            HalfNormal(0.354)
    cor(g)               LKJ(2)
    sigma                HalfNormal(3.95)
    """
    intercept = design.formula.intercept
    center, spread = _units(design, family)
    laws: dict[str, Any] = {}
    notes: dict[str, str] = {}
    for name, column in zip(design.names, design.fixed.T):
        if name == "Intercept":
            laws[name] = Normal(_rounded(center), _rounded(_WIDE * spread))
            if len(design.names) > 1:
                notes[name] = "at the columns' means"
        else:
            laws[name] = Normal(0.0, _rounded(_WIDE * spread / _scale(column, intercept)))
    for group in design.groups:
        for effect, column in zip(group.effects, group.matrix.T):
            scale = _scale(column, intercept or "Intercept" in group.effects)
            laws[sd_name(effect, group)] = HalfNormal(_rounded(_WIDE * spread / scale))
        if group.correlated and len(group.effects) > 1:
            laws[correlation_name(group)] = _LKJ
    for name in family.parameters:
        if name in laws:
            raise DataError(
                f"A coefficient is called {name!r}, as the {family.name} family's own parameter.",
                columns=[name],
                value=name,
                remedy="Rename the column.",
            )
        # of a t's degrees of freedom: Juárez and Steel (2010); of 1/√shape of counts: up to twice the Poisson's spread
        own = {"sigma": HalfNormal(_rounded(_WIDE * spread)), "df": Gamma(shape=2.0, rate=0.1)}
        laws[name] = own.get(name, HalfNormal(1.0))
    return Priors(laws, notes)


def stated_priors(priors: Mapping[str, Any] | None, defaults: Priors) -> Priors:
    """The defaults with what the user states, by name; "coefficients", "sd" and "cor" mean all of these.

    A stated prior of the intercept is about it as it is seen: where all columns are 0.

    Raises
    ------
    ParameterError : a name that the model does not have; a law that does not fit.
    """
    laws, notes = dict(defaults.laws), dict(defaults.notes)
    given = {} if priors is None else dict(priors)
    kinds = {"coefficients": _coefficients, "sd": _sds, "cor": _correlations}
    for name, law in sorted(given.items(), key=lambda item: item[0] not in kinds):  # what is special comes last
        about = kinds[name](laws) if name in kinds else [name]
        for each in about:
            if each not in laws:
                known = ", ".join(map(repr, [*laws, *kinds]))
                raise ParameterError("regress", "priors", f"about {known}", name)
            laws[each] = _checked(each, law)
            notes.pop(each, None)
    return Priors(laws, notes)


def _coefficients(laws: Mapping[str, Any]) -> list[str]:
    aside = {*_sds(laws), *_correlations(laws), "Intercept", "sigma", "df", "overdispersion"}
    return [name for name in laws if name not in aside]


def _sds(laws: Mapping[str, Any]) -> list[str]:
    return [name for name in laws if name.startswith("sd(") and " | " in name]


def _correlations(laws: Mapping[str, Any]) -> list[str]:
    return [name for name, law in laws.items() if not isinstance(law, Family)]


def _checked(name: str, law: Any) -> Any:
    if name.startswith("cor("):
        if isinstance(law, bool) or not isinstance(law, (int, float)) or not 0 < law < math.inf:
            raise ParameterError("regress", f"priors[{name!r}]", "a number > 0, η of LKJ(η)", law)
        return float(law)
    if not isinstance(law, Family) or law.event_ndim or any(map(np.ndim, law.parameters.values())):
        raise ParameterError("regress", f"priors[{name!r}]", "the law of one number, such as cr.Normal(0, 1)", law)
    positive = name.startswith("sd(") or name in ("sigma", "df", "overdispersion")
    if positive and law.support.low < 0:
        raise ParameterError(
            "regress", f"priors[{name!r}]", "a law of a positive number, such as cr.HalfNormal(1)", law
        )
    return law


def _units(design: Design, family: ResponseFamily) -> tuple[float, float]:
    """(where the intercept is likely, s_y), on the scale of the linear predictor."""
    y = design.response
    if y is None:
        raise ParameterError("default_priors", "design", "of a formula with a response", design.formula.text)
    if family.link == "log":
        # half an event where there were none: the log of 0 is no place for a prior
        return math.log(max(float(np.sum(y)), 0.5) / float(np.sum(np.exp(design.offset)))), 1.0
    if family.link == "logit":
        return 0.0, 1.0
    rest = y - design.offset
    if design.formula.intercept:
        return float(np.mean(rest)), _scale(rest, True)
    return 0.0, _scale(rest, False)


def _scale(column: np.ndarray, about_mean: bool) -> float:
    """The column's sd, or its root mean square where it is constant or there is no intercept; 1 if all is 0."""
    sd = float(np.std(column)) if about_mean else 0.0
    largest = float(np.max(np.abs(column)))
    if sd > 1e-12 * largest:
        return sd
    return largest * math.sqrt(float(np.mean((column / largest) ** 2))) if largest > 0 else 1.0


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _written(law: Any) -> str:
    if not isinstance(law, Family):
        return f"LKJ({law:g})"
    numbers = ", ".join(f"{value:.6g}" for value in law.parameters.values() if value is not None)
    return f"{type(law).__name__}({numbers})"
