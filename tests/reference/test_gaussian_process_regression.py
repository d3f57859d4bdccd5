"""Evidence, gradients, left-out scores and predictions at fixed hyperparameters: references/gp_*.json, in full."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from credo.kernels import RBF, Kernel, Linear, Matern, Periodic, RationalQuadratic
from credo.models.gaussian_process import GaussianProcessRegressor

DATA = Path(os.environ["CREDO_REFERENCE_DATA"])
NU = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}


def rows(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "motorcycle":
        frame = pl.read_csv(DATA / "tables" / "motorcycle.csv")
        x, y = frame["times"].to_numpy().astype(float)[:, None], frame["accel"].to_numpy().astype(float)
        return x, (y - y.mean()) / y.std(ddof=1)
    if name == "mauna_loa_co2_180":
        frame = pl.read_csv(DATA / "tables" / "mauna_loa_co2_monthly.csv")[:180]
        y = frame["value"].to_numpy()
        return frame["time"].to_numpy()[:, None] - 1959.0, y - y.mean()
    table = np.loadtxt(DATA / "tables" / "uci_yacht.csv", delimiter=",", skiprows=1)
    X, y = table[:, :-1], np.log(table[:, -1])
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1), y - y.mean()


def term(kind: str, values: dict[str, Any]) -> Kernel:
    if kind == "linear":
        return values["variance"] * Linear(1.0, fixed="lengthscale")
    scale = values["lengthscale"]
    if kind == "rbf":
        kernel: Kernel = RBF(scale)
    elif kind == "periodic":
        kernel = Periodic(scale, period=values["period"])
    elif kind == "rq":
        kernel = RationalQuadratic(scale, alpha=values["alpha"])
    else:
        kernel = Matern(scale, nu=NU[kind])
    return values["variance"] * kernel


def cases() -> list[Any]:
    found = []
    for path in sorted((DATA / "references").glob("gp_*.json")):
        reference = json.loads(path.read_text())
        for case in reference["cases"]:
            name = "+".join(part["kind"] for part in case["kernel_sum"])
            found.append(pytest.param(reference["data"], case, id=f"{reference['data']}-{name}-{case['n_train']}"))
    return found


@pytest.mark.parametrize(("data", "case"), cases())
def test_reference(data, case):
    X, y = rows(data)
    kernel = sum((term(part["kind"], part["hyperparameters"]) for part in case["kernel_sum"][1:]),
                 start=term(case["kernel_sum"][0]["kind"], case["kernel_sum"][0]["hyperparameters"]))  # fmt: skip
    noise = np.sqrt(case["noise_variance"])
    n = case["n_train"]
    model = GaussianProcessRegressor(kernel, noise=noise, mean=None, optimizer=None).fit(X[:n], y[:n])
    assert model.log_evidence_ == pytest.approx(case["log_marginal_likelihood"], rel=1e-10)
    elpd = model.leave_one_out(X[:n], y[:n]).elpd
    assert elpd == pytest.approx(case["leave_one_out_log_predictive"], rel=1e-8)
    new = np.array(case["test_inputs"])
    p = model.predict_distribution(new, noise_scale=0.0)
    np.testing.assert_allclose(p.mean, case["latent_mean"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.epistemic, case["latent_variance"], rtol=1e-7, atol=1e-10)
    # The file's gradients have about eight digits; they run term by term, with a term's variance first.
    score = model.belief_.evidence()
    names = {"log_variance": "variance", "log_lengthscale": "lengthscale", "log_period": "period", "log_alpha": "alpha"}
    ours = dict(zip(model.kernel_.names, score.theta, strict=True))
    for name, value in case["gradient_wrt_log_parameters"].items():
        if name == "log_noise_variance":
            continue
        part, parameter = name.split(".")
        base, _, index = parameter.partition("[")
        index = f"[{index}" if index else ""
        path = names[base] if base == "log_variance" else f"kernel.{names[base]}"
        prefix = f"{int(part.removeprefix('term')) - 1}." if len(case["kernel_sum"]) > 1 else ""
        assert ours[f"{prefix}{path}{index}"] == pytest.approx(value, rel=1e-5, abs=1e-5)
