"""Priors of a regression: weakly informative, in the data's units, and printed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.distributions import Beta, Dirichlet, Gamma, HalfNormal, LogNormal, Normal
from credo.distributions.base import Family
from credo.errors import DataError, ParameterError
from credo.program.formula.design import Design
from credo.program.formula.effects import ImputedFactor, MeasuredFactor, MonotoneFactor, SmoothFactor
from credo.program.formula.families import ResponseFamily
from credo.program.formula.groups import GroupDesign
from credo.saving import register

__all__ = ["Priors", "default_priors", "stated_priors", "sd_name", "correlation_name"]

# Standard deviations of the response that a prior's scale spans (Gelman et al. 2008; Goodrich et al., rstanarm): wide
# of what a table can show, narrow enough to keep what is absurd out.
_WIDE = 2.5
# Of correlations: a little less than uniform near ±1, where few groups could put them by chance.
_LKJ = 2.0
# What stands for all of a kind.
_ALL = {"coefficients": "coefficient", "sd": "sd", "cor": "cor"}


@register
@dataclass(frozen=True, eq=False)
class Priors(Mapping[str, Any]):
    """Prior laws by the name of what they are about; it prints as a table.

    Names are "Intercept", those of the fixed effects' columns, "sd(x | g)", "cor(g)", "sd(s(x))", "increments(mo(x))",
    "x: mean", "x: sd" of a latent column, and the family's own ("sigma"). A correlation's entry is η of LKJ(η): density
    ∝ det(correlations)^(η−1), 1 is uniform.

    notes : what else there is to say of one
    kinds : what each is about: "intercept", "coefficient", "sd", "cor", "positive", "real", "probability", "simplex"
    prefixes : of the linear predictors' names, that of the mean first
    """

    laws: dict[str, Any]
    notes: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    prefixes: tuple[str, ...] = ("",)

    def __getitem__(self, name: str) -> Any:
        return self.laws[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.laws)

    def __len__(self) -> int:
        return len(self.laws)

    def rows(self) -> list[tuple[str, str, str]]:
        """(name, law in words, note) of each."""
        return [(name, _written(law), self.notes.get(name, "")) for name, law in self.laws.items()]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max((len(row[i]) for row in rows), default=0) for i in range(2)]
        return "\n".join(f"{a.ljust(widths[0])}  {b.ljust(widths[1])}  {c}".rstrip() for a, b, c in rows)

    __repr__ = __str__

    def of_kind(self, kind: str) -> list[str]:
        return [name for name in self.laws if self.kinds.get(name) == kind]

    def under(self, prefix: str) -> Priors:
        """Those of one linear predictor, by names without its prefix."""

        def part(of: Mapping[str, Any]) -> dict[str, Any]:
            return {name.removeprefix(prefix): value for name, value in of.items() if name.startswith(prefix)}

        return Priors(part(self.laws), part(self.notes), part(self.kinds))

    @property
    def is_centred(self) -> bool:
        """Whether the intercept, or the cut-points, are about the columns' means."""
        return "Intercept" in self.notes or "cuts" in self.notes


def sd_name(effect: str, group: GroupDesign) -> str:
    return f"sd({effect} | {group.name})"


def correlation_name(group: GroupDesign) -> str:
    return f"cor({group.name})"


