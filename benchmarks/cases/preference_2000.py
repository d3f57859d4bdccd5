"""2,000 duels of 50 items with three features: a whole fit, hyperparameters too, and the loss on 2,000 more duels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Case, Contestant, Quality


def load(_: Path) -> tuple[Any, Any, Any]:
    """Features (50, 3), and duels (2000, 2), the winner first, to learn from and to predict."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    f = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2
    a = rng.integers(50, size=4000)
    b = (a + rng.integers(1, 50, size=4000)) % 50
    won = f[a] - f[b] + np.sqrt(2.0) * 0.5 * rng.normal(size=4000) > 0
    duels = np.column_stack([np.where(won, a, b), np.where(won, b, a)])
    return X, duels[:2000], duels[2000:]


def credo(task: tuple[Any, Any, Any]) -> Any:
    import credo as cr

    X, seen, new = task
    return cr.PreferenceGP().fit(seen, X).probability(new[:, 0], new[:, 1])


def botorch(task: tuple[Any, Any, Any]) -> Any:
    import numpy as np
    import scipy.special
    import torch  # type: ignore[import-not-found]
    from botorch.fit import fit_gpytorch_mll  # type: ignore[import-not-found]
    from botorch.models.pairwise_gp import (  # type: ignore[import-not-found]
        PairwiseGP,
        PairwiseLaplaceMarginalLogLikelihood,
    )

    X, seen, new = task
    torch.set_num_threads(1)
    rows = torch.tensor(X)
    model = PairwiseGP(rows, torch.tensor(seen))
    fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
    with torch.no_grad():
        law = model.posterior(rows)
        mean, cov = law.mean.squeeze(-1).numpy(), law.distribution.covariance_matrix.numpy()
    a, b = new.T
    return scipy.special.ndtr((mean[a] - mean[b]) / np.sqrt(2.0 + cov[a, a] + cov[b, b] - 2.0 * cov[a, b]))


def loss(_: Any, p: Any) -> float:
    import numpy as np

    return float(-np.mean(np.log(p)))


CASE = Case(
    question="A preference model of 50 items with three features from 2,000 duels, hyperparameters learned: Credo "
    "(both links, features and each item's own part) against BoTorch's PairwiseGP; the loss is on 2,000 more duels.",
    load=load,
    contestants=(
        Contestant("credo", credo),
        Contestant("BoTorch PairwiseGP", botorch, requires=("botorch", "gpytorch")),
    ),
    quality=Quality("held-out log loss", loss, "lower", 0.005),
    repeats=3,
)
