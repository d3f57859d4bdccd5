"""What `BayesianNetwork` says of the rows of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataWarning, ParameterError, ZeroProbabilityError, warn
from credo.models.network.batch.cells import codes_of, filled
from credo.models.network.batch.rows import LAW, MAXIMUM, TOTAL, answer_rows
from credo.models.network.findings import known_node
from credo.models.network.naming import renamed, text_named

if TYPE_CHECKING:
    from credo.models.network.network import BayesianNetwork

__all__ = ["impute", "log_likelihood", "predict", "predict_proba"]


def predict_proba(network: BayesianNetwork, frame: Any, target: str, error: str) -> np.ndarray:
    return _laws("predict_proba", network, frame, target, error)


def predict(network: BayesianNetwork, frame: Any, target: str, error: str) -> np.ndarray:
    laws = _laws("predict", network, frame, target, error)
    own = network.states[target]
    bad = np.isnan(laws[:, 0])
    kinds = {type(state) for state in own}
    plain = len(kinds) == 1 and kinds <= {str, bool, int, float} and not bad.any()
    states = np.array(own) if plain else _objects(own)
    found = states[np.argmax(np.where(bad[:, None], 0.0, laws), axis=1)]
    if bad.any():
        found[bad] = None
    return found


def _objects(own: tuple[Any, ...]) -> np.ndarray:
    states = np.empty(len(own), dtype=object)
    for i, state in enumerate(own):
        states[i] = state
    return states


def _laws(method: str, network: BayesianNetwork, frame: Any, target: str, error: str) -> np.ndarray:
    owner = f"BayesianNetwork.{method}"
    known_node(network.states, target, "target")
    _checked(owner, error)
    codes = codes_of(owner, text_named(frame, network.nodes)[0], network.states, target)
    found = answer_rows(network, codes, target, LAW)
    _report(owner, found.impossible, error, "NaN" if method == "predict_proba" else "None")
    return found.laws


def log_likelihood(network: BayesianNetwork, frame: Any) -> np.ndarray:
    codes = codes_of("BayesianNetwork.log_likelihood", text_named(frame, network.nodes)[0], network.states)
    return answer_rows(network, codes, None, TOTAL).logs


def impute(network: BayesianNetwork, frame: Any, error: str) -> Any:
    owner = "BayesianNetwork.impute"
    _checked(owner, error)
    frame, called = text_named(frame, network.nodes)
    codes = codes_of(owner, frame, network.states)
    found = answer_rows(network, codes, None, MAXIMUM)
    _report(owner, found.impossible, error, "left as they are")
    return renamed(filled(frame, network.states, np.where(found.impossible, codes, found.codes), codes), called)


def _checked(owner: str, error: str) -> None:
    if error not in ("warn", "raise"):
        raise ParameterError(owner, "error", '"warn" or "raise"', error)


def _report(owner: str, impossible: np.ndarray, error: str, become: str) -> None:
    rows = np.flatnonzero(impossible)
    if not rows.size:
        return
    some = f"{', '.join(map(str, rows[:10].tolist()))}{', …' if rows.size > 10 else ''}"
    text = f"{owner}: {rows.size} row(s) have cells that exclude each other (probability 0), counted from 0: {some}."
    if error == "raise":
        remedy = 'Correct them, or accept them as missing answers: error="warn".'
        raise ZeroProbabilityError(text, value=rows, remedy=remedy)
    warn(f"{text} They are {become}.", DataWarning)
