"""Held-out duels: `PreferenceGP` against Bradley–Terry, Rao–Kupper, Davidson and BoTorch's PairwiseGP.

    PYTHONPATH=src PEERS/bin/python -m benchmarks.preference --data DATA/preference [--splits 10] [--only NAME …]

Each table's outcomes are split at random, 80 % to learn from; every model sees the same split. Two scores, in nats an
outcome, lower is better: `duels`, −log P(winner) of the decisive held-out outcomes, given that they are decisive; and,
where the table has ties, `outcomes`, −log P of win, tie or loss. A line gives the mean over splits, the difference
from Credo's with its standard error over splits, and the seconds a fit took.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.optimize
import scipy.special


class Table(NamedTuple):
    """Outcomes of one table: a, b (n,) item numbers; result (n,) 1 if a won, 0 a tie, −1 if b won; user (n,) or None;
    X (items, columns) or None."""

    a: np.ndarray
    b: np.ndarray
    result: np.ndarray
    n_items: int
    user: np.ndarray | None = None
    X: np.ndarray | None = None

    def at(self, rows: np.ndarray) -> Table:
        user = None if self.user is None else self.user[rows]
        return self._replace(a=self.a[rows], b=self.b[rows], result=self.result[rows], user=user)


# -- tables --------------------------------------------------------------------------------------------------------


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table_of(first: list, second: list, result: list, counts: list | None = None, users: list | None = None) -> Table:
    names = sorted({*first, *second})
    number = {name: i for i, name in enumerate(names)}
    a, b = (np.array([number[x] for x in side]) for side in (first, second))
    times = np.ones(len(a), dtype=int) if counts is None else np.array(counts, dtype=int)
    user = None if users is None else np.repeat(np.array(users), times)
    return Table(np.repeat(a, times), np.repeat(b, times), np.repeat(np.array(result), times), len(names), user)


def counted(rows: list[dict], first: str, second: str, **columns: int) -> Table:
    """Rows that hold counts: column → result."""
    parts = [(r[first], r[second], value, float(r[c])) for r in rows for c, value in columns.items()]
    return table_of(*(list(part) for part in zip(*parts, strict=True)))


def tables(data: Path) -> dict[str, Callable[[], Table]]:
    def baseball() -> Table:
        rows = [{k.replace(".", "_"): v for k, v in r.items()} for r in read(data / "baseball_1987.csv")]
        return counted(rows, "home_team", "away_team", home_wins=1, away_wins=-1)

    def duels(name: str) -> Table:
        rows = read(data / f"{name}.csv")
        return table_of(
            [r["top_item"] for r in rows], [r["bottom_item"] for r in rows], [1] * len(rows),
            users=[r["assessor"] for r in rows],
        )  # fmt: skip

    def tone() -> Table:
        rows = read(data / "tone_mapping_pairwise.csv")
        return table_of(
            [r["condition_A"] for r in rows], [r["condition_B"] for r in rows],
            [1 if r["is_A_selected"] == "1" else -1 for r in rows], users=[r["observer"] for r in rows],
        )  # fmt: skip

    def cems() -> Table:
        rows = [r for r in read(data / "cems_schools.csv") if r["win1"] != ""]
        result = [int(float(r["win1"])) - int(float(r["win2"])) for r in rows]
        users = [r["student"] for r in rows]
        return table_of([r["school1"] for r in rows], [r["school2"] for r in rows], result, users=users)

    def football() -> Table:
        rows = [r for r in read(data / "premier_league_2008_13.csv") if r["result"] not in ("", "NA")]
        return table_of([r["home"] for r in rows], [r["away"] for r in rows], [int(float(r["result"])) for r in rows])

    def springall() -> Table:
        found = counted(read(data / "springall_flavour.csv"), "row", "col", win=1, loss=-1, tie=0)
        items = sorted(read(data / "springall_flavour_items.csv"), key=lambda r: r["item"])
        X = np.array([[float(r["flav"]), float(r["gel"])] for r in items])
        return found._replace(X=(X - X.mean(axis=0)) / X.std(axis=0))

    return {
        "baseball_1987": baseball,
        "journal_citations": lambda: counted(
            read(data / "journal_citations.csv"), "player1", "player2", win1=1, win2=-1
        ),
        "beach_preferences": lambda: duels("beach_preferences"),
        "sounds_preferences": lambda: duels("sounds_preferences"),
        "tone_mapping_pairwise": tone,
        "pudding_ties": lambda: counted(read(data / "pudding_ties.csv"), "i", "j", w_ij=1, w_ji=-1, t_ij=0),
        "springall_flavour": springall,
        "cems_schools": cems,
        "premier_league_2008_13": football,
    }


# -- models: (train, test) → probabilities (n, 3) of loss, tie, win; a tie's 0 where the model has none ---------------


def credo(train: Table, test: Table, users: bool = False, features: bool = True, **options: Any) -> np.ndarray:
    import credo as cr

    history = cr.Preferences(train.n_items)
    label = train.user if users else None
    for value, kind in ((1, history.with_duels), (-1, history.with_duels), (0, history.with_ties)):
        rows = train.result == value
        a, b = (train.a, train.b) if value >= 0 else (train.b, train.a)
        if rows.any():
            kind = history.with_ties if value == 0 else history.with_duels
            history = kind(a[rows], b[rows], users=None if label is None else label[rows].tolist())
    model = cr.PreferenceGP(**options).fit(history, train.X if features else None)
    if not users:
        duel = model.duel(test.a, test.b)
        return np.stack([duel.lose, duel.tie, duel.win], axis=1)
    result = np.empty((test.a.size, 3))
    known = set(label.tolist()) if label is not None else set()
    assert test.user is not None
    for user in np.unique(test.user):
        rows = test.user == user
        duel = model.duel(test.a[rows], test.b[rows], user.item() if user.item() in known else None)
        result[rows] = np.stack([duel.lose, duel.tie, duel.win], axis=1)
    return result


def maximum_likelihood(train: Table, test: Table, law: str) -> np.ndarray:
    """Bradley–Terry (ties left out), Rao–Kupper or Davidson, all by maximum likelihood.

    A ridge of 1e-6 keeps an item that always wins at a finite ability.
    """
    n = train.n_items

    def log_p(w: np.ndarray, rows: Table) -> np.ndarray:
        d = w[rows.a] - w[rows.b]
        if law == "bt":
            win, lose, tie = -np.logaddexp(0, -d), -np.logaddexp(0, d), np.full(d.size, -np.inf)
        elif law == "rao_kupper":
            t = np.exp(w[n])
            win, lose = -np.logaddexp(0, t - d), -np.logaddexp(0, t + d)
            tie = win + lose + np.log(np.expm1(2 * t))
        else:  # P(tie) ∝ ν √(π_a π_b)
            total = scipy.special.logsumexp(np.stack([d / 2, -d / 2, np.full(d.size, w[n])]), axis=0)
            win, lose, tie = d / 2 - total, -d / 2 - total, w[n] - total
        return np.stack([lose, tie, win], axis=1)

    kept = train.at(np.flatnonzero(train.result != 0)) if law == "bt" else train
    at = (np.arange(kept.a.size), kept.result + 1)
    start = np.zeros(n + (law != "bt"))
    fit = scipy.optimize.minimize(
        lambda w: -np.sum(log_p(w, kept)[at]) + 0.5e-6 * np.sum(w[:n] ** 2), start, method="L-BFGS-B",
        options={"maxiter": 2000, "maxfun": 10**6, "ftol": 1e-13},
    )  # fmt: skip
    return np.exp(log_p(fit.x, test))


def botorch(train: Table, test: Table) -> np.ndarray:
    """PairwiseGP with its own defaults, on the table's features or on one-hot ones; ties left out."""
    import torch  # type: ignore[import-not-found]
    from botorch.fit import fit_gpytorch_mll  # type: ignore[import-not-found]
    from botorch.models.pairwise_gp import (  # type: ignore[import-not-found]
        PairwiseGP,
        PairwiseLaplaceMarginalLogLikelihood,
    )

    X = torch.tensor(train.X if train.X is not None else np.eye(train.n_items), dtype=torch.double)
    won, lost = np.where(train.result > 0, [train.a, train.b], [train.b, train.a])
    decisive = train.result != 0
    model = PairwiseGP(X, torch.tensor(np.stack([won, lost], axis=1)[decisive]))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        posterior = model.posterior(X)
        mean, cov = posterior.mean.squeeze(-1).numpy(), posterior.distribution.covariance_matrix.numpy()
    d = mean[test.a] - mean[test.b]
    v = cov[test.a, test.a] + cov[test.b, test.b] - 2 * cov[test.a, test.b]
    win = scipy.special.ndtr(d / np.sqrt(2.0 + v))  # noise of sd 1 on each utility, as its likelihood has
    return np.stack([1 - win, np.zeros_like(win), win], axis=1)


