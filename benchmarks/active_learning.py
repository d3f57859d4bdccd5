"""BALD against random labels on three real tables: models, tables and seeds fixed before the run.

    python -m benchmarks.active_learning [--seeds 40]

Each of `seeds` paired games: 10 labels to begin with, 25 more, 3/10 of the rows held out. A line gives the mean over
the curve of BALD − random, in nats a held-out row, its standard error, in how many games it is above zero, and how many
labels at random reach the mean score that BALD has after 25.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import credo as cr
from credo.design.active import LearningCurve, learning_curve

TABLES = {"wine": load_wine, "iris": load_iris, "breast cancer": load_breast_cancer}
MODELS = {
    "GaussianNB": cr.GaussianNB(),
    "GaussianProcessClassifier": cr.GaussianProcessClassifier(cr.kernels.RBF(3.0), optimizer=None),
}
START, QUERIES = 10, 25


def equal_labels(curve: LearningCurve) -> str:
    """After how many labels random has the mean score of BALD's last, "> all" if it never has."""
    reached = np.flatnonzero(curve.random.mean(axis=0) >= curve.chosen.mean(axis=0)[-1])
    return str(curve.labels[reached[0]]) if reached.size else f"> {curve.labels[-1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=40)
    seeds = parser.parse_args().seeds
    print("| model | table | BALD − random | games above 0 | labels at random for BALD's 35 | seconds |")
    print("|---|---|---|---|---|---|")
    for name, model in MODELS.items():
        for table, load in TABLES.items():
            X, y = (np.asarray(part) for part in load(return_X_y=True))
            X = (X - X.mean(axis=0)) / X.std(axis=0)
            start = time.process_time()
            curve = learning_curve(model, X, y, start=START, n_queries=QUERIES, by="bald", seeds=seeds, rng=0)
            above = int(np.sum(curve.area_differences > 0))
            print(f"| {name} | {table} | {curve.area_difference:.3f} ± {curve.se:.3f} | {above} of {seeds} | "
                  f"{equal_labels(curve)} | {time.process_time() - start:.0f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
