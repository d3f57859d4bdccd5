"""`LaplaceBlock`: latents that are Normal given a few coefficients and seen through non-Normal sites.

Notation: z (p,) latents with the Normal factors of a `GaussianBlock`; sites ℓ_i = log p(y_i | η_i, ψ), η = A z + b c,
A = Σ_k a_k M_k with rows a_i; z* the mode of f(z) = log p(y, z | θ), W = −ℓ″ and H = H₀ + AᵀWA its curvature there;
V_i = a_iᵀH⁻¹a_i, u = ½ Aᵀ(V ℓ‴), δ = H⁻¹u.

    log p(y | θ) ≈ f(z*) + ½ p log 2π − ½ log |H|

Its gradient is that of the Normal factors under a belief whose second moment has yδᵀ + δyᵀ besides (they are quadratic:
the mode's move is exact), and for each row of a site

    ∂η  : s = ℓ′ + ½ V ℓ‴ + ℓ″ a·δ             ∂b_l : s c_l             ∂ψ : ∂ψℓ + ½ V ∂ψℓ″ + a·δ ∂ψℓ′
    ∂a_k: s (M_k z) + ℓ′ (M_k δ) − W (M_k H⁻¹a)

Reference: Rue, Martino and Chopin (2009), JRSS B 71; Kristensen et al. (2016), JSS 70(5), for the gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.gaussian_block import GaussianBlock, LinearFactor
from credo.inference.laplace_block.belief import LaplaceBelief
from credo.inference.laplace_block.groups import Partition, partition
from credo.inference.laplace_block.mode import Cells, Joint, Mode, find_mode
from credo.inference.laplace_block.nested import Nested
from credo.inference.laplace_block.several import along, bent, rows_of
from credo.inference.laplace_block.site import Site, SiteSlots

__all__ = ["LaplaceBlock"]


class LaplaceBlock:
    """The latents z (p,) of some `LinearFactor`s (priors, Normal observations) and `Site`s.

    **Coefficients** are one flat vector (D,): those of the factors as in `GaussianBlock`, then for each site in turn
    a_1 … a_K, b_1 … b_L, ψ; or a sequence of (a, b, s) for the factors and (a, b, ψ) for the sites. Gradients come in
    the form the coefficients came in.

    Parameters
    ----------
    factors, sites : as above. size : p. name : of the block, for error messages.

    Attributes
    ----------
    n_coefficients : D. slots : of each factor, then of each site (`.a`, `.b`, `.psi`, lists of slices).
    structure : how the precision is factored, in words.

    Raises, at an evaluation: `NotIdentifiedError` for latents that nothing determines, `NumericalError` for
    coefficients outside their domain or where Newton's method finds no mode.

    Cost: making it goes through the rows once. An evaluation takes 3 to 6 Newton steps, each through the rows and with
    one Cholesky factor of H; it starts at the mode of the last evaluation.

    Examples
    --------
    Three counts with a common rate e^z, z ~ Normal(0, 2):

    >>> from credo.distributions.sites import PoissonLog
    >>> site = Site(PoissonLog(), [2, 0, 5], [np.ones((3, 1))], name="y")
    >>> prior = LinearFactor([np.eye(1)], name="z")
    >>> block = LaplaceBlock([prior], [site], 1)
    >>> value, gradient = block.log_marginal([((1.0,), (), 2.0), ((1.0,), (), ())])
    >>> round(value, 4), [round(g, 4) for g in (gradient[0][2], gradient[1][0][0])]
    (-8.3055, [-0.4127, -0.8254])
    >>> belief = block.condition([((1.0,), (), 2.0), ((1.0,), (), ())])
    >>> belief.mean.round(4).tolist(), belief.sd.round(4).tolist()
    ([0.8177], [0.3767])
    """

    #: whether many sets of coefficients are done at once
    is_batched = False

    def __init__(
        self, factors: Sequence[LinearFactor], sites: Sequence[Site], size: int, *, name: str = "LaplaceBlock"
    ) -> None:
        self.sites, self.size, self.name = list(sites), int(size), name
        for site in self.sites:
            if any(each.shape[1] != self.size for each in site.maps):
                raise ParameterError(name, f"maps of site {site.name!r}", f"with {size} columns", site.maps[0].shape)
        self._rows = [rows_of(site, self.size) for site in self.sites]
        joined = sum((rows.joined for rows in self._rows[1:]), self._rows[0].joined) if self._rows else None
        self.normal = GaussianBlock(factors, size, name=name, joined=joined)
        for rows in self._rows:
            rows.place(self.normal.precision)
        self.slots: list[Any] = list(self.normal.slots)
        end = self.normal.n_coefficients
        for site in self.sites:
            self.slots.append(SiteSlots.of(site, end))
            end = max([end, *(each.stop for each in self.slots[-1].all)])
        self.n_coefficients = end
        self._site_slots: list[SiteSlots] = self.slots[len(self.normal.slots) :]
        # Another mode than the last could be nearer where a law is not log-concave: each evaluation starts afresh then.
        # Of a Normal's mean and log sd there hardly is another, and `LaplaceBelief.rival` looks for it.
        self._keeps = all(site.law.log_concave or site.law.predictors > 1 for site in self.sites)
        self._last: np.ndarray | None = None
        self._moved: np.ndarray | None = None
        self._solved: tuple[np.ndarray, Joint, Mode] | None = None

    @property
    def factors(self) -> list[LinearFactor]:
        return self.normal.factors

    @property
    def structure(self) -> str:
        return self.normal.structure

    @property
    def seconds(self) -> float:
        """Roughly how long one evaluation with its gradient takes, by the structure alone."""
        rows = sum(site.n for site in self.sites)
        entries = sum(len(each.row) + each.n * len(each.columns) for each in self._rows)
        several = sum(site.n for site in self.sites if site.law.predictors > 1)
        return 4.0 * (self.normal.seconds + 3e-8 * rows + 8e-9 * entries + 4e-7 * several)

    @property
    def corrects_slowly(self) -> bool:
        """Whether `LaplaceBelief.correction` takes much longer than an evaluation: grids in two or three dimensions of
        rows that no loop is compiled for."""
        return self.groups > 0 and any(site.law.predictors > 1 for site in self.sites)

    @cached_property
    def partition(self) -> Partition | None:
        """The latents that are independent given the others, which `LaplaceBelief` integrates one by one."""
        return partition(self.factors, self._rows, self.size)

    @property
    def groups(self) -> int:
        """How many of them there are; 0 where draws are weighed as a whole."""
        return self.partition.count if self.partition else 0

    def nested(self, joint: Joint, mode: Mode) -> Nested:
        """The density with the groups integrated out; its mode is looked for from where the last one was."""
        assert self.partition is not None
        made = Nested(joint, mode, self.partition, self._moved)
        self._moved = made.start
        return made

    # -- coefficients ------------------------------------------------------------------------------------------------

    def is_valid(self, x: np.ndarray) -> np.ndarray:
        """Which rows of x (B, D) are finite, with every s > 0 and every ψ in its domain."""
        valid = np.isfinite(x).all(axis=1) & self.normal.is_valid(x[:, : self.normal.n_coefficients])
        for site, slots in zip(self.sites, self._site_slots, strict=True):
            if slots.psi:
                valid &= np.array([site.law.is_valid([row[each] for each in slots.psi]) for row in x], dtype=bool)
        return valid

    def pack(self, coefficients: Any) -> np.ndarray:
        """The flat vector (D,) of a sequence of (a, b, s) or (a, b, ψ); a flat vector is passed through."""
        if not isinstance(coefficients, np.ndarray):
            every = [*self.factors, *self.sites]
            if len(coefficients) != len(every):
                rule = f"one (a, b, s) for each of {len(self.factors)} factors and (a, b, ψ) of {len(self.sites)} sites"
                raise ParameterError(self.name, "coefficients", rule, coefficients)
            split = len(self.factors)
            x = np.empty(self.n_coefficients)
            x[: self.normal.n_coefficients] = self.normal.pack(list(coefficients[:split]))
            for site, slots, parts in zip(self.sites, self._site_slots, coefficients[split:], strict=True):
                values = [value for part in parts for value in part]
                if [len(part) for part in parts] != [len(slots.a), len(slots.b), len(slots.psi)]:
                    rule = f"{len(slots.a)} for its maps, {len(slots.b)} for its constants and {len(slots.psi)} of ψ"
                    raise ParameterError(self.name, f"coefficients of site {site.name!r}", rule, parts)
                for slot, value in zip(slots.all, values, strict=True):
                    x[slot] = value
            return x
        if coefficients.shape != (self.n_coefficients,):
            raise ParameterError(self.name, "coefficients", f"of shape ({self.n_coefficients},)", coefficients.shape)
        return coefficients

    def unpack(self, gradient: np.ndarray, like: Any) -> Any:
        """A flat gradient (D,) in the form of the coefficients `like`: entries given as one number get one number."""
        if isinstance(like, np.ndarray):
            return gradient
        split = len(self.factors)
        parts = self.normal.unpack(gradient[: self.normal.n_coefficients], list(like[:split]))
        for slots, (a, b, psi) in zip(self._site_slots, like[split:], strict=True):
            one = [
                gradient[slot] if np.ndim(value) else float(gradient[slot].sum())
                for slot, value in zip(slots.all, [*a, *b, *psi], strict=True)
            ]
            k, m = len(a), len(a) + len(b)
            parts.append((tuple(one[:k]), tuple(one[k:m]), tuple(one[m:])))
        return parts

    def _check(self, x: np.ndarray) -> None:
        self.normal.check(x[: self.normal.n_coefficients])
        for site, slots in zip(self.sites, self._site_slots, strict=True):
            for kind, places in (("a", slots.a), ("b", slots.b)):
                for k, slot in enumerate(places):
                    if not np.isfinite(x[slot]).all():
                        which = f"coefficient {kind}[{k}] of site {site.name!r}"
                        raise NumericalError(f"{self.name}: {which} must be finite.", value=x[slot])
            psi = [x[each] for each in slots.psi]
            if not site.law.is_valid(psi):
                names = ", ".join(site.law.psi_names)
                raise NumericalError(f"{self.name}: {names} of site {site.name!r} is out of its domain.", value=psi)

    # -- evaluation --------------------------------------------------------------------------------------------------

    def log_marginal(self, coefficients: Any, gradient: bool = True) -> tuple[float, Any]:
        """Laplace's log p(y | θ), and its exact derivative by every coefficient, or None if not asked for."""
        x = self.pack(coefficients)
        joint, mode = self._solve(x)
        value = _log_marginal(joint, mode)
        if not gradient:
            return value, None
        return value, self.unpack(self._gradient(x, joint, mode), coefficients)

    def log_marginals(self, x: np.ndarray, *, gradient: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
        """The same at rows of x (B, D), one by one: values (B,) and gradients (B, D) or None."""
        every = [self.log_marginal(row, gradient=gradient) for row in x]
        values = np.array([value for value, _ in every])
        return values, np.array([each for _, each in every]).reshape(x.shape) if gradient else None

    def condition(self, coefficients: Any) -> LaplaceBelief:
        """The belief about z given the coefficients."""
        joint, mode = self._solve(self.pack(coefficients))
        return LaplaceBelief(self, joint, mode, _log_marginal(joint, mode))

    def _joint(self, x: np.ndarray) -> Joint:
        q = self.normal.quadratic(x[: self.normal.n_coefficients])
        cells = []
        for site, rows, slots in zip(self.sites, self._rows, self._site_slots, strict=True):
            entries = rows.entries([_one(x[each]) for each in slots.a])
            offset = rows.times(entries, q.centre)
            for slot, values in zip(slots.b, site.constants, strict=True):
                offset += (x[slot] * values).reshape(offset.shape)
            cells.append(Cells(site, rows, entries, offset, tuple(_one(x[each]) for each in slots.psi)))
        return Joint(self.normal.precision, q, cells, self.name)

    def _solve(self, x: np.ndarray) -> tuple[Joint, Mode]:
        if self._solved is not None and np.array_equal(self._solved[0], x):
            return self._solved[1:]
        self._check(x)
        while True:
            joint = self._joint(x)
            q = joint.quadratic
            mode = find_mode(joint, None if self._last is None else self._last - q.centre)
            if self._keeps:
                self._last = q.centre + mode.y
            if not q.recentred(joint.normal(mode.y), mode.y):
                self._solved = x.copy(), joint, mode
                return joint, mode

    def _gradient(self, x: np.ndarray, joint: Joint, mode: Mode) -> np.ndarray:
        precision, factor, y = joint.precision, mode.factor, mode.y
        inverse = precision.kept(factor)
        spread = [cells.rows.solved(cells.entries, inverse) for cells in joint.cells]
        V = [inner for _, inner in spread]
        u = np.zeros(self.size)
        for cells, slopes, v in zip(joint.cells, mode.slopes, V, strict=True):
            u += cells.rows.back(cells.entries, 0.5 * bent(v, slopes[3]))
        delta = factor.solve(u)
        second = precision.second(factor, y) + precision.outer(y, delta)
        gradient = np.zeros(self.n_coefficients)
        gradient[: self.normal.n_coefficients] = joint.quadratic.gradient(precision.contract(second), second, y + delta)
        z = y + joint.quadratic.centre
        for at, cells in enumerate(joint.cells):
            _add_site(
                gradient, self._site_slots[at], cells, mode.etas[at], mode.slopes[at], V[at], spread[at][0], z, delta,
                self.sites[at].constants,
            )  # fmt: skip
        return gradient


def _log_marginal(joint: Joint, mode: Mode) -> float:
    return joint.quadratic.log_scale + mode.value - 0.5 * mode.factor.log_det


def _one(values: np.ndarray) -> Any:
    """A slice of the coefficients: a number where it holds one."""
    return float(values[0]) if len(values) == 1 else values


def _add_site(
    gradient: np.ndarray,
    slots: SiteSlots,
    cells: Cells,
    eta: np.ndarray,
    slopes: tuple[np.ndarray, ...],
    V: np.ndarray,
    spread: Any,
    z: np.ndarray,
    delta: np.ndarray,
    constants: list[np.ndarray],
) -> None:
    """The gradient by the coefficients of one site; `spread` = H⁻¹a of each row."""
    rows, (_, first, second, third) = cells.rows, slopes
    moved = rows.times(cells.entries, delta)
    s = (first + 0.5 * bent(V, third) + along(second, moved)).ravel()
    first = first.ravel()
    for k, slot in enumerate(slots.a):
        by_row = s * rows.map_times(k, z) + first * rows.map_times(k, delta) + rows.curved(k, spread, second)
        gradient[slot] = by_row if slot.stop - slot.start > 1 else by_row.sum()
    for slot, values in zip(slots.b, constants, strict=True):
        gradient[slot] = s * values if slot.stop - slot.start > 1 else s @ values
    parts = cells.site.law.psi_slopes(cells.site.y, eta, cells.psi)
    for slot, (own, of_first, of_second) in zip(slots.psi, parts, strict=True):
        v, d = (V, moved) if np.ndim(own) < 2 else (V[:, None], moved[:, None])
        by_row = np.broadcast_to(own + 0.5 * v * of_second + d * of_first, (rows.n, *np.shape(own)[1:]))
        rowwise = cells.site.psi_rowwise and by_row.ndim == 1
        gradient[slot] = by_row if rowwise else by_row.sum(axis=0)
