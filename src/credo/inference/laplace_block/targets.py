"""log p(u) of many groups at many nodes.

Notation as in `tables`; P (G, w, w), t (G, w) of the priors, o_i and a_i of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from credo.distributions.sites.base import ExponentialForm
from credo.inference.laplace_block.forms import common_factor, form_derivatives
from credo.inference.laplace_block.mode import Cells

__all__ = ["GroupTarget", "Nodes", "at_nodes"]


class Nodes(NamedTuple):
    """Where grids lie; rows : of each site η (m,), or (K, m), at k = 0, and by how much it changes with k (w, ·)."""

    centre: np.ndarray
    half: np.ndarray
    shift: np.ndarray
    rows: list[tuple[np.ndarray, np.ndarray]]


class GroupTarget(NamedTuple):
    """log p(u) of many groups. P (G, w, w), t (G, w); for each site `cells` of its rows (law, y, ψ cut to them), o
    (m,), a (w, m) and of (m,), the groups, ascending; o (K, m), a (K, w, m) for a law of K predictors. form : of the
    law of the only site that has rows; factor (G,) : of u, where such rows are pooled; compiles : whether there are so
    many that compiled loops pay."""

    P: np.ndarray
    t: np.ndarray
    parts: list[tuple[Cells, np.ndarray, np.ndarray, np.ndarray]]
    form: ExponentialForm | None = None
    factor: np.ndarray | None = None
    compiles: bool = False

    def value(self, u: np.ndarray) -> np.ndarray:
        """(K, G) at K nodes of each group, u (K, G, w)."""
        return self.parts_at(u, 0)[0]

    def parts_at(self, u: np.ndarray, order: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """log p (K, G) at u (K, G, w), and with order 1 ℓ′ (K, m), or (K, ·, m), of the rows of each site."""
        K = len(u)
        slopes = [np.zeros((K, *offset.shape)) for _, offset, _, _ in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            total = -0.5 * np.einsum("kgi,gij,kgj->kg", u, self.P, u) - np.einsum("gi,kgi->kg", self.t, u)
            for site, (cells, offset, a, of) in enumerate(self.parts):
                if len(of):
                    eta = offset + np.einsum("...im,kmi->k...m", a, u[:, of])
                    slopes[site] = self._add_rows(total, cells, eta, of, order)
        return np.where(np.isnan(total), -np.inf, total), slopes

    def over(self, nodes: Nodes, index: np.ndarray, order: int) -> tuple[np.ndarray, list[np.ndarray]]:
        """The same at nodes k (K, w), whole numbers: η of a row is linear in them."""
        u = at_nodes(nodes.centre, nodes.half, nodes.shift, index[:, None])
        slopes = [np.zeros((len(index), *offset.shape)) for _, offset, _, _ in self.parts]
        with np.errstate(over="ignore", invalid="ignore"):
            total = -0.5 * np.einsum("kgi,gij,kgj->kg", u, self.P, u) - np.einsum("gi,kgi->kg", self.t, u)
            for site, (cells, _, _, of) in enumerate(self.parts):
                if len(of):
                    base, along = nodes.rows[site]
                    eta = (index @ along).reshape(len(index), *base.shape)
                    eta += base
                    slopes[site] = self._add_rows(total, cells, eta, of, order)
        return np.where(np.isnan(total), -np.inf, total), slopes

    def _add_rows(self, total: np.ndarray, cells: Cells, eta: np.ndarray, of: np.ndarray, order: int) -> np.ndarray:
        """Adds Σ ℓ of each group's rows to total (K, G); the last derivative."""
        form = self.form
        own = cells.derivatives(eta, order) if form is None else form_derivatives(form, eta, order)
        first = np.flatnonzero(np.diff(of, prepend=-1))  # `of` ascends
        total[:, of[first]] += np.add.reduceat(own[0], first, axis=1)
        return own[-1]

    def nodes(self, centre: np.ndarray, half: np.ndarray, shift: np.ndarray) -> Nodes:
        """For `over`, of grids with these centres, L and shifts."""
        origin, rows = at_nodes(centre, half, shift, np.zeros(centre.shape[1])), []
        for _, offset, a, of in self.parts:
            along = np.einsum("...im,mij->j...m", a, half[of])
            rows.append((offset + np.einsum("...im,mi->...m", a, origin[of]), along.reshape(centre.shape[1], -1)))
        return Nodes(centre, half, shift, rows)

    def at(self, t: np.ndarray, offsets: list[np.ndarray]) -> GroupTarget:
        """The same with other t and offsets."""
        parts = [(c, o, a, of) for (c, _, a, of), o in zip(self.parts, offsets, strict=True)]
        return self._replace(t=t, parts=parts)

    @property
    def only(self) -> int | None:
        """The number of the only site that has rows."""
        with_rows = [site for site, (_, _, _, of) in enumerate(self.parts) if len(of)]
        return with_rows[0] if len(with_rows) == 1 else None

    def formed(self, compiles: bool) -> GroupTarget:
        """With its form, if the rows are of one site and its law has one."""
        if self.only is None:
            return self
        cells, _, a, of = self.parts[self.only]
        form = cells.site.law.exponential_form(cells.site.y, cells.psi)
        if form is None:
            return self
        if compiles and self.t.shape[1] <= 2:
            return self._replace(form=form, compiles=True)
        return self._replace(form=form, factor=common_factor(form, a, of, len(self.t)))

    def tile(self, t: np.ndarray, offsets: list[np.ndarray]) -> GroupTarget:
        """n times the same groups, at other t (n, G, w) and offsets (n, m)."""
        n, (G, w) = len(t), self.t.shape
        parts, form = [], self.form
        for (cells, _, a, of), offset in zip(self.parts, offsets, strict=True):
            rows = np.tile(np.arange(len(of)), n)
            owner = (of + G * np.arange(n)[:, None]).ravel()
            offset = np.moveaxis(offset, 0, -2).reshape(*offset.shape[1:-1], -1)
            parts.append((cells.take(rows), offset, np.tile(a, n), owner))
            form = form.take(rows) if form is not None and len(of) else form
        factor = None if self.factor is None else np.tile(self.factor, n)
        return GroupTarget(np.concatenate([self.P] * n), t.reshape(n * G, w), parts, form, factor, self.compiles)

    def take(self, groups: np.ndarray) -> tuple[GroupTarget, list[np.ndarray]]:
        """Of some groups; and which of the rows of each site are theirs."""
        place = np.full(len(self.P), -1)
        place[groups] = np.arange(len(groups))
        parts, kept, form = [], [], self.form
        for cells, offset, a, of in self.parts:
            mine = np.flatnonzero(place[of] >= 0)
            kept.append(mine)
            parts.append((cells.take(mine), offset[..., mine], a[..., mine], place[of[mine]]))
            form = form.take(mine) if form is not None and len(of) else form
        factor = None if self.factor is None else self.factor[groups]
        return GroupTarget(self.P[groups], self.t[groups], parts, form, factor, self.compiles), kept


def at_nodes(centre: np.ndarray, half: np.ndarray, shift: np.ndarray, k: np.ndarray) -> np.ndarray:
    """u (..., G, w) at nodes k that broadcast with that."""
    return centre + np.einsum("gij,...gj->...gi", half, k + shift)
