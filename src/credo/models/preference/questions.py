"""What to ask next, as functions of a fitted model: they answer, and decide nothing."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.models.preference.estimator import PreferenceGP

# Nats: symmetric pairs differ by rounding alone, and the first of them is asked.
EQUAL = 1e-12

__all__ = ["duel_information", "most_informative_duel", "most_uncertain_item"]


def most_uncertain_item(model: PreferenceGP, items: Any = None, user: Hashable = None) -> Any:
    """The item of largest posterior sd of utility: the one to have rated. A row number where features are given.

    >>> import credo as cr
    >>> model = cr.PreferenceGP().fit(cr.Preferences(["a", "b", "c"]).with_duel("a", "b"))
    >>> most_uncertain_item(model)
    'c'
    """
    sd = model.predict_distribution(items, user).sd
    return model._names(items, sd.size)[int(np.argmax(sd))]


def duel_information(model: PreferenceGP, pairs: Any = None, user: Hashable = None) -> tuple[np.ndarray, np.ndarray]:
    """Pairs (p, 2) of item numbers, all of them by default, and what the next outcome of each is expected to tell (p,).

    In nats: the mutual information of the outcome (win, lose, tie) and the utilities, H(outcome) − E H(outcome | f).
    Reference: Houlsby, Huszár, Ghahramani and Lengyel (2011).

    >>> import credo as cr
    >>> model = cr.PreferenceGP().fit(cr.Preferences(3).with_duel(0, 1, count=20))
    >>> pairs, nats = duel_information(model)
    >>> pairs.tolist(), bool(nats[0] < nats[1])
    ([[0, 1], [0, 2], [1, 2]], True)
    """
    n = len(model.history_.items)
    if pairs is None:
        numbers = np.stack(np.triu_indices(n, 1), axis=1)
    else:
        flat = [model.history_.number(item) for pair in pairs for item in pair]
        numbers = np.array(flat, dtype=np.intp).reshape(-1, 2)
    if len(numbers) == 0:
        raise ParameterError("duel_information", "pairs", "at least one pair of items", pairs)
    names = model.history_.items
    duel = model.duel([names[i] for i in numbers[:, 0]], [names[j] for j in numbers[:, 1]], user)
    return numbers, np.asarray(duel.epistemic)


def most_informative_duel(model: PreferenceGP, pairs: Any = None, user: Hashable = None) -> tuple[Any, Any]:
    """The two items whose next choice is expected to tell the most; the first of equals.

    >>> import credo as cr
    >>> model = cr.PreferenceGP().fit(cr.Preferences(["a", "b", "c"]).with_duel("a", "b", count=20))
    >>> most_informative_duel(model)
    ('a', 'c')
    """
    numbers, nats = duel_information(model, pairs, user)
    names = model.history_.items
    first, second = numbers[int(np.argmax(nats > nats.max() - EQUAL))]
    return names[first], names[second]
