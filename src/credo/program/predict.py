"""Prediction from posterior draws at new data, unseen groups included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.categorical import Categorical
from credo.distributions.slopes import unchecked
from credo.errors import DataError, ParameterError, UnavailableError, shown
from credo.numerics.random import as_generator
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.law_draws import LawDraws
from credo.program import declare
from credo.program.finite.posterior import new_states, pointwise_without_states
from credo.program.finite.states import is_finite
from credo.program.forward import draw, law_at, sample_forward
from credo.program.labels import checked_labels, codes_of
from credo.program.levels import with_new_levels
from credo.program.model import Factor, Model
from credo.program.nodes import Node, described, parents_of_law, topological
from credo.program.ops import OPS
from credo.program.predictive import Members, averaged

if TYPE_CHECKING:
    from credo.prediction.predictive import Predictive
    from credo.program.posterior import ModelPosterior

__all__ = ["Laws", "check_new_levels", "kept_draws", "law_draws", "laws", "pointwise", "pointwise_at", "predict",
           "predict_prior"]  # fmt: skip

# Cells of draws × rows that a predictive holds at most; more rows get fewer draws, at least LEAST.
MOST_CELLS, LEAST = 20_000_000, 200
NEW_LEVELS = ("sample", "mean", "error")


def predict(
    posterior: ModelPosterior, node: str | Node | None, new_levels: str, random_state: Any, new_data: Mapping[str, Any]
) -> Predictive:
    """See `ModelPosterior.predict`."""
    return laws(posterior, node, new_levels, random_state, new_data).predictive(posterior.inference)


def law_draws(
    posterior: ModelPosterior, node: str | Node | None, new_levels: str, random_state: Any,
    new_data: Mapping[str, Any], draws: int | None = None,
) -> LawDraws:  # fmt: skip
    """See `ModelPosterior.law_draws`."""
    return laws(posterior, node, new_levels, random_state, new_data, draws).law_draws()


@dataclass(frozen=True, eq=False)
class Laws:
    """What a model and a formula's `Regression` predict from: the laws of the outcomes at posterior draws.

    law : of the outcomes, (n, *shape), one for each of n draws ; rng : of the outcomes themselves
    labels : of the classes that outcomes are, in the order of their codes; () of numbers, and where the codes will do
    """

    law: Family
    shape: tuple[int, ...]
    n: int
    rng: np.random.Generator
    labels: tuple[Any, ...] = ()

    @property
    def has_law(self) -> bool:
        """Whether outcomes are single numbers with a law for each draw."""
        return not (self.law.event_ndim or self._is_categorical or _nested(self.law))

    @property
    def kind(self) -> str:
        return "count" if self.law.support.is_discrete and not self._is_categorical else "real"

    @property
    def classes(self) -> np.ndarray | None:
        """The labels, or the codes of a categorical law; None of numbers."""
        if self.labels:
            return np.asarray(self.labels)
        return np.arange(np.shape(self.law.parameters["p"])[-1]) if self._is_categorical else None

    def predictive(self, inference: str) -> Predictive:
        """The laws averaged."""
        law, classes = self.law, self.classes
        if classes is not None and len(self.shape) == 1:
            return ClassPredictive.from_draws(self._probabilities(), classes, inference)
        if not self.has_law:
            given: Any = law if not law.event_ndim and classes is None else None
            return DrawsPredictive(self.outcomes(), given, self.kind, inference)
        return averaged(law, self.shape, self.n, self.kind, inference, self.outcomes)

    def law_draws(self) -> LawDraws:
        """The laws one by one, all outcomes in a row."""
        weights, rows, classes = np.full(self.n, 1.0 / self.n), int(np.prod(self.shape)), self.classes
        if classes is not None:
            p = self._probabilities().reshape(self.n, rows, len(classes))
            return LawDraws(weights, lambda some: unchecked(Categorical, {"p": p[:, some]}), rows, classes)
        if not self.has_law:
            raise UnavailableError(f"law_draws: the outcomes of a {type(self.law).__name__} are not single numbers "
                                   "with a law for each draw.", remedy="Use predict(...).draws.")  # fmt: skip
        return LawDraws(weights, Members(self.law, self.shape), rows)

    def outcomes(self) -> np.ndarray:
        """One outcome for each draw, (n, *shape)."""
        return np.asarray(draw(self.law, self.shape, self.n, self.rng), dtype=np.float64)

    @property
    def _is_categorical(self) -> bool:
        return type(self.law).__name__ == "Categorical"

    def _probabilities(self) -> np.ndarray:
        """Of the classes, (n, *shape, k); of two labels the law is that of the second."""
        law: Any = self.law
        if self._is_categorical:
            return np.broadcast_to(law.p, (self.n, *self.shape, np.shape(law.p)[-1]))
        p = np.broadcast_to(law.mean, (self.n, *self.shape))
        return np.stack([1.0 - p, p], axis=-1)


def laws(
    posterior: ModelPosterior, node: str | Node | None, new_levels: str, random_state: Any,
    new_data: Mapping[str, Any], draws: int | None = None,
) -> Laws:  # fmt: skip
    """The law of an observed node at posterior draws (at most `draws` of them) and new data."""
    check_new_levels(new_levels)
    model = _model(posterior)
    factor = _observed(model, node)
    rng = as_generator(random_state, "prediction")
    data, added, sizes = _new_values(model, new_data, new_levels)
    shape = _shape(factor, data, sizes) or (1,)  # a scalar is one row
    at = kept_draws(len(posterior), int(np.prod(shape)), draws)
    chosen = {name: posterior[name][at] for name in posterior.values}
    values, nodes = _values(model, chosen, added, sizes, new_levels, data, rng)
    n = len(next(iter(chosen.values())))
    law = law_at(factor.law, values, nodes, n, len(shape), data)  # type: ignore[arg-type]
    return Laws(law, shape, n, rng)


def _nested(law: Family) -> bool:
    """Whether it is made of other families, or has no parameters: then it has no law for each draw."""
    return not law.parameters or any(not isinstance(v, (np.ndarray, int, float, np.generic, type(None)))
                                     for v in law.parameters.values())  # fmt: skip


def predict_prior(
    model: Model, node: str | Node | None, draws: int, random_state: Any, new_data: Mapping[str, Any]
) -> Predictive:
    """See `Model.predict_prior`."""
    from credo.inference.result import Result
    from credo.program.posterior import ModelPosterior

    drawn = sample_forward(model, draws, random_state)
    values = {str(latent.name): drawn[str(latent.name)][None] for latent in model.latents}
    prior = ModelPosterior(values, Result("exact", "prior"), model=model)
    return predict(prior, node, "sample", random_state, new_data)


def pointwise(posterior: ModelPosterior, node: str | Node | None) -> np.ndarray:
    """log p(y_i | draw) of the seen cells; NaN where a cell is missing."""
    model = _model(posterior)
    factor = _observed(model, node)
    summed = pointwise_without_states(posterior, factor)  # given drawn states, a cell's density says nothing of others
    if summed is not None:
        return summed
    return pointwise_at(model, factor, {name: posterior[name] for name in posterior.values})


def pointwise_at(model: Model, factor: Factor, draws: Mapping[str, np.ndarray]) -> np.ndarray:
    """log p(y_i | draw), (n, *shape), at draws of the latent nodes by name."""
    n = len(next(iter(draws.values())))
    values, nodes = _values(model, draws, {}, {}, "error", {}, None)
    base = factor.data
    law = law_at(factor.law, values, nodes, n, base.ndim)  # type: ignore[arg-type]
    if type(law).__name__ == "MultivariateNormal":
        from credo.program.holes import log_density_of_seen

        none = np.empty(0, dtype=np.intp)
        return log_density_of_seen(law, base, none if factor.missing is None else factor.missing, n)
    each = np.broadcast_to(law.log_prob(base), (n, *base.shape)).copy()  # type: ignore[attr-defined]
    if factor.missing is not None:
        each.reshape(len(each), -1)[:, factor.missing] = np.nan
    return each


def _model(posterior: ModelPosterior) -> Model:
    if posterior.model is None:
        raise UnavailableError("This posterior came without its model, so it cannot predict.")
    return posterior.model


def _observed(model: Model, node: str | Node | None) -> Factor:
    there = {factor.name: factor for factor in model.factors if factor.observed}
    name = node.name if isinstance(node, Node) else node
    if name is not None and not isinstance(name, str):  # a table
        remedy = "Give new values by the names of data nodes: predict(x=…), or predict(**table)."
        raise ParameterError("predict", "node", f"an observed node: {', '.join(there)}", type(name).__name__, remedy)
    if name is None and len(there) == 1:
        return next(iter(there.values()))
    if name not in there:
        raise ParameterError("predict", "node", f"an observed node: {', '.join(there)}", name)
    return there[str(name)]


def _new_values(
    model: Model, new_data: Mapping[str, Any], new_levels: str
) -> tuple[dict[int, np.ndarray], dict[str, int], dict[str, int]]:
    """Data node number → value; dim → how many new levels it gets; dim → new size."""
    data: dict[int, np.ndarray] = {}
    added: dict[str, int] = {}
    fresh: dict[str, list[Any]] = {}
    sizes: dict[str, int] = {}
    for name, value in new_data.items():
        node = model.nodes.get(name)
        if node is None or node.kind != "data":
            known = [k for k, v in model.nodes.items() if v.kind == "data"]
            raise ParameterError("predict", name, f"a data node: {', '.join(known) or 'there is none'}", value)
        levels = node.static.get("levels")
        if levels is not None and levels in model.labels:
            raw = checked_labels(name, value)
            codes = codes_of(name, raw, model.labels[levels], unseen=True)
            labels = fresh.setdefault(levels, [])
            for at in np.ndindex(*codes.shape):
                if codes[at] < 0:
                    if new_levels == "error":
                        label = shown(_plain(raw[at]))
                        raise DataError(f"{name}: {label} is not among the levels of {levels!r}.", value=raw[at],
                                        remedy='new_levels="sample" draws its effect.')  # fmt: skip
                    if raw[at] not in labels:
                        labels.append(raw[at])
                    codes[at] = model.sizes[levels] + labels.index(raw[at])
            array = codes
            added[levels] = len(labels)
        else:
            array = declare.checked_values(name, value, missing=False)
        if array.ndim != node.ndim:
            raise DataError(f"{name} has {node.ndim} axes, and the new values {array.ndim}.", value=array.shape)
        for dim, size, old in zip(node.dims, array.shape, node.shape):
            if dim is None and size != old:
                sizes.setdefault(f"\0{name}", size)
            elif dim is not None and sizes.setdefault(dim, size) != size:
                raise DataError(f"{name}: {size} along {dim!r}, where other new data have {sizes[dim]}.", value=size)
        data[node.number] = array
    added = {dim: k for dim, k in added.items() if k}
    for dim, k in added.items():
        size = model.sizes[dim] + k
        if sizes.setdefault(dim, size) != size:
            raise DataError(
                f"{dim!r} has {model.sizes[dim]} levels and {k} new ones; the new data have {sizes[dim]} along it.",
                value=sizes[dim], remedy="Give the old levels first, then the new.",
            )  # fmt: skip
    return data, added, {k: v for k, v in sizes.items() if not k.startswith("\0")}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _shape(factor: Factor, data: Mapping[int, np.ndarray], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The shape of what is predicted: named dims by their new sizes, the rest as the law has them."""
    node, law = factor.node, factor.law
    assert law is not None
    shape = [sizes.get(d, n) if d is not None else n for d, n in zip(node.dims, node.shape)]
    if data:
        now = _shapes_now(law, data, sizes)
        if law.event_ndim:  # one value is a vector: its parameter of that length says how many there are
            now = {name: part for name, part in now.items() if name in ("mean", "p", "concentration")}
        elif type(law).__name__ == "Categorical":
            now = {name: part[:-1] for name, part in now.items()}
        for part in (part for name, part in now.items() if isinstance(law.parameters[name], Node)):
            for back in range(1, min(len(part), node.ndim) + 1):
                if part[-back] != 1 and node.dims[-back] is None:
                    shape[-back] = part[-back]
        for name, part in now.items():
            if any(size not in (1, whole) for size, whole in zip(part[::-1], shape[::-1])):
                raise DataError(f"{name} of {factor.name} has shape {part}, and what is predicted {tuple(shape)}.",
                                value=part, remedy=_TOGETHER)  # fmt: skip
    return tuple(shape)


