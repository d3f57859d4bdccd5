"""Evidence as users write it: states, and likelihoods in place of states; what is wrong with it, said by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from credo.errors import CredoError, MemoryLimitError, ParameterError, ZeroProbabilityError
from credo.probability.factors import FactorGraph

__all__ = ["conflicting", "explained", "known_node", "known_state", "refuse_unset", "split"]

OWNER = "BayesianNetwork"
# Findings up to which a smallest set of those that conflict is looked for: a question for each.
MOST_FINDINGS = 64
SOFT = (dict, list, np.ndarray)

States = Mapping[str, tuple[Any, ...]]


def split(states: States, evidence: Mapping[str, Any] | None) -> tuple[Any, Any]:
    """({node: state}, {node: likelihoods of its states}), either None where there are none."""
    if evidence is None:
        return None, None
    if not isinstance(evidence, Mapping):
        raise ParameterError(OWNER, "evidence", "a mapping {node: state}", evidence)
    for seen in evidence.values():
        if isinstance(seen, SOFT):
            break
    else:
        return evidence, None
    hard, soft = {}, {}
    for node, seen in evidence.items():
        if isinstance(seen, SOFT):
            soft[node] = _likelihoods(node, states[known_node(states, node, "evidence")], seen)
        else:
            hard[node] = seen
    return hard, soft


def _likelihoods(node: str, own: tuple[Any, ...], seen: Any) -> np.ndarray:
    """In the order of the states; a dict must name each."""
    where = f"evidence[{node!r}]"
    if isinstance(seen, dict):
        for state in seen:
            known_state(own, node, state, where)
        if missing := [state for state in own if state not in seen]:
            raise ParameterError(OWNER, where, "a likelihood for each state", seen, f"Add {missing[0]!r}.")
        seen = [seen[state] for state in own]
    try:
        found = np.asarray(seen, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(OWNER, where, f"{len(own)} numbers", seen) from None
    if found.shape != (len(own),):
        raise ParameterError(OWNER, where, f"{len(own)} numbers, one a state in the order {list(own)[:12]}", seen)
    if not np.all((found >= 0.0) & (found < np.inf)):
        raise ParameterError(OWNER, where, "finite and ≥ 0", seen)
    return found


def known_node(states: States, node: Any, parameter: str = "node") -> str:
    """The name itself, or an error that names those like it."""
    try:
        if node in states:
            return node
    except TypeError:  # a list, say
        pass
    names = list(states)
    near = difflib.get_close_matches(str(node), names, n=3) or [n for n in names if n.lower() == str(node).lower()]
    some = ", ".join(map(str, names[:12])) + (", …" if len(names) > 12 else "")
    raise ParameterError(OWNER, parameter, f"a node of the network ({some})", node, _did_you_mean(near))


def known_state(own: tuple[Any, ...], node: str, state: Any, parameter: str = "state") -> int:
    """The state's number, or an error that names those like it."""
    for place, other in enumerate(own):
        if _same(other, state):
            return place
    some = ", ".join(map(repr, own[:12])) + (", …" if len(own) > 12 else "")
    if state is None or not _same(state, state):
        remedy = f"Leave {node!r} out where it was not observed." if parameter.startswith("evidence") else None
        raise ParameterError(OWNER, parameter, f"a state of {node!r} ({some})", state, remedy)
    texts = {str(each): each for each in own}
    near = [texts[text] for text in difflib.get_close_matches(str(state), list(texts), n=3)]
    near = near or [each for text, each in texts.items() if text.lower() == str(state).lower()]
    raise ParameterError(OWNER, parameter, f"a state of {node!r} ({some})", state, _did_you_mean(near))


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b)
    except (TypeError, ValueError):
        return False


def _did_you_mean(near: list[Any]) -> str | None:
    return f"Did you mean {' or '.join(map(repr, near))}?" if near else None


def explained(
    states: States,
    graph: FactorGraph,
    error: CredoError,
    hard: Mapping[str, Any] | None,
    soft: Mapping[str, Any] | None,
    targets: Iterable[Any] = (),
    actions: Mapping[str, Any] | None = None,
) -> CredoError:
    """What a user should read in place of the engine's error: names and states like those meant, what conflicts.

    actions : {node: state} that `do` set; what was seen may contradict them
    """
    hard, soft = hard or {}, soft or {}
    if isinstance(error, ZeroProbabilityError):
        findings = conflicting(graph, hard, soft)
        if len(findings) == 1:
            refuse_unset(actions or {}, *next(iter(findings.items())))
        text = ", ".join(f"{node}={seen!r}" for node, seen in findings.items())
        what = "is impossible by itself" if len(findings) == 1 else "cannot occur together"
        after = ", ".join(f"do({node}={state!r})" for node, state in (actions or {}).items())
        what += f" after {after}" if after else ""
        return ZeroProbabilityError(
            f"{OWNER}: P(evidence) = 0: {text} {what}.", value=findings, remedy="Leave out or correct one of them."
        )
    for node, state in hard.items():
        known_state(states[known_node(states, node, "evidence")], node, state, f"evidence[{node!r}]")
    asked = []
    for node in targets:
        known_node(states, node, "target")
        if node in asked:
            raise ParameterError(OWNER, "target", "names that are all different", node)
        asked.append(node)
        if node in hard:
            raise ParameterError(OWNER, "target", "nodes without evidence", node)
    return error


def refuse_unset(actions: Mapping[str, Any], node: str, seen: Any) -> None:
    """An error if a node that `do` set to one state is said to have been seen in another."""
    if node in actions and not isinstance(seen, SOFT) and not _same(seen, actions[node]):
        raise ZeroProbabilityError(
            f"{OWNER}: P(evidence) = 0: do() set {node!r} to {actions[node]!r}, so that it cannot be seen as {seen!r}.",
            value={node: seen},
            remedy="Leave one of the two out.",
        )


def conflicting(graph: FactorGraph, hard: Mapping[str, Any], soft: Mapping[str, Any]) -> dict[str, Any]:
    """Findings of which all but any one can occur together (all findings, where there are very many)."""
    found = {**hard, **soft}
    if len(found) > MOST_FINDINGS:
        return found
    for node in list(found):
        rest = {name: seen for name, seen in found.items() if name != node}
        try:
            parts = ({n: s for n, s in rest.items() if (n in soft) == kind} for kind in (False, True))
            if graph.log_partition(next(parts), likelihoods=next(parts)) == -np.inf:
                found = rest
        except MemoryLimitError:
            continue
    return found
