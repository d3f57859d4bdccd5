"""Small networks, rows drawn from them, and every DAG of a few nodes: what the tests here share."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from credo.models.network.learning.rows import coded_rows

DATA = Path(__file__).parents[3] / "data" / "bayesnets_learning"


def random_families(rng, d, most=3):
    """Parents of d nodes in a random order."""
    order = rng.permutation(d)
    families = [()] * d
    for i, child in enumerate(order):
        k = int(rng.integers(0, min(i, most) + 1))
        families[child] = tuple(int(p) for p in rng.choice(order[:i], k, replace=False)) if k else ()
    return families


def random_tables(rng, families, sizes, concentration=0.5):
    """Tables (q, r), rows Dirichlet."""
    return [
        rng.dirichlet(np.full(sizes[c], concentration), int(np.prod([sizes[p] for p in family], dtype=int)))
        for c, family in enumerate(families)
    ]


def topological(families):
    done, order = set(), []
    while len(order) < len(families):
        for node, family in enumerate(families):
            if node not in done and done.issuperset(family):
                done.add(node)
                order.append(node)
    return order


def draw(rng, families, tables, sizes, n):
    """Codes (n, d)."""
    codes = np.zeros((n, len(sizes)), dtype=np.int64)
    for node in topological(families):
        place = np.zeros(n, dtype=np.int64)
        for p in families[node]:
            place = place * sizes[p] + codes[:, p]
        edges = np.cumsum(tables[node][place], axis=1)
        codes[:, node] = np.minimum((rng.random(n)[:, None] > edges).sum(axis=1), sizes[node] - 1)
    return codes


def random_rows(seed, d=5, n=200, most=3, names=None):
    """(rows, families that made them)."""
    rng = np.random.default_rng(seed)
    sizes = tuple(int(r) for r in rng.integers(2, 4, d))
    families = random_families(rng, d, most)
    codes = draw(rng, families, random_tables(rng, families, sizes), sizes, n)
    return coded_rows("test", codes, sizes, names), families


def all_dags(d):
    """Every DAG of d nodes, as parents."""
    subsets = [
        [c for k in range(d) for c in itertools.combinations([p for p in range(d) if p != child], k)]
        for child in range(d)
    ]
    for families in itertools.product(*subsets):
        if is_acyclic(families):
            yield families


def is_acyclic(families):
    left = set(range(len(families)))
    while left:
        roots = {node for node in left if not left.intersection(families[node])}
        if not roots:
            return False
        left -= roots
    return True
