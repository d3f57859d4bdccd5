"""A Gaussian process and a noise that is not Normal, told on the page, on the terminal and by `credo show`."""

from __future__ import annotations

import functools
import io
from dataclasses import replace
from typing import Any

import numpy as np

import credo as cr
from credo.cli.model import belief
from credo.models.listing import Listing
from credo.models.tabular import TableModel, TableTask
from credo.models.tabular.told import NoiseLaw, noise_law, process_told
from credo.reports import Report
from credo.reports.build import comparison_report
from credo.reports.page import to_html
from credo.reports.terminal import lines
from tests.reports.samples import made, numbers


@functools.cache
def process() -> tuple[TableModel, Report]:
    return made(numbers(60), "price", cr.GaussianProcessRegressor())


def shown(parts: list[Any]) -> str:
    from rich.console import Console

    console = Console(width=200, record=True, file=io.StringIO())
    for part in parts:
        console.print(part, markup=False)
    return console.export_text()


def told(model: TableModel, report: Report) -> dict[str, str]:
    return {
        "show": shown(belief(model, model.summary(0.9), None)),
        "terminal": shown(lines(report)),
        "page": to_html(report),
    }


def test_a_process_says_kernel_hyperparameters_evidence_and_solver() -> None:
    model, report = process()
    kernel = model.estimator.kernel_
    first = f"{kernel.kernel.lengthscale[0]:.4g}"
    for text in told(model, report).values():
        assert "variance × Matern(nu=2.5)" in text
        assert "lengthscale of size" in text
        assert first in text
        assert "Log evidence: " in text
        assert "Solver: exact: 60 rows" in text
        assert "predicts every row alike" not in text
    assert "with sd" in told(model, report)["show"]


def test_the_scale_of_a_student_t_is_no_sd() -> None:
    """The report itself takes five fits by expectation propagation: its parts that speak are what is looked at."""
    task = TableTask.prepare(numbers(40), "price")
    model = task.fit(cr.GaussianProcessRegressor(noise=cr.noise.StudentT(df=4)))
    report = replace(process()[1], noise_law=noise_law(model.estimator))
    scale = f"{model.estimator.noise_scale_:.4g}"
    for text in told(model, report).values():
        assert f"by a Student-t law with scale {scale} and 4 degrees of freedom" in text
        assert "with sd" not in text
    facts = comparison_report(model).facts
    assert ("noise (scale)", scale) in facts
    assert ("noise (df)", "4") in facts


def test_laws() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 1))
    y = x[:, 0] + rng.standard_t(4, 40)

    def law(noise: Any) -> NoiseLaw | None:
        return noise_law(cr.LinearRegression(prior=cr.Normal(0, 10), noise=noise).fit(x, y))

    assert law(cr.noise.Laplace(scale=0.5)) == NoiseLaw("laplace", 0.5)
    assert law(cr.noise.StudentT(df=3, scale=2.0)) == NoiseLaw("student_t", 2.0, 3.0)
    assert str(law(cr.noise.Laplace(scale=0.5))) == "by a Laplace law with scale 0.5"
    assert str(law(cr.noise.Normal(0.25))) == "with sd 0.25"
    learned = law(cr.noise.StudentT())
    assert learned is not None
    assert learned.df is not None
    assert 1.0 < learned.df < 100.0
    process = cr.GaussianProcessRegressor(noise=cr.noise.StudentT()).fit(x, y)
    found = noise_law(process)
    at = list(process.latent_.likelihood.learned).index("df")
    assert found == NoiseLaw("student_t", process.noise_scale_, float(np.exp(process.latent_.psi[at])))
    assert noise_law(cr.LogisticRegression().fit(x, y > 0)) is None


def test_processes_of_several_parts_and_of_classes() -> None:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(30, 2))
    k = cr.kernels
    kernel = 2.0 * (k.RBF(1.0) + k.Linear()) * k.RBF(3.0, fixed=("lengthscale",))
    model = cr.GaussianProcessRegressor(kernel, noise=0.3, optimizer=None).fit(X, X[:, 0])
    first, table, evidence, solver = process_told(model, ("a", "b"))
    assert first == "A Gaussian process with kernel variance × (RBF + Linear) × RBF:"
    assert isinstance(table, Listing)
    assert ("1.lengthscale", "3, held") in table.rows
    assert str(evidence) == f"Log evidence: {model.log_evidence_:.6g}."
    assert str(solver).startswith("Solver: exact")
    classes = cr.GaussianProcessClassifier().fit(X, X[:, 1] > 0)
    assert any(str(part).startswith("Log evidence") for part in process_told(classes))
    assert process_told(cr.LinearRegression(noise=cr.noise.Normal(1.0)).fit(X, X[:, 0])) == []
