"""The operation `ordinal`: probabilities of ordered categories.

`ordinal(η, c)` has, for cut-points c₁ < … < c_{K−1} and F of the link,

    p_k = F(c_k − η) − F(c_{k−1} − η),     c₀ = −∞, c_K = ∞

computed from whichever tail keeps its digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import special

from credo.program.nodes import Node
from credo.program.ops import OPS, Op, unbroadcast

__all__ = ["ordinal", "ordinal_probabilities"]

_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def _normal_density(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / _ROOT_2PI


# link → (F, 1 − F, F')
_LINKS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]] = {
    "logit": (special.expit, lambda x: special.expit(-x), lambda x: special.expit(x) * special.expit(-x)),
    "probit": (special.ndtr, lambda x: special.ndtr(-x), _normal_density),
    "cloglog": (lambda x: -np.expm1(-np.exp(x)), lambda x: np.exp(-np.exp(x)), lambda x: np.exp(x - np.exp(x))),
}


def ordinal_probabilities(eta: Any, cuts: Any, link: str = "logit") -> np.ndarray:
    """p_k (…, K) of linear predictors η (…) and increasing cut-points (K − 1,).

    >>> ordinal_probabilities(np.array([0.0]), np.array([-1.0, 1.0])).round(3).tolist()
    [[0.269, 0.462, 0.269]]
    """
    below, above, _ = _LINKS[link]
    with np.errstate(over="ignore"):
        at = cuts - np.asarray(eta)[..., None]
        F, G = below(at), above(at)
    inner = np.where(at[..., :-1] > 0.0, G[..., :-1] - G[..., 1:], F[..., 1:] - F[..., :-1])
    if link == "logit":  # without any cancellation: F(b) G(a) (1 − e^{a−b})
        inner = F[..., 1:] * G[..., :-1] * -np.expm1(-np.diff(cuts))
    return np.concatenate([F[..., :1], inner, G[..., -1:]], axis=-1)


def _forward(values: Sequence[np.ndarray], lead: Sequence[bool], static: dict[str, Any]) -> np.ndarray:
    eta, cuts = values
    if lead[1]:
        cuts = cuts[:, None, :]
        eta = eta if lead[0] else eta[None]
    return ordinal_probabilities(eta, cuts, static["link"])


def _pull(g: Any, out: Any, values: Sequence[np.ndarray], static: dict[str, Any]) -> list[np.ndarray]:
    eta, cuts = values
    with np.errstate(over="ignore"):
        density = _LINKS[static["link"]][2](cuts - eta[..., None])
    by_cut = (g[..., :-1] - g[..., 1:]) * density
    return [unbroadcast(-by_cut.sum(axis=-1), eta.shape), unbroadcast(by_cut, cuts.shape)]


OPS.setdefault("ordinal", Op("ordinal", _forward, _pull, lambda ranges, static: (0.0, 1.0)))


def ordinal(eta: Node, cuts: Node, link: str) -> Node:
    """The node of `ordinal_probabilities`."""
    static = {"link": link}
    return Node("ordinal", [eta, cuts], shape=(*eta.shape, cuts.shape[0] + 1), dims=(*eta.dims, None), static=static)
