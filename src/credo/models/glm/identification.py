"""Whether the mode is one: under a flat prior columns must not be combinations of others."""

from __future__ import annotations

import numpy as np

from credo.errors import NotIdentifiedError
from credo.models.glm.equations import Design
from credo.models.glm.laplace import GlmMode
from credo.models.glm.prior import GlmPrior

__all__ = ["require_identified"]

# An eigenvalue of the curvature below this share of the largest (its diagonal scaled to 1, D parameters) is rounding:
# the products of columns err by their machine epsilon.
RELATIVE = 64.0 * np.finfo(float).eps


def require_identified(mode: GlmMode, prior: GlmPrior, design: Design, names: tuple[str, ...]) -> None:
    """`NotIdentifiedError` naming the columns along which the posterior is flat."""
    if not prior.is_flat:
        return
    curvature = mode.statistics.curvature + prior.gauge(mode.statistics.curvature)
    curvature = curvature + prior.information_and_precision(mode.tau)[1]
    size = np.sqrt(np.abs(np.diag(curvature)))
    size = np.where(size > 0.0, size, 1.0)
    values, vectors = np.linalg.eigh(curvature / size / size[:, None])
    if values[0] > RELATIVE * values.size * values[-1]:
        return
    share = np.abs(vectors[:, 0])
    width = design.centre.size + design.intercept
    flat = np.unique(np.flatnonzero(share[: design.n_weights] > 0.1 * share.max()) % width) - int(design.intercept)
    involved = ["the intercept" if i < 0 else names[i] for i in flat]
    shown = ", ".join(involved[:6]) + (", ..." if len(involved) > 6 else "")
    raise NotIdentifiedError(
        f"The data do not determine the coefficients of {shown} under a flat prior: the columns are constant, or "
        "combinations of each other.",
        value=float(values[0]),
        remedy="Drop columns, or state a proper prior such as cr.Normal(0, 2.5).",
    )
