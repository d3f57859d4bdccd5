"""The command line's main job: `credo fit` compares every candidate on a table and writes the chosen model."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.case import Case, Contestant, Limit

ROWS, NUMBERS = 10_000, 18


def prepare(directory: Path) -> None:
    """18 numbers and 2 categories; a square and a product matter, so that every candidate has something to find."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, NUMBERS))
    color, size = rng.choice(["red", "green", "blue"], ROWS), rng.choice(["S", "M", "L", "XL"], ROWS)
    eta = X @ rng.normal(scale=0.3, size=NUMBERS) + 0.5 * X[:, 0] ** 2 + 0.4 * X[:, 1] * X[:, 2] + (color == "red")
    frame = pl.DataFrame({**{f"x{j}": X[:, j] for j in range(NUMBERS)}, "color": color, "size": size})
    frame.with_columns(y=eta + rng.standard_normal(ROWS)).write_csv(directory / "number.csv", float_precision=6)
    sold = np.where(rng.random(ROWS) < 1.0 / (1.0 + np.exp(-eta)), "yes", "no")
    frame.with_columns(y=sold).write_csv(directory / "class.csv", float_precision=6)


def fit(table: str, *options: str) -> tuple[str, ...]:
    code = "from credo.cli.main import run; run()"
    path = "{directory}/" + table
    return (sys.executable, "-c", code, "fit", path + ".csv", "--target", "y", "-o", path + ".credo", "-q", *options)


CASE = Case(
    question="How long does `credo fit` take on a CSV of 10,000 × 20 (18 numbers, 2 categories), from starting the "
    "process to the model's file: all candidates cross-validated, the best fitted?",
    mode="fresh",
    prepare=prepare,
    contestants=(
        Contestant("credo fit, regression", command=fit("number")),
        Contestant("credo fit, classification", command=fit("class")),
        Contestant("credo fit --average, regression", command=fit("number", "--average")),
    ),
    limits={
        "credo fit, regression": Limit("seconds", 10),
        "credo fit, classification": Limit("seconds", 10),
        "credo fit --average, regression": Limit("seconds", 10),
    },
    repeats=3,
)
