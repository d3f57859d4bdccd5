"""The linear predictors of a regression: of the mean, of a parameter beside it (`sigma ~ x`), of each class but one.

Each has columns, priors and nodes of its own. Their names begin with its prefix: "" for the mean, "sigma_" for sigma,
"B: " for class B; what builds and reads them sees names without it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ParameterError
from credo.program.formula.encoder import RowEncoder
from credo.program.formula.errors import FormulaError
from credo.program.formula.expansion import parse
from credo.program.formula.families import ResponseFamily
from credo.program.formula.priors import Priors
from credo.program.formula.terms import Formula
from credo.program.model import Model
from credo.saving import register

if TYPE_CHECKING:
    from credo.program.formula.regress import Regression

__all__ = ["NamedModel", "NamedValues", "Part", "Predictor", "class_prefix", "parameter_prefix", "parts_of",
           "read_formulas"]  # fmt: skip


def parameter_prefix(name: str) -> str:
    """Before the names of what a parameter depends on."""
    return f"{name}_"


def class_prefix(level: str) -> str:
    """Before the names of what the log odds of a class against the reference depend on."""
    return f"{level}: "


@register
@dataclass(frozen=True, eq=False)
class Predictor:
    """One of a regression's linear predictors.

    target : "" for the mean, a parameter's name, or a class; prefix : of its names; encoder : from a table to its
    columns; centers : (p,) what was taken off these
    """

    target: str
    prefix: str
    encoder: RowEncoder
    centers: np.ndarray


@dataclass(frozen=True, eq=False)
class Part:
    """A linear predictor after the fit, its priors and draws by names without the prefix."""

    predictor: Predictor
    priors: Priors
    values: Mapping[str, np.ndarray]

    @property
    def prefix(self) -> str:
        return self.predictor.prefix

    @property
    def encoder(self) -> RowEncoder:
        return self.predictor.encoder

    @property
    def centers(self) -> np.ndarray:
        return self.predictor.centers


def parts_of(fit: Regression) -> list[Part]:
    """All of a fit's linear predictors."""
    values = fit.posterior.values
    return [Part(p, fit.priors.under(p.prefix), NamedValues(values, p.prefix)) for p in fit.predictors]


class NamedValues(Mapping[str, Any]):
    """Draws of nodes by name without a prefix."""

    def __init__(self, values: Mapping[str, Any], prefix: str) -> None:
        self.values_, self.prefix = values, prefix

    def __getitem__(self, name: str) -> Any:
        return self.values_[self.prefix + name]

    def __iter__(self) -> Iterator[str]:
        return (name.removeprefix(self.prefix) for name in self.values_ if name.startswith(self.prefix))

    def __len__(self) -> int:
        return sum(1 for _ in self)


class NamedModel:
    """A `Model` whose nodes are declared by name without a prefix; the levels of groups are of all predictors.

    is_normal : whether responses are Normal about this predictor; `variances` are then what effects that are integrated
    out add to their variance.
    """

    def __init__(self, model: Model, prefix: str, is_normal: bool = False) -> None:
        self.model, self.prefix, self.is_normal = model, prefix, is_normal
        self.variances: list[Any] = []

    def data(self, name: str, value: Any, dims: Any = None) -> Any:
        return self.model.data(self.prefix + name, value, dims=dims)

    def latent(self, name: str, law: Any, dims: Any = None) -> Any:
        return self.model.latent(self.prefix + name, law, dims=dims)

    def observed(self, name: str, law: Any, value: Any, dims: Any = None) -> Any:
        return self.model.observed(self.prefix + name, law, value, dims=dims)

    def level_of(self, group: str, n_levels: int, codes: np.ndarray, obs: str) -> Any:
        """The node of each row's level, declared once."""
        name = f"level of {group}"
        if name not in self.model.nodes:
            # Levels are numbered, so that new ones are the numbers after these.
            self.model.dim(group, np.arange(n_levels))
            self.model.data(name, codes, dims=obs, levels=group)
        return self.model.nodes[name]


