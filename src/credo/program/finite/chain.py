"""`Chain`: the law of the states of a Markov chain, and how a model declares one.

    P(z_1 = k) = initial_k        P(z_{t+1} = j | z_t = i) = transition_ij

The states are codes 0 … K − 1. A value is a whole path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from credo.distributions.base import Constraint, Family
from credo.distributions.scalar import PROBABILITY_VECTOR
from credo.distributions.support import Support
from credo.errors import DataError, ParameterError
from credo.program import declare
from credo.program.nodes import Node, as_node, parents_of_law

if TYPE_CHECKING:
    from credo.program.model import Model

__all__ = ["Chain", "declared_chain"]


@dataclass(frozen=True, eq=False)
class Chain(Family):
    """A path z_1 … z_T of a Markov chain.

    Parameters
    ----------
    initial : probabilities of the first state, (..., K)
    transition : (K, K), rows sum to 1; or (..., T − 1, K, K), one matrix a step, and (..., 1, K, K) the same at all
    lengths : of sequences that follow each other along the path; None: it is one

    Examples
    --------
    >>> import numpy as np
    >>> weather = Chain([0.5, 0.5], [[0.9, 0.1], [0.3, 0.7]])
    >>> np.exp(weather.log_prob([0, 0, 1])).round(4).item()
    0.045
    """

    initial: Any
    transition: Any
    lengths: Any = None

    domain: ClassVar[dict[str, Constraint]] = {"initial": PROBABILITY_VECTOR, "transition": PROBABILITY_VECTOR}
    event_ndim: ClassVar[int] = 1

    @property
    def n_states(self) -> int:
        """K."""
        return int(np.shape(self.initial)[-1])

    @property
    def support(self) -> Support:
        return Support("integer", 0, self.n_states - 1)

    @property
    def parameters(self) -> dict[str, Any]:
        """`lengths` only where there are several sequences."""
        found = {"initial": self.initial, "transition": self.transition}
        return found if self.lengths is None else {**found, "lengths": self.lengths}

    def log_prob(self, x: Any) -> Any:
        """Log probability of paths x (..., T) → (...)."""
        x = np.asarray(x, dtype=np.float64)
        k = self.n_states
        inside = ((x >= 0) & (x < k) & (np.floor(x) == x)).all(axis=-1)
        z = np.where(np.isfinite(x), np.clip(x, 0, k - 1), 0).astype(np.intp)
        first = starts_of(self.lengths, z.shape[-1])
        follows = np.setdiff1d(np.arange(z.shape[-1] - 1), first - 1)
        with np.errstate(divide="ignore"):
            start, step = np.log(np.asarray(self.initial)), np.log(np.asarray(self.transition))
        begun = np.take_along_axis(np.broadcast_to(start[..., None, :], (*z[..., first].shape, k)),
                                   z[..., first][..., None], -1)  # fmt: skip
        matrices = stepwise(step, z.shape[-1])
        matrices = np.broadcast_to(matrices, (*z.shape[:-1], *matrices.shape[-3:]))
        flat, at = matrices.reshape(*matrices.shape[:-2], k * k), z[..., :-1] * k + z[..., 1:]
        pairs = np.take_along_axis(flat, at[..., None], -1)
        total = begun[..., 0].sum(axis=-1) + pairs[..., follows, 0].sum(axis=-1)
        return np.where(inside, total, np.where(np.isnan(x).any(axis=-1), np.nan, -np.inf))[()]


def starts_of(lengths: Any, size: int) -> np.ndarray:
    """Where each sequence begins along a path of this size."""
    return np.zeros(1, dtype=np.int64) if lengths is None else np.cumsum([0, *np.asarray(lengths, dtype=np.int64)[:-1]])


def stepwise(transition: Any, size: int) -> Any:
    """(K, K), or one matrix a step, as (..., T − 1, K, K)."""
    matrices = transition[None] if np.ndim(transition) == 2 else transition
    return np.broadcast_to(matrices, (*matrices.shape[:-3], size - 1, *matrices.shape[-2:]))


def drawn_paths(law: Any, shape: tuple[int, ...], n: int, rng: np.random.Generator) -> np.ndarray:
    """One path for each of n draws of the law's parameters, (n, *shape): these have an axis of draws, of length 1 where
    they do not vary."""
    initial, transition = _axes(law.initial, len(shape) - 1, 1), _axes(law.transition, len(shape) - 1, 3)
    if transition.shape[-3] not in (1, shape[-1] - 1):
        raise DataError(
            f"A chain that changes over {transition.shape[-3]} steps says nothing of {shape[-1] - 1}.", value=shape,
            remedy="Predict for as many steps as the data have.",
        )  # fmt: skip
    first = set(starts_of(law.lengths, shape[-1]).tolist())
    path = np.empty((n, *shape), dtype=np.int64)
    begin = np.broadcast_to(initial, (n, *shape[:-1], initial.shape[-1]))
    for t in range(shape[-1]):
        if t in first:
            p = begin
        else:
            here = transition[..., min(t - 1, transition.shape[-3] - 1), :, :]
            here = np.broadcast_to(here, (n, *shape[:-1], *here.shape[-2:]))
            p = np.take_along_axis(here, path[..., t - 1][..., None, None], axis=-2)[..., 0, :]
        total = np.cumsum(p, axis=-1)
        u = rng.random((n, *shape[:-1])) * total[..., -1]
        path[..., t] = (total[..., :-1] <= u[..., None]).sum(axis=-1)
    return path


def _axes(x: np.ndarray, batch: int, own: int) -> np.ndarray:
    """(draws, *batch, *own axes), with axes of length 1 after the draws'."""
    lacks = batch - (x.ndim - 1 - own)
    return x.reshape(len(x), *(1,) * lacks, *x.shape[1:]) if lacks > 0 else x


