"""Why a density is zero, NaN or infinite at a point, or its gradient is: the node where that begins, and its value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions.slopes import unchecked
from credo.program.evaluate import Program
from credo.program.nodes import Node, apply, described, topological

if TYPE_CHECKING:
    from credo.inference.target import Target

__all__ = ["reason", "with_reasons"]


def with_reasons(
    target: Target, outputs: Sequence[Node], latents: Sequence[Node], data: Mapping[int, np.ndarray] | None = None
) -> Target:
    """The target, whose messages about a position say what is wrong there."""

    def shown(x: np.ndarray) -> str:
        inputs = {node.number: value for node, value in zip(latents, target.split(x).values(), strict=True)}
        told = reason(outputs, latents, inputs, data)
        return target.describe(x) + (f"; {told}" if told else "")

    return replace(target, shown_as=shown)


def reason(
    outputs: Sequence[Node], latents: Sequence[Node], inputs: Mapping[int, np.ndarray],
    data: Mapping[int, np.ndarray] | None = None,
) -> str:  # fmt: skip
    """What is wrong, in a clause; empty where nothing is."""
    with np.errstate(all="ignore"):
        program = Program(outputs, latents, data)
        values = program._run(inputs, False)
        for output in outputs:
            if not np.isfinite(values[output.number]).all():
                return _of_values(output, latents, values)
        return _of_slopes(program, {node.number: node for node in topological(outputs)}, inputs)


def _of_values(output: Node, latents: Sequence[Node], values: Mapping[int, np.ndarray]) -> str:
    for node in topological([output], {latent.number for latent in latents}):
        if np.isfinite(values[node.number]).all():
            continue
        if node.kind == "poisson_likelihood":  # written with exp(η), which says more
            rate = apply("exp", node.parents[0])
            found = np.exp(values[node.parents[0].number])
            if not np.isfinite(found).all():
                return _of_operation(rate, {**values, rate.number: found})
        return _of_law(node, values) if node.kind == "log_density" else _of_operation(node, values)
    return ""


def _of_operation(node: Node, values: Mapping[int, np.ndarray]) -> str:
    value = values[node.number]
    wrong = np.argwhere(~np.isfinite(value))
    at = tuple(int(i) for i in wrong[0])
    where = [f"{described(p)} = {_cell(values[p.number], value.shape, at)}" for p in node.parents
             if p.kind != "constant" and _cell(values[p.number], value.shape, at)]  # fmt: skip
    text = f"{described(node)} is {_word(value[at])}" + (f" where {', '.join(where)}" if where else "")
    return text + (f", in {len(wrong)} of {value.size} cells" if value.size > 1 else "")


def _of_law(node: Node, values: Mapping[int, np.ndarray]) -> str:
    """Of log p(x): a parameter outside its domain, or x where the density is 0."""
    x, family = node.parents[0], node.static["family"]
    for name, parameter in zip(node.static["names"], node.parents[1:]):
        constraint, value = family.domain.get(name), np.asarray(values[parameter.number])
        if constraint is None:
            continue
        inside = np.broadcast_to(constraint.holds(value), value.shape)
        if not inside.all():
            at = tuple(int(i) for i in np.argwhere(~inside)[0])
            shown = described(parameter)
            same = f" = {shown}" if shown != name else ""
            return f"{name}{same} of {described(x)} is {value[at]:.6g}, and must be {constraint.text}"
    given = ", ".join(
        f"{name} = {_number(values[p.number])}" for name, p in zip(node.static["names"], node.parents[1:])
    )
    size = np.size(values[x.number])
    shown = f"{described(x)} = {_number(values[x.number])}" if size == 1 else _lost_cell(node, values) or described(x)
    return f"log p({shown}) is {_word(values[node.number])}" + (f" given {given}" if given else "")


def _lost_cell(node: Node, values: Mapping[int, np.ndarray]) -> str:
    """The first cell of x whose density is 0 or NaN, `p[3] = 0`; empty where x is not judged cell by cell."""
    x = np.asarray(values[node.parents[0].number])
    given = {name: values[p.number] for name, p in zip(node.static["names"], node.parents[1:])}
    try:
        with np.errstate(all="ignore"):
            each = np.asarray(unchecked(node.static["family"], given).log_prob(x))
    except (ValueError, TypeError, AttributeError):  # a law with parts of its own
        return ""
    bad = np.argwhere(~np.isfinite(each)) if each.shape == x.shape else np.empty((0, 1), dtype=np.intp)
    return f"{described(node.parents[0])}{bad[0].tolist()} = {x[tuple(bad[0])]:.6g}" if len(bad) else ""


def _of_slopes(program: Program, nodes: Mapping[int, Node], inputs: Mapping[int, np.ndarray]) -> str:
    """The operation at which a gradient stops being finite on its way back."""
    values, pulls = program._linearised(inputs)
    flowing: dict[int, Any] = {
        node.number: np.ones(np.shape(values[node.number])) for node in program.outputs if program.varies(node)
    }
    for _, back, _, number, parents, varies, _, static in reversed(program._steps):
        gradient = flowing.pop(number, None)
        if gradient is None:
            continue
        arguments = [values[k] for k in parents]
        found = pulls[number](gradient) if number in pulls else back(gradient, values[number], arguments, static)
        for parent, has, slope in zip(parents, varies, found):
            if not has or slope is None:
                continue
            if not np.isfinite(slope).all():
                at = tuple(int(i) for i in np.argwhere(~np.isfinite(np.asarray(slope)))[0])
                by = nodes[parent]
                value = _cell(values[parent], np.shape(slope), at)
                what, word = _told(nodes[number]), _word(np.asarray(slope)[at])
                return f"the slope of {what} by {described(by)} is {word}" + (f" where it is {value}" if value else "")
            flowing[parent] = flowing[parent] + slope if parent in flowing else slope
    return ""


def _told(node: Node) -> str:
    return f"log p({described(node.parents[0])})" if node.kind == "log_density" else described(node)


def _cell(value: Any, shape: tuple[int, ...], at: tuple[int, ...]) -> str:
    """The entry of a value that is broadcast to `shape`; empty where it has another shape."""
    value = np.asarray(value)
    try:
        return f"{np.broadcast_to(value, shape)[at]:.6g}"
    except ValueError:
        return _number(value) if value.size == 1 else ""


def _number(value: Any) -> str:
    value = np.asarray(value)
    if value.size == 1:
        return f"{value.item():.6g}"
    return f"{value.min():.6g} … {value.max():.6g}"


def _word(value: Any) -> str:
    value = float(np.asarray(value).reshape(-1)[0])
    return "NaN" if np.isnan(value) else "infinite" if value > 0 else "−∞"
