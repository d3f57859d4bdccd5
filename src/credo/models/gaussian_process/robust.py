"""Gaussian-process regression under noise that is not Normal: outliers (Student-t), the absolute loss (Laplace).

`robust_fit` is what `GaussianProcessRegressor(noise=cr.noise.StudentT(df, scale))` calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions import noise as records
from credo.distributions.likelihoods import LaplaceIdentity, Likelihood, StudentTIdentity
from credo.errors import ParameterError
from credo.kernels import Kernel
from credo.models.gaussian_process.latent import LatentFit
from credo.models.gaussian_process.latent_evidence import LatentTask

__all__ = ["is_robust", "robust_fit"]


def is_robust(noise: Any) -> bool:
    """Whether `robust_fit` is for this noise record: `cr.noise.StudentT` or `cr.noise.Laplace`."""
    return isinstance(noise, (records.StudentT, records.Laplace))


def robust_fit(
    owner: str,
    kernel: Kernel,
    X: np.ndarray,
    y: np.ndarray,
    noise: Any,
    *,
    mean: float | None = None,
    offset: np.ndarray | None = None,
    weights: np.ndarray | None = None,
    inference: str = "auto",
    optimize: bool = True,
    n_restarts: int = 0,
    rng: np.random.Generator,
) -> LatentFit:
    """y_i = f(x_i) + scale · noise, f ~ GP(mean + offset, kernel); scale and df learned where the record says None.

    X (n, d), y (n,) of a size near 1 (a search over logs of scales starts from the median absolute deviation);
    weights (n,) > 0 or None; mean None is learned; inference "laplace", "ep" or "auto": Laplace's method, and EP where
    importance weights find it too far from the posterior, of which outliers may make several modes; Laplace noise,
    which has no curvature, takes EP only.

    `predictive(X)` of the result is of y, `latent(X)` of f; natural values of the noise are in
    `likelihood.auxiliary_values(psi)`: "scale", "df".

    >>> rng = np.random.default_rng(0); x = np.linspace(0, 6, 40)[:, None]
    >>> y = np.sin(x[:, 0]) + 0.1 * rng.normal(size=40)
    >>> y[[5, 20]] = 6.0, -5.0
    >>> from credo.kernels import RBF
    >>> fit = robust_fit("example", 1.0 * RBF(1.0), x, y, records.StudentT(df=4), rng=rng)
    >>> bool(np.abs(fit.latent(x)[0] - np.sin(x[:, 0])).max() < 0.2)
    True
    """
    if not is_robust(noise):
        raise ParameterError(owner, "noise", "cr.noise.StudentT or cr.noise.Laplace", noise)
    if isinstance(noise, records.Laplace) and inference == "laplace":
        raise ParameterError(
            owner, "inference", "'auto' or 'ep' under cr.noise.Laplace, whose density has a corner where Laplace's "
            "method needs a curvature", inference,
        )  # fmt: skip
    likelihood = _likelihood(noise)
    task = LatentTask(kernel, likelihood, X, likelihood.check(y), offset, weights, mean)
    return LatentFit.learn(task, inference=inference, optimize=optimize, n_restarts=n_restarts, rng=rng)


def _likelihood(noise: Any) -> Likelihood:
    scale = noise.scale if noise.scale is not None else noise.scale_prior
    if isinstance(noise, records.Laplace):
        return LaplaceIdentity(scale)
    return StudentTIdentity(noise.df if noise.df is not None else noise.df_prior, scale)
