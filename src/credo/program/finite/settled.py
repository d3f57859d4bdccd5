"""What exchangeable labels mean for modes, for chains, and for what is said."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ConvergenceWarning
from credo.inference.transforms import Bijection
from credo.program.finite.labels import MOST_IMAGES, Labels

if TYPE_CHECKING:
    from credo.program.collapsed import Collapsed
    from credo.program.fitting import Found
    from credo.program.plan import Plan

__all__ = ["images", "in_order", "labels_of", "mixed", "settled", "told", "unwarned"]

# Samplers whose chains stay with one labelling.
CHAINS = ("nuts", "metropolis", "slice")


def labels_of(plan: Plan) -> list[Labels]:
    """Of all leaves."""
    return [labels for leaf in plan.leaves for labels in getattr(leaf, "labels", ())]


@contextlib.contextmanager
def unwarned(plan: Plan) -> Iterator[None]:
    """Chains that sit in different labellings are no fault: their certificate, and its warning, come with `settled`."""
    if not labels_of(plan):
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def images(
    collapsed: Collapsed, bijection: Bijection, found: Sequence[tuple[np.ndarray, float]]
) -> list[tuple[np.ndarray, float]] | None:
    """Modes (free coordinates, log density) with their images under every exchange of labels; None if these are too
    many to go through."""
    labels = labels_of(collapsed.plan)
    if int(np.prod([each.count for each in labels], dtype=np.float64)) > MOST_IMAGES:
        return None
    out = list(found)
    for each in labels:
        moved = []
        for z, value in out:
            x = bijection.forward(z)
            values = {str(node.name): v for node, v in zip(collapsed.rest, collapsed.inputs(x).values(), strict=True)}
            for order in each.orders():
                after = values | each.split(each.exchanged(each.joined(values, 0), order))
                flat = np.concatenate([np.ravel(after[str(node.name)]) for node in collapsed.rest])
                moved.append((bijection.inverse(flat), value))
        out = moved
    return out


def settled(plan: Plan, found: Found, rng: np.random.Generator) -> Found:
    """What was found, where labels are exchangeable: chains with labels exchanged at random, certified with labels in
    order; and said."""
    labels = labels_of(plan)
    if not labels:
        return found
    method = found.method or plan.method
    result, values = found.result, found.values
    if method in CHAINS:
        result = _certified(plan, found, labels)
        values = mixed(labels, values, rng)
    result = dataclasses.replace(result, advice=(*result.advice, *told(labels, method)))
    return dataclasses.replace(found, values=values, result=result)


def told(labels: Sequence[Labels], method: str) -> list[str]:
    """What a user reads of them."""
    advice = []
    for each in labels:
        said = each.told()
        if method == "laplace":
            said = said.replace(f"all {each.count} labellings count", "this approximation is about one labelling")
        advice.append(said[0].upper() + said[1:] + ".")
    return advice


def mixed(
    labels: Sequence[Labels], values: Mapping[str, np.ndarray], rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """Draws (chains, draws, *shape) by name with each one's labels exchanged at random."""
    out = dict(values)
    for each in labels:
        chains, n = out[str(each.node.name)].shape[:2]
        out = _exchanged(each, out, [each.random_order(rng) for _ in range(chains * n)])
    return out


def in_order(labels: Sequence[Labels], values: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Draws with labels in order: between labellings there is nothing to converge to."""
    out = dict(values)
    for each in labels:
        x = each.joined(out, 2)
        out = _exchanged(each, out, [each.sorting_order(row) for row in x.reshape(-1, x.shape[-1])])
    return out


def _exchanged(labels: Labels, values: Mapping[str, np.ndarray], orders: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
    """Draws with each one's labels permuted, states too."""
    out = dict(values)
    x = labels.joined(values, 2)
    chains, n = x.shape[:2]
    rows, chosen = x.reshape(chains * n, -1).copy(), np.asarray(orders)
    name = str(labels.node.name)
    states = np.asarray(values[name]).reshape(chains * n, -1).copy()
    low = int(np.min(labels.node.support.low))
    for order in np.unique(chosen, axis=0):
        here = (chosen == order).all(axis=1)
        rows[here] = labels.exchanged(rows[here], order)
        states[here] = np.argsort(order)[states[here] - low] + low
    out |= labels.split(rows.reshape(chains, n, -1))
    out[name] = states.reshape(values[name].shape)
    return out


def _certified(plan: Plan, found: Found, labels: Sequence[Labels]) -> Any:
    """The verdict on the chains with labels in order."""
    from credo.inference.mcmc.report import assess
    from credo.program.collapsed import Collapsed

    values, collapsed = in_order(labels, found.values), Collapsed(plan)
    parts = [values[str(node.name)] for node in collapsed.rest]
    x = np.concatenate([p.reshape(*p.shape[:2], -1) for p in parts], axis=2)
    result, _ = assess(collapsed.target, x, found.sample_stats, found.result.inference, sum(found.result.seconds))
    others = [said for said in found.result.advice if not said.startswith(("R̂ of", "Only "))]
    if others and result.ok:
        result = dataclasses.replace(result, status="not_certified")
    known = set(result.advice)
    return dataclasses.replace(result, advice=(*result.advice, *(said for said in others if said not in known)))
