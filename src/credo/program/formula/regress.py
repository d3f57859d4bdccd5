"""`regress(formula, data)`: a regression by formula, and what is believed after it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import (
    ConvergenceWarning,
    DataError,
    FileFormatError,
    NotIdentifiedError,
    NumericalError,
    ParameterError,
)
from credo.inference.draws import Summary, summarise
from credo.numerics.random import as_generator
from credo.prediction.classes import ClassPredictive
from credo.program.formula.columns import Frame
from credo.program.formula.design import Design, design
from credo.program.formula.encoder import EncodedRows, RowEncoder
from credo.program.formula.families import FAMILIES, family_of
from credo.program.formula.lowering import (
    centers_of,
    cholesky_of,
    data_of,
    model_of,
    partial_name,
    slope_name,
    slopes_of,
)
from credo.program.formula.priors import Priors, default_priors, stated_priors
from credo.program.formula.terms import Formula
from credo.program.model import Model
from credo.program.posterior import ModelPosterior
from credo.saving import register

if TYPE_CHECKING:
    from credo.prediction.predictive import Predictive
    from credo.program.explain import Explanation

__all__ = ["Regression", "regress"]

# Fewer draws say little about the tail of the weights, and so about k̂.
_LEAST_DRAWS = 400


def regress(
    formula: str | Formula,
    data: Any,
    family: str = "gaussian",
    *,
    priors: Mapping[str, Any] | None = None,
    trials: Any = None,
    missing: str = "drop",
    inference: str = "auto",
    draws: int = 4000,
    random_state: Any = None,
    **options: Any,
) -> Regression:
    """Fit a regression written as a formula.

        g(E[y]) = offset + X β + Σ_groups Z u,   u_level ~ Normal(0, τ² correlations)

    Parameters
    ----------
    formula : "reaction ~ days + (days | subject)"; see `credo.program.formula.parse`.
    data : a pandas, polars or Arrow frame, a mapping from names to cells, a `credo.tables.Table`, or a file.
    family : "gaussian", "student_t" (identity link), "bernoulli", "binomial" (logit), "poisson", "negative_binomial"
        (log).
    priors : name → law, for those that shall not be the defaults: "days", "Intercept", "sd(days | subject)",
        "cor(subject)" (η of LKJ), "sigma"; "coefficients", "sd", "cor" for all of these. The defaults are weakly
        informative and in the data's units (`default_priors`); the result prints them.
    trials : of the binomial: a column, or a whole number.
    missing : rows with missing cells: "drop" with a warning, or "error".
    inference, draws, random_state, options : as of `Model.fit`. "auto" is exact or collapsed where the response is
        Normal; for other families without groups Laplace's approximation, corrected by importance weights whose k̂
        certifies it; else NUTS.

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
    chosen = family_of(family)
    frame = Frame(data)
    made = design(formula, frame, missing)
    if made.response is None:
        raise ParameterError("regress", "formula", "with a response left of '~'", made.formula.text)
    number = _trials(trials, frame, made) if family == "binomial" else _no_trials(trials, family)
    text = "" if made.formula.response is None else made.formula.response.text
    chosen.check(made.response, made.response_levels, number, text, made.rows)
    laws = stated_priors(priors, default_priors(made, chosen))
    centers = centers_of(made, laws)
    model = model_of(made, chosen, laws, centers, number)
    laplace_first = inference == "auto" and chosen.link != "identity" and not made.groups and not options
    if laplace_first and draws >= _LEAST_DRAWS:
        posterior = _by_laplace(model, draws, as_generator(random_state))
    else:
        posterior = model.fit(inference, draws=draws, random_state=random_state, **options)
    said = trials if isinstance(trials, str) or np.ndim(trials) == 0 else None
    return Regression(posterior, made.encoder, laws, family, centers, len(made.rows), said)


