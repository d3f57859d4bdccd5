"""Small random networks, and their joint tables to compare with."""

from itertools import product

import numpy as np

from credo.models.network.definition import NetworkDefinition
from credo.models.network.network import BayesianNetwork


def random_network(seed, most_nodes=6, most_states=3, zeros=0.25):
    """Nodes in random order, up to three parents each; tables with zeros, now and then of deterministic rows."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most_nodes + 1))
    names = [f"n{i}" for i in range(n)]
    order = rng.permutation(n)
    sizes = rng.integers(1 if rng.random() < 0.2 else 2, most_states + 1, size=n)
    kinds = [lambda i: f"s{i}", lambda i: i, lambda i: (i, "x"), lambda i: bool(i) if i < 2 else "other"]
    states = {names[i]: tuple(map(kinds[rng.integers(4)], range(sizes[i]))) for i in range(n)}
    parents, tables = {}, {}
    for place, i in enumerate(order):
        above = rng.choice(order[:place], size=min(place, int(rng.integers(0, 4))), replace=False)
        parents[names[i]] = tuple(names[j] for j in above)
        rows = rng.dirichlet(np.ones(sizes[i]), size=tuple(sizes[j] for j in above))
        rows = rows * (rng.random(rows.shape) >= zeros)
        rows[..., 0] += rows.sum(axis=-1) == 0.0
        tables[names[i]] = rows / rows.sum(axis=-1, keepdims=True)
    return BayesianNetwork.of(NetworkDefinition(states, parents, tables)), rng


class Enumeration:
    """Every question by the joint table, entry by entry."""

    def __init__(self, network):
        self.nodes, self.states = network.nodes, dict(network.states)
        shape = [len(self.states[name]) for name in self.nodes]
        self.joint = np.ones(shape)
        for place in product(*map(range, shape)):
            at = dict(zip(self.nodes, place))
            for name in self.nodes:
                row = tuple(at[p] for p in network.definition_.parents[name])
                self.joint[place] *= network.definition_.tables[name][(*row, at[name])]

    def given(self, evidence):
        """The joint where the evidence is, 0 elsewhere; soft evidence multiplied in."""
        found = self.joint.copy()
        for name, seen in evidence.items():
            axis, own = self.nodes.index(name), self.states[name]
            if isinstance(seen, dict):
                seen = [seen[state] for state in own]
            vector = np.array(seen, dtype=float) if isinstance(seen, (list, np.ndarray)) else None
            if vector is None:
                vector = np.array([float(state == seen) for state in own])
            found *= vector.reshape([-1 if i == axis else 1 for i in range(found.ndim)])
        return found

    def probability(self, evidence):
        return self.given(evidence).sum()

    def law(self, targets, evidence):
        table = self.given(evidence)
        axes = [self.nodes.index(name) for name in targets]
        table = table.sum(axis=tuple(i for i in range(table.ndim) if i not in axes))
        kept = sorted(axes)
        return table.transpose([kept.index(axis) for axis in axes]) / table.sum()

    def best(self, targets, evidence):
        """The largest P(targets, evidence)."""
        table = self.given(evidence)
        axes = tuple(i for i, name in enumerate(self.nodes) if name not in targets and name not in evidence)
        return table.sum(axis=axes).max()


def drawn_row(network, rng):
    """One state for each node, from the network itself, so that it is possible."""
    d, row = network.definition_, {}
    for name in d.order:
        p = d.tables[name][tuple(d.states[q].index(row[q]) for q in d.parents[name])]
        row[name] = d.states[name][int(np.searchsorted(np.cumsum(p), rng.random() * p.sum()).clip(0, len(p) - 1))]
        if p[d.states[name].index(row[name])] == 0.0:
            row[name] = d.states[name][int(np.argmax(p))]
    return row
