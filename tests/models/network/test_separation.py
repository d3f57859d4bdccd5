"""d-separation against paths one by one, against independence in the joint table, and known cases."""

from itertools import combinations

import numpy as np
import pytest

from credo.errors import ParameterError
from credo.models.network.definition import NetworkDefinition
from credo.models.network.network import BayesianNetwork
from credo.models.network.separation import reached

from .random_networks import Enumeration


def random_dag(rng, n, share=0.35):
    names = [f"v{i}" for i in range(n)]
    order = rng.permutation(n)
    parents = {names[i]: () for i in range(n)}
    for a, b in combinations(range(n), 2):
        if rng.random() < share:
            parents[names[order[b]]] += (names[order[a]],)
    tables = {v: rng.dirichlet(np.ones(2), size=(2,) * len(above)) for v, above in parents.items()}
    return BayesianNetwork.of(NetworkDefinition(dict.fromkeys(names, (0, 1)), parents, tables))


def open_paths(network, a, b, given):
    """Every path without a node twice, looked at by the definition; the shortest open one's length."""
    parents = network.definition_.parents
    arrows = {(p, c) for c, above in parents.items() for p in above}
    above_given = reached(parents, given)
    lengths = []

    def walk(path):
        here = path[-1]
        if here == b:
            if all(is_open(*path[i : i + 3]) for i in range(len(path) - 2)):
                lengths.append(len(path))
            return
        for other in network.nodes:
            if other not in path and ((here, other) in arrows or (other, here) in arrows):
                walk([*path, other])

    def is_open(before, middle, after):
        if (before, middle) in arrows and (after, middle) in arrows:
            return middle in above_given
        return middle not in given

    walk([a])
    return min(lengths, default=None)


def test_equals_paths_one_by_one():
    rng = np.random.default_rng(0)
    seen = {True: 0, False: 0}
    for _ in range(300):
        network = random_dag(rng, int(rng.integers(2, 7)))
        a, b, *rest = rng.permutation(network.nodes).tolist()
        given = rest[: int(rng.integers(0, len(rest) + 1))]
        shortest = open_paths(network, a, b, given)
        path = network.active_path(a, b, given)
        assert network.d_separated(a, b, given) == (shortest is None) == (path is None)
        if path is not None:
            parts = path.split()
            assert (parts[0], parts[-1]) == (a, b)
            for left, arrow, right in zip(parts[:-2:2], parts[1:-1:2], parts[2::2]):
                assert ((left, right) if arrow == "→" else (right, left)) in network.edges
            assert (len(parts) + 1) // 2 >= shortest
        seen[path is None] += 1
    assert min(seen.values()) > 50


def test_separated_nodes_are_independent_and_others_are_not():
    rng = np.random.default_rng(1)
    for _ in range(60):
        network = random_dag(rng, 5)
        truth = Enumeration(network)
        a, b, *rest = rng.permutation(network.nodes).tolist()
        given = rest[: int(rng.integers(0, 3))]
        gap = 0.0
        for place in np.ndindex(*(2,) * len(given)):
            law = truth.law([a, b], dict(zip(given, place)))
            gap = max(gap, abs(law - law.sum(axis=1, keepdims=True) * law.sum(axis=0, keepdims=True)).max())
        # tables are drawn from a density, so that an open path shows: by more than 1e-9 in all of these draws
        assert (gap < 1e-12) == network.d_separated(a, b, given)
        assert (gap > 1e-9) != network.d_separated(a, b, given)


def test_markov_blankets_shield():
    rng = np.random.default_rng(2)
    for _ in range(60):
        network = random_dag(rng, 6)
        node = network.nodes[int(rng.integers(6))]
        blanket = network.markov_blanket(node)
        rest = [name for name in network.nodes if name != node and name not in blanket]
        assert not rest or network.d_separated(node, rest, blanket)
        for name in blanket:  # and no smaller set does
            fewer = [other for other in blanket if other != name]
            assert not network.d_separated(node, name, fewer)


@pytest.fixture(scope="module")
def garden():
    half = [[0.5, 0.5], [0.4, 0.6]]
    return BayesianNetwork(
        [("cloudy", "rain"), ("cloudy", "sprinkler"), ("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")],
        {"cloudy": half[0], "rain": half, "sprinkler": half, "wet": [half, half], "slippery": half},
    )


def test_the_path_explains(garden):
    assert garden.active_path("rain", "sprinkler") == "rain ← cloudy → sprinkler"
    assert garden.active_path("rain", "sprinkler", "cloudy") is None
    assert garden.active_path("rain", "sprinkler", ["cloudy", "wet"]) == "rain → wet ← sprinkler"
    assert garden.active_path("cloudy", "slippery") == "cloudy → rain → wet → slippery"
    assert garden.d_separated("cloudy", "slippery", "wet")
    assert garden.d_separated("cloudy", ["wet", "slippery"], ["rain", "sprinkler"])
    assert garden.markov_blanket("rain") == ("cloudy", "sprinkler", "wet")


def test_a_descendant_of_a_collider_opens_it(garden):
    assert garden.active_path("rain", "sprinkler", ["cloudy", "slippery"]) == "rain → wet ← sprinkler"


def test_unknown_nodes(garden):
    for call in (
        lambda: garden.d_separated("rian", "wet"),
        lambda: garden.active_path("rain", ["wet", "moon"]),
        lambda: garden.d_separated("rain", "wet", "moon"),
        lambda: garden.markov_blanket("moon"),
    ):
        with pytest.raises(ParameterError, match="must be a node"):
            call()
