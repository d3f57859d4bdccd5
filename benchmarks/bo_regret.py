"""Regret of Bayesian optimisation, Credo and its peers, from the same initial designs and the same noise.

    python -m benchmarks.bo_regret run credo random --seeds 10 --out traces.csv
    /tmp/peers/bin/python -m benchmarks.bo_regret run optuna-tpe optuna-gp botorch --seeds 10 --out traces.csv
    python -m benchmarks.bo_regret summary traces.csv

Each problem gets 10 d evaluations, of which the first 2 d (at least 5) are a Sobol design that all contestants share.
A trace has a row for each evaluation: the true regret of what the contestant would recommend after it (the best value
seen; where evaluations are noisy, the lowest posterior mean, or for contestants without one the lowest value), and the
processor seconds of the ask before it. Rows are appended, and what a file holds already is not run again.

The problems are those of Surjanovic & Bingham's Virtual Library of Simulation Experiments, on the unit cube.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import qmc

COLUMNS = ("contestant", "problem", "seed", "evaluation", "regret", "seconds")
FLOOR = 1e-12  # of regrets, for their logs


class Problem(NamedTuple):
    """f on [0, 1]ᵈ, its least value, and the sd of the noise on evaluations."""

    f: Callable[[np.ndarray], float]
    d: int
    least: float
    noise: float = 0.0


def branin(x: np.ndarray) -> float:
    a, b = 15.0 * x[0] - 5.0, 15.0 * x[1]
    bent = b - 5.1 / (4.0 * np.pi**2) * a * a + 5.0 / np.pi * a - 6.0
    return float(bent**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0)


HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
SHAPES = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
                   [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
CENTRES = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                           [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])  # fmt: skip


def hartmann6(x: np.ndarray) -> float:
    return float(-HEIGHTS @ np.exp(-np.sum(SHAPES * np.square(x - CENTRES), axis=1)))


def ackley(x: np.ndarray) -> float:
    z = 65.536 * x - 32.768
    waves = np.exp(np.mean(np.cos(2.0 * np.pi * z)))
    return float(-20.0 * np.exp(-0.2 * np.sqrt(np.mean(z * z))) - waves + 20.0 + np.e)


def rosenbrock(x: np.ndarray) -> float:
    z = 15.0 * x - 5.0
    return float(np.sum(100.0 * np.square(z[1:] - z[:-1] ** 2) + np.square(1.0 - z[:-1])))


def levy(x: np.ndarray) -> float:
    w = 1.0 + (20.0 * x - 11.0) / 4.0
    inner = np.square(w[:-1] - 1.0) * (1.0 + 10.0 * np.square(np.sin(np.pi * w[:-1] + 1.0)))
    last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + np.sum(inner) + last)


PROBLEMS = {
    "branin": Problem(branin, 2, 0.39788735772973816),
    "hartmann6": Problem(hartmann6, 6, -3.322368011415515),
    "ackley5": Problem(ackley, 5, 0.0),
    "rosenbrock4": Problem(rosenbrock, 4, 0.0),
    "noisy_levy4": Problem(levy, 4, 0.0, noise=1.0),
}


class History:
    """What was evaluated: X (n, d), y (n,), and the true values."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.noise = problem, np.random.default_rng(1000 + seed)
        self.X, self.y, self.truth = np.empty((0, problem.d)), np.empty(0), np.empty(0)

    def evaluate(self, x: np.ndarray) -> float:
        truth = self.problem.f(x)
        value = truth + self.problem.noise * self.noise.standard_normal()
        self.X, self.y = np.vstack([self.X, x]), np.append(self.y, value)
        self.truth = np.append(self.truth, truth)
        return value


class Random:
    """Uniform points."""

    def __init__(self, history: History, seed: int) -> None:
        self.history, self.rng = history, np.random.default_rng(seed)

    def ask(self) -> np.ndarray:
        return self.rng.random(self.history.problem.d)

    def recommended(self) -> int:
        return int(np.argmin(self.history.y))


class Sobol(Random):
    """The design of the first evaluations, gone on with."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        self.points = design(history.problem.d, seed)

    def ask(self) -> np.ndarray:
        return self.points[len(self.history.y)]


class Credo(Random):
    """`propose`, told whether evaluations are noisy (as Optuna's GP is); where they are, `recommend`."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        self.state = None
        self.noisy = history.problem.noise > 0.0

    def ask(self) -> np.ndarray:
        from credo.design.acquisition import propose

        found = propose(self.history.X, self.history.y, noisy=self.noisy, rng=self.rng, state=self.state)
        self.state = found.state
        return found.points[0]

    def recommended(self) -> int:
        if not self.noisy:
            return super().recommended()
        from credo.design.acquisition import recommend

        return recommend(self.history.X, self.history.y, noisy=True, rng=self.rng, state=self.state).index


class Optuna(Random):
    """A sampler of Optuna, told of the design."""

    def __init__(self, history: History, seed: int, sampler: str) -> None:
        super().__init__(history, seed)
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        start = first(history.problem.d)
        if sampler == "tpe":
            chosen: Any = optuna.samplers.TPESampler(seed=seed, n_startup_trials=start, multivariate=True)
        else:
            exact = history.problem.noise == 0.0
            chosen = optuna.samplers.GPSampler(seed=seed, n_startup_trials=start, deterministic_objective=exact)
        self.optuna, self.study = optuna, optuna.create_study(sampler=chosen)
        names = [f"x{j}" for j in range(history.problem.d)]
        self.space = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in names}
        self.trial: Any = None
        self.told = 0

    def ask(self) -> np.ndarray:
        for x, y in zip(self.history.X[self.told :], self.history.y[self.told :]):
            if self.trial is not None:
                self.study.tell(self.trial, y)
                self.trial = None
                continue
            params = dict(zip(self.space, x.tolist()))
            told = self.optuna.trial.create_trial(params=params, distributions=self.space, value=float(y))
            self.study.add_trial(told)
        self.told = len(self.history.y)
        self.trial = self.study.ask(self.space)
        return np.array([self.trial.params[name] for name in self.space])


