"""Sequential Monte Carlo and annealed importance sampling: from a proposal to the target in small, chosen steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import ConvergenceWarning, ParameterError, warn
from credo.inference.direct.densities import as_density, as_proposal, check_size
from credo.inference.direct.population import KernelMoves, Path, Population, RandomWalkMoves, next_temperature
from credo.inference.direct.reach import check_reach
from credo.inference.direct.records import ImportanceSample
from credo.inference.direct.weigh import LEAST, weighted_sample
from credo.inference.mcmc.kernel import Kernel
from credo.inference.result import Result
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread

__all__ = ["smc", "annealed_importance"]

#: resample an island whose ESS is below half its particles: the usual compromise between noise and degeneracy
RESAMPLE_BELOW = 0.5
#: particles of the pilot run at least, and a dimension: fewer do not show a covariance, and moves tuned to their chance
#: shape are accepted by other particles half as often (measured at 12 a dimension)
PILOT = (200, 30)
#: a relative error of Ẑ at which the delta method for log Ẑ no longer holds
LARGEST_ERROR = 0.5
#: an acceptance rate below which particles hardly move
SMALLEST_ACCEPTANCE = 0.02
#: ancestors, by weight, too few to trust: 1/√30 is an error of a fifth in Ẑ, which is itself a guess from so few
FEWEST_ANCESTORS = 30.0
MAX_TEMPERATURES = 5000


@dataclass
class _Trace:
    """What happened at each temperature."""

    temperature: list[float] = field(default_factory=list)
    ess: list[np.ndarray] = field(default_factory=list)
    log_evidence: list[np.ndarray] = field(default_factory=list)
    resampled: list[np.ndarray] = field(default_factory=list)
    acceptance_rate: list[float] = field(default_factory=list)

    def arrays(self) -> dict[str, np.ndarray]:
        return {name: np.array(values) for name, values in self.__dict__.items()}


def smc(
    target: Any,
    proposal: Any,
    *,
    size: int,
    rng: Any = None,
    islands: int = 8,
    temperatures: Sequence[float] | None = None,
    ess_step: float = 0.9,
    moves: int | None = None,
    kernel: Kernel | Callable[[np.ndarray, np.ndarray], Kernel] | None = None,
) -> ImportanceSample:
    """Sequential Monte Carlo along π_β ∝ q^(1 − β) p̃^β, β from 0 to 1: reweight, resample, move.

    A pilot run chooses the temperatures and tunes the moves, and is discarded. Independent islands then follow its
    schedule: given that, each island's Ẑ is unbiased for Z = ∫ p̃, and their spread is the error of their mean.

    Parameters
    ----------
    target : a `Target`, a distribution, or log p̃ of all draws at once, (n, ...) → (n,); up to a constant.
    proposal : a distribution q with `sample` and `log_prob`, such as the prior; for a `Target` also a mapping of names
        to distributions. q p̃/q must be p̃: no mass outside its support; with lighter tails than p̃'s, errors are too
        small.
    size : number of particles in all, at least 50 an island; rounded up to equal islands.
    rng : seed or generator.
    islands : independent populations, ≥ 2. Errors have islands − 1 degrees of freedom.
    temperatures : ascending β, the last one 1; None chooses each so that the conditional ESS of a step is `ess_step`.
    ess_step : in (0, 1), as a share of the particles.
    moves : steps of every particle at each temperature; None is one a dimension, at least 5.
    kernel : None is a random walk with the particles' covariance, tuned in the pilot run; or a kernel of
        `inference.mcmc` that needs no gradient, or (particles (n, dim), weights (n,)) → kernel.

    Returns
    -------
    ImportanceSample of all particles, islands weighted by their Ẑ; `log_evidence` with `log_evidence_error`;
    `expect(f)` has its error too. Each error is the larger of two: between islands, and between families of common
    descent (Lee and Whiteley 2018). `trace` holds `temperature` (T,), `ess`, `log_evidence` and `resampled`
    (T, islands), `acceptance_rate` (T,). The certificate holds `ess`; `ancestors`, 1/Σ (weight of a family)², how many
    first particles the answer rests on; and `roots`, the fewest left in an island. A mode so narrow that no particle
    met it leaves no trace in these, and one that few of a single island met may leave little.

    Raises
    ------
    ZeroProbabilityError, ParameterError : the target is zero at all draws, or has mass beyond the proposal's support.
    NumericalError : log p̃ is NaN or +inf.

    Warns
    -----
    ConvergenceWarning : islands disagree (relative error of Ẑ above ½), the weight descends from fewer than 30
        ancestors, or moves are hardly ever accepted.

    Cost: (size + pilot) · temperatures · moves evaluations, a population at a time; the pilot run has as many particles
    as an island, at least 200 and 30 a dimension.

    References
    ----------
    Del Moral, Doucet and Jasra (2006), Sequential Monte Carlo samplers, JRSS B 68; Zhou, Johansen and Aston (2016),
    Toward automatic model comparison, JCGS 25; Lee and Whiteley (2018), Variance estimation in the particle filter,
    Biometrika 105.

    Examples
    --------
    >>> import credo as cr
    >>> found = smc(lambda x: -0.5 * ((x - 3.0) / 0.1) ** 2, cr.Normal(0.0, 5.0), size=800, rng=0)
    >>> abs(found.log_evidence - np.log(0.1 * np.sqrt(2 * np.pi))) < 4 * found.log_evidence_error
    np.True_
    """
    islands = check_size("smc", islands, 2, "islands")
    size = check_size("smc", size, 50 * islands)
    run = _Run("smc", target, proposal, temperatures, ess_step, moves, kernel, rng)
    began = time.perf_counter()
    particles = -(-size // islands)
    with single_blas_thread():
        schedule = run.pilot(max(particles, run.least))
        population, trace = run.follow(schedule, islands, particles, RESAMPLE_BELOW)
    return _pooled(run, population, trace, time.perf_counter() - began)


def annealed_importance(
    target: Any,
    proposal: Any,
    *,
    size: int,
    rng: Any = None,
    temperatures: Sequence[float] | None = None,
    ess_step: float = 0.99,
    moves: int | None = None,
    kernel: Kernel | Callable[[np.ndarray, np.ndarray], Kernel] | None = None,
) -> ImportanceSample:
    """Annealed importance sampling: as `smc` without resampling, so that all draws are independent.

    log w = Σ_k (β_k − β_{k−1}) log (p̃/q)(x_{k−1}), x_k a step from x_{k−1} that leaves π_{β_k} invariant. Parameters
    are those of `smc`; steps are finer (`ess_step`), because weights are never evened out.

    Returns
    -------
    ImportanceSample as of `importance`: weights are Pareto-smoothed and judged by k̂, Ẑ is unbiased; `trace` as of
    `smc`.

    Raises and warns as `smc` and `importance`.

    Cost: (size + pilot) · temperatures · moves evaluations, with a pilot run of up to 1,000 particles, or 30 a
    dimension.

    Reference: Neal (2001), Annealed importance sampling, Statistics and Computing 11.

    Examples
    --------
    >>> import credo as cr
    >>> found = annealed_importance(cr.Normal(3.0, 0.5), cr.Normal(0.0, 2.0), size=500, rng=0)
    >>> abs(found.log_evidence) < 4 * found.log_evidence_error
    True
    """
    size = check_size("annealed_importance", size, LEAST)
    run = _Run("annealed_importance", target, proposal, temperatures, ess_step, moves, kernel, rng)
    began = time.perf_counter()
    with single_blas_thread():
        schedule = run.pilot(max(min(size, 1000), run.least))
        population, trace = run.follow(schedule, 1, size, 0.0)
    log_weights = population.log_w[0] + np.log(size) + population.log_z[0]
    return weighted_sample(
        run.path.density, population.x.reshape(size, *run.path.shape), log_weights, "annealed_importance",
        time.perf_counter() - began, trace.arrays(), "Take more temperatures (a larger ess_step) or moves, or smc.",
    )  # fmt: skip


class _Run:
    """One problem with its settings: the pilot run and the runs that follow it."""

    def __init__(
        self,
        owner: str,
        target: Any,
        proposal: Any,
        temperatures: Any,
        ess_step: float,
        moves: Any,
        kernel: Any,
        rng: Any,
    ) -> None:  # fmt: skip
        if isinstance(ess_step, str) or not 0.0 < ess_step < 1.0:
            raise ParameterError(owner, "ess_step", "between 0 and 1 (exclusive)", ess_step)
        density = as_density(owner, target)
        q = as_proposal(owner, proposal, density.target)
        self.rng = as_generator(rng)
        self.kernel, self.ess_step = kernel, ess_step
        self.betas = None if temperatures is None else _checked(owner, temperatures)
        x, _ = q.draw(64, np.random.default_rng(0))  # its shape, and where it reaches
        check = x if density.target is None else x.reshape(64, density.target.dim)
        self.path = Path(density, q, check.shape[1:])
        self.dim = int(np.prod(check.shape[1:]))
        self.least = max(PILOT[0], PILOT[1] * self.dim)
        self.moves = max(5, self.dim) if moves is None else check_size(owner, moves, 1, "moves")

    def pilot(self, particles: int) -> list[tuple[float, Any]]:
        """(temperature, tuned moves) of every step."""
        population = Population.draw(self.path, 1, particles, self.rng)
        check_reach(self.path.density, self.path.proposal, population.x.reshape(-1, *self.path.shape), population.log_p)
        schedule: list[tuple[float, Any]] = []
        beta, scale = 0.0, None
        while beta < 1.0:
            if len(schedule) == MAX_TEMPERATURES:
                raise ParameterError(
                    self.path.density.owner, "ess_step", f"such that {MAX_TEMPERATURES} temperatures do", self.ess_step
                )
            following = (
                self.betas[len(schedule)]
                if self.betas is not None
                else next_temperature(beta, population.log_w[0], population.log_ratio[0], self.ess_step)
            )
            population.reweight(following - beta, self.path.density.owner)
            beta = following
            weights = np.exp(population.log_w[0])
            if self.kernel is None:
                moves: Any = RandomWalkMoves.tuned(population.x, weights, scale)
            else:
                moves = KernelMoves.tuned(self.kernel, population.x, weights)
            population.resample(RESAMPLE_BELOW, self.rng)
            for _ in range(self.moves):
                moves = moves.adapted(moves.sweep(self.path, beta, population, self.rng))
            scale = getattr(moves, "scale", None)
            schedule.append((beta, moves))
        return schedule

    def follow(
        self, schedule: list[tuple[float, Any]], islands: int, particles: int, below: float
    ) -> tuple[Population, _Trace]:
        population = Population.draw(self.path, islands, particles, self.rng)
        trace, beta = _Trace(), 0.0
        for following, moves in schedule:
            population.reweight(following - beta, self.path.density.owner)
            beta = following
            trace.temperature.append(beta)
            trace.ess.append(population.ess)
            trace.log_evidence.append(population.log_z.copy())
            trace.resampled.append(population.resample(below, self.rng))
            rates = [moves.sweep(self.path, beta, population, self.rng) for _ in range(self.moves)]
            trace.acceptance_rate.append(float(np.mean(rates)))
        return population, trace


def _checked(owner: str, temperatures: Any) -> list[float]:
    try:
        betas = np.asarray(temperatures, dtype=np.float64)
    except (TypeError, ValueError):
        betas = np.empty(0)
    betas = betas[1:] if betas.ndim == 1 and betas.size and betas[0] == 0.0 else betas
    if betas.ndim != 1 or not betas.size or betas[-1] != 1.0 or not np.all(np.diff(betas, prepend=0.0) > 0.0):
        raise ParameterError(owner, "temperatures", "ascending from above 0 to 1", temperatures)
    return betas.tolist()


def _pooled(run: _Run, population: Population, trace: _Trace, seconds: float) -> ImportanceSample:
    """All islands as one weighted sample, with the verdict."""
    density = run.path.density
    islands, particles = population.log_w.shape
    log_z = population.log_z
    log_evidence = float(np.logaddexp.reduce(log_z)) - float(np.log(islands))
    log_weights = (population.log_w + np.log(particles) + log_z[:, None]).ravel()
    weights = np.exp(log_weights - log_weights.max())
    weights /= weights.sum()
    families = float(np.sum(np.square(np.bincount(population.root, weights=weights))))
    error = max(
        float(np.std(np.exp(log_z - log_evidence), ddof=1) / np.sqrt(islands)),
        _error_by_descent(families, log_z, trace, particles),
    )
    roots = min(np.unique(row).size for row in population.root.reshape(islands, -1))
    advice = []
    if not error <= LARGEST_ERROR:
        advice.append(
            f"the islands' log evidences lie between {log_z.min():.4g} and {log_z.max():.4g}: some have missed part of "
            "the target. Take more particles an island, more moves, or a larger ess_step."
        )
    if 1.0 / families < FEWEST_ANCESTORS:
        advice.append(
            f"the weight descends from {1.0 / families:.1f} of {islands * particles} particles: the answer rests on so "
            "few that its error may be understated. A mode may be narrow beside the others, or the proposal far off: "
            "take more particles, or a proposal nearer to the target."
        )
    if min(trace.acceptance_rate) < SMALLEST_ACCEPTANCE:
        at = int(np.argmin(trace.acceptance_rate))
        advice.append(
            f"only {100 * trace.acceptance_rate[at]:.2g} % of moves were accepted at temperature "
            f"{trace.temperature[at]:.3g}. Take more particles or moves, or another kernel."
        )
    if advice:
        warn(f"smc: {' '.join(advice)}", ConvergenceWarning)
    certificate = {
        "ess": float(1.0 / np.sum(weights**2)),
        "log_evidence_error": error,
        "ancestors": 1.0 / families,
        "roots": roots,
        "acceptance_rate": min(trace.acceptance_rate),
    }
    pooled = [float(value) for value in np.logaddexp.reduce(trace.log_evidence, axis=1) - np.log(islands)]
    return ImportanceSample(
        values=density.split(population.x.reshape(-1, *run.path.shape)),
        weights=weights,
        result=Result(
            "not_certified" if advice else "converged", "smc", tuple(pooled), (seconds,), certificate, tuple(advice)
        ),
        log_evidence=log_evidence,
        dims={} if density.target is None else density.target.dims,
        density=density.joint(),
        log_weights=log_weights,
        log_evidence_error=error,
        islands=islands,
        roots=population.root,
        trace=trace.arrays(),
    )


def _error_by_descent(families: float, log_z: np.ndarray, trace: _Trace, particles: int) -> float:
    """Relative standard error of Ẑ by Lee and Whiteley (2018): Σ (weight of a family)² less what equal ones have.

    An island of N particles that was resampled n times: 1 − (N/(N − 1))^(n + 1) (1 − Σ), some Σ − (n + 1)/N.
    """
    shares = np.exp(log_z - np.logaddexp.reduce(log_z))
    rounds = np.sum(trace.resampled, axis=0) + 1
    return float(np.sqrt(max(families - float(np.sum(np.square(shares) * rounds)) / particles, 0.0)))
