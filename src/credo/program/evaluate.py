"""`Program`: nodes computed from values of latent nodes, and gradients flowing back through them.

What does not depend on a latent node is computed once, for the data at hand.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.program.nodes import Node, topological
from credo.program.ops import OPS

__all__ = ["Program"]


class Program:
    """Some outputs as a function of inputs.

    Parameters
    ----------
    outputs : the nodes wanted
    inputs : nodes whose values are given at each run, by `number`: latent nodes, or any others to be cut there
    data : number of a data node → its value here, where that is not the declared one
    """

    def __init__(
        self, outputs: Sequence[Node], inputs: Sequence[Node], data: Mapping[int, np.ndarray] | None = None
    ) -> None:
        self.outputs, self.inputs = tuple(outputs), tuple(inputs)
        given = {node.number for node in inputs}
        order = topological(outputs, given)
        steps: list[Node] = []
        self._fixed: dict[int, np.ndarray] = {}
        varying = set(given)
        for node in order:
            if node.number in given:
                continue
            if any(parent.number in varying for parent in node.parents) and node.is_operation:
                varying.add(node.number)
                steps.append(node)
            elif node.is_operation:
                arguments = [self._fixed[parent.number] for parent in node.parents]
                self._fixed[node.number] = np.asarray(
                    OPS[node.kind].forward(arguments, [False] * len(arguments), node.static)
                )
            else:
                value = (data or {}).get(node.number, node.value)
                if value is None:
                    raise KeyError(f"no value for {node!r}")
                self._fixed[node.number] = np.asarray(value, dtype=np.float64)  # integers would wrap, bools add as or
        self._varying = varying
        # What a step needs, looked up once: function, pull, both at once or None, number, parents' numbers, which of
        # them vary, none of them, static.
        self._steps = []
        for node in steps:
            op, numbers = OPS[node.kind], tuple(parent.number for parent in node.parents)
            varies = tuple(number in varying for number in numbers)
            static = {**node.static, "varies": varies}
            none = (False,) * len(numbers)
            self._steps.append((op.forward, op.pull, op.linear, node.number, numbers, varies, none, static))

    def values(self, inputs: Mapping[int, np.ndarray], lead: bool = False) -> list[np.ndarray]:
        """The outputs; with `lead` every input has a leading axis of draws, and so has every output that depends on
        one."""
        values = self._run(inputs, lead)
        return [values[node.number] for node in self.outputs]

    def varies(self, node: Node) -> bool:
        """Whether a node depends on the inputs."""
        return node.number in self._varying

    def _run(self, inputs: Mapping[int, np.ndarray], lead: bool) -> dict[int, np.ndarray]:
        values = dict(self._fixed)
        values.update(inputs)
        for forward, _, _, number, parents, varies, none, static in self._steps:
            values[number] = forward([values[k] for k in parents], varies if lead else none, static)
        return values

    def _linearised(self, inputs: Mapping[int, np.ndarray]) -> tuple[dict[int, np.ndarray], dict[int, Any]]:
        """Values, and the pulls of those operations that found theirs together with the value."""
        values = dict(self._fixed)
        values.update(inputs)
        pulls: dict[int, Any] = {}
        for forward, _, linear, number, parents, _, none, static in self._steps:
            arguments = [values[k] for k in parents]
            if linear is None:
                values[number] = forward(arguments, none, static)
            else:
                values[number], pulls[number] = linear(arguments, static)
        return values, pulls

    def value_and_pull(
        self, inputs: Mapping[int, np.ndarray]
    ) -> tuple[list[np.ndarray], Callable[[Sequence[Any]], dict[int, np.ndarray]]]:
        """Outputs, and the function from their gradients to the inputs' (by number)."""
        values, pulls = self._linearised(inputs)

        def pull(seeds: Sequence[Any]) -> dict[int, np.ndarray]:
            gradients: dict[int, Any] = {}
            for node, seed in zip(self.outputs, seeds, strict=True):
                if node.number in self._varying and seed is not None:
                    gradients[node.number] = gradients.get(node.number, 0.0) + np.asarray(seed)
            for _, back, _, number, parents, varies, _, static in reversed(self._steps):
                flowing = gradients.pop(number, None)
                if flowing is None:
                    continue
                if number in pulls:
                    found = pulls[number](flowing)
                else:
                    found = back(flowing, values[number], [values[k] for k in parents], static)
                for parent, has, gradient in zip(parents, varies, found):
                    if has and gradient is not None:
                        gradients[parent] = gradients[parent] + gradient if parent in gradients else gradient
            out = {}
            for node in self.inputs:
                gradient = np.asarray(gradients.get(node.number, 0.0))
                same = gradient.shape == node.shape
                out[node.number] = gradient if same else np.broadcast_to(gradient, node.shape)
            return out

        return [values[node.number] for node in self.outputs], pull
