"""Arguments of `KernelDensity`, checked before any work."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.density.bandwidths import RULES
from credo.models.density.kernels import KERNELS

__all__ = ["check_parameters", "checked_bandwidth", "minkowski_p"]

_OWNER = "KernelDensity"
ALGORITHMS = ("auto", "kd_tree", "ball_tree")
# scikit-learn's names → p of |x|_p; of these alone the kernel's integral is known.
_P = {"euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf,
      "infinity": np.inf}  # fmt: skip
METRICS = (*_P, "minkowski", "p", "haversine")


def check_parameters(model: Any) -> None:
    """Everything that does not depend on the rows. Raises ParameterError."""
    _one_of("kernel", model.kernel, KERNELS)
    _one_of("algorithm", model.algorithm, ALGORITHMS)
    if not isinstance(model.metric, str) or model.metric not in METRICS:
        remedy = "Of other metrics the kernel's integral is not known, so that there is no density."
        raise ParameterError(_OWNER, "metric", f"one of {', '.join(map(repr, METRICS))}", model.metric, remedy)
    if model.metric == "haversine" and model.algorithm == "kd_tree":
        constraint = "another than 'haversine', an invalid metric for kd_tree"
        raise ParameterError(_OWNER, "metric", constraint, model.metric, "Set algorithm='ball_tree'.")
    for name in ("rtol", "atol"):
        value = getattr(model, name)
        if not _is_real(value) or not 0.0 <= value < np.inf:
            raise ParameterError(_OWNER, name, "a number ≥ 0", value)
    if not isinstance(model.leaf_size, numbers.Integral) or model.leaf_size < 1:
        raise ParameterError(_OWNER, "leaf_size", "an integer ≥ 1", model.leaf_size)
    if not isinstance(model.breadth_first, (bool, np.bool_)):
        raise ParameterError(_OWNER, "breadth_first", "True or False", model.breadth_first)
    if model.metric_params is not None and (
        not isinstance(model.metric_params, dict)
        or set(model.metric_params) - ({"p"} if model.metric in ("minkowski", "p") else set())
    ):
        raise ParameterError(_OWNER, "metric_params", "None, or {'p': …} with 'minkowski'", model.metric_params)
    if isinstance(model.bandwidth, str):
        _one_of("bandwidth", model.bandwidth, RULES, "a number, or an array by columns")
    minkowski_p(model.metric, model.metric_params or {})


def minkowski_p(metric: str, options: dict[str, Any]) -> float:
    """p of the metric |x|_p; on the sphere small distances are Euclidean."""
    if metric not in ("minkowski", "p"):
        return _P.get(metric, 2.0)
    p = options.get("p", 2)
    if not _is_real(p) or not p >= 1.0:
        raise ParameterError(_OWNER, "metric_params", "{'p': a number ≥ 1}", options)
    return float(p)


def checked_bandwidth(value: Any, d: int, bounds: np.ndarray | None, name: str = "bandwidth") -> Any:
    """A number > 0, (d,) of them, or a covariance (d, d), as a float or an array."""
    constraint = f"a number > 0, or {d} of them" + (f", or a covariance ({d}, {d})" if name == "bandwidth" else "")
    if isinstance(value, (bool, np.bool_)):
        raise ParameterError(_OWNER, name, constraint, value)
    try:
        h = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(_OWNER, name, constraint, value) from None
    if h.shape == (d, d) and h.ndim == 2 and name == "bandwidth":
        if not np.all(np.isfinite(h)) or not np.allclose(h, h.T, rtol=1e-10, atol=0.0) or _least_eigenvalue(h) <= 0.0:
            raise ParameterError(_OWNER, name, "symmetric and positive definite where it is a matrix", value)
        if bounds is not None and np.any(h - np.diag(np.diagonal(h))):
            remedy = "A slanted kernel is not mirrored onto itself: give one number a column."
            raise ParameterError(_OWNER, name, "diagonal where `support` has bounds", value, remedy)
        return h if np.any(h - np.diag(np.diagonal(h))) else np.sqrt(np.diagonal(h)).copy()
    if h.shape not in ((), (d,)) or not np.all(np.isfinite(h) & (h > 0.0)):
        raise ParameterError(_OWNER, name, constraint, value)
    return float(h) if h.ndim == 0 else h


def _least_eigenvalue(matrix: np.ndarray) -> float:
    """Relative to the largest, less rounding."""
    values = np.linalg.eigvalsh(matrix)
    return float(values[0] / abs(values[-1])) - 1e-14 if values[-1] else 0.0


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _one_of(name: str, value: Any, choices: tuple[str, ...], more: str = "") -> None:
    if not isinstance(value, str) or value not in choices:
        constraint = f"one of {', '.join(map(repr, choices))}" + (f", {more}" if more else "")
        raise ParameterError(_OWNER, name, constraint, value)
