"""Whether two columns say anything of each other once others are known: the G test, and how much they say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

from credo.errors import ParameterError
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.structure import checked_edges
from credo.models.network.naming import listed
from credo.saving.registry import register

__all__ = ["IndependenceTest", "test_independence"]


@register
@dataclass(frozen=True)
class IndependenceTest:
    """a and b, given other columns.

    statistic : G = 2 n I(a; b | given) ; df : degrees of freedom ; p_value : P(χ²(df) ≥ G), 1 where df is 0
    mutual_information : I(a; b | given) in nats, of the shares ; rows : n, those with all these cells
    """

    a: str
    b: str
    given: tuple[str, ...]
    statistic: float
    df: int
    p_value: float
    mutual_information: float
    rows: float


def test_independence(counter: Counter, a: int, b: int, given: Sequence[int]) -> IndependenceTest:
    """The test of two columns by number.

        G = 2 Σ n(a, b, c) log n(a, b, c) n(c)/(n(a, c) n(b, c))

    A state of a or b that no row has beside a configuration of the given columns does not count there: df is the sum of
    (states of a − 1)(states of b − 1) over configurations, of states that occur.
    """
    names, given = counter.rows.names, tuple(given)
    found = counter.count(b, (*given, a))
    sizes = counter.rows.sizes
    if found.configurations is None:
        table = found.table.reshape(-1, sizes[a], sizes[b])
    else:
        _, place = np.unique(found.configurations[:, :-1], axis=0, return_inverse=True)
        table = np.zeros((int(place.max(initial=-1)) + 1, sizes[a], sizes[b]))
        table[place.ravel(), found.configurations[:, -1]] = found.table
    rows, columns = table.sum(axis=2), table.sum(axis=1)
    total = rows.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = rows[:, :, None] * columns[:, None, :] / total[:, None, None]
        statistic = 2.0 * float(np.where(table > 0.0, table * np.log(table / expected), 0.0).sum())
    free = np.maximum((rows > 0.0).sum(axis=1) - 1, 0) * np.maximum((columns > 0.0).sum(axis=1) - 1, 0)
    df, n, statistic = int(free.sum()), float(total.sum()), max(statistic, 0.0)
    p = float(scipy.special.chdtrc(df, statistic)) if df else 1.0
    told = statistic / (2.0 * n) if n else 0.0
    return IndependenceTest(names[a], names[b], tuple(names[c] for c in given), statistic, df, p, told, n)


# pytest collects what is called test_…
test_independence.__test__ = False  # type: ignore[attr-defined]


def places_of(owner: str, names: Sequence[str], a: str, b: str, given: Sequence[str]) -> tuple[int, int, list[int]]:
    """Numbers of the columns; unknown and repeated names are errors."""
    others = listed(owner, "given", given)
    ((first, second), *rest) = checked_edges(owner, "a, b and given", [(a, b), *((a, c) for c in others)], names)
    places = [c for _, c in rest]
    if second in places or len(set(places)) < len(places):
        raise ParameterError(owner, "given", "different columns, neither a nor b", given)
    return first, second, places