def _by_laplace(model: Model, draws: int, rng: np.random.Generator) -> ModelPosterior:
    """The rung of unimodal posteriors; the next one where its certificate fails."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a failure is no news: NUTS follows
        try:
            posterior = model.fit("laplace", draws=draws, random_state=rng)
        except (NotIdentifiedError, NumericalError):
            posterior = None
    if posterior is not None and posterior.result.status == "converged":
        return posterior
    return model.fit("nuts", draws=draws, random_state=rng)


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
    """

    applied_by = "credo predict {} NEW.csv"

    posterior: ModelPosterior
    encoder: RowEncoder
    priors: Priors
    family: str
    centers: np.ndarray
    n_rows: int
    trials: Any = None

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            raise FileFormatError(f"There is no family {self.family!r}.", value=self.family)

    @property
    def formula(self) -> Formula:
        return self.encoder.formula

    @property
    def classes(self) -> tuple[Any, ...]:
        """The two responses of family "bernoulli", the one whose probability is modelled last; () of the others."""
        if self.family != "bernoulli":
            return ()
        levels = self.encoder.response_levels or (0, 1)
        return (False, True) if levels == ("False", "True") else levels

    @property
    def log_evidence(self) -> float:
        """log p(y), where the rung gives it; NaN elsewhere."""
        return self.posterior.log_evidence

    def draws(self) -> dict[str, np.ndarray]:
        """Coefficients, standard deviations, correlations and the family's parameters by name: (chains, draws)."""
        values = self.posterior.values
        names = self.encoder.names
        normal, others = slopes_of(names, self.priors)
        found = {names[i]: values["coefficients"][..., at] for at, i in enumerate(normal)}
        found |= {names[i]: values[slope_name(names[i])] for i in others}
        if "Intercept" in names:
            shift = sum(self.centers[i] * found[names[i]] for i in [*normal, *others])
            found["Intercept"] = values["Intercept"] - shift
        found = {name: found[name] for name in names}
        for group in self._groups():
            found |= {f"sd({e} | {group[0]})": values[f"sd({e} | {group[0]})"] for e in group[1]}
            if group[2]:
                found |= self._correlations(group[0], group[1])
        return found | {name: values[name] for name in FAMILIES[self.family].parameters}

    def effects(self, group: str) -> dict[str, np.ndarray]:
        """How far each level of a group lies from the fixed effects: effect → (chains, draws, levels)."""
        values = self.posterior.values
        terms = [found for found in self._groups() if found[0] == group]
        if not terms:
            raise ParameterError("Regression.effects", "group", f"one of {[g[0] for g in self._groups()]}", group)
        found: dict[str, np.ndarray] = {}
        for name, effects, correlated in terms:
            if not correlated:
                found |= {e: values[f"{e} | {name}"] for e in effects}
                continue
            L = cholesky_of(self._partial(name, len(effects)))
            z = [values[f"z({e} | {name})"] for e in effects]
            for j, e in enumerate(effects):
                sd = values[f"sd({e} | {name})"]
                found[e] = np.sum([(sd * L[j][k])[..., None] * z[k] for k in range(j + 1)], axis=0)
        return found

    def levels(self, group: str) -> tuple[str, ...]:
        """Names of a group's levels, in the order of `effects`."""
        for term, levels in zip(self.formula.groups, self.encoder.group_levels):
            if term.label == group:
                return levels.names
        raise ParameterError("Regression.levels", "group", f"one of {[g.label for g in self.formula.groups]}", group)

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

        Of family "bernoulli" it is one of the two `classes`.
        """
        rows, number = self.encoded(data, trials)
        return self.predict_encoded(rows, number, new_levels, random_state)

    def encoded(self, data: Any, trials: Any = None) -> tuple[EncodedRows, np.ndarray | None]:
        """(the rows of a table as numbers, the trials of each if the response is binomial)."""
        frame = Frame(data, self.encoder.schema)
        rows = self.encoder.encode(frame)
        if self.family != "binomial":
            return rows, _no_trials(trials, self.family)
        n = len(rows.rows)
        return rows, _counts(self.trials if trials is None else trials, frame, n, np.arange(n))

    def predict_encoded(
        self, rows: EncodedRows, trials: np.ndarray | None, new_levels: str, random_state: Any
    ) -> Predictive:
        """`predict` of rows that are numbers already."""
        if new_levels == "error":
            _refuse_new(rows.groups)
        model = self.posterior.model
        known = set() if model is None else {name for name, node in model.nodes.items() if node.kind == "data"}
        values = data_of(self.encoder.names, rows, self.priors, self.centers, trials)
        given = {name: value for name, value in values.items() if name in known}
        found = self.posterior.predict(None, new_levels=new_levels, random_state=random_state, **given)
        if not self.classes:
            return found
        p = np.broadcast_to(found.conditional.mean, found.draws.shape)  # type: ignore[attr-defined]
        return ClassPredictive.from_draws(np.stack([1.0 - p, p], axis=-1), self.classes, found.inference)

    def explain(self) -> Explanation:
        """What was integrated out exactly, what was done numerically, and why."""
        return self.posterior.explain()

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.formula}   {self.family}, {self.n_rows} rows",
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
        return f"Regression({str(self.formula)!r}, {self.family}, {self.n_rows} rows; {self.posterior.inference})"

    def _groups(self) -> list[tuple[str, tuple[str, ...], bool]]:
        """(name, effects, whether they are correlated) of each group term."""
        terms = zip(self.formula.groups, self.encoder.group_effects)
        return [(term.label, effects, term.correlated and len(effects) > 1) for term, effects in terms]

    def _partial(self, group: str, q: int) -> list[list[Any]]:
        values = self.posterior.values
        return [[2.0 * values[partial_name(group, j, k)] - 1.0 for k in range(j)] for j in range(q)]

    def _correlations(self, group: str, effects: tuple[str, ...]) -> dict[str, np.ndarray]:
        L = cholesky_of(self._partial(group, len(effects)))
        pairs = [(j, k) for j in range(len(effects)) for k in range(j)]
        return {
            f"cor({effects[k]}, {effects[j]} | {group})": np.sum([L[j][i] * L[k][i] for i in range(k + 1)], axis=0)
            for j, k in pairs
        }


def _refuse_new(groups: Any) -> None:
    for group in groups:
        if group.unseen:
            raise DataError(
                f"Group {group.name} has levels that the fit never met: {', '.join(map(repr, group.unseen[:5]))}.",
                rows=np.flatnonzero(group.is_new)[:20].tolist(),
                value=group.unseen,
                remedy='new_levels="sample" draws their effects (on the command line, --new-levels sample).',
            )


def _no_trials(trials: Any, family: str) -> None:
    if trials is not None:
        raise ParameterError("regress", "trials", f"None for family {family!r}", trials)


def _trials(trials: Any, frame: Frame, made: Design) -> np.ndarray:
    return _counts(trials, frame, made.n_rows, made.rows)


def _counts(trials: Any, frame: Frame, n: int, rows: np.ndarray) -> np.ndarray:
    """The number of trials in each of these rows."""
    if isinstance(trials, str):
        values = frame.cells([trials])[trials].as_numbers()
    elif trials is None or isinstance(trials, bool):
        raise ParameterError("regress", "trials", "a column or a whole number, for family 'binomial'", trials)
    else:
        values = np.asarray(trials, dtype=np.float64)
    values = np.broadcast_to(values, (n,))[rows]
    bad = np.flatnonzero(~(values >= 0) | (values != np.floor(values)))
    if bad.size:
        raise DataError(
            f"trials must be whole numbers ≥ 0; row {rows[bad[0]]} has {values[bad[0]]:g}.",
            rows=rows[bad[:20]].tolist(),
            value=float(values[bad[0]]),
        )
    return values
