"""The collapsed variational bound and its gradient: 20,000 rows of two columns, 256 inducing points."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, PLACES, NOISE, LENGTHSCALE = 20_000, 256, 0.3, 0.5


def load(_: Path) -> tuple[Any, Any, Any]:
    """(X, y, places): the same places for both."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (ROWS, 2))
    y = np.sin(3.0 * X[:, 0]) * np.cos(2.0 * X[:, 1]) + NOISE * rng.normal(size=ROWS)
    return X, y, X[rng.permutation(ROWS)[:PLACES]]


def credo(data: tuple[Any, Any, Any]) -> tuple[float, Any]:
    import numpy as np

    from credo.kernels import RBF
    from credo.models.gaussian_process.solvers.inducing import Inducing

    X, y, Z = data
    factor = Inducing(locations=Z)(1.0 * RBF(LENGTHSCALE), X, np.full(ROWS, NOISE**2))
    u = y[:, None]
    value = -0.5 * float(np.vdot(u, factor.solve(u))) - 0.5 * factor.log_determinant - 0.5 * ROWS * np.log(2 * np.pi)
    return value, factor.gradient(u)


def gpytorch(data: tuple[Any, Any, Any]) -> tuple[float, Any]:
    import gpytorch
    import torch

    X, y, Z = (torch.from_numpy(part) for part in data)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            base = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())
            base.base_kernel.lengthscale, base.outputscale = LENGTHSCALE, 1.0
            self.covar_module = gpytorch.kernels.InducingPointKernel(base, Z.clone(), likelihood)
            self.covar_module.inducing_points.requires_grad_(False)

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood).double()
    likelihood.noise = NOISE**2
    model.train()
    bound = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(X), y) * ROWS
    bound.backward()
    return float(bound), [p.grad for p in model.parameters() if p.grad is not None]


CASE = Case(
    question="The collapsed variational bound of 20,000 × 2 with 256 given inducing points and its slopes in variance, "
    "lengthscale and noise; both must find the same bound, to 0.5 nats.",
    load=load,
    contestants=(
        Contestant("credo Inducing", credo),
        Contestant("GPyTorch InducingPointKernel", gpytorch, requires=("gpytorch", "torch")),
    ),
    quality=Quality("bound, nats", lambda data, result: result[0], "higher", 0.5),
    bars={"GPyTorch InducingPointKernel": Bar("≥", 1)},
    repeats=5,
)
