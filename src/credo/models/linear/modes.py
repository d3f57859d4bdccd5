"""The most probable coefficients under a prior that is not Normal, the noise known: penalised least squares.

    Laplace, elastic net   coordinate descent with a duality gap (`inference.coordinate_descent`)
    Student-t              Newton from several starts: the density may have several modes
    Uniform                bounded least squares

All minimise F(w) = ½ ‖y − x w‖² − log p(w) in units where σ = 1.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize

from credo.inference.coordinate_descent import lasso_gram
from credo.inference.result import Result
from credo.models.scale_mixtures import Box, ElasticNetMixture, LaplaceMixture, ScaleMixture, StudentTMixture

__all__ = ["box_mode", "l1_mode", "student_t_mode"]

# Newton stops when a step would lower F by less than this: far below what any posterior sd can see.
TOLERANCE = 1e-16
MAX_ITER = 200


def l1_mode(x: np.ndarray, y: np.ndarray, mixture: LaplaceMixture | ElasticNetMixture) -> tuple[np.ndarray, Result]:
    """The lasso or elastic net: w (P, T) for rows x (K, P), y (K, T)."""
    shifted = y - (x @ mixture.mean)[:, None]
    l1, ridge = mixture.penalty[1], mixture.penalty[2] if len(mixture.penalty) == 3 else 0.0
    fit = lasso_gram(x.T @ x, x.T @ shifted, l1, ridge, square=np.square(shifted).sum(axis=0))
    return mixture.mean[:, None] + fit.coef.T.reshape(x.shape[1], -1), fit.result


def box_mode(x: np.ndarray, y: np.ndarray, box: Box) -> tuple[np.ndarray, Result]:
    """Least squares within bounds: w (P, T)."""
    columns, ok = [], True
    for target in y.T:
        fit = scipy.optimize.lsq_linear(
            x, target, (box.low, box.high), method="bvls", tol=1e-14, max_iter=10 * x.shape[1] + 100
        )
        ok &= bool(fit.success)
        columns.append(fit.x)
    return np.stack(columns, axis=1), Result("converged" if ok else "max_iter", "map")


def student_t_mode(x: np.ndarray, y: np.ndarray, mixture: StudentTMixture) -> tuple[np.ndarray, Result]:
    """The best mode (P, T) found from three starts: the centre, least squares shrunk as by a Normal prior, and by a
    prior ten times as wide."""
    columns, trace = [], ()
    for target in y.T:
        fits = [_newton(x, target, mixture, start) for start in _starts(x, target, mixture)]
        w, trace, ok = min(fits, key=lambda fit: fit[1][-1])
        columns.append((w, ok))
    status = "converged" if all(ok for _, ok in columns) else "max_iter"
    advice = ("The Student-t density may have several modes: this is the best found from three starts.",)
    return np.stack([w for w, _ in columns], axis=1), Result(status, "map", objective=trace, advice=advice)


def _starts(x: np.ndarray, y: np.ndarray, mixture: ScaleMixture) -> list[np.ndarray]:
    shifted = y - x @ mixture.mean
    starts = [mixture.mean]
    for widen in (1.0, 10.0):
        rows = x * (mixture.scale * widen)
        u = np.linalg.lstsq(
            np.vstack([rows, np.eye(x.shape[1])]), np.append(shifted, np.zeros(x.shape[1])), rcond=None
        )[0]
        starts.append(mixture.mean + mixture.scale * widen * u)
    return starts


def _newton(
    x: np.ndarray, y: np.ndarray, mixture: StudentTMixture, w: np.ndarray
) -> tuple[np.ndarray, tuple[float, ...], bool]:
    """Newton's steps where they lower F, else majorise–minimise steps, which always do: −log t lies below a parabola of
    curvature (df + 1)/(df scale² + d²) that touches it."""

    def objective(w: np.ndarray) -> float:
        return float(0.5 * np.square(y - x @ w).sum() - mixture.log_prob(w))

    gram, trace = x.T @ x, [objective(w)]
    df, square = np.asarray(mixture.df), np.square(mixture.scale)
    for _ in range(MAX_ITER):
        d = w - mixture.mean
        gradient = x.T @ (x @ w - y) - mixture.gradient(w)
        spread = df * square + np.square(d)
        exact = gram + np.diag((df + 1.0) * (df * square - np.square(d)) / np.square(spread))
        for curvature in (exact, gram + np.diag((df + 1.0) / spread)):
            step = np.linalg.solve(curvature, -gradient)
            value = objective(w + step)
            if value <= trace[-1] and step @ gradient <= 0.0:
                break
        decrement = abs(float(gradient @ step))
        if value <= trace[-1]:
            w = w + step
        trace.append(min(value, trace[-1]))
        if decrement < TOLERANCE * max(1.0, abs(value)):
            return w, tuple(trace), True
    return w, tuple(trace), False
