"""Outcomes that a model thinks possible and the rows say are not."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import CredoError
from credo.models.tabular.rows import RowSample
from credo.tables.target import TargetEncoding

__all__ = ["below_zero", "LOOKED_AT"]

# Outcomes below 0 are impossible, rather than rare, if the model expects three of them in the rows and there is none
# (probability e⁻³ = 0.05). It matters where the lower end of a 90 % interval, the 5 % quantile, is one in 1 % of rows.
_SURELY_SEEN, _TAIL, _WORTH_SAYING = 3.0, 0.05, 0.01
# Rows in which this is looked for: enough to tell 1 %.
LOOKED_AT = 1000


def below_zero(target: TargetEncoding, estimator: Any, sample: RowSample) -> str | None:
    """A sentence, if the model expects outcomes below 0 where the rows say that there are none."""
    if target.low is None or target.low < 0.0:
        return None
    try:
        predictive = estimator.predict_distribution(sample.X)
        below = predictive.cdf(-1.0 if predictive.kind == "count" else 0.0)
    except CredoError:  # a model without a distribution has no mass anywhere
        return None
    if below.sum() < _SURELY_SEEN or np.mean(below > _TAIL) < _WORTH_SAYING:
        return None
    remedy = (
        "PoissonRegression and NegativeBinomialRegression (the candidates poisson and negative_binomial) are for counts"
        if np.all(sample.y == np.round(sample.y))
        else "GammaRegression (the candidate gamma) is for positive amounts"
        if target.low > 0.0
        else "A logarithm of the target plus one has no such bound"
    )
    return (
        f"{target.name!r} is never below 0 in {len(sample):,} rows, but {100 * np.mean(below > _TAIL):.0f} % of "
        f"the 90 % intervals of this model reach there, since its noise knows no bound. {remedy}; or read ends "
        "below 0 as 0."
    )
