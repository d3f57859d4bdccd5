"""Equations of a Gaussian network from rows: a regression a node; EM where cells are missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, NotIdentifiedError, ParameterError, warn
from credo.inference.em import EMModel, em
from credo.inference.result import Result
from credo.models.network.gaussian.credible import LevelBelief
from credo.models.network.gaussian.equation import LinearGaussian
from credo.models.network.gaussian.equations import residual, responses, whitened
from credo.models.network.gaussian.rows import patterns

__all__ = ["METHODS", "fit_equations", "fit_node"]

METHODS = ("bayes", "mle")
# Squares of values beyond this leave the range of floating point.
LARGEST = 1e150
# What rounding leaves of an exact fit, relative to the largest value of the node.
EXACT = 64.0 * float(np.finfo(np.float64).eps)


def fit_equations(
    owner: str,
    x: np.ndarray,
    parents: Mapping[str, tuple[str, ...]],
    method: str,
    sample_weight: Any,
    tol: float,
    max_iter: int,
) -> tuple[dict[str, LinearGaussian], dict[str, Any], Result]:
    """(equations, posteriors under "bayes", how it went) from x (n, nodes), NaN where missing."""
    checked_method(owner, method)
    weight = checked_weight(owner, sample_weight, len(x))
    names = list(parents)
    missing = np.isnan(x)
    if empty := [name for name, column in zip(names, missing.T, strict=True) if column.all()]:
        raise DataError(f"{owner}: node(s) {', '.join(empty[:8])} have no cell.", columns=empty)
    if missing.any():
        if method == "bayes" or weight is not None:
            rows = np.flatnonzero(missing.any(axis=1))
            raise DataError(
                f"{owner}: {len(rows)} rows have missing cells ({rows[:8].tolist()} …).", rows=rows[:20].tolist(),
                remedy='Fit by EM: method="mle" without weights; or leave these rows out.',
            )  # fmt: skip
        return _by_em(owner, x, parents, tol, max_iter)
    at = {name: j for j, name in enumerate(names)}
    equations, posteriors = {}, {}
    for node, above in parents.items():
        chosen = x[:, [at[p] for p in above]]
        equations[node], posterior = fit_node(owner, node, x[:, at[node]], chosen, weight, above, method)
        if posterior is not None:
            posteriors[node] = posterior
    return equations, posteriors, Result("exact", "exact" if method == "bayes" else "mle")


def checked_method(owner: str, method: Any) -> None:
    if method not in METHODS:
        raise ParameterError(owner, "method", f"one of {', '.join(METHODS)}", method)


def checked_weight(owner: str, weight: Any, n: int) -> np.ndarray | None:
    if weight is None:
        return None
    found = np.asarray(weight, dtype=np.float64)
    if found.shape != (n,) or not np.all(np.isfinite(found) & (found >= 0.0)) or not found.sum() > 0.0:
        raise ParameterError(owner, "sample_weight", f"{n} numbers ≥ 0, not all 0", weight)
    return found


def fit_node(
    owner: str, node: str, y: np.ndarray, x: np.ndarray, w: np.ndarray | None, names: Sequence[str], method: str
) -> tuple[LinearGaussian, Any]:
    """One regression: (equation, posterior or None)."""
    w = np.ones(len(y)) if w is None else w
    total = float(w.sum())
    if not total > 0.0:
        raise _too_few(owner, node, total)
    if max(np.abs(y).max(), np.abs(x).max(initial=0.0)) > LARGEST:
        raise DataError(f"{owner}: values of {node!r} or its parents are beyond {LARGEST:g}.", remedy="Rescale them.")
    if method == "bayes" and names:
        from credo.models.linear import LinearRegression

        if total < 2.0:
            raise _too_few(owner, node, total)
        model = LinearRegression().fit(x, y, sample_weight=None if np.all(w == 1.0) else w)
        found, intercept, sd, posterior = model.coef_, model.intercept_, model.noise_scale_, model.posterior_
    else:
        found, intercept, squares = _least_squares(owner, node, y, x, w, names)
        divisor = total - 1.0 if method == "bayes" else total
        if divisor <= 0.0:
            raise _too_few(owner, node, total)
        sd, posterior = np.sqrt(squares / divisor), None
        if method == "bayes" and squares > 0.0:
            posterior = LevelBelief(float(intercept), float(squares), total)
    if sd <= EXACT * np.abs(y).max(initial=0.0):
        sd = 0.0
        warn(f"{owner}: the rows determine {node!r} exactly, so its sd is 0.", DataWarning)
    pairs = zip(names, np.asarray(found).ravel().tolist(), strict=True)
    return LinearGaussian(float(intercept), dict(pairs), float(sd)), posterior


def _too_few(owner: str, node: str, total: float) -> NotIdentifiedError:
    return NotIdentifiedError(
        f"{owner}: {total:g} row(s) do not determine the equation of {node!r}.", value=total, remedy="Give more rows."
    )


def _least_squares(
    owner: str, node: str, y: np.ndarray, x: np.ndarray, w: np.ndarray, names: Sequence[str]
) -> tuple[np.ndarray, float, float]:
    """(coefficients, intercept, Σ w r²), by QR of centred and scaled columns."""
    total = w.sum()
    centre, level = (w @ x) / total, (w @ y) / total
    z = (x - centre) * np.sqrt(w)[:, None]
    scale = np.sqrt(np.square(z).sum(axis=0))
    safe = np.where(scale > 0.0, scale, 1.0)
    target = (y - level) * np.sqrt(w)
    found, _, rank, _ = np.linalg.lstsq(z / safe, target, rcond=None)
    if rank < len(names) or (names and np.count_nonzero(w) <= len(names)):
        raise NotIdentifiedError(
            f"{owner}: {np.count_nonzero(w)} rows do not determine the coefficients of {node!r} on {', '.join(names)}.",
            value=int(rank),
            remedy='Give more rows, leave out parents that are copies of others, or take method="bayes".',
        )
    left = target - (z / safe) @ found
    return found / safe, float(level - centre @ (found / safe)), float(left @ left)


class _MissingCells(EMModel):
    """Rows (n, d), centred and scaled, NaN where a cell is missing; columns parents before children."""

    def __init__(self, parents: Sequence[np.ndarray]) -> None:
        self.parents = parents

    def accumulate(self, block: Any, params: Any) -> Any:
        """(n, Σ E x, Σ E x xᵀ, log-likelihood)."""
        x, (weights, intercepts, sds) = block.X, params
        means, rows = responses(weights[None], intercepts[None], sds[None])
        mean, a = means[0], rows[0]
        missing = np.isnan(x)
        filled, second, bound = np.where(missing, 0.0, x), np.zeros_like(a), 0.0
        for at, columns in patterns(~missing):
            parts = whitened(a[columns])
            values = np.take_along_axis(x[at], columns, axis=1)
            z = parts.noises(values[:, None] if len(columns) == 1 else values, mean[columns])[0]
            z = z.reshape(len(at), columns.shape[1])
            bound += float(np.sum(parts.log_density(z)))
            holes = np.nonzero(missing[at[: len(columns)]])[1].reshape(len(columns), -1)
            along = np.matmul(a[holes], parts.basis)
            expected = mean[holes] + np.matmul(along, z[..., None])[..., 0]
            filled[at[:, None], holes] = expected
            left = residual(a[holes], parts.basis)
            open_ = np.matmul(left, left.swapaxes(-1, -2)) * (len(at) if len(columns) == 1 else 1)
            np.add.at(second, (holes[:, :, None], holes[:, None, :]), open_)
        return np.array(float(len(x))), filled.sum(axis=0), filled.T @ filled + second, np.array(bound)

    def finalize(self, statistics: Any) -> Any:
        n, first, second, _ = statistics
        mean = first / n
        covariance = second / n - np.outer(mean, mean)
        d = len(mean)
        weights, intercepts, sds = np.zeros((d, d)), np.zeros(d), np.zeros(d)
        for i, above in enumerate(self.parents):
            cross = covariance[above, i]
            w = np.linalg.lstsq(covariance[np.ix_(above, above)], cross, rcond=None)[0]
            weights[i, above], intercepts[i] = w, mean[i] - w @ mean[above]
            # A node that its parents determine would have an infinite likelihood: the sd stays above rounding.
            sds[i] = np.sqrt(max(covariance[i, i] - w @ cross, 1e-16 * max(covariance[i, i], 1e-300)))
        return weights, intercepts, sds

    def bound(self, statistics: Any, params: Any) -> float:
        return float(statistics[3])


def _by_em(
    owner: str, x: np.ndarray, parents: Mapping[str, tuple[str, ...]], tol: float, max_iter: int
) -> tuple[dict[str, LinearGaussian], dict[str, Any], Result]:
    from credo.models.network.gaussian.structure import places, sorted_nodes

    names, order = list(parents), sorted_nodes(owner, parents)
    x = x[:, places(names, order)]
    x = x[~np.all(np.isnan(x), axis=1)]
    centre, scale = np.nanmean(x, axis=0), np.nanstd(x, axis=0)
    if constant := [order[j] for j in np.flatnonzero(~(scale > EXACT * np.abs(centre)))]:
        raise DataError(
            f"{owner}: column(s) {', '.join(constant[:8])} hold one value only, which EM cannot learn from.",
            columns=constant,
            remedy="Leave them out, or fit complete rows.",
        )
    above = [places(order, parents[node]) for node in order]
    model = _MissingCells(above)
    d = len(order)
    start = (np.zeros((d, d)), np.zeros(d), np.ones(d))
    fit = em(model, (x - centre) / scale, start, tol=tol, max_iter=max_iter, finish=True)
    weights, intercepts, sds = fit.params
    if fit.result.status == "max_iter":
        from credo.errors import ConvergenceWarning

        warn(f"{owner}: {fit.result.message}", ConvergenceWarning)
    made = {}
    for i, node in enumerate(order):
        w = weights[i, above[i]] * scale[i] / scale[above[i]]
        intercept = centre[i] + scale[i] * intercepts[i] - w @ centre[above[i]]
        own = dict(zip(parents[node], w.tolist(), strict=True))
        made[node] = LinearGaussian(float(intercept), own, float(sds[i] * scale[i]))
    return {node: made[node] for node in names}, {}, fit.result