def declared_chain(model: Model, name: str, initial: Any, transition: Any, dims: Any, shape: Any, lengths: Any) -> Node:
    """See `Model.chain`."""
    declare.checked_name(name, list(model.nodes))
    start, step = as_node(initial), as_node(transition)
    if start.ndim < 1 or step.ndim < 2 or step.shape[-2:] != (start.shape[-1],) * 2:
        raise DataError(
            f"{name}: initial {start!r} and transition {step!r} must be (…, K) probabilities and (…, K, K).",
            value=(start.shape, step.shape),
        )  # fmt: skip
    law = Chain(initial, transition, _checked_lengths(name, lengths))
    declare.checked_law(name, law)
    declare.owned(name, parents_of_law(law), model)
    wanted = declare.checked_dims(name, dims)
    if wanted is None and shape is None:
        raise ParameterError("Model", f"dims of {name}", "given: the name of the time axis, or shape=", None)
    for dim, length in _stated_sizes(model, name, wanted, shape):
        model.dim(dim, length)
    size, axes = model._plate(name, law, wanted, shape)
    _check_sizes(name, law, start, step, size)
    node = Node("latent", parents_of_law(law), shape=size, dims=axes, name=name, law=law,
                static={"support": law.support}, model=model)  # fmt: skip
    from credo.program.model import Factor

    model.factors.append(Factor(name, law, node, False))
    return model._register(node)


def _stated_sizes(model: Model, name: str, dims: Any, shape: Any) -> list[tuple[str, int]]:
    """(dim, size) of dims that come with `shape=`; without it they must have one already: a law of paths has none."""
    if dims is None:
        return []
    if shape is not None:
        sizes = declare.checked_shape(name, shape)
        if len(sizes) != len(dims):
            raise DataError(f"{name}: dims {dims} and shape {sizes} differ in length.", value=shape)
        return [(dim, int(size)) for dim, size in zip(dims, sizes) if dim is not None]
    unknown = next((dim for dim in dims if dim is not None and dim not in model.sizes), None)
    if unknown is not None:
        raise DataError(
            f"{name}: the dim {unknown!r} has no size yet.", value=unknown,
            remedy=f"Give shape= too; or declare data with it first, or m.dim({unknown!r}, size).",
        )  # fmt: skip
    return []


def _checked_lengths(name: str, lengths: Any) -> Any:
    if lengths is None:
        return None
    sizes = np.asarray(lengths)
    if sizes.ndim != 1 or sizes.dtype.kind not in "iu" or not sizes.size or sizes.min() < 1:
        raise ParameterError("Model", f"lengths of {name}", "integers ≥ 1, one a sequence", lengths)
    return sizes.astype(np.int64)


def _check_sizes(name: str, law: Chain, start: Node, step: Node, size: tuple[int, ...]) -> None:
    if law.lengths is not None and int(law.lengths.sum()) != size[-1]:
        raise ParameterError("Model", f"lengths of {name}", f"of sum {size[-1]}, the cells along its last axis",
                             law.lengths.tolist())  # fmt: skip
    steps = step.shape[-3] if step.ndim > 2 else 1
    if steps not in (1, size[-1] - 1):
        raise DataError(f"{name}: {steps} transition matrices for {size[-1] - 1} steps.", value=step.shape,
                        remedy="Give one matrix (K, K), or (T − 1, K, K).")  # fmt: skip
    for what, given in (("initial", start.shape[:-1]), ("transition", step.shape[:-3])):
        if len(given) > len(size) - 1 or any(a not in (1, b) for a, b in zip(given[::-1], size[-2::-1])):
            raise DataError(f"{name}: {what} has batch axes {given}, and the sequences {size[:-1]}.", value=given)
