"""Random factor graphs of up to ten variables, and the whole joint table to compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from credo.probability.factors import Factor, FactorGraph


@dataclass
class Case:
    """graph; joint : Π φ as one array, an axis a variable in the order of `names`."""

    graph: FactorGraph
    names: list[str]
    sizes: list[int]
    joint: np.ndarray
    rng: np.random.Generator

    def split(self):
        """Random targets and evidence, disjoint; the joint where the evidence holds."""
        order = [self.names[i] for i in self.rng.permutation(len(self.names))]
        k, m = self.rng.integers(1, 3), self.rng.integers(0, 4)
        targets, observed = order[:k], order[k : k + m]
        evidence = {name: int(self.rng.integers(self.sizes[self.names.index(name)])) for name in observed}
        return targets, evidence, self.given(evidence)

    def given(self, evidence):
        index = tuple(slice(evidence[n], evidence[n] + 1) if n in evidence else slice(None) for n in self.names)
        return self.joint[index]

    def over(self, table, targets, function):
        """`function` (sum or max) over all axes of the joint but the targets, in their order."""
        rest = tuple(i for i, name in enumerate(self.names) if name not in targets)
        left = [name for name in self.names if name in targets]
        return np.transpose(function(table, axis=rest), [left.index(name) for name in targets])


def random_case(seed: int, zeros: float = 0.15) -> Case:
    """Two to ten variables of one to three states, tables over up to three of them, some entries near 0."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 11))
    sizes = [int(k) for k in rng.choice([1, 2, 2, 2, 3], n)]
    names = [f"v{i}" for i in range(n)]
    scopes = [rng.permutation(n)[: rng.integers(0, min(n, 3) + 1)] for _ in range(rng.integers(1, 12))]
    scopes += [np.array([v]) for v in range(n) if not any(v in scope for scope in scopes)]
    joint, factors = np.ones(sizes), []
    for scope in scopes:
        shape = [sizes[v] for v in scope]
        values = rng.random(shape) * (rng.random(shape) > zeros) + 1e-3
        factors.append(Factor([names[v] for v in scope], values))
        place = np.argsort(scope)
        joint = joint * np.transpose(values, place).reshape([sizes[v] if v in scope else 1 for v in range(n)])
    return Case(FactorGraph(factors), names, sizes, joint, rng)