def default_priors(design: Design, family: ResponseFamily, others: Mapping[str, Design] | None = None) -> Priors:
    """The priors that `regress` takes where none are stated.

    With s_y the response's standard deviation (1 on a log or logit scale) and s_x that of a column:

    ====================  ==========================================================================
    intercept             Normal(mean of y, 2.5 s_y), at the mean of all columns
    a coefficient         Normal(0, 2.5 s_y / s_x)
    sd of a group's       HalfNormal(2.5 s_y / s_x); of its intercepts s_x = 1
    correlations          LKJ(2)
    sigma                 HalfNormal(2.5 s_y)
    df                    Gamma(2, 0.1)
    overdispersion, cv    HalfNormal(1)
    phi                   LogNormal(log 10, 1.5)
    zi                    Beta(1, 1)
    cuts                  Dirichlet(1, …, 1) of the categories' probabilities, at the mean of all columns
    sd of a smooth        HalfNormal(2.5 s_y)
    increments            Dirichlet(1, …, 1)
    a latent column's     mean Normal(x̄, 2.5 s_x), sd HalfNormal(2.5 s_x); slopes Normal(0, 2.5 s_x/s_z)
    ====================  ==========================================================================

    others : designs of parameters beside the mean. On the scale of their link, log (of zi logit), the intercept is
    Normal about what it would be for all rows alike (log s_y, 2.5; of cv and overdispersion log 0.7, 1.5; of phi
    log 10, 1.5; of df log 20, 1; of zi 0, 1.5), a coefficient Normal(0, 1/s_x), the sd of a group or smooth
    HalfNormal(1/s_x).

    The sd of a smooth is the root mean square of the curve about its straight part. Without an intercept s_y and s_x
    are root mean squares about 0, since then the coefficients carry the mean too. Scales are rounded to
    three digits: what is printed is what is used.

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
    center, spread = _units(design, family)
    made, prefixes = _Laws(), [""]
    if family.is_nominal:
        for level in design.response_levels[1:]:
            made.prefix = f"{level}: "
            prefixes.append(made.prefix)
            _add_predictor(made, design, center, _WIDE * spread, _WIDE * spread)
    else:
        _add_predictor(made, design, center, _WIDE * spread, _WIDE * spread, family.is_ordered)
    for name, own in (others or {}).items():
        made.prefix = f"{name}_"
        prefixes.append(made.prefix)
        middle, wide = _ABOUT.get(name, (math.log(spread), _WIDE))
        _add_predictor(made, own, middle, wide, 1.0)
    made.prefix = ""
    for name in family.parameters:
        if name not in (others or {}):
            made.add(name, *_own(name, spread))
    if family.is_ordered:
        n, about = len(design.response_levels), _about(design)
        made.add("cuts", Dirichlet(np.ones(n)), "simplex", f"of the categories' probabilities{about and ', ' + about}")
    return Priors(made.laws, made.notes, made.kinds, tuple(prefixes))


#: Of parameters with a formula of their own: (mean, sd) of the intercept, on the scale of their link.
_ABOUT = {"cv": (math.log(0.7), 1.5), "overdispersion": (math.log(0.7), 1.5), "phi": (math.log(10.0), 1.5),
          "df": (math.log(20.0), 1.0), "zi": (0.0, 1.5)}  # fmt: skip


def _about(design: Design) -> str:
    """The note of an intercept whose prior is not about it as it is seen."""
    return "at the columns' means" if len(design.names) > 1 or design.latent else ""


def _add_predictor(
    made: _Laws, design: Design, center: float, wide: float, scale: float, is_ordered: bool = False
) -> None:
    """Of one linear predictor; wide : sd of its intercept; scale : of the change that a column makes."""
    intercept = design.formula.intercept
    about = _about(design)
    for name, column in zip(design.names, design.fixed.T):
        if name == "Intercept":
            if not is_ordered:
                made.add(name, Normal(_rounded(center), _rounded(wide)), "intercept", about)
        else:
            made.add(name, Normal(0.0, _rounded(scale / _scale(column, intercept))), "coefficient")
    _add_effects(made, design, scale)
    for group in design.groups:
        for effect, column in zip(group.effects, group.matrix.T):
            size = _scale(column, intercept or "Intercept" in group.effects)
            made.add(sd_name(effect, group), HalfNormal(_rounded(scale / size)), "sd")
        if group.correlated and len(group.effects) > 1:
            made.add(correlation_name(group), _LKJ, "cor")


class _Laws:
    """Laws by name, each name once; those that come begin with `prefix`."""

    def __init__(self) -> None:
        self.prefix = ""
        self.laws: dict[str, Any] = {}
        self.notes: dict[str, str] = {}
        self.kinds: dict[str, str] = {}

    def add(self, name: str, law: Any, kind: str, note: str = "") -> None:
        name = self.prefix + name
        if name in self.laws:
            raise DataError(
                f"Two parts of the model are called {name!r}: a coefficient, and another's or the family's own "
                "parameter.",
                columns=[name],
                value=name,
                remedy="Rename the column.",
            )
        self.laws[name], self.kinds[name] = law, kind
        if note:
            self.notes[name] = note


def _own(name: str, spread: float) -> tuple[Any, str]:
    """(law, kind) of a family's parameter beside the mean."""
    if name == "sigma":
        return HalfNormal(_rounded(_WIDE * spread)), "positive"
    return {
        "df": (Gamma(shape=2.0, rate=0.1), "positive"),  # Juárez and Steel (2010)
        "phi": (LogNormal(_rounded(math.log(10.0)), 1.5), "positive"),  # 95 %: 0.5 to 190
        "zi": (Beta(1.0, 1.0), "probability"),
    }.get(name, (HalfNormal(1.0), "positive"))  # overdispersion, cv: up to twice the Poisson's, the exponential's


def _add_effects(made: _Laws, design: Design, scale: float) -> None:
    """Of smooths, monotone effects and latent columns."""
    intercept = design.formula.intercept
    for text, effect in design.encoder.effects.items():
        if isinstance(effect, SmoothFactor):
            for label in effect.parts:
                made.add(f"sd({label})", HalfNormal(_rounded(scale)), "sd")
        elif isinstance(effect, MonotoneFactor):
            codes = np.asarray(design.latent[text], dtype=np.float64)
            law = Normal(0.0, _rounded(scale / _scale(codes, intercept)))
            made.add(text, law, "coefficient", "a step, on average")
            if effect.steps > 1:
                made.add(f"increments({text})", Dirichlet(np.ones(effect.steps)), "simplex")
        else:
            _add_column(made, text, effect, scale)


