"""The block's factors as the engine takes them: constant maps, and expressions of θ for their coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from credo.distributions import MultivariateNormal, Normal
from credo.inference.gaussian_block import LinearFactor
from credo.program.model import Factor
from credo.program.nodes import Node, apply, as_node
from credo.program.passes.affine import Affine, Term, negated, repeats
from credo.program.passes.collapse import Block
from credo.program.passes.covariance import whitened
from credo.program.passes.sites import recognised

if TYPE_CHECKING:
    from credo.inference.laplace_block import Site

__all__ = ["Rows", "SiteRows", "rows_of", "sites_of"]

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


@dataclass(frozen=True, eq=False)
class SiteRows:
    """One engine site, and the expressions of its coefficients: one a map, one a constant, one for each of its law's
    own parameters."""

    site: Site
    maps: tuple[Node, ...]
    constants: tuple[Node, ...]
    psi: tuple[Node, ...]

    @property
    def coefficients(self) -> tuple[Node, ...]:
        """All of them, maps first."""
        return (*self.maps, *self.constants, *self.psi)


def rows_of(factors: Sequence[Factor], block: Block) -> list[Rows]:
    """The rows of every Normal factor that the block appears in."""
    return [
        rows
        for factor in factors
        if isinstance(factor.law, (Normal, MultivariateNormal)) and block.touches(factor) and not block.is_site(factor)
        for rows in _rows(factor, block.forms)
    ]


def sites_of(factors: Sequence[Factor], block: Block) -> list[SiteRows]:
    """Every other factor that the block appears in, and Normal ones whose sd it is in."""
    return [_site(factor, block.forms) for factor in factors if block.is_site(factor)]


def _site(factor: Factor, forms: Affine) -> SiteRows:
    from credo.distributions import sites
    from credo.inference.laplace_block import Site

    form, shape = recognised(factor, forms), factor.node.shape
    law = getattr(sites, form.law)(*form.known)
    S = repeats(form.eta.shape, shape) if law.predictors == 1 else None  # several are of every cell
    terms = [term if S is None else term.mapped(S) for term in forms.form(form.eta)]
    maps = [term for term in terms if term.matrix is not None]
    constants = [term for term in terms if term.matrix is None]
    rowwise = any(term.row is not None for term in terms)
    each = form.psi_rowwise
    psi = tuple(_by_row(node, shape) for node in form.psi) if each else form.psi
    site = Site(law, form.y.ravel(), [t.matrix for t in maps], [np.asarray(t.vector) for t in constants],
                name=factor.name, rowwise=rowwise, psi_rowwise=each)  # fmt: skip
    return SiteRows(site, tuple(_coefficient(t) for t in maps), tuple(_coefficient(t) for t in constants), psi)


def _by_row(node: Node, shape: tuple[int, ...]) -> Node:
    whole = node if node.shape == shape else apply("multiply", node, np.ones(shape))
    return whole.reshape(whole.size)


def _rows(factor: Factor, forms: Affine) -> list[Rows]:
    law: Any = factor.law
    shape = factor.node.shape
    terms = list(forms.form(factor.node))
    mean = as_node(law.mean)
    S = repeats(mean.shape, shape)
    terms += [negated(term if S is None else term.mapped(S)) for term in forms.form(mean)]
    if isinstance(law, MultivariateNormal):
        known = not forms.depends(as_node(law.covariance))
        return [_whitened(factor, terms, forms) if known else _decorrelated(factor, terms)]
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


def _decorrelated(factor: Factor, terms: Sequence[Term]) -> Rows:
    """The same for a covariance that depends on θ: a map for each entry of x − μ, its coefficients a column of L⁻¹."""
    law: Any = factor.law
    columns, sds = whitened(as_node(law.covariance))
    d = len(columns)
    matrices, maps, total = [], [], None
    for term in terms:
        coefficient = _coefficient(term)
        if term.matrix is None:
            part = apply("multiply", coefficient, np.asarray(term.vector))
            total = part if total is None else apply("add", total, part)
            continue
        for j, column in enumerate(columns):
            entries = term.matrix[[j]]
            if entries.nnz:
                matrices.append(sp.csr_array(sp.vstack([entries] * d)))
                maps.append(apply("multiply", coefficient if coefficient.is_scalar else coefficient[j], column))
    constants = ()
    if total is not None:
        constants = (sum((column * total[j] for j, column in enumerate(columns[1:], 1)), columns[0] * total[0]),)
    ones = [np.ones(d)] * len(constants)
    return Rows(LinearFactor(matrices, ones, name=factor.name, rowwise=True), tuple(maps), constants, sds)


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