MODELS: dict[str, Callable[[Table, Table], np.ndarray]] = {
    "Credo": credo,
    "Credo, users": lambda train, test: credo(train, test, users=True),
    "Credo, probit": lambda train, test: credo(train, test, link="probit"),
    "Credo, logit": lambda train, test: credo(train, test, link="logit"),
    "Credo, no features": lambda train, test: credo(train, test, features=False),
    "Bradley–Terry": lambda train, test: maximum_likelihood(train, test, "bt"),
    "Rao–Kupper": lambda train, test: maximum_likelihood(train, test, "rao_kupper"),
    "Davidson": lambda train, test: maximum_likelihood(train, test, "davidson"),
    "BoTorch PairwiseGP": botorch,
}


def applies(name: str, table: Table) -> bool:
    ties = bool(np.any(table.result == 0))
    if name in ("Rao–Kupper", "Davidson"):
        return ties
    if name == "Credo, users":
        return table.user is not None
    return table.X is not None if name == "Credo, no features" else True


def scores(p: np.ndarray, result: np.ndarray) -> tuple[float, float]:
    """(duels, outcomes)."""
    tiny = np.finfo(float).tiny
    decisive = result != 0
    chosen = p[np.arange(result.size), result + 1]
    either = p[:, 0] + p[:, 2]
    duels = -np.mean(np.log(np.maximum(chosen[decisive] / either[decisive], tiny)))
    return float(duels), float(-np.mean(np.log(np.maximum(chosen, tiny))))


