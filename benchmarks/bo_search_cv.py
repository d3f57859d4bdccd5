"""`CredoSearchCV` against `RandomizedSearchCV`: what 24 candidates reach, on four searches by ten seeds each.

    python -m benchmarks.bo_search_cv run --out search.csv
    python -m benchmarks.bo_search_cv summary search.csv

Both score on the same three folds. A row has the best mean score after 12, 24, 48 and 96 candidates (Credo: 12 and 24).
"""

from __future__ import annotations

import argparse
import csv
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import loguniform, randint, uniform

COUNTS = (12, 24, 48, 96)
OURS = 24


def problems() -> dict[str, tuple[Any, dict[str, Any], str, str]]:
    """Estimator, distributions, data set of scikit-learn, scoring."""
    from sklearn.ensemble import GradientBoostingRegressor
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    kernels = {"alpha": loguniform(1e-4, 1e2), "gamma": loguniform(1e-4, 1e3), "kernel": ["rbf", "laplacian"]}
    svr = {"svr__C": loguniform(1e-1, 1e4), "svr__gamma": loguniform(1e-4, 10), "svr__epsilon": loguniform(1e-1, 1e2)}
    svc = {"svc__C": loguniform(1e-2, 1e4), "svc__gamma": loguniform(1e-5, 10)}
    trees = {"learning_rate": loguniform(1e-2, 1), "n_estimators": randint(5, 151), "max_depth": randint(1, 7),
             "max_features": uniform(0.1, 0.9)}  # fmt: skip
    return {
        "SVR": (make_pipeline(StandardScaler(), SVR(max_iter=20_000)), svr, "diabetes", "r2"),
        "SVC": (make_pipeline(StandardScaler(), SVC()), svc, "breast_cancer", "roc_auc"),
        "kernel ridge": (KernelRidge(), kernels, "diabetes", "r2"),
        "boosting": (GradientBoostingRegressor(random_state=0), trees, "diabetes", "r2"),
    }


def best_after(scores: np.ndarray) -> list[float]:
    return [float(np.max(scores[:n])) for n in COUNTS if n <= len(scores)]


def run(out: Path, seeds: int) -> None:
    from sklearn import datasets
    from sklearn.model_selection import KFold, RandomizedSearchCV, StratifiedKFold

    from credo.studies.search import CredoSearchCV

    with out.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "search", "seed", *COUNTS])
        for name, (model, space, data, scoring) in problems().items():
            X, y = getattr(datasets, f"load_{data}")(return_X_y=True)
            folds = (StratifiedKFold if data == "breast_cancer" else KFold)(3, shuffle=True, random_state=0)
            for seed in range(seeds):
                options = {"scoring": scoring, "cv": folds, "random_state": seed, "refit": False}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    ours = CredoSearchCV(model, space, n_iter=OURS, **options).fit(X, y)
                    random = RandomizedSearchCV(model, space, n_iter=COUNTS[-1], **options).fit(X, y)
                for search, fitted in (("credo", ours), ("random", random)):
                    writer.writerow([name, search, seed, *best_after(fitted.cv_results_["mean_test_score"])])
                file.flush()


def summary(path: Path) -> str:
    """For each problem: medians over seeds, and in how many seeds Credo's 24 are better than 24 and 96 random ones."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    lines = ["| search | Credo 12 | Credo 24 | random 12 | 24 | 48 | 96 | better than random 24 | 96 | of |",
             "|---|---|---|---|---|---|---|---|---|---|"]  # fmt: skip
    for name in dict.fromkeys(row["problem"] for row in rows):
        table = {
            search: np.array([[float(row[str(n)]) for n in COUNTS if row.get(str(n))]
                              for row in rows if (row["problem"], row["search"]) == (name, search)])
            for search in ("credo", "random")
        }  # fmt: skip
        ours, random = table["credo"], table["random"]
        seeds = min(len(ours), len(random))
        ours, random = ours[:seeds], random[:seeds]
        cells = [f"{value:.4f}" for value in (*np.median(ours, axis=0), *np.median(random, axis=0))]
        wins = [int(np.sum(ours[:, 1] > random[:, j])) for j in (1, 3)]
        lines.append(f"| {name} | {' | '.join(cells)} | {wins[0]} | {wins[1]} | {seeds} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("--out", type=Path, required=True)
    runs.add_argument("--seeds", type=int, default=10)
    commands.add_parser("summary").add_argument("path", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "run":
        run(chosen.out, chosen.seeds)
    else:
        print(summary(chosen.path))


if __name__ == "__main__":
    main()
