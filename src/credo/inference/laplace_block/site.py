"""`Site`: n observed cells whose law has one parameter linear in the latent vector z.

Notation: η = Σ_k a_k M_k z + Σ_l b_l c_l with M_k (n, p) and c_l (n,) constant; ψ the law's own parameters. A law of K
predictors has K n rows, those of the first predictor first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from credo.distributions.sites import SiteLaw
from credo.errors import ParameterError
from credo.inference.gaussian_block import LinearFactor

__all__ = ["Observed", "Site", "SiteSlots"]


class Site:
    """Cells y_i ~ law(η_i, ψ), independent, with η = Σ_k a_k M_k z + Σ_l b_l c_l; n rows, K n for K predictors.

    Parameters
    ----------
    law : a `SiteLaw`.
    y : (n,) outcomes.
    maps, constants : M_k (n, p), sparse or dense, and c_l (n,); an offset is a constant.
    name : of the node, for error messages.
    rowwise : whether each a_k and b_l is a vector (n,). psi_rowwise : whether each ψ is.

    Raises `ParameterError` for shapes that differ and `DataError` for outcomes that the law cannot have.

    Examples
    --------
    >>> from credo.distributions.sites import PoissonLog
    >>> Site(PoissonLog(), [2, 0, 5], [[[1.0], [1.0], [1.0]]], name="y")
    Site('y', PoissonLog(), 3 rows, 1 map, 0 constants)
    """

    def __init__(
        self,
        law: SiteLaw,
        y: Any,
        maps: Sequence[Any],
        constants: Sequence[Any] = (),
        *,
        name: str = "",
        rowwise: bool = False,
        psi_rowwise: bool = False,
    ) -> None:
        self.law, self.name, self.rowwise, self.psi_rowwise = law, name, rowwise, psi_rowwise
        self.form = LinearFactor(maps, constants, name=name, rowwise=rowwise)
        self.maps, self.constants = self.form.maps, self.form.constants
        self.n = self.form.n // law.predictors
        self.y = law.check(y)
        if not self.maps:
            raise ParameterError(f"Site {name!r}", "maps", "at least one (n, p) matrix", maps)
        if self.y.shape != (self.n,) or self.n * law.predictors != self.form.n:
            raise ParameterError(f"Site {name!r}", "y", f"of shape ({self.n},), one outcome a row", self.y.shape)

    def take(self, rows: np.ndarray) -> Observed:
        """The outcomes of some rows."""
        return Observed(self.law.take(rows), self.y[rows], self.psi_rowwise)

    def __repr__(self) -> str:
        counts = [(self.n, "row"), (len(self.maps), "map"), (len(self.constants), "constant")]
        shapes = ", ".join(f"{k} {word}{'s' * (k != 1)}" for k, word in counts)
        return f"Site({self.name!r}, {self.law!r}, {shapes})"


class Observed(NamedTuple):
    """Outcomes of some rows of a site."""

    law: SiteLaw
    y: np.ndarray
    psi_rowwise: bool

    def take(self, rows: np.ndarray) -> Observed:
        return Observed(self.law.take(rows), self.y[rows], self.psi_rowwise)


class SiteSlots(NamedTuple):
    """Where the coefficients of one site stand in the flat vector: slices of each a, b and ψ."""

    a: list[slice]
    b: list[slice]
    psi: list[slice]

    @classmethod
    def of(cls, site: Site, start: int) -> SiteSlots:
        """From `start` on."""
        wide = site.form.n if site.rowwise else 1
        widths = [[wide] * len(site.maps), [wide] * len(site.constants), site.law.psi_widths(site.n)]
        if site.psi_rowwise:
            widths[2] = [site.n if width == 1 else width for width in widths[2]]
        every: list[list[slice]] = []
        for group in widths:
            every.append([])
            for width in group:
                every[-1].append(slice(start, start + width))
                start += width
        return cls(*every)

    @property
    def all(self) -> list[slice]:
        return [*self.a, *self.b, *self.psi]
