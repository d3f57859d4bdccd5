"""What is checked when a node is declared: names, shapes, dims, the domains of a law's parameters, data values.

Every function here either returns the record of what was declared or raises an error that shows the node and its axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.distributions.base import Family
from credo.distributions.support import Support
from credo.errors import DataError, ParameterError
from credo.program.density import DISCRETE, is_opaque
from credo.program.evaluate import Program
from credo.program.labels import unwrapped
from credo.program.nodes import Dims, Node, as_node, joined, topological

__all__ = ["certain_zeros", "checked_bound", "checked_dims", "checked_law", "checked_name", "checked_shape",
           "checked_support", "checked_values", "has_states", "is_discrete", "law_axes",
           "owned"]  # fmt: skip


def checked_name(name: Any, taken: Sequence[str]) -> str:
    """A name that no other node has."""
    if not isinstance(name, str) or not name.strip():
        raise ParameterError("Model", "name", "a text that is not empty", name)
    if name in taken:
        raise ParameterError("Model", "name", "one that no node of this model has yet", name)
    return name


def checked_dims(owner: str, dims: Any) -> Dims | None:
    """One name or several, None where an axis has none; None for "not stated"."""
    if dims is None:
        return None
    if not isinstance(dims, (str, list, tuple)):
        raise ParameterError(owner, "dims", "names of axes: one text or several", dims)
    listed = (dims,) if isinstance(dims, str) else tuple(dims)
    if not all(d is None or (isinstance(d, str) and d) for d in listed):
        raise ParameterError(owner, "dims", "names of axes: one text or several", dims)
    repeated = {d for d in listed if d is not None and listed.count(d) > 1}
    if repeated:
        raise ParameterError(owner, "dims", "without repetition", dims)
    return listed


def checked_shape(owner: str, shape: Any) -> tuple[int, ...]:
    """Sizes of axes: one integer or several, all ≥ 1; () for "not stated"."""
    sizes = () if shape is None else tuple(shape) if isinstance(shape, (list, tuple)) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 1 for n in sizes):
        raise ParameterError(owner, "shape", "an integer ≥ 1, or several", shape)
    return tuple(int(n) for n in sizes)


def checked_bound(owner: str, which: str, value: Any) -> Any:
    """A number, ±∞ too; None for "not stated"."""
    if value is None:
        return None
    try:
        array = np.asarray(value)
        good = array.dtype.kind in "iuf" and not np.isnan(array.astype(np.float64)).any()
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ParameterError("Model", f"{which} of {owner}", "a number", value)
    return value


def owned(owner: str, nodes: Sequence[Node], model: Any) -> None:
    """Nodes of another model are a `DataError`: their values are not known here."""
    for node in nodes:
        if node.model is not None and node.model is not model:
            raise DataError(f"{owner} depends on {node!r}, which belongs to a different model.", value=node,
                            remedy="Declare it in this model.")  # fmt: skip


def checked_values(owner: str, value: Any, *, missing: bool) -> np.ndarray:
    """Numbers of any shape: bool and integers stay, the rest is float64; NaN only where cells may be missing."""
    value = unwrapped(value)
    if hasattr(value, "toarray"):
        raise ParameterError("Model", owner, "a dense array", value, "Call its toarray().")
    if isinstance(value, np.ma.MaskedArray):
        value = np.ma.filled(value.astype(np.float64), np.nan)
    try:
        array = np.asarray(value)
        if array.dtype.kind == "O":
            array = np.array([[np.nan if v is None else v for v in np.ravel(array)]], dtype=np.float64).reshape(
                array.shape
            )
        if array.dtype.kind not in "biuf":
            raise TypeError(array.dtype)
    except (TypeError, ValueError):
        raise ParameterError(
            "Model", owner, "numbers", value, 'Text is for group codes: levels="the dim\'s name".'
        ) from None
    if array.dtype.kind == "f":
        array = array.astype(np.float64)
        bad = np.isinf(array) if missing else ~np.isfinite(array)
        if bad.any():
            at = tuple(int(i) for i in np.argwhere(bad)[0])
            what = "infinite" if np.isinf(array[at]) else "missing"
            raise DataError(f"{owner}: the value at {at} is {what}.", rows=[at[0]] if at else None, value=array[at],
                            remedy=None if missing else "Only observed nodes may have missing cells.")  # fmt: skip
    if array.size == 0:
        raise DataError(f"{owner} is empty (shape {array.shape}).", value=array)
    return array


# Families whose values are pairs of arrays.
_PAIRS = ("NormalInverseGamma", "NormalInverseWishart")


def checked_law(owner: str, law: Any) -> Family:
    """A family whose node parameters can only take values of its domain, by interval arithmetic."""
    if not isinstance(law, Family):
        raise ParameterError("Model", f"law of {owner}", "a distribution, such as cr.Normal(mean, sd)", law)
    if law.event_ndim > 1 or type(law).__name__ in _PAIRS:
        raise ParameterError("Model", f"law of {owner}", "a distribution of numbers or vectors", law,
                             "Build a covariance matrix from sds and correlations that have priors.")  # fmt: skip
    if is_opaque(law) and any(isinstance(v, Node) for part in _inner(law) for v in part.parameters.values()):
        raise ParameterError("Model", f"law of {owner}", "without nodes inside another distribution", law,
                             "Scale a standard one: x = mean + sd * m.latent(name, law).")  # fmt: skip
    for parameter, value in law.parameters.items():
        if value is None:
            raise ParameterError("Model", f"{parameter} of {owner}", "given: a number or a node", None,
                                 "To learn it, declare it: m.latent(\"sigma\", cr.HalfNormal(1)).")  # fmt: skip
        if not isinstance(value, Node) or parameter not in law.domain:
            continue
        low, high = value.bounds
        constraint, text = law.domain[parameter], law.domain[parameter].text
        if "sum to 1" in text:  # a matter of several cells, which intervals do not see
            continue
        ends = [end for end in (low, high) if np.isfinite(end)]
        wrong = [e for e in ends if not np.all(constraint.holds(np.asarray(e))) and not (e == 0.0 and "> 0" in text)]
        unbounded = ("> 0" in text or "≥ 0" in text or "between" in text) and low == -np.inf
        above = "between 0 and 1" in text and high == np.inf
        if wrong or unbounded or above:
            raise ParameterError(
                "Model", f"{parameter} of {owner}", f"{text} whatever the latent values are",
                f"{value!r}, which ranges over ({low:g}, {high:g})",
                "Give it a prior on that range, or a function onto it: cr.math.exp, cr.math.expit.",
            )  # fmt: skip
    return law


def _inner(law: Family) -> list[Family]:
    parts = [law]
    for value in law.parameters.values():
        for each in value if isinstance(value, (list, tuple)) else [value]:
            parts += _inner(each) if isinstance(each, Family) else []
    return parts


def law_axes(owner: str, law: Family) -> tuple[tuple[int, ...], Dims]:
    """Shape and dims of one draw: parameters broadcast against each other, then the event's axes."""
    if is_opaque(law):
        return law.batch_shape, (None,) * len(law.batch_shape)
    if type(law).__name__ == "Chain":
        start = as_node(law.parameters["initial"])
        return (*start.shape[:-1], 1), (*start.dims[:-1], None)  # as long as it is declared
    nodes = [as_node(value) for value in law.parameters.values()]
    if not nodes:
        return (), ()
    if not law.event_ndim:
        stripped = [_without_last(nodes[0])] if type(law).__name__ == "Categorical" else nodes
        return joined(owner, stripped)
    if type(law).__name__ == "MultivariateNormal":
        return joined(owner, [nodes[0], Node("constant", shape=nodes[1].shape[:1], dims=nodes[1].dims[:1])])
    if type(law).__name__ in ("Multinomial", "DirichletMultinomial"):
        shape, dims = joined(owner, [nodes[0], _without_last(nodes[1])])
        return (*shape, nodes[1].shape[-1]), (*dims, nodes[1].dims[-1])
    return nodes[0].shape, nodes[0].dims


