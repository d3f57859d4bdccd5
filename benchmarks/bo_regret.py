"""Regret of Bayesian optimisation, Credo and its peers, from the same initial designs and the same noise.

    python -m benchmarks.bo_regret run credo --out traces.csv
    PEERS/bin/python -m benchmarks.bo_regret run random optuna-tpe smac --out traces.csv
    python -m benchmarks.bo_regret summary traces.csv

Each problem of `bo_problems` gets 10 d evaluations, of which the first 2 d (at least 5) are a Sobol design that all
contestants share. A trace has a row for each evaluation: the true value of what the contestant would recommend after it
(the best value seen; where evaluations are noisy, the best posterior mean, or for contestants without one the lowest
value), and the processor seconds of the ask before it. Rows are appended, seed by seed; what a file holds already is
not run again. `benchmarks/bo_regret.csv.gz` has the traces of the last full run, with the versions in its first lines.
"""

from __future__ import annotations

import argparse
import gzip
import time
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bo_contestants import CONTESTANTS, History, design, first
from benchmarks.bo_problems import PROBLEMS
from benchmarks.traces import add_run, aligned, read, run

COLUMNS = ("contestant", "problem", "seed", "evaluation", "value", "seconds")
RECORDED = Path(__file__).with_name("bo_regret.csv.gz")
LIBRARIES = ("credo", "optuna", "botorch", "gpytorch", "torch", "smac", "bayesian-optimization")
SHARED = ("scikit-learn", "numpy", "scipy")


def trace(contestant: str, problem: str, seed: int) -> list[tuple[Any, ...]]:
    """Rows of `COLUMNS`, from the first evaluation after the design on."""
    asked = PROBLEMS[problem]
    history = History(asked, seed)
    for x in design(asked, seed)[: first(asked.d)]:
        history.evaluate(x)
    optimiser = CONTESTANTS[contestant](history, seed)
    rows = []
    while len(history.y) < 10 * asked.d:
        start = time.process_time()
        x = optimiser.ask()
        seconds = time.process_time() - start
        history.evaluate(x)
        value = history.truth[optimiser.recommended()]
        rows.append((contestant, problem, seed, len(history.y), repr(float(value)), f"{seconds:.4f}"))
    return rows


def versions() -> str:
    """What this interpreter has of the libraries."""
    there = []
    for name in (*LIBRARIES, *SHARED):
        try:
            there.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    return ", ".join(there)


def merge(paths: list[Path], out: Path, remarks: list[str]) -> None:
    """Traces in one gzipped file, always the same bytes; a later path's replace those of an earlier one."""
    runs: dict[tuple[str, str, int], list[dict[str, str]]] = {}
    for path in paths:
        own: dict[tuple[str, str, int], list[dict[str, str]]] = defaultdict(list)
        for row in read(path):
            own[row["contestant"], row["problem"], int(row["seed"])].append(row)
        runs |= own
    lines = [f"# {remark}" for remark in remarks] + [",".join(COLUMNS)]
    order = list(PROBLEMS)
    for key in sorted(runs, key=lambda key: (key[0], order.index(key[1]), key[2])):
        lines += [",".join(row[column] for column in COLUMNS) for row in runs[key]]
    with out.open("wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
        packed.write(("\n".join(lines) + "\n").encode())


# -- what came out ---------------------------------------------------------------------------------------------------


def final_regrets(rows: list[dict[str, str]]) -> dict[tuple[str, str], dict[int, float]]:
    """log₁₀ regret after the last evaluation, by (problem, contestant) and seed.

    Where the least value is not known (`tuning`), it is that of the problem or of the traces, whichever is lower.
    """
    last: dict[tuple[str, str], dict[int, tuple[int, float]]] = defaultdict(dict)
    least = {name: problem.least for name, problem in PROBLEMS.items()}
    for row in rows:
        seed, at, value = int(row["seed"]), int(row["evaluation"]), float(row["value"])
        own = last[row["problem"], row["contestant"]]
        if seed not in own or own[seed][0] < at:
            own[seed] = at, value
        if PROBLEMS[row["problem"]].knobs:
            least[row["problem"]] = min(least[row["problem"]], value)
    return {
        (problem, name): {
            seed: float(np.log10(max(value - least[problem], PROBLEMS[problem].floor)))
            for seed, (_, value) in own.items()
        }
        for (problem, name), own in last.items()
    }


def ranks(final: dict[tuple[str, str], dict[int, float]], names: list[str]) -> dict[str, float]:
    """Average rank over problems and seeds, 1 best; ties share, pairs that not all have run are left out."""
    from scipy.stats import rankdata

    placed = []
    for problem in dict.fromkeys(problem for problem, _ in final):
        if not all((problem, name) in final for name in names):
            continue
        common = set.intersection(*(set(final[problem, name]) for name in names))
        placed += [rankdata([final[problem, name][seed] for name in names]) for seed in sorted(common)]
    means = np.mean(placed, axis=0) if placed else np.full(len(names), np.nan)
    return dict(zip(names, means.tolist()))


def summary(path: Path, markdown: bool = False) -> str:
    """Median log₁₀ regret at the end, by problem, average rank, seconds an ask; Credo's gap to the best peer."""
    rows = read(path)
    final = final_regrets(rows)
    names = list(dict.fromkeys(row["contestant"] for row in rows))
    seconds: dict[str, list[float]] = defaultdict(list)
    for row in rows:
        seconds[row["contestant"]].append(float(row["seconds"]))
    problems = [name for name in PROBLEMS if any(problem == name for problem, _ in final)]
    medians = {key: float(np.median(list(own.values()))) for key, own in final.items()}
    average = ranks(final, names)
    table = [["", *problems, "rank", "s an ask", "seeds"]]
    for name in sorted(names, key=lambda name: average[name]):
        cells = [f"{medians[problem, name]:.2f}" if (problem, name) in medians else "" for problem in problems]
        seeds = min(len(final.get((problem, name), {})) for problem in problems)
        table.append([name, *cells, f"{average[name]:.2f}", f"{np.median(seconds[name]):.3f}", str(seeds)])
    peers = [name for name in names if name != "credo"]
    if "credo" in names and peers:
        gaps = []
        for problem in problems:
            best = min(medians.get((problem, peer), np.inf) for peer in peers)
            gaps.append(f"{medians.get((problem, 'credo'), np.nan) - best:+.2f}")
        table.append(["credo − best peer", *gaps, "", "", ""])
    if markdown:
        heads = "|" + "---|" * len(table[0])
        lines = ["| " + " | ".join(row) + " |" for row in table]
        return "\n".join([lines[0], heads, *lines[1:]])
    return aligned(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    add_run(commands, CONTESTANTS, PROBLEMS)
    merged = commands.add_parser("merge")
    merged.add_argument("paths", nargs="+", type=Path)
    merged.add_argument("--out", type=Path, default=RECORDED)
    merged.add_argument("--remark", action="append", default=[])
    commands.add_parser("versions")
    shown = commands.add_parser("summary")
    shown.add_argument("path", nargs="?", type=Path, default=RECORDED)
    shown.add_argument("--markdown", action="store_true")
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(trace, COLUMNS, chosen)
    elif chosen.command == "merge":
        merge(chosen.paths, chosen.out, chosen.remark)
    else:
        print(versions() if chosen.command == "versions" else summary(chosen.path, chosen.markdown))


if __name__ == "__main__":
    main()
