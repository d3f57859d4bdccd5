"""Posteriors that several tests approximate."""

from __future__ import annotations

import numpy as np

from credo.distributions.support import POSITIVE
from credo.inference.target import Target


def normal(precision, h):
    """exp(hᵀx − ½ xᵀΛx): mean Λ⁻¹h, covariance Λ⁻¹."""
    return Target(
        lambda x: x @ h - 0.5 * np.sum((x @ precision) * x, axis=1),
        {"w": (len(h),)},
        gradient=lambda x: h - x @ precision,
        vectorised=True,
    )


def normal_evidence(precision, h):
    return 0.5 * (len(h) * np.log(2 * np.pi) - np.linalg.slogdet(precision)[1] + h @ np.linalg.solve(precision, h))


def gamma(shape):
    """x^(a − 1) e^(−x) on x > 0: evidence Γ(a)."""
    return Target(
        lambda x: (shape - 1) * np.log(x[:, 0]) - x[:, 0],
        {"x": ()},
        gradient=lambda x: (shape - 1) / x - 1,
        supports={"x": POSITIVE},
        vectorised=True,
    )


def logistic(n, d, seed):
    """Logistic regression with a N(0, 2.5²) prior, normalised as likelihood × prior."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    A = X * np.where(rng.random(n) < 1 / (1 + np.exp(-X @ rng.normal(size=d))), 1.0, -1.0)[:, None]

    def log_density(w):
        prior = -0.5 * np.sum(w**2, axis=1) / 6.25 - 0.5 * d * np.log(2 * np.pi * 6.25)
        return prior - np.logaddexp(0, -w @ A.T).sum(axis=1)

    return Target(
        log_density, {"w": (d,)}, gradient=lambda w: (1 / (1 + np.exp(w @ A.T))) @ A - w / 6.25, vectorised=True
    )


def funnel(d):
    """v ~ N(0, 3²), x_i | v ~ N(0, e^v), normalised."""

    def log_density(x):
        v, u = x[:, 0], x[:, 1:]
        constant = np.log(3) + 0.5 * (d + 1) * np.log(2 * np.pi)
        return -(v**2) / 18 - 0.5 * d * v - 0.5 * np.exp(-v) * np.sum(u**2, axis=1) - constant

    def gradient(x):
        v, u = x[:, 0], x[:, 1:]
        by_v = -v / 9 - 0.5 * d + 0.5 * np.exp(-v) * np.sum(u**2, axis=1)
        return np.column_stack([by_v, -np.exp(-v)[:, None] * u])

    return Target(log_density, {"v": (), "x": (d,)}, gradient=gradient, vectorised=True)


def bimodal(apart, share=0.5):
    """share N(−apart, 1) + (1 − share) N(apart, 1)."""
    weights, centres = np.log([share, 1 - share]), np.array([-apart, apart])

    def parts(x):
        return weights - 0.5 * (x - centres) ** 2 - 0.5 * np.log(2 * np.pi)

    def gradient(x):
        each = parts(x)
        r = np.exp(each - np.logaddexp(*each.T)[:, None])
        return np.sum(r * (centres - x), axis=1, keepdims=True)

    return Target(lambda x: np.logaddexp(*parts(x).T), {"x": ()}, gradient=gradient, vectorised=True)
