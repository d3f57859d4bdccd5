"""Answers that know nothing of Credo: dense Normal algebra given hyperparameters, and fine grids over these."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

import credo as cr

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class Truth:
    """Means and sds by node, and the log evidence (None where a prior is flat)."""

    mean: dict[str, np.ndarray]
    sd: dict[str, np.ndarray]
    log_evidence: float | None = None


@dataclass(frozen=True)
class Case:
    """One model of the zoo: what `explain` must say, stated by hand, and the answer by other means."""

    model: cr.Model
    treatment: Mapping[str, str]
    truth: Callable[[], Truth]


ZOO: dict[str, Callable[[], Case]] = {}


def zoo(build: Callable[[], Case]) -> Callable[[], Case]:
    """Enter a model."""
    assert build.__name__ not in ZOO
    ZOO[build.__name__] = build
    return build


# -- Normal algebra --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Conditional:
    """log p(y | θ) (B,), and mean and sd (B, p) of the latent vector given θ and y; entries of `F` come last."""

    log_evidence: np.ndarray
    mean: np.ndarray
    sd: np.ndarray


def gaussian(y: Any, A: Any, m: Any, V: Any, S: Any, c: Any = 0.0, F: Any = None) -> Conditional:
    """z ~ N(m, V), b flat, y ~ N(A z + F b + c, S): by the covariance of y; every argument may have leading axes.

    S : variances (n,) or a matrix (n, n)
    """
    y, A, m, V, S, c = (np.asarray(x, dtype=float) for x in (y, A, m, V, S, c))
    n = y.shape[-1]
    S = S[..., None] * np.eye(n) if S.ndim < 2 or S.shape[-2] != n else S
    VA = V @ np.swapaxes(A, -1, -2)
    K = A @ VA + S
    r = (y - c - (A @ m[..., None])[..., 0])[..., None]
    solved = np.linalg.solve(K, np.broadcast_to(r, (*K.shape[:-1], 1)))
    log = -0.5 * (n * LOG_2PI + np.linalg.slogdet(K)[1] + np.sum(r * solved, axis=(-2, -1)))
    gain = np.swapaxes(np.linalg.solve(K, np.swapaxes(VA, -1, -2)), -1, -2)
    mean = m + (gain @ r)[..., 0]
    cov = V - gain @ np.swapaxes(VA, -1, -2)
    if F is not None:
        F = np.asarray(F, dtype=float)
        KF = np.linalg.solve(K, np.broadcast_to(F, (*K.shape[:-1], F.shape[-1])))
        info = np.swapaxes(F, -1, -2) @ KF
        b = np.linalg.solve(info, np.swapaxes(F, -1, -2) @ solved)
        inverse = np.linalg.inv(info)
        log = log + 0.5 * (np.sum(b * (info @ b), axis=(-2, -1)) - np.linalg.slogdet(info)[1] + F.shape[-1] * LOG_2PI)
        pull = gain @ F
        mean = np.concatenate([mean - (pull @ b)[..., 0], b[..., 0]], axis=-1)
        cov = cov + pull @ inverse @ np.swapaxes(pull, -1, -2)
        d = np.concatenate([_diagonal(cov), _diagonal(inverse)], axis=-1)
    else:
        d = _diagonal(cov)
    return Conditional(log, mean, np.sqrt(np.maximum(d, 0.0)))


def _diagonal(x: np.ndarray) -> np.ndarray:
    return np.diagonal(x, axis1=-2, axis2=-1)


def exact(found: Conditional, proper: bool = True, **columns: Any) -> Truth:
    """Without hyperparameters: node → its columns (an int for a scalar, else an array of its shape)."""
    take = lambda x: {name: np.asarray(x)[..., np.asarray(at)] for name, at in columns.items()}
    return Truth(take(found.mean), take(found.sd), float(found.log_evidence) if proper else None)


# -- grids -----------------------------------------------------------------------------------------------------------


def positive(low: float, high: float, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Points and log weights for a positive number: the trapezium rule in its logarithm."""
    t = np.linspace(np.log(low), np.log(high), n)
    return np.exp(t), np.log(t[1] - t[0]) + t


