"""Thompson sampling: one function drawn from the belief, whose lowest point is tried next."""

from __future__ import annotations

import numpy as np

from credo.design.acquisition.functions import Acquisition, Bound, Path
from credo.design.acquisition.incumbents import fantasise
from credo.design.acquisition.points import even_points
from credo.design.acquisition.quick import moments_of
from credo.design.surrogates.surrogate import Surrogate
from credo.models.gaussian_process import GaussianProcessRegressor

__all__ = ["drawn_path"]

# Points at which a path is drawn where its kernel has no random features (categories), or columns are bent; in between
# it is the mean.
SKELETON = 512


def drawn_path(surrogate: Surrogate, rng: np.random.Generator) -> Acquisition:
    """A draw of −f. Pathwise (Wilson et al. 2020, ICML) with slopes; otherwise through 512 even points."""
    belief, cube = surrogate.belief, surrogate.cube
    if cube.groups or cube.bends:
        points = cube.snap(even_points(SKELETON, cube.d, rng))
        given, _ = fantasise(belief, cube, np.unique(points, axis=0), rng, samples=1)
        return Bound(moments_of(given, cube), 0.0)
    seen = belief.observations
    model = GaussianProcessRegressor(belief.kernel, noise=surrogate.noise, optimizer=None)
    model.fit(seen.X, seen.y[:, 0], sample_weight=seen.count)
    return Path(model.sample_paths(1, random_state=rng))