def _without_last(node: Node) -> Node:
    return Node("constant", shape=node.shape[:-1], dims=node.dims[:-1])


def is_discrete(law: Family) -> bool:
    """Whether its values are counts or categories."""
    return type(law).__name__ in DISCRETE


def has_states(law: Family) -> bool:
    """Whether its values are finitely many whole numbers, which can be summed over."""
    if not is_discrete(law) or law.event_ndim:
        return False
    high = law.support.high
    return bool(np.all(np.isfinite(_end(high, 1) if isinstance(high, Node) else high)))


# -- what a law can produce --------------------------------------------------------------------------------------------

# Families whose density is 0 at the end 0 of their support, whatever the parameters.
_OPEN_AT_ZERO = ("LogNormal", "InverseGamma")


def checked_support(owner: str, law: Family, array: np.ndarray, known: np.ndarray) -> None:
    """Seen cells that no value of the law's latent parameters could have produced are a `DataError` with their rows."""
    support = _widest(law)
    if support.kind in ("real", "integer"):
        inside = np.broadcast_to(support.contains(array), array.shape)
        if type(law).__name__ in _OPEN_AT_ZERO:
            inside = inside & (array != 0.0)
        if type(law).__name__ == "Gamma" and (shape := _number(as_node(law.parameters["shape"]))) is not None:
            inside = inside & ((array != 0.0) | (shape <= 1.0))
        kind = " of integers" if support.kind == "integer" else ""
        low, high = (f"{end:g}" if np.ndim(end) == 0 else "…" for end in (support.low, support.high))
        _refuse(
            owner, array, known & ~inside, f"is outside the support of {type(law).__name__} ({low} to {high}{kind})"
        )
    if type(law).__name__ == "Poisson":
        never = np.broadcast_to(certain_zeros(as_node(law.parameters["rate"])), array.shape)
        _refuse(owner, array, known & never & (array > 0), "is impossible: the rate there is 0 whatever is latent")
    if type(law).__name__ in ("Multinomial", "DirichletMultinomial"):
        n = _number(as_node(law.parameters["n"]))
        if n is not None:
            whole = known.all(axis=-1)  # holes are another matter
            wrong = np.broadcast_to(np.asarray(whole & (array.sum(axis=-1) != n))[..., None], array.shape)
            _refuse(owner, array, known & wrong, "is in counts that do not sum to n")


