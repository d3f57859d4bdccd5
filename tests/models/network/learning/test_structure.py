import itertools

import numpy as np
import pytest

from credo.models.network.learning.acyclicity import Ancestry
from credo.models.network.learning.structure import essential_graph, find_cycle, topological_order

from .nets import all_dags, is_acyclic, random_families


def _matrix(families):
    edges = np.zeros((len(families), len(families)), dtype=bool)
    for child, family in enumerate(families):
        edges[list(family), child] = True
    return edges


def _reaches(edges):
    found = edges.copy()
    for _ in range(len(edges)):
        found |= found @ edges
    return found


@pytest.mark.parametrize("seed", range(10))
def test_ancestry_follows_random_changes(seed):
    rng = np.random.default_rng(seed)
    ancestry = Ancestry(random_families(rng, 8))
    for _ in range(60):
        edges = ancestry.edges
        np.testing.assert_array_equal(ancestry.reaches, _reaches(edges))
        addable, reversible = ancestry.addable(), ancestry.reversible()
        for a in range(8):
            for b in range(8):
                more = edges.copy()
                more[a, b] = True
                legal = a != b and not edges[a, b] and not edges[b, a] and not _reaches(more).diagonal().any()
                assert addable[a, b] == legal
                turned = edges.copy()
                turned[a, b], turned[b, a] = False, True
                assert reversible[a, b] == (edges[a, b] and not _reaches(turned).diagonal().any())
        a, b = rng.integers(0, 8, 2)
        if edges[a, b]:
            ancestry.remove(a, b)
        elif addable[a, b]:
            ancestry.add(a, b)


@pytest.mark.parametrize("seed", range(20))
def test_cycles_are_found_and_are_cycles(seed):
    rng = np.random.default_rng(seed)
    edges = rng.random((7, 7)) < 0.2
    np.fill_diagonal(edges, False)
    families = [tuple(np.flatnonzero(edges[:, child])) for child in range(7)]
    cycle = find_cycle(families)
    assert (cycle is None) == is_acyclic(families)
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert all(edges[a, b] for a, b in itertools.pairwise(cycle))
    else:
        order = topological_order(families)
        assert all(order.index(p) < order.index(c) for c, family in enumerate(families) for p in family)


def test_essential_graphs_are_the_union_of_equivalent_structures():
    """All 543 structures of four nodes, told apart by skeleton and colliders."""
    classes = {}
    for families in all_dags(4):
        edges = _matrix(families)
        linked = edges | edges.T
        colliders = frozenset(
            (a, c, b) for c, family in enumerate(families) for a in family for b in family if a < b and not linked[a, b]
        )
        classes.setdefault((linked.tobytes(), colliders), []).append(edges)
    assert sum(map(len, classes.values())) == 543
    assert len(classes) == 185
    for members in classes.values():
        union = np.logical_or.reduce(members)
        for edges in members:
            np.testing.assert_array_equal(essential_graph(edges), union)