_TOGETHER = "Data that run along the same rows are given together; arrays that may change are declared: m.data(…)."


def _shapes_now(law: Any, data: Mapping[int, np.ndarray], sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """Parameter of the law → its shape at the new data; what does not fit together is a `DataError`."""
    at: dict[int, np.ndarray] = {}
    for node in topological(parents_of_law(law)):
        if node.is_operation:
            arguments = [at[parent.number] for parent in node.parents]
            try:
                with np.errstate(all="ignore"):
                    at[node.number] = np.asarray(
                        OPS[node.kind].forward(arguments, [False] * len(arguments), node.static)
                    )
            except (ValueError, IndexError):
                told = " and ".join(f"{described(p)} {at[p.number].shape}" for p in node.parents)
                raise DataError(
                    f"predict: at the new data {described(node)} cannot be computed, from {told}.",
                    value=[np.shape(x) for x in arguments], remedy=_TOGETHER,
                ) from None  # fmt: skip
            continue
        now = tuple(sizes.get(d, n) if d is not None else n for d, n in zip(node.dims, node.shape))
        if node.kind != "latent" and node.number not in data and now != node.shape:
            raise DataError(f"{described(node)} has shape {node.shape}, and the new data {now}.", value=node.shape,
                            remedy=f"Give new values of {described(node)} too.")  # fmt: skip
        given = data.get(node.number, node.value)
        at[node.number] = np.ones(now) if given is None or node.kind == "latent" else np.asarray(given)
    return {name: at[v.number].shape if isinstance(v, Node) else np.shape(v) for name, v in law.parameters.items()
            if v is not None and not isinstance(v, (Family, str))}  # fmt: skip


def check_new_levels(new_levels: Any) -> None:
    if new_levels not in NEW_LEVELS:
        raise ParameterError("predict", "new_levels", f"one of {NEW_LEVELS}", new_levels)


def kept_draws(n: int, cells: int, most: int | None = None) -> np.ndarray:
    """Places of at most `most` of n draws, evenly taken: fewer where each fills so many cells that all are too many."""
    keep = min(n, max(LEAST, MOST_CELLS // max(cells, 1)), n if most is None else most)
    return np.linspace(0, n - 1, keep).astype(np.intp)


def _values(
    model: Model, draws: Mapping[str, np.ndarray], added: Mapping[str, int], sizes: Mapping[str, int], new_levels: str,
    data: Mapping[int, np.ndarray], rng: Any,
) -> tuple[dict[int, np.ndarray], dict[int, Node]]:  # fmt: skip
    """Draws of latent nodes by number, with those of new levels appended."""
    values: dict[int, np.ndarray] = {}
    nodes: dict[int, Node] = {}
    hidden = [f.hidden for f in model.factors if f.hidden is not None and str(f.hidden.name) in draws]
    for node in [*model.latents, *hidden]:
        value = draws[str(node.name)]
        resized = [
            d for d, k in zip(node.dims, node.shape) if d is not None and sizes.get(d, k) != k and d not in added
        ]
        if resized and is_finite(node):
            values[node.number], nodes[node.number] = new_states(node, values, nodes, sizes, data, rng), node
            continue
        for axis, dim in enumerate(node.dims):
            if dim is None:
                continue
            if dim in sizes and sizes[dim] != node.shape[axis] and dim not in added:
                raise DataError(
                    f"{node.name} has an entry for each of {node.shape[axis]} {dim!r}; the new data have {sizes[dim]}.",
                    value=sizes[dim], remedy="Only dims that latent nodes do not have may change their size.",
                )  # fmt: skip
        if added:
            value = with_new_levels(node, value, added, new_levels, values, nodes, data, rng)
        values[node.number], nodes[node.number] = value, node
    return values, nodes
