"""A whole fit of a Gaussian process to 2,000 rows of 10 columns, to an evidence as good as the peers'."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant, Quality

ROWS, COLUMNS = 2_000, 10
#: of the evidence, in nats: less than a hundredth of what would count as a difference between hypotheses
EQUAL = 1e-2
Fitted = tuple[float, list[float], float]


def load(_: Path) -> tuple[Any, Any]:
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, COLUMNS))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] + 0.2 * rng.standard_normal(ROWS)
    return X, (y - y.mean()) / y.std()


def credo(data: tuple[Any, Any]) -> Fitted:
    import numpy as np

    import credo as cr

    kernel = 1.0 * cr.kernels.Matern(np.ones(COLUMNS), nu=2.5)
    model = cr.GaussianProcessRegressor(kernel, learn="evidence", mean=None).fit(*data)
    return model.kernel_.variance, list(model.kernel_.kernel.lengthscale), model.noise_scale_**2


def scikit_learn(data: tuple[Any, Any]) -> Fitted:
    import numpy as np
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import Matern, WhiteKernel

    start: Any = np.ones(COLUMNS)
    kernel = 1.0 * Matern(start, nu=2.5) + WhiteKernel(0.1)
    found: Any = GaussianProcessRegressor(kernel).fit(*data).kernel_
    return found.k1.k1.constant_value, list(found.k1.k2.length_scale), found.k2.noise_level


def gpytorch(data: tuple[Any, Any]) -> Fitted:
    """Its exact process by Cholesky factors in double precision, with SciPy's L-BFGS-B as BoTorch fits them."""
    import gpytorch as gp  # type: ignore[import-not-found]
    import numpy as np
    import scipy.optimize
    import torch  # type: ignore[import-not-found]

    torch.set_num_threads(1)
    X, y = (torch.as_tensor(each) for each in data)

    class Model(gp.models.ExactGP):
        def __init__(self, likelihood: Any) -> None:
            super().__init__(X, y, likelihood)
            self.mean_module = gp.means.ZeroMean()
            self.covar_module = gp.kernels.ScaleKernel(gp.kernels.MaternKernel(2.5, ard_num_dims=COLUMNS))

        def forward(self, x: Any) -> Any:
            return gp.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

    likelihood = gp.likelihoods.GaussianLikelihood()
    model: Any = Model(likelihood).double()
    model.covar_module.initialize(outputscale=1.0)
    model.covar_module.base_kernel.initialize(lengthscale=1.0)
    likelihood.initialize(noise=0.1)
    evidence = gp.mlls.ExactMarginalLogLikelihood(likelihood, model)
    parameters = list(model.parameters())

    def objective(position: np.ndarray) -> tuple[float, np.ndarray]:
        torch.nn.utils.vector_to_parameters(torch.as_tensor(position), parameters)
        model.zero_grad()
        with gp.settings.max_cholesky_size(10 * ROWS), gp.settings.fast_computations(False, False, False):
            loss = -ROWS * evidence(model(X), y)  # type: ignore[operator]
        loss.backward()
        return loss.item(), np.concatenate([each.grad.numpy().ravel() for each in parameters])

    start = torch.nn.utils.parameters_to_vector(parameters).detach().numpy()
    found = scipy.optimize.minimize(
        objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 300, "ftol": 1e-9}
    )
    torch.nn.utils.vector_to_parameters(torch.as_tensor(found.x), parameters)
    inner = model.covar_module.base_kernel.lengthscale.detach().numpy().ravel().tolist()
    return float(model.covar_module.outputscale), inner, float(likelihood.noise)


def log_evidence(data: tuple[Any, Any], fitted: Fitted) -> float:
    """Of what each found, from its formula."""
    import numpy as np
    from scipy.spatial.distance import cdist

    X, y = data
    variance, lengthscale, noise = fitted
    r = np.sqrt(5.0) * cdist(X / lengthscale, X / lengthscale)
    K = variance * (1.0 + r + r * r / 3.0) * np.exp(-r) + noise * np.eye(ROWS)
    root = np.linalg.cholesky(K)
    z = np.linalg.solve(root, y)
    return float(-0.5 * z @ z - np.log(np.diag(root)).sum() - 0.5 * ROWS * np.log(2.0 * np.pi))


CASE = Case(
    question="A Gaussian process of 2,000 rows and 10 columns, Matérn 5/2 with a lengthscale a column and learned "
    "noise: the whole fit, to an evidence as good.",
    load=load,
    contestants=(
        Contestant("credo GaussianProcessRegressor", credo),
        Contestant("scikit-learn GaussianProcessRegressor", scikit_learn, requires=("scikit-learn",)),
        Contestant("GPyTorch ExactGP, L-BFGS-B", gpytorch, requires=("gpytorch", "torch")),
    ),
    quality=Quality("log evidence", log_evidence, "higher", EQUAL),
    bars={"scikit-learn GaussianProcessRegressor": Bar("≥", 5), "GPyTorch ExactGP, L-BFGS-B": Bar("≥", 3)},
    repeats=1,
    warmups=0,
    timeout=7200.0,
)
