"""Whether chains went often enough to what they seldom reach.

A mode of a few percent that lies apart is met by few visits, each of many draws. R̂ and the effective draws for the
5 % and 95 % quantiles hardly see it, as most of such a tail is that of the other mode. The outermost 1 % at either end
then are draws of one or two visits: few effective ones. Chains that mix have there about as many as for the quantiles.

A mode that no chain ever met is not seen by this either.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from credo.diagnostics.mcmc import ess

__all__ = ["fewest_far_out", "seldom_far_out"]

# The share at either end, and the effective draws that it takes: as many as for quantiles, where draws are that many.
FAR_OUT, ENOUGH, SHARE = 0.01, 400.0, 0.1


def fewest_far_out(values: Mapping[str, np.ndarray]) -> tuple[str, float]:
    """The entry with fewest effective draws for its lowest or highest 1 %, and how many; values : name →
    (chains, draws, *shape)."""
    least = ("", np.inf)
    for name, x in values.items():
        flat = x.reshape(*x.shape[:2], -1)
        low, high = np.quantile(flat, [FAR_OUT, 1.0 - FAR_OUT], axis=(0, 1))
        for far in (flat <= low, flat >= high):
            counts = np.atleast_1d(ess(far.astype(np.float64), "mean"))
            counts = np.where(np.isfinite(counts), counts, np.inf)
            k = int(np.argmin(counts))
            if counts[k] < least[1]:
                at = ",".join(str(int(i)) for i in np.unravel_index(k, x.shape[2:])) if x.ndim > 2 else ""
                least = (f"{name}[{at}]" if at else name, float(counts[k]))
    return least


def seldom_far_out(values: Mapping[str, np.ndarray]) -> tuple[float, str | None]:
    """The count of `fewest_far_out`, and a complaint where it is so low that the share of what lies there is a
    guess."""
    chains, draws = next(iter(values.values())).shape[:2]
    name, count = fewest_far_out(values)
    needed = min(ENOUGH, SHARE * chains * draws)
    if count >= needed:
        return count, None
    return count, (
        f"Only {count:.0f} effective draws for the outermost 1 % of {name} (< {needed:.0f}): chains reach it seldom, "
        "and stay. There may be a mode of little mass: take more draws, and look at them."
    )
