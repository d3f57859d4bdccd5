"""The dictionary between penalties and priors: λ of ridge, `alpha` of the lasso and the elastic net, and what they say.

With noise of variance σ² a penalised fit is the mode of a posterior:

    ridge        ‖y − Xw‖² + λ‖w‖²                                             w_j ~ N(0, σ²/λ)
    lasso        ‖y − Xw‖²/(2n) + α‖w‖₁                                        w_j ~ Laplace(0, σ²/(nα))
    elastic net  ‖y − Xw‖²/(2n) + α l1_ratio ‖w‖₁ + ½ α (1 − l1_ratio) ‖w‖²    ∝ both densities multiplied

A penalty fixes the ratio of noise to prior and neither of the two: every function here needs the noise scale σ.
The names are scikit-learn's: `Ridge(alpha=λ)` sums over rows, `Lasso` and `ElasticNet` average over them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.distributions.laplace import Laplace
from credo.distributions.normal import Normal
from credo.errors import ParameterError

__all__ = [
    "elastic_net_to_prior",
    "input_noise_to_ridge",
    "lasso_to_prior",
    "prior_to_elastic_net",
    "prior_to_lasso",
    "prior_to_ridge",
    "ridge_to_prior",
]


def ridge_to_prior(penalty: Any, noise_scale: Any = 1.0) -> Normal:
    """The prior N(0, σ²/λ) of which ridge with λ‖w‖² is the mode. λ > 0, σ > 0; arrays broadcast.

    >>> ridge_to_prior(100.0, noise_scale=2.0)
    Normal(mean=0.0, sd=0.2)
    """
    penalty, noise_scale = _positive("penalty", penalty), _positive("noise_scale", noise_scale)
    return Normal(0.0, _plain(noise_scale / np.sqrt(penalty)))


def prior_to_ridge(prior: Normal, noise_scale: Any = 1.0) -> Any:
    """λ = σ²/sd², the ridge penalty that a prior Normal(0, sd) amounts to.

    >>> prior_to_ridge(Normal(0, 0.1))
    100.0
    """
    _centred("prior_to_ridge", prior, Normal)
    return _plain(np.square(_positive("noise_scale", noise_scale) / _positive("prior.sd", prior.sd)))


def lasso_to_prior(alpha: Any, n: float, noise_scale: Any = 1.0) -> Laplace:
    """The prior Laplace(0, b), b = σ²/(nα), of which the lasso on n rows is the mode (2nα = 2σ²/b).

    >>> lasso_to_prior(1.0, 1000)
    Laplace(mean=0.0, scale=0.001)
    """
    total = _positive("n", n) * _positive("alpha", alpha)
    return Laplace(0.0, _plain(np.square(_positive("noise_scale", noise_scale)) / total))


def prior_to_lasso(prior: Laplace, n: float, noise_scale: Any = 1.0) -> Any:
    """α = σ²/(n b), scikit-learn's `alpha` for n rows that a prior Laplace(0, b) amounts to.

    >>> prior_to_lasso(Laplace(0, 0.001), 1000)
    1.0
    """
    _centred("prior_to_lasso", prior, Laplace)
    return _plain(np.square(_positive("noise_scale", noise_scale)) / (_positive("n", n) * np.asarray(prior.scale)))


def elastic_net_to_prior(alpha: Any, l1_ratio: float, n: float, noise_scale: Any = 1.0) -> Any:
    """The prior of which the elastic net is the mode: `Normal` at l1_ratio = 0, `Laplace` at 1, else `ElasticNet`.

    Its Laplace scale is σ²/(n α l1_ratio), its Normal sd σ/√(n α (1 − l1_ratio)).

    >>> elastic_net_to_prior(0.5, 1.0, 100)
    Laplace(mean=0.0, scale=0.02)
    """
    if not 0.0 <= l1_ratio <= 1.0:
        raise ParameterError("elastic_net_to_prior", "l1_ratio", "between 0 and 1", l1_ratio)
    total = _positive("n", n) * _positive("alpha", alpha)
    if l1_ratio == 0.0:
        return ridge_to_prior(total, noise_scale)
    if l1_ratio == 1.0:
        return lasso_to_prior(alpha, n, noise_scale)
    from credo.distributions.elastic_net import ElasticNet

    sharp = lasso_to_prior(np.asarray(alpha) * l1_ratio, n, noise_scale)
    return ElasticNet(sharp.scale, ridge_to_prior(total * (1.0 - l1_ratio), noise_scale).sd)


def prior_to_elastic_net(prior: Any, n: float, noise_scale: Any = 1.0) -> tuple[Any, Any]:
    """scikit-learn's (alpha, l1_ratio) for n rows of a prior `Normal`, `Laplace` or `ElasticNet` about zero.

    >>> prior_to_elastic_net(Laplace(0, 0.02), 100)
    (0.5, 1.0)
    """
    if isinstance(prior, Normal):
        return _plain(prior_to_ridge(prior, noise_scale) / _positive("n", n)), 0.0
    if isinstance(prior, Laplace):
        return prior_to_lasso(prior, n, noise_scale), 1.0
    from credo.distributions.elastic_net import ElasticNet

    if not isinstance(prior, ElasticNet):
        raise ParameterError("prior_to_elastic_net", "prior", "a Normal, Laplace or ElasticNet", prior)
    sharp = prior_to_lasso(Laplace(0.0, prior.laplace_scale), n, noise_scale)
    smooth = prior_to_ridge(Normal(0.0, prior.normal_sd), noise_scale) / _positive("n", n)
    return _plain(sharp + smooth), _plain(sharp / (sharp + smooth))


def input_noise_to_ridge(sd: Any, n: float) -> Any:
    """λ = n s²: least squares averaged over independent noise of sd s on every input is ridge (Tikhonov).

    Exact, since E‖y − (X + N)w‖² = ‖y − Xw‖² + n s²‖w‖² (Bishop 1995, Neural Computation 7). Noise of unequal sd on
    the columns, as an array, is a penalty for each.

    >>> input_noise_to_ridge(0.5, 1000)
    250.0
    """
    return _plain(_positive("n", n) * np.square(_positive("sd", sd)))


def _positive(name: str, value: Any) -> np.ndarray:
    array = np.asarray(value, dtype=np.float64)
    if not np.all((array > 0.0) & np.isfinite(array)):
        raise ParameterError("penalties", name, "finite and > 0", value)
    return array


def _centred(owner: str, prior: Any, family: type) -> None:
    if not isinstance(prior, family) or np.any(np.asarray(prior.mean) != 0.0):  # type: ignore[attr-defined]
        raise ParameterError(
            owner, "prior", f"a {family.__name__} about 0", prior, "Subtract its mean from the target."
        )


def _plain(value: Any) -> Any:
    return float(value) if np.ndim(value) == 0 else value
