"""The kernel that is used when none is stated: scale-free, one lengthscale a column."""

from __future__ import annotations

import numpy as np

from credo.distributions import LogNormal
from credo.kernels import Kernel, Matern, Scaled

__all__ = ["default_kernel"]

# ℓ_j/(sd_j √d) ~ LogNormal(log 1, SPREAD): distances between standardised rows grow like √d, and a prior that keeps
# up with them lets irrelevant columns go instead of fitting them (Hvarfner, Hellsten and Nardi 2024, ICML, who take
# √3 for columns of unit range).
SPREAD = float(np.sqrt(3.0))
# A variance within e^±4 of the outcomes' own, for two sds: vague, but proper, so that it can be integrated over.
VARIANCE = 2.0
# Five sds of the prior either way, and ten decades for a column that says nothing.
DECADES = (1e-4, 1e5)


def default_kernel(X: np.ndarray, weights: np.ndarray) -> Kernel:
    """variance · Matérn 5/2 with a lengthscale for each column, for outcomes of sd 1."""
    share = weights / weights.sum()
    sd = np.sqrt(share @ np.square(X - share @ X))
    sd = np.where(sd > 0.0, sd, 1.0)
    typical = sd * np.sqrt(X.shape[1])
    limits = (DECADES[0] * float(typical.min()), DECADES[1] * float(typical.max()))
    prior = LogNormal(np.log(typical), SPREAD)
    matern = Matern(typical, nu=2.5, priors={"lengthscale": prior}, limits={"lengthscale": limits})
    return Scaled(matern, 1.0, priors={"variance": LogNormal(0.0, VARIANCE)})
