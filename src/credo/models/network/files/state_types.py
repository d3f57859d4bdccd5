"""States that are no text: files hold text alone, and a property of the node says what it stood for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from credo.errors import SaveError
from credo.models.network.tables import first_repeated

__all__ = ["STATES_KEY", "state_texts", "typed_states", "types_property"]

#: The property "credo-states int" or "credo-states str int bool": one kind for all states, or one each.
STATES_KEY = "credo-states "

_KINDS = {"str": str, "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__}


def state_texts(node: str, states: Sequence[Any]) -> list[str]:
    """The states as text; `SaveError` for kinds that `typed_states` could not bring back, or two alike."""
    for state in states:
        if type(state).__name__ not in _KINDS or (type(state) is float and not math.isfinite(state)):
            raise SaveError(
                f"State {state!r} of {node!r} cannot be written to a network's file.",
                value=state,
                remedy="Files hold text, whole and real numbers, True and False: rename the states.",
            )
    texts = [str(state) for state in states]
    if len(set(texts)) < len(texts):
        twice = first_repeated(texts)
        raise SaveError(f"Two states of {node!r} are written {twice!r}.", value=twice, remedy="Rename one of them.")
    return texts


def types_property(states: Sequence[Any]) -> str | None:
    """The property that remembers the kinds, None where all are text."""
    kinds = [type(state).__name__ for state in states]
    if set(kinds) == {"str"}:
        return None
    return STATES_KEY + " ".join(kinds if len(set(kinds)) > 1 else kinds[:1])


def typed_states(texts: Sequence[str], kinds: Sequence[str]) -> tuple[Any, ...] | None:
    """The states again, or None where the kinds do not fit."""
    if len(kinds) == 1:
        kinds = [kinds[0]] * len(texts)
    if len(kinds) != len(texts) or any(kind not in _KINDS for kind in kinds):
        return None
    try:
        return tuple(_KINDS[kind](text) for kind, text in zip(kinds, texts))  # type: ignore[operator]
    except (ValueError, KeyError):
        return None
