"""`regress(formula, data)`: a regression by formula, and what is believed after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import FileFormatError, ParameterError, UnavailableError
from credo.inference.draws import Summary, summarise
from credo.program.formula.columns import Frame
from credo.program.formula.design import designs
from credo.program.formula.effects import ImputedFactor, MeasuredFactor
from credo.program.formula.encoder import EncodedRows, RowEncoder
from credo.program.formula.families import FAMILIES, ResponseFamily, family_of
from credo.program.formula.latent_effects import imputed_name, true_name
from credo.program.formula.lowering import centers_of, model_of
from credo.program.formula.prediction import response_laws
from credo.program.formula.predictors import Predictor, class_prefix, parameter_prefix, read_formulas
from credo.program.formula.priors import Priors, default_priors, stated_priors
from credo.program.formula.quantities import group_draws, named_draws, true_values
from credo.program.formula.responses import prepared_response, trials_of
from credo.program.formula.terms import Formula
from credo.program.posterior import ModelPosterior
from credo.saving import register

if TYPE_CHECKING:
    from credo.prediction.law_draws import LawDraws
    from credo.prediction.predictive import Predictive
    from credo.program.check import ModelCheck
    from credo.program.explain import Explanation

__all__ = ["Regression", "regress"]


def regress(
    formula: str | Formula | Sequence[str | Formula],
    data: Any,
    family: str = "gaussian",
    *,
    link: str | None = None,
    priors: Mapping[str, Any] | None = None,
    trials: Any = None,
    missing: str = "drop",
    inference: str = "auto",
    draws: int = 4000,
    random_state: Any = None,
    **options: Any,
) -> Regression:
    """Fit a regression written as a formula.

        g(E[y]) = offset + X β + Σ_groups Z u + Σ_smooths f(x),   u_level ~ Normal(0, τ² correlations)

    Parameters
    ----------
    formula : "reaction ~ days + (days | subject)"; see `credo.program.formula.parse`. A list of formulas is that of the
        response and those of what else changes from row to row: ["y ~ x", "sigma ~ x"] has log σ = γ₀ + γ₁ x.
    data : a pandas, polars or Arrow frame, a mapping from names to cells, a `credo.tables.Table`, or a file.
    family : of numbers "gaussian", "student_t"; of positive ones "gamma", "exponential" (log link), "lognormal";
        between 0 and 1 "beta"; counts "poisson", "negative_binomial", "zero_inflated_poisson" (log link); successes
        out of trials "binomial"; one of two "bernoulli"; one of several "categorical" (log odds against the first);
        ordered categories "ordinal".
    link : of "bernoulli", "binomial", "beta" and "ordinal": "logit" (the default), "probit" or "cloglog".
    priors : name → law, for those that shall not be the defaults: "days", "Intercept", "sd(days | subject)",
        "cor(subject)" (η of LKJ), "sd(s(x))", "sigma"; "coefficients", "sd", "cor" for all of these. The defaults are
        weakly informative and in the data's units (`default_priors`); the result prints them.
    trials : of the binomial, where the formula does not say k | trials(n): a column, or a whole number.
    missing : rows with missing cells: "drop" with a warning, or "error".
    inference, draws, random_state, options : as of `Model.fit`. "auto" is exact or collapsed where the response is
        Normal; of other families the cheapest rung that is certified: importance sampling of few numbers, nested
        Laplace of many effects, NUTS.

    Returns
    -------
    Regression

    Raises
    ------
    FormulaError, DataError, ParameterError

    Examples
    --------
    >>> x = np.arange(20.0)
    >>> y = 3 + 2 * x + np.random.default_rng(0).normal(size=20)
    >>> fit = regress("y ~ x", {"x": x, "y": y}, random_state=0)
    >>> abs(fit.summary()["x"]["mean"] - 2) < 0.1
    True
    >>> fit.predict({"x": [100.0]}).mean.round(-1).tolist()
    [200.0]
    """
    if inference == "map":
        raise UnavailableError("A regression is told by draws, and a mode has none.",
                               remedy='Use inference="laplace": the Normal at the mode.')  # fmt: skip
    chosen = family_of(family, link)
    frame = Frame(data)
    mean, beside = read_formulas(formula, frame.names, chosen)
    made, *rest = designs([mean, *beside.values()], frame, missing)
    others = dict(zip(beside, rest))
    number = trials_of(chosen, made.formula, trials, frame, made.n_rows, made.rows)
    made = prepared_response(made, chosen, number, frame)
    laws = stated_priors(priors, default_priors(made, chosen, others))
    model = model_of(made, chosen, laws, number, others)
    posterior = model.fit(inference, draws=draws, random_state=random_state, **options)
    said = trials if isinstance(trials, str) or np.ndim(trials) == 0 else None
    # of classes, what is taken off where the prior of one's intercept is about means
    firsts = [class_prefix(level) for level in made.response_levels[1:]] if chosen.is_nominal else [""]
    centers = max((centers_of(made, laws.under(first)) for first in firsts), key=np.any)
    predictors = tuple(
        Predictor(name, prefix, own.encoder, centers_of(own, laws.under(prefix)))
        for name, own in others.items()
        for prefix in [parameter_prefix(name)]
    )
    return Regression(
        posterior, made.encoder, laws, chosen.name, centers, len(made.rows), said, chosen.link, predictors
    )


@register
@dataclass(frozen=True, eq=False)
class Regression:
    """A fitted regression: it prints its formula, priors, what was done, and a summary.

    Attributes
    ----------
    posterior : of the model's nodes (`posterior.model`); encoder : from a table to the model's data; priors : those
        used; family; n_rows : that were fitted
    centers : (p,) what was taken off the columns before fitting; `draws` and `summary` give the intercept without it
    trials : of the binomial, the column or the number that was stated; predictions take it where none is
    link : of the response's mean
    others : the linear predictors of parameters beside the mean that have a formula
    """

    applied_by = "credo predict {} NEW.csv"

    posterior: ModelPosterior
    encoder: RowEncoder
    priors: Priors
    family: str
    centers: np.ndarray
    n_rows: int
    trials: Any = None
    link: str | None = None
    others: tuple[Predictor, ...] = ()

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise FileFormatError(f"There is no family {self.family!r}.", value=self.family)

    @property
    def formula(self) -> Formula:
        """Of the response."""
        return self.encoder.formula

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Of the response, and of parameters beside its mean."""
        return (self.formula, *(predictor.encoder.formula for predictor in self.others))

    @property
    def said_formula(self) -> str:
        """All of them in one line."""
        return "; ".join(map(str, self.formulas))

    @property
    def inputs(self) -> list[str]:
        """The columns to predict from."""
        return list(dict.fromkeys(name for formula in self.formulas for name in formula.inputs))

    @cached_property
    def predictors(self) -> tuple[Predictor, ...]:
        """All linear predictors: of the mean, or of every class but the first; then `others`."""
        if not self.of_family.is_nominal:
            return (Predictor("", "", self.encoder, self.centers), *self.others)
        levels = self.encoder.response_levels[1:]
        parts = [(level, class_prefix(level)) for level in levels]
        zero = np.zeros_like(self.centers)
        return tuple(
            Predictor(level, prefix, self.encoder, self.centers if self.priors.under(prefix).is_centred else zero)
            for level, prefix in parts
        )

    @property
    def of_family(self) -> ResponseFamily:
        """The family's record."""
        return family_of(self.family, self.link)

    @property
    def said_family(self) -> str:
        """Its name, and the link where another is usual."""
        family = self.of_family
        return family.name if family.link == family.links[0] else f"{family.name} ({family.link})"

    @property
    def classes(self) -> tuple[Any, ...]:
        """The two responses of family "bernoulli", the one whose probability is modelled last; the categories of
        "ordinal" in order; the classes of "categorical", the reference first; () of the others."""
        levels = self.encoder.response_levels
        if self.of_family.has_levels:
            return _as_numbers(levels)
        if self.family != "bernoulli":
            return ()
        levels = levels or (0, 1)
        return (False, True) if levels == ("False", "True") else levels

    @property
    def log_evidence(self) -> float:
        """log p(y), where the rung gives it; NaN elsewhere."""
        return self.posterior.log_evidence

    def draws(self) -> dict[str, np.ndarray]:
        """Coefficients, standard deviations, correlations and the family's parameters by name: (chains, draws)."""
        return named_draws(self)

    def effects(self, group: str) -> dict[str, np.ndarray]:
        """How far each level of a group lies from the fixed effects: effect → (chains, draws, levels)."""
        found = group_draws(self, group)
        if not found:
            raise ParameterError("Regression.effects", "group", f"one of {self._group_names}", group)
        return found

    @property
    def _group_names(self) -> list[str]:
        return list(dict.fromkeys(term.label for formula in self.formulas for term in formula.groups))

    def imputed(self, column: str) -> np.ndarray:
        """Draws of what is behind a column: of its missing cells, in the order of the rows, for mi(x); of the true
        values of all rows for me(x, sd): (chains, draws, cells)."""
        for text, effect in self.encoder.effects.items():
            if isinstance(effect, (MeasuredFactor, ImputedFactor)) and effect.column == column:
                values = self.posterior.values
                if isinstance(effect, MeasuredFactor) and true_name(text) not in values:
                    return true_values(self, text, effect.column)
                found = values.get(true_name(text), values.get(f"{imputed_name(text)}_missing"))
                return np.empty((*next(iter(values.values())).shape[:2], 0)) if found is None else found
        known = [effect.column for effect in self.encoder.effects.values()
                 if isinstance(effect, (MeasuredFactor, ImputedFactor))]  # fmt: skip
        raise ParameterError("Regression.imputed", "column", f"one in mi(…) or me(…): {known}", column)

    def levels(self, group: str) -> tuple[str, ...]:
        """Names of a group's levels, in the order of `effects`."""
        for encoder in (self.encoder, *(predictor.encoder for predictor in self.others)):
            for term, levels in zip(encoder.formula.groups, encoder.group_levels):
                if term.label == group:
                    return levels.names
        raise ParameterError("Regression.levels", "group", f"one of {self._group_names}", group)

    def summary(self, mass: float = 0.9, group: str | None = None) -> Summary:
        """Mean, sd, intervals of `mass`, R̂ and effective size of what `draws` gives; with `group`, of its levels."""
        if group is None:
            return summarise(self.draws(), mass)
        levels = self.levels(group)
        by_level = {
            f"{effect} of {level}": values[..., i]
            for effect, values in self.effects(group).items()
            for i, level in enumerate(levels)
        }
        return summarise(by_level, mass)

    def predict(
        self, data: Any, *, new_levels: str = "sample", trials: Any = None, random_state: Any = 0
    ) -> Predictive:
        """The predictive distribution of the response in the rows of a table, which need not hold it.

        new_levels : of levels of a group that the fit never met: "sample" draws their effects from the belief about
            groups, "mean" takes 0, "error" refuses.
        trials : of the binomial, where it is not as in the fit.

        Of family "bernoulli" it is one of the two `classes`, of "categorical" and "ordinal" one of them all. A missing
        cell of mi(x) is drawn from what is believed of x, as is the true value behind me(x, sd) given the measurement.
        """
        rows, number = self.encoded(data, trials)
        return self.predict_encoded(rows, number, new_levels, random_state)

    def frame(self, data: Any) -> Frame:
        """A table whose columns are read once, as those of the fit."""
        return data if isinstance(data, Frame) else Frame(data, self.encoder.schema)

    def missing(self, data: Any) -> dict[str, np.ndarray]:
        """Rows of a table (from 0) that cannot be predicted as a cell is missing, by column."""
        frame = self.frame(data)
        found: dict[str, np.ndarray] = {}
        for encoder in (self.encoder, *(predictor.encoder for predictor in self.others)):
            found |= encoder.missing(frame)
        if self.of_family.values == "trials":
            part, stated = self.formula.trials, self.trials
            names = [stated] if isinstance(stated, str) else () if stated is not None or part is None else part.columns
            found |= {name: np.flatnonzero(column.missing) for name, column in frame.cells(names).items()}
        return {name: rows for name, rows in found.items() if rows.size}

    def encoded(
        self, data: Any, trials: Any = None, only: np.ndarray | None = None
    ) -> tuple[EncodedRows, np.ndarray | None]:
        """(the rows of a table as numbers, the trials of each if the response is binomial); of the rows `only`."""
        frame = self.frame(data)
        rows = self.encoder.encode(frame, only)
        if self.others:
            rows = replace(rows, others=tuple(predictor.encoder.encode(frame, only) for predictor in self.others))
        stated = self.trials if trials is None else trials
        return rows, trials_of(self.of_family, self.formula, stated, frame, len(rows.rows), rows.rows)

    def predict_encoded(
        self, rows: EncodedRows, trials: np.ndarray | None, new_levels: str, random_state: Any
    ) -> Predictive:
        """`predict` of rows that are numbers already."""
        return response_laws(self, rows, trials, new_levels, random_state).predictive(self.posterior.inference)

    def predict_distribution(self, data: Any, **options: Any) -> Predictive:
        """`predict`, under the name that estimators have it by: what `cr.compare` and `cr.decide` ask for."""
        return self.predict(data, **options)

    def law_draws(
        self, data: Any, *, draws: int | None = None, new_levels: str = "sample", trials: Any = None,
        random_state: Any = 0,
    ) -> LawDraws:  # fmt: skip
        """The law of the response in each row given each draw (at most `draws` of them): what effects, R² and choices
        of the next question are read from. Other arguments as of `predict`."""
        rows, number = self.encoded(data, trials)
        return response_laws(self, rows, number, new_levels, random_state, draws).law_draws()

    def check(self, **options: Any) -> ModelCheck:
        """Does the fitted model make data like these, and could its priors? `ModelPosterior.check`."""
        return self.posterior.check(**options)

    def explain(self) -> Explanation:
        """What was integrated out exactly, what was done numerically, and why."""
        return self.posterior.explain()

    def __str__(self) -> str:
        return "\n".join(
            [
                *map(str, self.formulas[:-1]),
                f"{self.formulas[-1]}   {self.said_family}, {self.n_rows} rows",
                "",
                str(self.summary()),
                "",
                "priors",
                *("  " + line for line in str(self.priors).splitlines()),
                "",
                str(self.explain()),
            ]
        )

    def __repr__(self) -> str:
        return f"Regression({self.said_formula!r}, {self.family}, {self.n_rows} rows; {self.posterior.inference})"


def _as_numbers(levels: tuple[str, ...]) -> tuple[Any, ...]:
    """Levels that were numbers as numbers."""
    try:
        numbers = [float(level) for level in levels]
    except ValueError:
        return levels
    whole = all(number == int(number) for number in numbers)
    return tuple(int(number) if whole else number for number in numbers)