def real(low: float, high: float, n: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Points and log weights for any number: the trapezium rule."""
    t = np.linspace(low, high, n)
    return t, np.full(n, np.log(t[1] - t[0]))


def unit(n: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """… for a number in (0, 1): Gauss–Legendre, exact for polynomials."""
    x, w = np.polynomial.legendre.leggauss(n)
    return 0.5 * (x + 1.0), np.log(0.5 * w)


def grid(**axes: tuple[np.ndarray, np.ndarray]) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """All combinations: name → (B,), and log weights (B,)."""
    points = np.meshgrid(*(x for x, _ in axes.values()), indexing="ij")
    weights = np.meshgrid(*(w for _, w in axes.values()), indexing="ij")
    return {name: p.ravel() for name, p in zip(axes, points)}, np.sum([w.ravel() for w in weights], axis=0)


def mixed(
    log_joint: np.ndarray, log_weights: np.ndarray, theta: Mapping[str, np.ndarray],
    found: Conditional | None = None, columns: Mapping[str, Any] | None = None, proper: bool = True,
    leaves: Mapping[str, tuple[np.ndarray, np.ndarray]] | None = None,
) -> Truth:  # fmt: skip
    """Moments over a grid.

    log_joint : log p(θ) + log p(data | θ); found, columns : the linear latents given θ; leaves : others, (mean, sd)
    given θ, each (B, ...)
    """
    logs = np.where(np.isnan(log_joint), -np.inf, log_joint) + log_weights
    top = logs.max()
    w = np.exp(logs - top)
    total = w.sum()
    w = w / total
    parts = {name: (np.asarray(x), np.zeros_like(x)) for name, x in theta.items()}
    for name, at in (columns or {}).items():
        assert found is not None
        parts[name] = (found.mean[..., np.asarray(at)], found.sd[..., np.asarray(at)])
    parts |= dict(leaves or {})
    mean = {name: np.tensordot(w, m, 1) for name, (m, _) in parts.items()}
    sd = {name: np.sqrt(np.tensordot(w, s**2 + (m - mean[name]) ** 2, 1)) for name, (m, s) in parts.items()}
    return Truth(mean, sd, float(top + np.log(total)) if proper else None)


def density(log_joint: Callable[..., np.ndarray], proper: bool = True, **axes: Any) -> Truth:
    """Brute force: every latent number of the model on a grid."""
    theta, weights = grid(**axes)
    return mixed(log_joint(**theta), weights, theta, proper=proper)


# -- priors written out, and small tools -----------------------------------------------------------------------------


def log_normal(x: Any, mean: Any = 0.0, sd: Any = 1.0) -> np.ndarray:
    return -0.5 * (np.square((x - mean) / sd) + LOG_2PI) - np.log(sd)


def log_half_normal(x: Any, s: Any = 1.0) -> np.ndarray:
    return np.log(2.0) + log_normal(x, 0.0, s)


def log_half_cauchy(x: Any, s: Any = 1.0) -> np.ndarray:
    return np.log(2.0 / np.pi / s) - np.log1p(np.square(x / s))


def log_gamma(x: Any, shape: Any, rate: Any) -> np.ndarray:
    from scipy.special import gammaln

    return shape * np.log(rate) - gammaln(shape) + (shape - 1.0) * np.log(x) - rate * x


def indicator(codes: Any, k: int) -> np.ndarray:
    """One row a code, a one in its column."""
    return np.eye(k)[np.asarray(codes)]


def block(*matrices: Any) -> np.ndarray:
    """Side by side."""
    return np.concatenate([np.atleast_2d(m) if np.ndim(m) != 1 else np.asarray(m)[:, None] for m in matrices], axis=-1)


def diagonal(*variances: Any) -> np.ndarray:
    """Batched diagonal matrices from variances, each a number or (B,), or (number or (B,), repeats)."""
    parts = [v if isinstance(v, tuple) else (v, 1) for v in variances]
    n = max([np.size(v) for v, _ in parts])
    d = np.concatenate([np.repeat(np.broadcast_to(np.asarray(v, float).reshape(-1, 1), (n, 1)), k, axis=1)
                        for v, k in parts], axis=1)  # fmt: skip
    return d[:, :, None] * np.eye(d.shape[1]) if n > 1 else np.diag(d[0])