def read_formulas(
    formula: str | Formula | Sequence[str | Formula], columns: Sequence[str], family: ResponseFamily
) -> tuple[Formula, dict[str, Formula]]:
    """(the response's formula, those of parameters beside its mean, by name).

    Raises
    ------
    FormulaError : no response; a parameter that the family does not have, or twice; me(…), mi(…) where they have no
        one meaning.
    """
    given: list[Any] = [formula]
    if isinstance(formula, Sequence) and not isinstance(formula, str):
        given = list(formula)
    if not given or not all(isinstance(each, (str, Formula)) for each in given):
        raise ParameterError("regress", "formula", "a text such as 'y ~ x', or a list of texts, the response's first",
                             formula)  # fmt: skip
    first, *rest = given
    mean = first if isinstance(first, Formula) else parse(first, columns)
    if mean.response is None:
        raise FormulaError("there is no response", mean.text, 0, 1, "Write it left of '~'.")
    taken = {*mean.response.columns, *(mean.trials.columns if mean.trials else ())}
    others: dict[str, Formula] = {}
    for each in rest:
        read = each if isinstance(each, Formula) else parse(each, [name for name in columns if name not in taken])
        name = _parameter(read, family)
        if name in others:
            raise FormulaError(f"{name} has a formula already", read.text, 0, len(name))
        _refuse_latent_columns(read, f"what {name} depends on")
        others[name] = read
    if family.is_nominal:
        _refuse_latent_columns(mean, "family 'categorical'")
    return mean, others


def _parameter(formula: Formula, family: ResponseFamily) -> str:
    """The parameter that a formula is about."""
    known = family.parameters
    if formula.response is None:
        told = f"Write {known[0]} {formula.text.strip()}." if known else None
        raise FormulaError("which parameter is it of?", formula.text, 0, 1, told)
    node, name = formula.response.node, formula.response.label
    aliases = {**_ALIASES, **_BY_FAMILY.get(family.name, {})}
    name = aliases.get(name, name)
    if name in known and formula.trials is None:
        return name
    has = f"has {', '.join(known)}" if known else "has none"
    close = difflib.get_close_matches(name, known, 1)
    remedy = _ELSEWHERE.get((family.name, name)) or (f"Did you mean {close[0]}?" if close else None)
    within = [each for each in known if each in formula.response.columns]
    if within:
        link = "log odds" if within[0] == "zi" else "log"
        remedy = f"Write {within[0]} ~ …: what is right of '~' is its {link} already."
    if remedy is None and known:
        remedy = f"The first formula is the response's; further ones are as {known[0]} ~ x."
    raise FormulaError(
        f"family {family.name!r} has no parameter {name!r} beside its mean: it {has}", formula.text, node.start,
        node.end, remedy,
    )  # fmt: skip


#: parameters of the same meaning elsewhere
_ALIASES = {"nu": "df", "precision": "phi", "kappa": "phi"}
_BY_FAMILY = {"zero_inflated_poisson": {"psi": "zi"}}
_ELSEWHERE = {
    **dict.fromkeys(
        (("negative_binomial", name) for name in ("alpha", "phi", "shape")),
        "Write overdispersion ~ x: it is 1/√shape, and its coefficients are −½ of the shape's.",
    ),
    **dict.fromkeys(
        (("gamma", name) for name in ("shape", "alpha", "sigma", "phi")),
        "Write cv ~ x: it is sd/mean = 1/√shape, and its coefficients are −½ of the shape's.",
    ),
}


def _refuse_latent_columns(formula: Formula, where: str) -> None:
    for factor in formula.latent:
        if factor.kind in ("measured", "imputed"):
            node = factor.node
            raise FormulaError(f"{factor.text} cannot be part of {where}", formula.text, node.start, node.end,
                               "Write a cr.Model for it.")  # fmt: skip