def _add_column(made: _Laws, text: str, effect: MeasuredFactor | ImputedFactor, scale: float) -> None:
    """The coefficient of a latent column, and what is believed of the column."""
    s_x, name = effect.spread, effect.column
    made.add(text, Normal(0.0, _rounded(scale / s_x)), "coefficient")
    given = effect.given if isinstance(effect, ImputedFactor) else ()
    note = f"at the means of {', '.join(given)}" if given else ""
    made.add(f"{name}: mean", Normal(_rounded(effect.center), _rounded(_WIDE * s_x)), "real", note)
    for part, s_z in zip(given, effect.sds if isinstance(effect, ImputedFactor) else ()):
        made.add(f"{name}: {part}", Normal(0.0, _rounded(_WIDE * s_x / s_z)), "real")
    made.add(f"{name}: sd", HalfNormal(_rounded(_WIDE * s_x)), "positive")


def stated_priors(priors: Mapping[str, Any] | None, defaults: Priors) -> Priors:
    """The defaults with what the user states, by name; "coefficients", "sd" and "cor" mean all of these.

    A stated prior of the intercept is about it as it is seen: where all columns are 0.

    Raises
    ------
    ParameterError : a name that the model does not have; a law that does not fit.
    """
    laws, notes = dict(defaults.laws), dict(defaults.notes)
    given = {} if priors is None else dict(priors)
    for name, law in sorted(given.items(), key=lambda item: item[0] in laws):  # what is special comes last
        about = _meant(name, defaults)
        for each in about:
            if each not in laws:
                known = ", ".join(map(repr, [*laws, *(name for name in _ALL if _meant(name, defaults))]))
                raise ParameterError("regress", "priors", f"about {known}", name)
            laws[each] = _checked(each, law, defaults.kinds[each], laws[each])
            notes.pop(each, None)
    return Priors(laws, notes, defaults.kinds, defaults.prefixes)


def _meant(name: str, defaults: Priors) -> list[str]:
    """The parameters that a name in `priors` stands for: itself; all of a kind, of the mean or with a prefix; of
    classes, the one of each."""
    if name in defaults.laws:
        return [name]
    classes = [prefix for prefix in defaults.prefixes if prefix.endswith(": ")]
    for prefix in sorted(defaults.prefixes, key=len, reverse=True):
        kind = _ALL.get(name.removeprefix(prefix))
        if kind and name.startswith(prefix):
            longer = tuple(other for other in defaults.prefixes if len(other) > len(prefix))
            within = [each for each in defaults.of_kind(kind) if each.startswith(prefix)]
            return within if prefix or classes else [each for each in within if not each.startswith(longer)]
    return [prefix + name for prefix in classes if prefix + name in defaults.laws] or [name]


def _checked(name: str, law: Any, kind: str, default: Any) -> Any:
    if kind == "simplex":
        k = len(default.concentration)
        if not isinstance(law, Dirichlet) or np.shape(law.concentration) != (k,):
            raise ParameterError("regress", f"priors[{name!r}]", f"a Dirichlet of {k} numbers", law)
        return law
    if kind == "cor":
        if isinstance(law, bool) or not isinstance(law, (int, float)) or not 0 < law < math.inf:
            raise ParameterError("regress", f"priors[{name!r}]", "a number > 0, η of LKJ(η)", law)
        return float(law)
    if not isinstance(law, Family) or law.event_ndim or any(map(np.ndim, law.parameters.values())):
        raise ParameterError("regress", f"priors[{name!r}]", "the law of one number, such as cr.Normal(0, 1)", law)
    if kind in ("sd", "positive") and law.support.low < 0:
        raise ParameterError(
            "regress", f"priors[{name!r}]", "a law of a positive number, such as cr.HalfNormal(1)", law
        )
    if kind == "probability" and (law.support.low < 0 or law.support.high > 1):
        raise ParameterError("regress", f"priors[{name!r}]", "a law between 0 and 1, such as cr.Beta(1, 1)", law)
    return law


def _units(design: Design, family: ResponseFamily) -> tuple[float, float]:
    """(where the intercept is likely, s_y), on the scale of the linear predictor."""
    y = design.response
    if y is None:
        raise ParameterError("default_priors", "design", "of a formula with a response", design.formula.text)
    if family.link == "log":
        # half an event where there were none: the log of 0 is no place for a prior
        least = 0.5 if family.values == "count" else 0.0
        return math.log(max(float(np.sum(y)), least) / float(np.sum(np.exp(design.offset)))), 1.0
    if family.link != "identity":
        return 0.0, 1.0
    rest = (np.log(y) if family.name == "lognormal" else y) - design.offset
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
    values = [value for value in law.parameters.values() if value is not None]
    numbers = ", ".join(f"{each:.6g}" for value in values for each in np.ravel(value))
    return f"{type(law).__name__}({numbers})"
