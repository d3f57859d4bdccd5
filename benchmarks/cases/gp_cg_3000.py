"""Evidence and gradient by conjugate gradients: 3,000 rows of four columns, judged by the exact evidence."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS, NOISE, LENGTHSCALE = 3_000, 4, 0.3, 1.0
TOL, RANK, PROBES = 1e-3, 100, 16


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, COLUMNS))
    return X, np.sin(X).sum(axis=1) + NOISE * rng.normal(size=ROWS)


def credo(data: tuple[Any, Any]) -> tuple[float, Any]:
    import numpy as np

    from credo.kernels import Matern
    from credo.models.gaussian_process.solvers.conjugate_gradient import ConjugateGradient

    X, y = data
    solver = ConjugateGradient(tol=TOL, preconditioner_rank=RANK, n_probes=PROBES)
    factor = solver(1.0 * Matern(LENGTHSCALE, nu=2.5), X, np.full(ROWS, NOISE**2))
    u = y[:, None]
    value = -0.5 * float(np.vdot(u, factor.solve(u))) - 0.5 * factor.log_determinant - 0.5 * ROWS * np.log(2 * np.pi)
    return value, factor.gradient(u)


def gpytorch(data: tuple[Any, Any]) -> tuple[float, Any]:
    import gpytorch
    import torch

    X, y = (torch.from_numpy(part) for part in data)
    torch.manual_seed(0)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.MaternKernel(nu=2.5))
            self.covar_module.base_kernel.lengthscale, self.covar_module.outputscale = LENGTHSCALE, 1.0

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood).double()
    likelihood.noise = NOISE**2
    model.train()
    s = gpytorch.settings
    with (
        s.max_cholesky_size(0), s.cg_tolerance(TOL), s.max_preconditioner_size(RANK), s.min_preconditioning_size(0),
        s.num_trace_samples(PROBES), s.max_cg_iterations(1000), s.max_lanczos_quadrature_iterations(100),
    ):  # fmt: skip
        evidence = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(X), y) * ROWS
        evidence.backward()
    return float(evidence), [p.grad for p in model.parameters() if p.grad is not None]


@functools.cache
def exact() -> float:
    """The log evidence by Cholesky."""
    import numpy as np

    X, y = load(Path())
    squares = np.square(X).sum(axis=1)
    r = np.sqrt(5.0 * np.maximum(squares[:, None] + squares - 2.0 * X @ X.T, 0.0)) / LENGTHSCALE
    K = (1.0 + r + r * r / 3.0) * np.exp(-r) + NOISE**2 * np.eye(ROWS)
    lower = np.linalg.cholesky(K)
    return float(
        -0.5 * np.square(np.linalg.solve(lower, y)).sum()
        - np.log(np.diag(lower)).sum()
        - 0.5 * ROWS * np.log(2 * np.pi)
    )


CASE = Case(
    question="Log evidence of 3,000 × 4 (Matérn 5/2) and its gradient by conjugate gradients with a rank-100 "
    "preconditioner and 16 probes, relative residual 1e-3; judged by the distance to the exact evidence.",
    load=load,
    contestants=(
        Contestant("credo ConjugateGradient", credo),
        Contestant("GPyTorch CG", gpytorch, requires=("gpytorch", "torch")),
    ),
    quality=Quality("error of the log evidence, nats", lambda data, result: abs(result[0] - exact()), "lower", 20.0),
    bars={"GPyTorch CG": Bar("≥", 1)},
    repeats=3,
)
