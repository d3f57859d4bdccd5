"""Coherence of quoted odds: either some distribution agrees with them, or somebody who trades on them surely loses.

A price q for an event A is a readiness to buy or to sell, for q, a ticket that pays 1 if A happens; for A | B the
ticket is called off (the price returned) unless B happens. Of all stakes s the gain of the one who trades with the
quoter is G(ω) = Σ s_i 1_{B_i}(ω) (1_{A_i}(ω) − q_i). By linear duality exactly one holds:

    there are stakes with G(ω) ≥ g > 0 for every ω       there is P ≥ 0, Σ P = 1, P(A_i ∩ B_i) = q_i P(B_i) for all i

Reference: de Finetti (1937), La prévision: ses lois logiques, ses sources subjectives; Walley (1991), ch. 3.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError, UnavailableError
from credo.probability.events import Event
from credo.probability.spaces import SampleSpace

__all__ = ["Coherence", "coherence"]

# HiGHS solves to 1e-7 of feasibility; a sure gain of less than 1e-9 of the stakes is its rounding.
GAIN = 1e-9


@dataclass(frozen=True, eq=False)
class Coherence:
    """What quoted prices imply.

    coherent : whether a distribution agrees with all of them
    stakes : name → tickets to buy (> 0) or sell (< 0), each at most 1, that win surely; all 0 if coherent
    gain : what they win at least, whatever happens
    gains : outcome → what they win there
    """

    coherent: bool
    stakes: dict[Hashable, float]
    gain: float
    gains: dict[Hashable, float]
    space: SampleSpace
    _equations: tuple[np.ndarray, np.ndarray] = field(repr=False)

    def bounds(self, event: Any) -> tuple[float, float]:
        """The lowest and highest P(event) among the distributions that agree with the quotes."""
        if not self.coherent:
            raise UnavailableError("No distribution agrees with these quotes.", remedy="See stakes and gains.")
        indicator = self.space.mask(event).astype(np.float64)
        lower, upper = self._equations
        options = {"A_ub": np.vstack([lower, -upper]), "b_ub": np.zeros(2 * len(lower))} if len(lower) else {}
        ends = [
            _solved(sign * indicator, A_eq=np.ones((1, indicator.size)), b_eq=[1.0], bounds=(0.0, None), **options)
            for sign in (1.0, -1.0)
        ]
        return float(np.clip(ends[0].fun, 0.0, 1.0)), float(np.clip(-ends[1].fun, 0.0, 1.0))


def coherence(space: SampleSpace, quotes: Mapping[Any, Any] | list[tuple[Any, Any]]) -> Coherence:
    """Whether quoted probabilities are a belief at all: find the bet that surely wins against them, if there is one.

    Parameters
    ----------
    space : what may happen; its probabilities are not used
    quotes : (event, price) pairs, or a mapping name → (event, price). An event may be (A, B) for A given B. A price is
        a probability, or (bid, ask): the quoter buys at the bid and sells at the ask.

    Cost: one linear programme of as many rows as outcomes.

    Examples
    --------
    >>> race = SampleSpace(["Ada", "Blaise", "Carl"])
    >>> book = coherence(race, {"Ada": ({"Ada"}, 0.5), "Blaise": ({"Blaise"}, 0.4), "Carl": ({"Carl"}, 0.3)})
    >>> book.coherent, round(book.gain, 6), book.stakes["Ada"]
    (False, 0.2, -1.0)
    >>> low, high = coherence(race, [({"Ada"}, 0.5), ({"Blaise"}, 0.25)]).bounds({"Carl"})
    >>> low, high
    (0.25, 0.25)
    """
    if not isinstance(space, SampleSpace):
        raise ParameterError("coherence", "space", "a SampleSpace", space)
    if not isinstance(quotes, (Mapping, list, tuple)):
        raise ParameterError("coherence", "quotes", "pairs (event, price), or a mapping of names to them", quotes)
    named = dict(quotes) if isinstance(quotes, Mapping) else dict(enumerate(quotes))
    buying, selling = np.empty((len(named), len(space))), np.empty((len(named), len(space)))
    for row, (name, quote) in enumerate(named.items()):
        inside, called, bid, ask = _quote(space, name, quote)
        buying[row], selling[row] = called * (inside - ask), called * (inside - bid)
    n, k = len(space), len(named)
    # Maximise g with Σ b_i buying_i(ω) − Σ s_i selling_i(ω) ≥ g for all ω, 0 ≤ b, s ≤ 1.
    solved = _solved(
        np.concatenate([np.zeros(2 * k), [-1.0]]),
        A_ub=np.hstack([-buying.T, selling.T, np.ones((n, 1))]),
        b_ub=np.zeros(n),
        bounds=[(0.0, 1.0)] * (2 * k) + [(None, None)],
    )
    gain = float(solved.x[-1])
    coherent = gain <= GAIN
    bought, sold = np.zeros((2, k)) if coherent else solved.x[: 2 * k].reshape(2, k)
    gains = bought @ buying - sold @ selling
    return Coherence(
        coherent,
        {name: float(stake) for name, stake in zip(named, bought - sold, strict=True)},
        0.0 if coherent else float(gains.min()),
        dict(zip(space.outcomes, gains.tolist(), strict=True)),
        space,
        (buying, selling),
    )


def _quote(space: SampleSpace, name: Any, quote: Any) -> tuple[np.ndarray, np.ndarray, float, float]:
    """Indicators of A and of B, bid and ask."""
    try:
        event, price = quote
    except (TypeError, ValueError):
        raise ParameterError("coherence", f"quotes[{name!r}]", "a pair (event, price)", quote) from None
    conditional = isinstance(event, tuple) and len(event) == 2 and all(map(_is_event, event))
    event, given = event if conditional else (event, space.certain)
    try:
        bid, ask = (float(p) for p in (price if np.ndim(price) else (price, price)))
    except (TypeError, ValueError):
        bid, ask = float("nan"), float("nan")
    if not 0.0 <= bid <= ask <= 1.0:
        raise ParameterError("coherence", f"quotes[{name!r}]", "a price in [0, 1], or (bid, ask) with bid ≤ ask", price)
    return space.mask(event).astype(np.float64), space.mask(given).astype(np.float64), bid, ask


def _is_event(part: Any) -> bool:
    """As opposed to an outcome."""
    return isinstance(part, (Event, Set)) or callable(part)


def _solved(cost: np.ndarray, **programme: Any) -> Any:
    import scipy.optimize

    solved = scipy.optimize.linprog(cost, method="highs", **programme)
    if solved.status != 0:
        raise NumericalError(f"coherence: the linear programme failed ({solved.message}).", value=solved.status)
    return solved
