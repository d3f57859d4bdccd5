"""Marginals of conditional Gaussian networks by weighted draws of the discrete nodes alone.

The discrete nodes are drawn forwards. Under each draw the continuous ones are jointly normal, so that the evidence on
them has a density, which weighs the draw, and the others have exact means and variances given it:

    E[x | e] ≈ Σ w̃ᵢ E[x | e, dᵢ],   wᵢ = P(discrete evidence | draw i) p(continuous evidence | dᵢ),   w̃ = w/Σ w

No continuous node is drawn (Rao–Blackwell): errors are those of the configurations alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ConvergenceWarning, NumericalError, UnavailableError, warn
from credo.models.network.gaussian.equations import residual, responses, whitened
from credo.models.network.gaussian.mixed_structure import OWNER
from credo.models.network.gaussian.network import Moments
from credo.models.network.sampling.estimates import LEAST_ESS, with_unseen
from credo.models.network.sampling.forward import checked_count

if TYPE_CHECKING:
    from credo.models.network.gaussian.conditional import ConditionalGaussianNetwork

__all__ = ["MixedEstimates", "weighted_marginals"]

# Numbers of one matrix of all draws that are conditioned at once: 16 MB.
BLOCK = 1 << 21


@dataclass(frozen=True, eq=False)
class MixedEstimates:
    """Estimated marginals of discrete and continuous nodes.

    marginals : {node: {state: p}} and {node: (mean, sd)}, nodes with evidence included
    standard_errors : {node: (states,)}, of a continuous node of its mean and its sd (2,); 0 where known
    log_probability, log_probability_error : log of the evidence's probability or density, and its standard error
    ess, n_samples : draws that count, and draws made
    """

    marginals: Mapping[str, Any]
    standard_errors: Mapping[str, np.ndarray]
    log_probability: float
    log_probability_error: float
    ess: float
    n_samples: int

    def __repr__(self) -> str:
        return f"<MixedEstimates of {len(self.marginals)} nodes, ess {self.ess:.0f}>"


def weighted_marginals(
    network: ConditionalGaussianNetwork, hard: Mapping[str, Any], numbers: Mapping[str, float], rng: Any, n_samples: int
) -> MixedEstimates:
    """By `n_samples` draws of the discrete nodes. Cost: d³/3 a draw, of d continuous nodes."""
    n = checked_count(f"{OWNER}.estimate_marginals", "n_samples", n_samples, 2)
    codes, log_weight = _drawn(network, hard, n, rng)
    real = network.structure_.order
    means, variances = np.empty((n, len(real))), np.empty((n, len(real)))
    step = max(1, BLOCK // max(1, len(real)) ** 2)
    for start in range(0, n, step):
        some = slice(start, start + step)
        at = {node: column[some] for node, column in codes.items()}
        log_density, means[some], variances[some] = _given(network, at, numbers, len(log_weight[some]))
        log_weight[some] += log_density
    top = float(log_weight.max())
    if top == -np.inf:
        raise NumericalError(
            f"{OWNER}: none of {n:,} draws agrees with the evidence.", value=n,
            remedy="Its probability is 0 or very small: draw more, observe less, or ask exactly.",
        )  # fmt: skip
    w = np.exp(log_weight - top)
    relative = float(w.std() / w.mean() / np.sqrt(n))
    log_probability = top + float(np.log(w.mean()))
    w /= w.sum()
    ess = 1.0 / float(np.square(w).sum())
    if ess < LEAST_ESS:
        warn(
            f"{OWNER}: of {n:,} weighted draws as few as {ess:.0f} count, the evidence being unlikely given the draws: "
            "errors may be larger than stated. Draw more.",
            ConvergenceWarning,
        )
    laws, errors = _summed(network, codes, hard, numbers, w, means, variances, ess)
    return MixedEstimates(laws, errors, log_probability, relative, ess, n)


def _drawn(
    network: ConditionalGaussianNetwork, hard: Mapping[str, Any], n: int, rng: Any
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Numbers of states of all discrete nodes, (n,) each, and the log weights of the draws."""
    from credo.models.network.sampling.arrays import NetworkArrays
    from credo.models.network.sampling.forward import draw

    if network.definition_ is None:
        return {}, np.zeros(n)
    arrays = NetworkArrays.of(network.definition_)
    codes, log_weight = draw(arrays, arrays.findings(hard), n, rng)
    return dict(zip(arrays.names, codes, strict=True)), log_weight


def _given(
    network: ConditionalGaussianNetwork, codes: Mapping[str, np.ndarray], numbers: Mapping[str, float], n: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log density (n,) of the continuous evidence, means and variances (n, d) given it), under each configuration."""
    real = network.structure_.order
    place, d = {node: i for i, node in enumerate(real)}, len(real)
    weights, level, sds = np.zeros((n, d, d)), np.empty((n, d)), np.empty((n, d))
    for i, node in enumerate(real):
        cells = network._cells[node]
        at = tuple(codes[p] for p in cells.discrete)
        level[:, i], sds[:, i] = cells.intercepts[at], cells.sds[at]
        for j, parent in enumerate(cells.continuous):
            weights[:, i, place[parent]] = cells.coefficients[at][..., j]
    mean, a = responses(weights, level, sds)
    seen = [place[node] for node in numbers]
    parts = whitened(a[:, seen])
    values = np.broadcast_to(np.array(list(numbers.values()), dtype=np.float64), (n, len(seen)))
    z, possible = parts.noises(values, mean[:, seen])
    if np.any(possible & ~(parts.dense & (parts.varying == parts.varying.max(initial=0)))):
        raise UnavailableError(
            f"{OWNER}: the evidence on {', '.join(numbers)} has no density: some of it follows from the rest (sd 0).",
            value=list(numbers), remedy="Leave out nodes that are functions of those observed.",
        )  # fmt: skip
    log_density = np.where(possible, parts.log_density(z), -np.inf)
    means = mean + np.matmul(np.matmul(a, parts.basis), z[..., None])[..., 0]
    return log_density, means, np.square(residual(a, parts.basis)).sum(axis=-1)


def _summed(
    network: ConditionalGaussianNetwork, codes: Mapping[str, np.ndarray], hard: Mapping[str, Any],
    numbers: Mapping[str, float], w: np.ndarray, means: np.ndarray, variances: np.ndarray, ess: float,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:  # fmt: skip
    """Weighted means over the draws, and their errors by the delta method."""
    laws: dict[str, Any] = {}
    errors: dict[str, np.ndarray] = {}
    for node, own in network.states.items():
        met = codes[node][:, None] == np.arange(len(own))
        p = w @ met
        p /= p.sum()
        laws[node] = dict(zip(own, p.tolist(), strict=True))
        spread = np.sqrt(np.square(w) @ np.square(met - p))
        errors[node] = np.zeros(len(own)) if node in hard else with_unseen(spread, ess)
    place = {node: i for i, node in enumerate(network.structure_.order)}
    for node in network.structure_.continuous:
        if node in numbers:
            laws[node], errors[node] = Moments(numbers[node], 0.0), np.zeros(2)
            continue
        m, v = means[:, place[node]], variances[:, place[node]]
        mean = float(w @ m)
        second = v + np.square(m - mean)
        sd = float(np.sqrt(w @ second))
        of_mean = np.sqrt(np.square(w) @ np.square(m - mean))
        of_square = np.sqrt(np.square(w) @ np.square(second - sd * sd))
        laws[node], errors[node] = Moments(mean, sd), np.array([of_mean, of_square / (2.0 * sd) if sd > 0.0 else 0.0])
    return laws, errors
