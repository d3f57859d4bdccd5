"""How soon a page finds what a simulated person likes: Credo's rounds, simpler ones, and BoTorch's qEUBO.

    python -m benchmarks.gallery_regret run credo random exploit explore --out traces.csv
    PEERS/bin/python -m benchmarks.gallery_regret run qeubo --out peers.csv
    python -m benchmarks.gallery_regret summary traces.csv peers.csv

A person has a known utility, scaled so that its sd over the space is 3, and sees each card with probit noise of sd 1.
Shown a page, the person names the best; or, where the runner-up comes within 0.3, calls all that come so near a tie,
better than the rest. Everybody begins with the same page of Sobol points. After each answer a contestant names the
point it believes best, anywhere in the space; a trace holds its regret, (max − utility)/(max − mean), 0 at the best
point and 1 where a random point would be, and the processor seconds of the round.

`target`, `ridge` and `two` are on eight parameters, as a smoke demo has: an ideal point with weights; an ideal that
depends on another parameter; two favourites, one better. `springall` has the nine recipes of data/preference
springall_flavour (two features) in duels, with the abilities of its Bradley–Terry fit (maximum likelihood) as utility.

`random`, `exploit` and `explore` share Credo's belief: pages of random points, dial 0, dial 1. qEUBO (Astudillo, Lin,
Bakshy & Frazier 2023) has BoTorch's PairwiseGP, told who beat whom; a tie tells it that each of the tied beat the rest.

Recorded, on twenty seeds: Credo's pages less random ones (paired, regret ± standard error) after 10 and 20 answers:
two favourites −0.21 ± 0.06 and −0.20 ± 0.05, springall −0.41 ± 0.12 and −0.16 ± 0.09 (medians 0 and 0.2, 0 and 0);
`target` 0.02 ± 0.03 and 0.01 ± 0.02, `ridge` 0.00 ± 0.04 and −0.01 ± 0.03 tell neither from the other. Less qEUBO, on
its nine seeds of springall: 0.10 ± 0.06 and 0.05 ± 0.05 (medians all 0).

What a page shows is another matter (`pages`): the best card of pages 11 to 20 has a median regret of 0.18, 0.30, 0.21
and 0 on the four problems, where that of random pages has 0.73, 0.70, 0.84 and 0.46.

Why random pages teach as much where there is one favourite: likely because an answer to four cards far apart tells more
than one to four that are nearly as good as each other. Beliefs from 20 pages drawn about the true optimum (sd 0.35 a
coordinate), which no learner can know, are better than from random ones by only 0.05 ± 0.04 on `target` (6 seeds) and
0.02 ± 0.07 on `ridge` (7); from pages half so and half random, by 0.08 ± 0.06 on `ridge` (7).

Tried on fresh seeds, from 100, against random pages after 20 answers (15 seeds, paired; more is worse). As they are:
`target` −0.03 ± 0.03, `ridge` 0.01 ± 0.03. The first 2 d points random and no search for what is uncertain:
−0.03 ± 0.03 and 0.04 ± 0.03. Half of each page random: 0.01 ± 0.03 and 0.01 ± 0.04. A knowledge gradient (the highest
mean expected after the answer, by draws at the page alone; 3 seeds): 0.00 ± 0.08 and 0.11 ± 0.09. Earlier pilots:
candidates in a ball about the centre, a dial of 0.3, Thompson draws beside the best. Lengthscales twice or half as long
are worse; half of the variance in parts of one parameter each is as good on these and worse on `two`. A prior of the
variance of liking that is wider, 4 within e^1.5 or 12 within e^2, is worse after 10 answers by 0.05 ± 0.06 (11 seeds)
and 0.10 ± 0.04 (10) on `target`.

Fewer parameters, liking of which varies less (`design.tastes.prior`), against a variance of 12 and lengthscales that
shrink with √d, on fresh seeds: springall better by 0.22 ± 0.08, 0.19 ± 0.07 and 0.06 ± 0.04 after 5, 10 and 20 answers
(18 seeds); `target`, `ridge` and `two` of four parameters by 0.05 ± 0.03, 0.05 ± 0.03 and 0.07 ± 0.02 after 20 (7), of
two parameters after 10 by 0.01 ± 0.01, −0.02 ± 0.03 and 0.06 ± 0.02 (10).
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.traces import add_run, aligned, read, run

COLUMNS = ("contestant", "problem", "seed", "answers", "regret", "seconds", "shown")
RECORDED = Path(__file__).with_name("gallery_regret.csv")
ANSWERS, SHARE_SD, TIED = 20, 3.0, 0.3


@dataclass(frozen=True, eq=False)
class Problem:
    """d, k cards, `utility` of points (n, d) of the cube; `grid` (m, d): all points, where they are few."""

    d: int
    k: int
    utility: Callable[[np.ndarray], np.ndarray]
    best: float
    mean: float
    grid: np.ndarray | None = None

    def regret(self, x: np.ndarray) -> float:
        return float((self.best - self.utility(x[None])[0]) / (self.best - self.mean))


def scaled(raw: Callable[[np.ndarray], np.ndarray], d: int, k: int, best: float, grid: Any = None) -> Problem:
    X = qmc.Sobol(d, seed=0).random_base2(13) if grid is None else grid
    values = raw(X)
    factor = SHARE_SD / values.std()
    return Problem(d, k, lambda x: factor * raw(x), factor * best, factor * float(values.mean()), grid)


def target(rng: np.random.Generator) -> Problem:
    at, weights = 0.15 + 0.7 * rng.random(8), rng.permutation(np.geomspace(0.25, 4.0, 8))
    return scaled(lambda X: np.exp(-np.sum(weights * (X - at) ** 2, axis=1)), 8, 4, 1.0)


def ridge(rng: np.random.Generator) -> Problem:
    """Four pairs: the ideal of one parameter moves with another, which is best at one end or within."""
    slope, offset, ideal = rng.uniform(-0.6, 0.6, 4), rng.uniform(0.35, 0.65, 4), rng.uniform(0.1, 0.9, 4)

    def raw(X: np.ndarray) -> np.ndarray:
        a, b = X[:, :4], X[:, 4:]
        return -np.sum(np.abs(a - offset - slope * (b - 0.5)) + 0.5 * (b - ideal) ** 2, axis=1)

    return scaled(raw, 8, 4, 0.0)


def two(rng: np.random.Generator) -> Problem:
    low, high = 0.1 + 0.3 * rng.random(8), 0.6 + 0.3 * rng.random(8)
    swap = rng.random(8) < 0.5
    a, b = np.where(swap, high, low), np.where(swap, low, high)

    def raw(X: np.ndarray) -> np.ndarray:
        return np.exp(-2.0 * np.sum((X - a) ** 2, axis=1)) + 0.7 * np.exp(-2.0 * np.sum((X - b) ** 2, axis=1))

    best = max(_climb(raw, start) for start in (a, b))
    return scaled(raw, 8, 4, best)


def _climb(raw: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> float:
    from scipy.optimize import minimize

    return -float(minimize(lambda x: -raw(x[None])[0], start, bounds=[(0, 1)] * start.size).fun)


#: abilities of items 1 … 9, Bradley–Terry with half-won ties, item 1 at 0; flavour and gel at three levels each
ABILITIES = np.array([
    0.0, 1.539784842854244, 2.2236910090101376, 0.26957346721046044, 1.2845421008665248, 1.9237789539829255,
    -0.8622585884711287, -0.0027492870903206112, 0.4125688985234706,
])  # fmt: skip


def springall(rng: np.random.Generator) -> Problem:
    levels = np.array([0.0, 0.5, 1.0])
    grid = np.stack([np.tile(levels, 3), np.repeat(levels, 3)], axis=1)

    def raw(X: np.ndarray) -> np.ndarray:
        return ABILITIES[np.rint(2 * X[:, 0]).astype(int) + 3 * np.rint(2 * X[:, 1]).astype(int)]

    # a logistic choice of scale 1 is a probit one of noise sd 1.7/√2 an item: utilities in units of it
    factor = np.sqrt(2.0) / 1.7
    values = factor * ABILITIES
    return Problem(2, 2, lambda X: factor * raw(X), float(values.max()), float(values.mean()), grid)


PROBLEMS: dict[str, Callable[[np.random.Generator], Problem]] = {
    "target": target, "ridge": ridge, "two": two, "springall": springall,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Said:
    """shown (k, d); liked : numbers of the best, several where they tie."""

    shown: np.ndarray
    liked: list[int]


def answer(problem: Problem, shown: np.ndarray, rng: np.random.Generator) -> Said:
    felt = problem.utility(shown) + rng.standard_normal(len(shown))
    return Said(shown, np.flatnonzero(felt >= felt.max() - TIED).tolist())


def first_page(problem: Problem, seed: int) -> np.ndarray:
    if problem.grid is not None:
        return problem.grid[np.random.default_rng(seed).permutation(len(problem.grid))[: problem.k]]
    return qmc.Sobol(problem.d, seed=seed).random(problem.k)


# -- contestants: (problem, answers so far, seed, memory) → (next page (k, d), point believed best (d,)) ---------------


def credo(problem: Problem, said: list[Said], seed: int, memory: dict, dial: float = 0.5, cards: bool = True) -> Any:
    import credo as cr
    from credo.design.tastes import Best, Tie, believe_taste, propose_round

    rng = np.random.default_rng([seed, len(said)])
    if "space" not in memory:
        levels = problem.grid is not None
        memory["space"] = cr.Space({
            f"x{j}": cr.Ordinal([0.0, 0.5, 1.0]) if levels else cr.Real(0.0, 1.0) for j in range(problem.d)
        })  # fmt: skip
    space = memory["space"]
    told = []
    for each in said:
        shown = [dict(zip(space.names, x.tolist())) for x in each.shown]
        liked = [shown[i] for i in each.liked]
        if len(liked) > 1:
            told.append(Tie(liked, shown))
        else:
            told.append(Best(liked[0], shown))
    belief = memory["belief"] = believe_taste(space, told, previous=memory.get("belief"), rng=rng)
    if cards:
        page = [card.params for card in propose_round(belief, space, problem.k, dial, rng=rng)]
    else:
        page = space.sample(problem.k, rng)
    best = belief.best()[0].params
    return np.array([list(p.values()) for p in page]), np.array(list(best.values()))


def qeubo(problem: Problem, said: list[Said], seed: int, memory: dict) -> Any:
    import torch  # type: ignore[import-not-found]
    from botorch.acquisition import PosteriorMean  # type: ignore[import-not-found]
    from botorch.acquisition.preference import (  # type: ignore[import-not-found]
        qExpectedUtilityOfBestOption,
    )
    from botorch.fit import fit_gpytorch_mll  # type: ignore[import-not-found]
    from botorch.models.pairwise_gp import (  # type: ignore[import-not-found]
        PairwiseGP,
        PairwiseLaplaceMarginalLogLikelihood,
    )
    from botorch.optim import optimize_acqf  # type: ignore[import-not-found]

    torch.manual_seed(1000 * seed + len(said))
    X = torch.tensor(np.concatenate([each.shown for each in said]), dtype=torch.double)
    pairs = []
    for n, each in enumerate(said):
        rest = [i for i in range(len(each.shown)) if i not in each.liked]
        pairs += [(n * problem.k + i, n * problem.k + j) for i in each.liked for j in rest]
    if not pairs:  # all tied so far
        random = np.random.default_rng([seed, len(said)])
        page = random.random((problem.k, problem.d)) if problem.grid is None else random.permutation(problem.grid)
        return page[: problem.k], X[0].numpy()
    model = PairwiseGP(X, torch.tensor(pairs))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    value = qExpectedUtilityOfBestOption(pref_model=model)
    mean = PosteriorMean(model)
    if problem.grid is not None:
        import itertools

        grid = torch.tensor(problem.grid)
        pages = list(itertools.combinations(range(len(grid)), problem.k))
        worth = value(torch.stack([grid[list(page)] for page in pages]))
        return problem.grid[list(pages[int(worth.argmax())])], problem.grid[int(mean(grid[:, None]).argmax())]
    bounds = torch.tensor([[0.0] * problem.d, [1.0] * problem.d], dtype=torch.double)
    page, _ = optimize_acqf(value, bounds, q=problem.k, num_restarts=4, raw_samples=128)
    best, _ = optimize_acqf(mean, bounds, q=1, num_restarts=4, raw_samples=512)
    return page.numpy(), best[0].numpy()


CONTESTANTS: dict[str, Callable[..., Any]] = {
    "credo": credo,
    "random": lambda *a: credo(*a, cards=False),
    "exploit": lambda *a: credo(*a, dial=0.0),
    "explore": lambda *a: credo(*a, dial=1.0),
    "qeubo": qeubo,
}


def trace(contestant: str, name: str, seed: int) -> list[tuple[Any, ...]]:
    problem = PROBLEMS[name](np.random.default_rng([7, seed]))
    person = np.random.default_rng([11, seed])
    said, memory, rows = [answer(problem, first_page(problem, seed), person)], {}, []
    while len(said) <= ANSWERS:
        start = time.process_time()
        page, best = CONTESTANTS[contestant](problem, said, seed, memory)
        seconds = time.process_time() - start
        shown = min(problem.regret(x) for x in page)
        rows.append(
            (contestant, name, seed, len(said), f"{problem.regret(best):.5f}", f"{seconds:.3f}", f"{shown:.5f}")
        )
        said.append(answer(problem, page, person))
    return rows


def pages(paths: list[Path]) -> str:
    """Median regret, over seeds and pages, of the best card shown after 6 to 10 answers and 11 to 20, by problem."""
    found: dict[tuple[str, str, bool], list[float]] = defaultdict(list)
    for row in (row for path in paths for row in read(path)):
        if row.get("shown") and int(row["answers"]) > 5:
            found[row["contestant"], row["problem"], int(row["answers"]) > 10].append(float(row["shown"]))
    table = [["", *(f"{problem} {n}" for problem in PROBLEMS for n in ("6-10", "11-20"))]]
    for name in dict.fromkeys(name for name, _, _ in found):
        cells = [found.get((name, problem, late), []) for problem in PROBLEMS for late in (False, True)]
        table.append([name, *(f"{np.median(cell):.3f}" if cell else "" for cell in cells)])
    return aligned(table)


def summary(paths: list[Path]) -> str:
    """Median regret over seeds after 10 and 20 answers, by problem; seconds a round (median)."""
    found: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in (row for path in paths for row in read(path)):
        found[row["contestant"], row["problem"], int(row["answers"])].append(float(row["regret"]))
        seconds[row["contestant"]].append(float(row["seconds"]))
    names = list(seconds)
    table = [["", *(f"{problem} {n}" for problem in PROBLEMS for n in (10, 20)), "s a round", "seeds"]]
    for name in names:
        cells = [found.get((name, problem, n), []) for problem in PROBLEMS for n in (10, 20)]
        medians = [f"{np.median(cell):.3f}" if cell else "" for cell in cells]
        seeds = min((len(cell) for cell in cells if cell), default=0)
        table.append([name, *medians, f"{np.median(seconds[name]):.3f}", str(seeds)])
    return aligned(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    add_run(commands, CONTESTANTS, PROBLEMS)
    shown = commands.add_parser("summary")
    shown.add_argument("paths", nargs="*", type=Path, default=[RECORDED])
    seen = commands.add_parser("pages")
    seen.add_argument("paths", nargs="*", type=Path, default=[RECORDED])
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(trace, COLUMNS, chosen)
    elif chosen.command == "pages":
        print(pages(chosen.paths))
    else:
        print(summary(chosen.paths))


if __name__ == "__main__":
    main()
