"""`credo show` of a Gaussian process in a file."""

from __future__ import annotations

import credo as cr
from credo.models.tabular import TableTask
from tests.reports.samples import numbers


def test_a_saved_process_is_told(credo, tmp_path) -> None:
    model = TableTask.prepare(numbers(40), "price").fit(cr.GaussianProcessRegressor(noise=cr.noise.StudentT(df=4)))
    cr.save(model, tmp_path / "model.credo")
    out = " ".join(credo("show", tmp_path / "model.credo").out.split())
    for words in ("variance × Matern(nu=2.5)", "lengthscale of size", "Log evidence: ", "Student-t law with scale"):
        assert words in out