def _refuse(owner: str, array: np.ndarray, wrong: np.ndarray, why: str) -> None:
    if not wrong.any():
        return
    first = tuple(int(i) for i in np.argwhere(wrong)[0])
    at = "" if not first else f" at {first[0]}" if len(first) == 1 else f" at {first}"
    rows = np.unique(np.argwhere(wrong)[:, 0])[:20].tolist() if first else None
    raise DataError(f"{owner}: the value {array[first].item():g}{at} {why}.", rows=rows, value=array[wrong][:20])


def _widest(law: Family) -> Support:
    """The support, with every end that is latent as wide as interval arithmetic leaves it."""
    support = law.support
    return Support(support.kind, _end(support.low, 0), _end(support.high, 1))


def _end(end: Any, which: int) -> Any:
    if not isinstance(end, Node):
        return end
    value = _number(end)
    return end.bounds[which] if value is None else value


def _number(node: Node) -> np.ndarray | None:
    """Its value where no latent node is behind it."""
    if any(leaf.kind == "latent" for leaf in topological([node])):
        return None
    return Program([node], []).values({})[0]


def certain_zeros(node: Node) -> np.ndarray:
    """Which cells are 0 because a known factor is, as an exposure of 0 makes a rate; broadcasts to the node's shape."""
    if node.kind in ("multiply", "identity", "divide"):
        zeros = [certain_zeros(parent) for parent in node.parents]
        return zeros[0] | zeros[1] if node.kind == "multiply" else zeros[0]
    return np.asarray(node.value == 0) if node.kind in ("constant", "data") else np.zeros((), dtype=bool)
