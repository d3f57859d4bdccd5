"""The float nearest to a decimal fraction: a whole number of up to 22 digits over a power of ten up to 10²²."""

from __future__ import annotations

import numpy as np

__all__ = ["EXACT_DIGITS", "MOST_DIGITS", "POWERS", "exact_quotient", "nearest_quotient"]

#: Whole numbers of as many digits are floats (10¹⁵ < 2⁵³).
EXACT_DIGITS = 15

#: 10²² is the largest power of ten that is a float; two halves of 11 digits make up a whole number.
MOST_DIGITS = 22

POWERS = 10.0 ** np.arange(MOST_DIGITS + 1)

_HALF = MOST_DIGITS // 2
_SPLIT = 2.0**27 + 1.0


def exact_quotient(m: np.ndarray, k: np.ndarray) -> np.ndarray:
    """m / 10ᵏ for whole numbers of at most 15 digits: both are floats, so that one division rounds once."""
    return m / POWERS[k]


def nearest_quotient(high: np.ndarray, low: np.ndarray, k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(high × 10¹¹ + low) / 10ᵏ for halves of at most 11 digits: the nearest floats, and whether each surely is.

    The numerator is a + b exactly, for floats a and |b| ≤ ½ ulp(a). With q = a / 10ᵏ rounded, the remainder
    r = a + b − q 10ᵏ follows from an exact product but for roundings of 2⁻⁵² |r|, so that q + r / 10ᵏ is the quotient
    within 2⁻¹⁰⁰ q. Where so little moves the rounding of the sum, the quotient is next to a midpoint between floats:
    not sure.

    Dekker (1971), "A floating-point technique for extending the available precision".
    """
    p = POWERS[k]
    hi, lo = _product(high, np.broadcast_to(POWERS[_HALF], high.shape))
    rest = lo + low  # whole numbers below 2⁵³: exact
    a = hi + rest
    shift = a - hi
    b = (hi - (a - shift)) + (rest - shift)
    q = a / p
    hi, lo = _product(q, p)
    correction = ((a - hi) - lo + b) / p
    margin = 2.0**-98 * q
    least, most = q + (correction - margin), q + (correction + margin)
    return least, least == most


def _product(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """x y as the sum of two floats, exactly."""
    x_high, y_high = _high_half(x), _high_half(y)
    x_low, y_low = x - x_high, y - y_high
    product = x * y
    return product, ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def _high_half(x: np.ndarray) -> np.ndarray:
    """The upper 26 of the 53 bits."""
    scaled = _SPLIT * x
    return scaled - (scaled - x)
