"""`GaussianBlock`: latents that are Normal given a few coefficients, integrated out and drawn back exactly.

Notation: z (p,) latents; factors f with residuals r_f = Σ_k a_k M_k z + Σ_l b_l c_l, r_fi ~ Normal(0, s_f w_fi);
y = z − z₀ about a centre. The density of y is proportional to exp(−½ (const + 2 gᵀy + yᵀH y)), so that

    E z = z₀ − H⁻¹ g        Var z = H⁻¹
    log ∫ Π_f N(r_f; 0, s_f w_f) dz
        = −½ (const − gᵀH⁻¹g) − ½ log |H| + ½ p log 2π − Σ_f (n_f log(s_f √2π) + Σ_i log w_fi)

H, g and const are sums of products of the coefficients times matrices that are made once (`products`): an evaluation
costs what factoring H does, whatever the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.inference.gaussian_block import accurate, batch, dense
from credo.inference.gaussian_block.belief import GaussianBelief
from credo.inference.gaussian_block.factors import LinearFactor
from credo.inference.gaussian_block.full_rows import FullRows, is_full
from credo.inference.gaussian_block.products import Products, Slots, Weights
from credo.inference.gaussian_block.rowwise import Rows, RowwiseFactor, factor_pattern
from credo.inference.gaussian_block.singular import not_identified

__all__ = ["GaussianBlock", "Quadratic"]

LOG_2PI = float(np.log(2.0 * np.pi))
# Cells of the dense form of all products: 256 MiB.
LARGEST_DENSE = 2**25
# The centre is moved where the residuals at it are so far above those at the mean that rounding would show.
FAR, VISIBLE = 100.0, 1e5
MOST_CENTRES = 8


class GaussianBlock:
    """The linear-Gaussian latents z (p,) of some `LinearFactor`s, to be integrated out.

    **Coefficients** are given as one flat vector (D,): for each factor in turn a_1 … a_K, b_1 … b_L, s (a rowwise
    factor has n numbers for each), or as a sequence of (a, b, s), one a factor, which `pack` makes flat. Gradients come
    in the form the coefficients came in. s > 0 and everything finite, else `NumericalError`.

    Parameters
    ----------
    factors : likelihoods and priors; a latent in none of them, or not determined by them, is a `NotIdentifiedError`
        at the first evaluation, whose `value` holds the columns.
    size : p.
    name : of the block, for error messages.
    joined : a pattern (p, p), sparse, of pairs that the precision is to have room for besides: what an engine on top of
        this one adds to `quadratic` (see `LaplaceBlock`).

    Attributes
    ----------
    n_coefficients : D. slots : per factor, slices of the flat vector (`.a`, `.b` lists, `.s`).
    structure : how the precision is factored, in words: ``'5000 groups, then 2 dense'``.

    Digits: a block of up to 128 latents keeps them like QR of all rows. In a larger or rowwise one log ∫ errs by 2⁻⁵³
    times the largest ratio of a diagonal entry of H to its pivot, and a ratio of 10¹² counts as singular (a group sd
    some 10⁵ times the noise, with a level beside it).

    Cost: making it goes through the rows once (and again where the centre moves). An evaluation: one Cholesky factor
    of H, sparse where H is, and a selected inverse for the gradient.

    Examples
    --------
    Two measurements of one height, one latent with a Normal(μ, τ) prior:

    >>> y = LinearFactor([np.ones((2, 1))], [np.array([1.0, 3.0])], name="y")
    >>> prior = LinearFactor([np.eye(1)], [np.ones(1)], name="z")
    >>> block = GaussianBlock([y, prior], 1)
    >>> sigma, mu, tau = 1.0, 0.0, 2.0
    >>> value, gradient = block.log_marginal([((1.0,), (-1.0,), sigma), ((1.0,), (-mu,), tau)])
    >>> round(value, 6)  # log N((1, 3); 0, I + 4·11ᵀ)
    -4.380934
    >>> block.condition([((1.0,), (-1.0,), sigma), ((1.0,), (-mu,), tau)]).mean.round(6).tolist()
    [1.777778]
    """

    def __init__(
        self, factors: Sequence[LinearFactor], size: int, *, name: str = "GaussianBlock", joined: Any = None
    ) -> None:
        self.factors, self.size, self.name = list(factors), int(size), name
        if self.size < 1:
            raise ParameterError(name, "size", "≥ 1", size)
        for factor in self.factors:
            if any(each.shape[1] != self.size for each in factor.maps):
                raise ParameterError(
                    name, f"maps of factor {factor.name!r}", f"with {size} columns", factor.maps[0].shape
                )
        self.slots, self.n_coefficients = Slots.all_of(self.factors)
        kinds = list(zip(self.factors, self.slots, strict=True))
        self._products = Products([f for f, _ in kinds if not f.rowwise], [s for f, s in kinds if not f.rowwise], size)
        self._rowwise: list[RowwiseFactor | FullRows] = [
            (FullRows if self.size <= dense.LARGEST and is_full(f, self.size) else RowwiseFactor)(f, s, self.size)
            for f, s in kinds if f.rowwise
        ]  # fmt: skip
        self._centres = 0
        self._compressed: accurate.CompressedRows | None = None
        scales = [np.arange(s.s.start, s.s.stop) for s in self.slots]
        self._scale_slots = np.concatenate([*scales, np.empty(0)]).astype(np.intp)
        rows = sum(each.n for each in self.factors)
        self._constant = 0.5 * (self.size - rows) * LOG_2PI - sum(each.log_sds for each in self.factors)
        self.precision: Any = self._structure(joined)
        for each in self._rowwise:
            each.place(self.precision)

    def _structure(self, joined: Any) -> Any:
        grams = self._products.grams()
        if self.size <= dense.LARGEST and len(grams) * self.size**2 <= LARGEST_DENSE:
            precision = dense.DensePrecision(grams, self.size)
            if joined is not None or not accurate.could(self, LARGEST_DENSE):
                precision.least = dense.HARDLY_A_PIVOT
            return precision
        from credo.inference.gaussian_block.supernodal import SparsePrecision

        extra = joined
        for each in self._rowwise:
            pattern = factor_pattern(each.factor, self.size)
            extra = pattern.T @ pattern if extra is None else extra + pattern.T @ pattern
        return SparsePrecision(grams, self.size, extra)

    @property
    def structure(self) -> str:
        return str(self.precision)

    @property
    def is_batched(self) -> bool:
        """Whether many sets of coefficients are done at once: a dense precision, and no rowwise factor of sparse or
        of many rows."""
        few = all(isinstance(each, FullRows) and each.is_batched for each in self._rowwise)
        return isinstance(self.precision, dense.DensePrecision) and few

    @property
    def rows_each(self) -> int:
        """How many rows an evaluation goes through."""
        return sum(each.factor.n for each in self._rowwise)

    @property
    def seconds(self) -> float:
        """Roughly how long one evaluation with its gradient takes, by the structure alone: what a caller does must not
        depend on how busy the machine is."""
        side = self.size if isinstance(self.precision, dense.DensePrecision) else self.precision.layout.rest_size
        return 5e-4 + 1.5e-7 * self.size + 5e-8 * self.rows_each + 5e-11 * float(side) ** 3

    def is_valid(self, x: np.ndarray) -> np.ndarray:
        """Which rows of x (B, D) are finite with every s > 0."""
        return np.asarray(np.isfinite(x).all(axis=1) & (x[:, self._scale_slots] > 0.0).all(axis=1))

    # -- coefficients ------------------------------------------------------------------------------------------------

    def pack(self, coefficients: Any) -> np.ndarray:
        """The flat vector (D,) of a sequence of (a, b, s), one a factor; a flat vector is passed through."""
        if not isinstance(coefficients, np.ndarray):
            if len(coefficients) != len(self.factors):
                raise ParameterError(
                    self.name, "coefficients", f"one (a, b, s) for each of {len(self.factors)} factors", coefficients
                )
            x = np.empty(self.n_coefficients)
            for factor, slots, (a, b, s) in zip(self.factors, self.slots, coefficients, strict=True):
                if len(a) != len(slots.a) or len(b) != len(slots.b):
                    raise ParameterError(
                        self.name,
                        f"coefficients of factor {factor.name!r}",
                        f"{len(slots.a)} for its maps and {len(slots.b)} for its constants",
                        (a, b, s),
                    )
                for slot, value in zip([*slots.a, *slots.b, slots.s], [*a, *b, s], strict=True):
                    x[slot] = value
            coefficients = x
        if coefficients.shape != (self.n_coefficients,):
            raise ParameterError(self.name, "coefficients", f"of shape ({self.n_coefficients},)", coefficients.shape)
        return coefficients

    def unpack(self, gradient: np.ndarray, like: Any) -> Any:
        """A flat gradient (D,) in the form of the coefficients `like`: entries given as one number get one number."""
        if isinstance(like, np.ndarray):
            return gradient
        parts = []
        for slots, (a, b, s) in zip(self.slots, like, strict=True):
            one = [
                gradient[slot] if np.ndim(value) else float(gradient[slot].sum())
                for slot, value in zip([*slots.a, *slots.b, slots.s], [*a, *b, s], strict=True)
            ]
            parts.append((tuple(one[: len(a)]), tuple(one[len(a) : -1]), one[-1]))
        return parts

    def check(self, x: np.ndarray) -> None:
        """`NumericalError` naming the first coefficient of x (..., D) that is not finite, or no scale > 0."""
        scales = x[..., self._scale_slots]
        if np.isfinite(x).all() and (scales > 0.0).all():
            return
        rows = x.reshape(-1, self.n_coefficients)
        bad = ~np.isfinite(rows)
        bad[:, self._scale_slots] |= ~(rows[:, self._scale_slots] > 0.0)
        row, at = (int(k[0]) for k in np.nonzero(bad))
        for factor, slots in zip(self.factors, self.slots, strict=True):
            for kind, places in (("a", slots.a), ("b", slots.b), ("s", [slots.s])):
                for k, slot in enumerate(places):
                    if slot.start <= at < slot.stop:
                        label = "s" if kind == "s" else f"{kind}[{k}]"
                        which, value = f"coefficient {label} of factor {factor.name!r}", float(rows[row, at])
                        rule = "finite and > 0" if kind == "s" else "finite"
                        raise NumericalError(f"{self.name}: {which} is {value}; it must be {rule}.", value=value)

    # -- one evaluation ----------------------------------------------------------------------------------------------

    def log_marginal(self, coefficients: Any, *, gradient: bool = True) -> tuple[float, Any]:
        """log ∫ Π_f N(r_f; 0, s_f w_f) dz, and its derivative by every coefficient, or None if not asked for.

        Exact; improper priors count as the constant 1. Raises `NotIdentifiedError` and `NumericalError` as above.
        """
        x = self.pack(coefficients)
        solved = _Solved(self, x)
        if not gradient:
            return solved.value, None
        return solved.value, self.unpack(solved.gradient(), coefficients)

    def condition(self, coefficients: Any) -> GaussianBelief:
        """The belief about z given the coefficients."""
        solved = _Solved(self, self.pack(coefficients))
        return GaussianBelief(self._products.centre + solved.mean, solved.factor, solved.value)

    def quadratic(self, x: np.ndarray) -> Quadratic:
        """The exponent at coefficients x (D,), before it is solved."""
        return Quadratic(self, x)

    # -- many evaluations --------------------------------------------------------------------------------------------

    def _batch(self, x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        if x.ndim != 2 or x.shape[1] != self.n_coefficients:
            raise ParameterError(self.name, "coefficients", f"of shape (B, {self.n_coefficients})", x.shape)
        self.check(x)
        return x

    def log_marginals(self, x: np.ndarray, *, gradient: bool = True) -> tuple[np.ndarray, np.ndarray | None]:
        """`log_marginal` at B flat vectors x (B, D): values (B,) and gradients (B, D) or None.

        Small blocks (p ≤ 128) are done in one go, a few µs each; others, and gradients of rowwise factors, one by
        one.
        """
        values, gradients = [np.zeros(0)], [np.zeros((0, self.n_coefficients))]
        for part in batch.chunks(self, self._batch(x)):
            solved = None if gradient and self._rowwise else batch.solve_batch(self, part)
            if solved is None:
                each: list[Any] = [self.log_marginal(row, gradient=gradient) for row in part]
                values.append(np.array([one[0] for one in each]))
                gradients += [one[1][None] for one in each if gradient]
            else:
                values.append(solved.values)
                gradients += [solved.gradients] if gradient else []
        return np.concatenate(values), np.concatenate(gradients) if gradient else None

    def moments(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Means (B, p) and sds (B, p) of z at each of B flat vectors x (B, D)."""
        means, sds = [np.zeros((0, self.size))], [np.zeros((0, self.size))]
        for part in batch.chunks(self, self._batch(x)):
            solved = batch.solve_batch(self, part)
            if solved is None:
                beliefs = [self.condition(row) for row in part]
                means.append(np.array([one.mean for one in beliefs]))
                sds.append(np.array([one.sd for one in beliefs]))
            else:
                means.append(solved.means)
                sds.append(np.sqrt(np.square(solved.half).sum(axis=1)))
        return np.concatenate(means), np.concatenate(sds)

    def sample_each(self, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One draw of z (B, p) given each of B flat vectors x (B, D): with x drawn from its posterior, joint draws."""
        draws = [np.zeros((0, self.size))]
        for part in batch.chunks(self, self._batch(x)):
            solved = batch.solve_batch(self, part)
            if solved is None:
                draws.append(np.concatenate([self.condition(row).sample(1, rng) for row in part]))
            else:
                draws.append(solved.draws(rng))
        return np.concatenate(draws)

    def _compressed_rows(self) -> accurate.CompressedRows | None:
        """For the QR path, about the present centre; None where it would be too large."""
        if not isinstance(self.precision, dense.DensePrecision) or not accurate.could(self, LARGEST_DENSE):
            return None
        if self._compressed is None or self._compressed.centre is not self._products.centre:
            self._compressed = accurate.CompressedRows(self._products)
        return self._compressed

    def _recentred(self, constant: float, quadratic: float, mean: np.ndarray) -> bool:
        """Whether the centre was moved to the mean, because digits were being lost."""
        if not constant > VISIBLE or not constant > FAR * quadratic or self._centres >= MOST_CENTRES:
            return False
        self._centres += 1
        self._products.centre_at(self._products.centre + mean)
        return True


class Quadratic:
    """log Π_f N(r_f; 0, s_f w_f) + ½ p log 2π = `log_scale` − ½ (`constant` + 2 gᵀy + yᵀH y), y = z − `centre`.

    h : H as the block's `precision` keeps it. g : (p,).
    """

    def __init__(self, block: GaussianBlock, x: np.ndarray) -> None:
        products, precision = block._products, block.precision
        self.block, self.x, self.centre = block, x, products.centre
        self.w: Weights = products.weights(x)
        self.h, self.g = precision.assemble(self.w.pairs), self.w.cross @ products.cross
        self.rows: list[Rows] = [each.rows(x, self.centre) for each in block._rowwise]
        self.constant = float(products.constant(self.w))
        for each, rows in zip(block._rowwise, self.rows, strict=True):
            self.constant += each.add(rows, self.h, self.g)
        scales = float(products.rows @ np.log(x[products.scale_slots]))
        self.log_scale = block._constant - scales - sum(float(np.log(r.scales).sum()) for r in self.rows)

    def recentred(self, value: float, mean: np.ndarray) -> bool:
        """Whether the block was centred anew, at y = mean where constant + 2 gᵀy + yᵀH y is `value`: digits were being
        lost, and the quadratic is to be made again."""
        return self.block._recentred(self.constant, value, mean)

    def gradient(self, inner: np.ndarray, second: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """(D,) derivative by the coefficients of `log_scale` − ½ (constant + 2 gᵀmean + ⟨H, E⟩), mean (p,) and E (p, p)
        held: E yyᵀ of a belief, and then it is that of log ∫ (Fisher's identity). It is affine in (mean, E).

        inner : ⟨gram, E⟩ of each pair. second : E where the precision keeps it, for rowwise factors.
        """
        block, products = self.block, self.block._products
        gradient = np.zeros(block.n_coefficients)
        products.add_gradient(gradient, self.x, self.w, inner, products.cross @ mean)
        for each, rows in zip(block._rowwise, self.rows, strict=True):
            each.add_gradient(gradient, rows, second, mean, self.centre)
        return gradient


class _Solved:
    """One evaluation: value, mean (p,) of y, the factor of H, and what the gradient is made from."""

    def __init__(self, block: GaussianBlock, x: np.ndarray) -> None:
        block.check(x)
        self.block, self.x = block, x
        while True:
            q = Quadratic(block, x)
            factor = block.precision.factor(q.h)
            if factor is None:
                factor, mean, quadratic = self._accurate(q.w, q.rows)
            else:
                mean = -factor.solve(q.g)
                quadratic = q.constant + float(q.g @ mean)
            if not q.recentred(quadratic, mean):
                break
        self.quadratic, self.factor, self.mean = q, factor, mean
        self.value = q.log_scale - 0.5 * (quadratic + factor.log_det)

    def _accurate(self, w: Weights, rows: list[Rows]) -> tuple[Any, np.ndarray, float]:
        """The same by QR; an error where that finds H singular, too."""
        block = self.block
        compressed = block._compressed_rows()
        solved = None if compressed is None else compressed.factor(self.x)
        if solved is None:
            raise not_identified(_matrix(block, w, rows), block.name)
        return solved

    def gradient(self) -> np.ndarray:
        precision = self.block.precision
        inner = precision.inner(self.factor, self.mean)
        second = precision.second(self.factor, self.mean) if self.block._rowwise else np.empty(0)
        return self.quadratic.gradient(inner, second, self.mean)


def _matrix(block: GaussianBlock, w: Weights, rows: list[Rows]) -> Any:
    """H (p, p), sparse, for the message of an error."""
    import scipy.sparse

    total: Any = scipy.sparse.csr_array((block.size, block.size))
    for weight, gram in zip(w.pairs, block._products.grams(), strict=True):
        total = total + weight * gram
    for each, r in zip(block._rowwise, rows, strict=True):
        A = scipy.sparse.csr_array((r.entries.ravel(), (each.row, each.column)), shape=(each.factor.n, block.size))
        total = total + A.T @ A
    return total
