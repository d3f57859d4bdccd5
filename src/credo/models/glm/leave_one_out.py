"""One row left out of a logit model, from one fit.

With the posterior of the linear predictors η_i of a row taken as Normal (means m, covariance V):

    1/p(y_i | y₋ᵢ) = E[1/p(y_i | η_i)] = Σ_c exp(m_c − m_y + ½ Var(η_c − η_y))

which is closed because 1/softmax is a sum of exponentials. Not used where the predictors are too uncertain for the
Normal to be trusted.
"""

from __future__ import annotations

import numpy as np
import scipy.special

from credo.errors import UnavailableError

__all__ = ["logit_leave_one_out"]

# Variance of one row's linear predictor beyond which E[1/p] rests on the far tail of the Normal approximation: on the
# titanic's two rows without a port (variance 9) the formula gives −17 nats where refits give −0.5.
ROW_VARIANCE = 4.0
# Mean variance of the predictors up to which the Normal's log scores are within 0.003 of fits without each row, a
# tenth of their standard error (tests/models/glm/test_leave_one_out.py).
PREDICTOR_VARIANCE = 0.5


def logit_leave_one_out(phi: np.ndarray, codes: np.ndarray, mean: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """The formula for classes, (n,).

    phi : (n, D) rows; codes (n,) classes; mean (k, D) and covariance (kD, kD) of the coefficients, k = 1 for two
        classes
    Cost O(n D² k²).
    """
    k, d = mean.shape
    eta = phi @ mean.T
    if k == 1:
        sign = np.where(codes == 1, -1.0, 1.0)
        spread = np.einsum("nd,nd->n", phi @ covariance, phi)
        ratio = np.column_stack([np.zeros(len(phi)), sign * eta[:, 0]])
        variance = np.column_stack([np.zeros(len(phi)), spread])
    else:
        blocks = covariance.reshape(k, d, k, d)
        cross = np.stack([[np.einsum("nd,nd->n", phi @ blocks[a, :, b], phi) for b in range(k)] for a in range(k)])
        own = np.einsum("aan->na", cross)
        rows = np.arange(len(phi))
        variance = own + own[rows, codes][:, None] - 2.0 * cross[codes, :, rows]
        ratio = eta - eta[rows, codes][:, None]
    variance = np.maximum(variance, 0.0)
    largest = float(variance.max())
    if largest > ROW_VARIANCE:
        raise UnavailableError(
            f"Row {int(np.argmax(variance.max(axis=1)))} alone decides a coefficient (its linear predictor has "
            f"variance {largest:.2g}), so the Normal approximation says nothing of the fit without it.",
            value=largest,
            remedy="Use folds (cv=5).",
        )
    average = float(variance.sum(axis=1).mean()) / (variance.shape[1] - 1)
    if average > PREDICTOR_VARIANCE:
        raise UnavailableError(
            f"The linear predictors have variance {average:.2g} on average: too few rows for the Normal approximation.",
            value=average,
            remedy="Use folds (cv=5).",
        )
    return -np.asarray(scipy.special.logsumexp(ratio + 0.5 * variance, axis=1))