def run(name: str, table: Table, n_splits: int, models: list[str]) -> None:
    ties = bool(np.any(table.result == 0))
    found: dict[str, list[tuple[float, float, float]]] = {m: [] for m in models if applies(m, table)}
    for split in range(n_splits):
        order = np.random.default_rng(split).permutation(table.a.size)
        cut = int(0.8 * order.size)
        train, test = table.at(order[:cut]), table.at(order[cut:])
        for model, losses in found.items():
            began = time.perf_counter()
            try:
                p = MODELS[model](train, test)
            except ImportError as missing:
                print(f"{model}: {missing}")
                continue
            losses.append((*scores(p, test.result), time.perf_counter() - began))
    print(f"\n{name}: {table.a.size} outcomes of {table.n_items} items, {n_splits} splits")
    reference = np.array(found[models[0]])
    for model, losses in found.items():
        if not losses:
            continue
        values = np.array(losses)
        line = f"  {model:20s}"
        has_ties = ties and model not in ("Bradley–Terry", "BoTorch PairwiseGP")
        for column, label in ((0, "duels"), (1, "outcomes")) if has_ties else ((0, "duels"),):
            gap = values[:, column] - reference[:, column]
            se = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            line += f"  {label} {values[:, column].mean():.4f} ({gap.mean():+.4f} ± {se:.4f})"
        print(f"{line}  {np.median(values[:, 2]):.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    options = parser.parse_args()
    warnings.filterwarnings("ignore", module="torch|botorch|gpytorch|linear_operator")
    for name, load in tables(options.data).items():
        if options.only is None or name in options.only:
            run(name, load(), options.splits, options.models)


if __name__ == "__main__":
    main()