class BoTorch(Random):
    """`SingleTaskGP` with its default priors and log (noisy) expected improvement, as its tutorial has them."""

    def model(self) -> Any:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.set_num_threads(1)
        X = torch.tensor(self.history.X, dtype=torch.double)
        y = torch.tensor(-self.history.y[:, None], dtype=torch.double)
        model = SingleTaskGP(X, y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, X, y

    def ask(self) -> np.ndarray:
        import torch
        from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf

        torch.manual_seed(int(self.rng.integers(2**31)))
        self.fitted = self.model()
        model, X, y = self.fitted
        if self.history.problem.noise:
            acquisition: Any = qLogNoisyExpectedImprovement(model, X)
        else:
            acquisition = LogExpectedImprovement(model, best_f=y.max())
        d = self.history.problem.d
        bounds = torch.stack([torch.zeros(d, dtype=torch.double), torch.ones(d, dtype=torch.double)])
        found, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=10, raw_samples=512)
        return found[0].numpy()

    def recommended(self) -> int:
        if not self.history.problem.noise:
            return super().recommended()
        model, X, _ = self.fitted if len(self.history.y) < 10 * self.history.problem.d else self.model()
        return int(model.posterior(X).mean.argmax())


CONTESTANTS: dict[str, Callable[[History, int], Any]] = {
    "random": Random,
    "sobol": Sobol,
    "credo": Credo,
    "optuna-tpe": lambda history, seed: Optuna(history, seed, "tpe"),
    "optuna-gp": lambda history, seed: Optuna(history, seed, "gp"),
    "botorch": BoTorch,
}


def first(d: int) -> int:
    return max(5, 2 * d)


def design(d: int, seed: int) -> np.ndarray:
    """128 scrambled Sobol points; the first `first(d)` start every contestant."""
    return qmc.Sobol(d, seed=seed).random(128)


def trace(contestant: str, problem: str, seed: int) -> list[tuple[Any, ...]]:
    """Rows of `COLUMNS`, from the last evaluation of the design on."""
    asked = PROBLEMS[problem]
    history = History(asked, seed)
    for x in design(asked.d, seed)[: first(asked.d)]:
        history.evaluate(x)
    optimiser = CONTESTANTS[contestant](history, seed)
    rows = []
    while len(history.y) < 10 * asked.d:
        start = time.process_time()
        x = optimiser.ask()
        seconds = time.process_time() - start
        history.evaluate(x)
        regret = history.truth[optimiser.recommended()] - asked.least
        rows.append((contestant, problem, seed, len(history.y), f"{max(regret, FLOOR):.6g}", f"{seconds:.4f}"))
    return rows


def run(contestants: list[str], problems: list[str], seeds: int, out: Path) -> None:
    done = {(row["contestant"], row["problem"], int(row["seed"])) for row in read(out)} if out.exists() else set()
    if not out.exists():
        out.write_text(",".join(COLUMNS) + "\n")
    for problem in problems:
        for seed in range(seeds):
            for contestant in contestants:
                if (contestant, problem, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # peers' own
                    rows = trace(contestant, problem, seed)
                with out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def summary(path: Path) -> str:
    """Median log10 regret at the end and median seconds an ask, by problem; and the average rank of each contestant."""
    last: dict[tuple[str, str], dict[int, tuple[int, float]]] = defaultdict(dict)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in read(path):
        seed, at = int(row["seed"]), int(row["evaluation"])
        own = last[row["problem"], row["contestant"]]
        if seed not in own or own[seed][0] < at:
            own[seed] = at, float(row["regret"])
        seconds[row["contestant"]].append(float(row["seconds"]))
    problems = [name for name in PROBLEMS if any(problem == name for problem, _ in last)]
    names = list(seconds)
    medians = {key: float(np.median([np.log10(regret) for _, regret in own.values()])) for key, own in last.items()}
    heads = "".join(f"{problem:>14}" for problem in problems)
    lines = [f"{'':14}{heads}{'rank':>8}{'s an ask':>10}{'seeds':>7}"]
    for name in names:
        ranks = [
            1 + sum(medians.get((problem, other), np.inf) < medians[problem, name] for other in names)
            for problem in problems
            if (problem, name) in medians
        ]
        cells = [f"{medians.get((problem, name), np.nan):14.2f}" for problem in problems]
        runs = min(len(last[problem, name]) for problem in problems)
        lines.append(f"{name:14}" + "".join(cells) + f"{np.mean(ranks):8.2f}{np.median(seconds[name]):10.3f}{runs:7}")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("contestants", nargs="+", choices=list(CONTESTANTS))
    runs.add_argument("--problems", nargs="+", choices=list(PROBLEMS), default=list(PROBLEMS))
    runs.add_argument("--seeds", type=int, default=10)
    runs.add_argument("--out", type=Path, required=True)
    commands.add_parser("summary").add_argument("path", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(chosen.contestants, chosen.problems, chosen.seeds, chosen.out)
    else:
        print(summary(chosen.path))


if __name__ == "__main__":
    main()
