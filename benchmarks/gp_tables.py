"""Six regression tables, ten random 90/10 splits each: Gaussian processes' predictions by Credo and its peers.

    python -m benchmarks.gp_tables run CONTESTANT --data DIR --output FILE.jsonl     # in that contestant's environment
    python -m benchmarks.gp_tables show FILE.jsonl …

Protocol, fixed before any score was seen: split s of a table of n rows is `default_rng(s).permutation(n)`, its first
tenth (rounded) to test on, the rest to learn from, of which every contestant gets the same first 1,000 (an exact
process of all rows of power and kin8nm takes minutes a fit; concrete, yacht, motorcycle and CO2 are not cut).
One thread. Peers get standardised columns and outcomes, Matérn 5/2 with a lengthscale a column, a learned noise and one
start, as their manuals advise; Credo gets the table as it is and no options.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

SPLITS = tuple(range(10))
MOST = 1000
TABLES = {
    "motorcycle": "motorcycle.csv",
    "yacht": "uci_yacht.csv",
    "CO2": "mauna_loa_co2_monthly.csv",
    "concrete": "uci_concrete.csv",
    "kin8nm": "uci_kin8nm.csv.gz",
    "power": "uci_power_plant.csv.gz",
}
ADAM_STEPS, ADAM_RATE = 200, 0.1
Normal = tuple[np.ndarray, np.ndarray]


def split(table: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows to learn from, and to test on."""
    order = np.random.default_rng(seed).permutation(len(table))
    held = round(len(table) / 10)
    return table[order[held:][:MOST]], table[order[:held]]


def credo(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Normal:
    import credo as cr

    found = cr.GaussianProcessRegressor().fit(X, y).predict_distribution(new)
    return found.mean, found.sd


def scikit_learn(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Normal:
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    start: Any = np.ones(X.shape[1])
    kernel = ConstantKernel(1.0) * Matern(start, nu=2.5) + WhiteKernel(0.1)
    mean, sd = GaussianProcessRegressor(kernel).fit(X, y).predict(new, return_std=True)
    return np.asarray(mean), np.asarray(sd)


def gpytorch(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Normal:
    import gpytorch as gp
    import torch

    torch.set_num_threads(1)
    rows, outcomes = torch.tensor(X), torch.tensor(y)

    class Model(gp.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(rows, outcomes, likelihood)
            self.mean_module = gp.means.ConstantMean()
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.MaternKernel(2.5, ard_num_dims=X.shape[1]))

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gp.likelihoods.GaussianLikelihood()
    model = Model(likelihood).double()
    objective = gp.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=ADAM_RATE)
    for _ in range(ADAM_STEPS):
        optimizer.zero_grad()
        loss = -objective(model(rows), outcomes)  # type: ignore[operator]
        loss.backward()
        optimizer.step()
    model.eval()
    likelihood.eval()
    with torch.no_grad():
        found = likelihood(model(torch.tensor(new)))
    return found.mean.numpy(), found.stddev.numpy()


def gpboost(X: np.ndarray, y: np.ndarray, new: np.ndarray) -> Normal:
    import gpboost as gpb

    model = gpb.GPModel(gp_coords=X, cov_function="matern_ard", cov_fct_shape=2.5, likelihood="gaussian",
                        num_parallel_threads=1)  # fmt: skip
    model.fit(y=y, X=np.ones((len(y), 1)))
    found = model.predict(gp_coords_pred=new, X_pred=np.ones((len(new), 1)), predict_var=True)
    return found["mu"], np.sqrt(found["var"])


CONTESTANTS = {"credo": credo, "scikit-learn": scikit_learn, "gpytorch": gpytorch, "gpboost": gpboost}


def scores(y: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> dict[str, float]:
    z = (y - mean) / sd
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    crps = sd * (z * (2 * below - 1) + 2 * density - 1 / math.sqrt(math.pi))
    return {
        "rmse": float(np.sqrt(np.mean(np.square(y - mean)))),
        "nlpd": float(np.mean(0.5 * z * z + np.log(sd) + 0.5 * math.log(2 * math.pi))),
        "crps": float(crps.mean()),
        "in50": float(np.mean(np.abs(z) <= 0.6744897501960817)),
        "in95": float(np.mean(np.abs(z) <= 1.959963984540054)),
    }


def run(contestant: str, data: Path, output: Path, names: list[str]) -> None:
    """Split after split through all tables, so that a run that is cut has told of each; what is in `output` is kept."""
    tables = {name: np.loadtxt(data / TABLES[name], delimiter=",", skiprows=1) for name in names}
    lines = output.read_text().splitlines() if output.exists() else []
    done = {(row["contestant"], row["table"], row["split"]) for row in map(json.loads, lines)}
    for seed in SPLITS:
        for name, table in tables.items():
            if (contestant, name, seed) in done:
                continue
            known, held = split(table, seed)
            X, y, new = known[:, :-1], known[:, -1], held[:, :-1]
            place, size, level, unit = X.mean(axis=0), X.std(axis=0), y.mean(), y.std()
            begun = time.process_time()
            if contestant == "credo":
                mean, sd = credo(X, y, new)
            else:
                mean, sd = CONTESTANTS[contestant]((X - place) / size, (y - level) / unit, (new - place) / size)
                mean, sd = level + unit * mean, unit * sd
            row = {"contestant": contestant, "table": name, "split": seed, "seconds": time.process_time() - begun,
                   **scores(held[:, -1], mean, sd)}  # fmt: skip
            with output.open("a") as file:
                file.write(json.dumps(row) + "\n")


def show(files: list[Path]) -> None:
    """Means over the splits that all contestants in the files have finished; ± one standard error of the paired
    difference from the best."""
    found: dict[str, dict[str, dict[int, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for file in files:
        for line in file.read_text().splitlines():
            row = json.loads(line)
            found[row["table"]][row["contestant"]][row["split"]] = row
    for table, by in found.items():
        common = sorted(set.intersection(*(set(rows) for rows in by.values())))
        print(f"{table}: {len(common)} splits, {len(by)} contestants")
        for score in ("rmse", "nlpd", "crps", "in50", "in95", "seconds"):
            values = {who: np.array([rows[s][score] for s in common]) for who, rows in by.items()}
            best = min(values, key=lambda who: values[who].mean())
            parts = []
            for who, value in values.items():
                error = (value - values[best]).std(ddof=1) / math.sqrt(len(common)) if len(common) > 1 else math.nan
                parts.append(f"{who} {value.mean():.4g} (±{error:.2g})")
            print(f"  {score:8}" + "; ".join(parts))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("contestant", choices=CONTESTANTS)
    running.add_argument("--data", type=Path, required=True)
    running.add_argument("--output", type=Path, required=True)
    running.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    showing = commands.add_parser("show")
    showing.add_argument("files", type=Path, nargs="+")
    given = parser.parse_args()
    if given.command == "run":
        run(given.contestant, given.data, given.output, given.tables)
    else:
        show(given.files)
