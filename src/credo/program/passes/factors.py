"""The block's factors as the engine takes them: constant maps, and expressions of θ for their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from credo.distributions import Flat, MultivariateNormal
from credo.inference.gaussian_block import LinearFactor
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import Affine, Term, negated, repeats
from credo.program.passes.collapse import Block

__all__ = ["Rows", "rows_of"]

ONE = 1.0


@dataclass(frozen=True, eq=False)
class Rows:
    """One engine factor, and the expressions of its coefficients: one a map, one a constant, one for the sd."""

    factor: LinearFactor
    maps: tuple[Node, ...]
    constants: tuple[Node, ...]
    sd: Node

    @property
    def coefficients(self) -> tuple[Node, ...]:
        """All of them, maps first."""
        return (*self.maps, *self.constants, self.sd)


def rows_of(factors: Sequence[Factor], block: Block) -> list[Rows]:
    """The rows of every factor that the block appears in."""
    return [
        rows
        for factor in factors
        if factor.law is not None and not isinstance(factor.law, Flat) and block.touches(factor)
        for rows in _rows(factor, block.forms)
    ]


def _rows(factor: Factor, forms: Affine) -> list[Rows]:
    law: Any = factor.law
    shape = factor.node.shape
    terms = list(forms.form(factor.node))
    mean = as_node(law.mean)
    S = repeats(mean.shape, shape)
    terms += [negated(term if S is None else term.mapped(S)) for term in forms.form(mean)]
    if isinstance(law, MultivariateNormal):
        return [_whitened(factor, terms, forms)]
    sd = as_node(law.sd)
    S = repeats(sd.shape, shape)
    spread = [term if S is None else term.mapped(S) for term in forms.form(sd)]
    keep = np.arange(factor.node.size)
    return [_one(factor.name, _kept(terms, rows), scale, w) for rows, scale, w in _spreads(spread, keep)]


def _spreads(spread: Sequence[Term], keep: np.ndarray) -> list[tuple[np.ndarray, Node, np.ndarray]]:
    """Rows that share one scalar sd up to known factors: (rows, its expression, the factors)."""
    if any(term.row is not None for term in spread):
        total = None
        for term in spread:
            vector = np.asarray(term.vector)[keep]
            row = as_node(vector) if term.row is None else apply("multiply", term.row[as_node(keep)], as_node(vector))
            row = row if term.coefficient is None else apply("multiply", term.coefficient, row)
            total = row if total is None else apply("add", total, row)
        assert total is not None
        return [(keep, total, np.ones(keep.size))]
    used = np.array([np.asarray(term.vector)[keep] != 0.0 for term in spread])
    patterns, which = np.unique(used, axis=1, return_inverse=True)
    which = np.ravel(which)
    if all(pattern.sum() == 1 for pattern in patterns.T):
        out = []
        for k, pattern in enumerate(patterns.T):
            term, rows = spread[int(np.argmax(pattern))], keep[which == k]
            scale = as_node(ONE) if term.coefficient is None else term.coefficient
            out.append((rows, scale, np.asarray(term.vector)[rows]))
        return out
    total = None
    for term in spread:
        row = as_node(np.asarray(term.vector)[keep])
        row = row if term.coefficient is None else apply("multiply", term.coefficient, row)
        total = row if total is None else apply("add", total, row)
    assert total is not None
    return [(keep, total, np.ones(keep.size))]


def _kept(terms: Sequence[Term], rows: np.ndarray) -> list[Term]:
    n = next(t.vector.size if t.vector is not None else t.matrix.shape[0] for t in terms)
    if rows.size == n:
        return list(terms)
    picked = []
    for term in terms:
        row = None if term.row is None else term.row[as_node(rows)]
        picked.append(replace(term, row=row, matrix=None if term.matrix is None else term.matrix[rows],
                              vector=None if term.vector is None else term.vector[rows]))  # fmt: skip
    return picked


def _one(name: str, terms: Sequence[Term], scale: Node, w: np.ndarray) -> Rows:
    maps = [term for term in terms if term.matrix is not None]
    constants = [term for term in terms if term.matrix is None]
    rowwise = bool(scale.ndim) or any(term.row is not None for term in terms)
    relative = None if np.all(w == 1.0) else w
    factor = LinearFactor([t.matrix for t in maps], [np.asarray(t.vector) for t in constants], relative, name=name,
                          rowwise=rowwise)  # fmt: skip
    return Rows(factor, tuple(_coefficient(t) for t in maps), tuple(_coefficient(t) for t in constants), scale)


def _coefficient(term: Term) -> Node:
    if term.row is None:
        return as_node(ONE) if term.coefficient is None else term.coefficient
    return term.row if term.coefficient is None else apply("multiply", term.coefficient, term.row)


def _whitened(factor: Factor, terms: Sequence[Term], forms: Affine) -> Rows:
    """L⁻¹ (x − μ) for a known covariance L Lᵀ."""
    law: Any = factor.law
    covariance = forms.value(as_node(law.covariance))
    d = covariance.shape[0]
    inverse = scipy.linalg.solve_triangular(scipy.linalg.cholesky(covariance, lower=True), np.eye(d), lower=True)
    S = sp.csr_array(sp.kron(sp.eye(factor.node.size // d), inverse))
    rows = _one(factor.name, [term.mapped(S) for term in terms], as_node(ONE), np.ones(factor.node.size))
    # The engine's log density has no |L|: a row less of unit variance whose constant is it would be wrong, so the sds
    # carry it: Π sd = |L| needs no change of the residuals.
    rows.factor.log_sds += float(-np.log(np.diag(inverse)).sum() * (factor.node.size // d))
    return rows
