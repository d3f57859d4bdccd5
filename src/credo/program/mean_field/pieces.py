"""Parts of q while they are made, and the expressions of laws in terms of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from credo.distributions import Flat
from credo.distributions.slopes import unchecked
from credo.errors import UnavailableError
from credo.inference.variational.exponential import Tuple
from credo.program.density import is_opaque
from credo.program.evaluate import Program
from credo.program.gibbs.augment import augmented
from credo.program.mean_field.terms import MonomialTerm, PowerAt, Predictor
from credo.program.model import Factor
from credo.program.nodes import Node, as_node, described
from credo.program.passes.affine import Affine, NotAffineError, Term, dependencies, negated, repeats
from credo.program.passes.centring import substituted
from credo.program.passes.powers import Memo, power_of

__all__ = ["Part", "Pieces", "refused"]


@dataclass(eq=False)
class Part:
    """One factor of q: its name, the nodes it is of, the terms that it stands in, where a block's rows are, and natural
    parameters to begin with (None for a block, which is set first)."""

    name: str
    nodes: tuple[Node, ...]
    said: str
    family: Any = None
    shapes: tuple[tuple[int, ...], ...] = ()
    start: Tuple | None = None
    terms: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)
    n_rows: int = 0
    slices: dict[int, slice] = field(default_factory=dict)

    def natural(self, M: Any) -> Tuple:
        """The slope of E log p in this factor's moments."""
        total = tuple(np.zeros(shape) for shape in self.shapes)
        for term in self.terms:
            for index, each in term.slope(self.name, M).items():
                total[index][self.slices.get(id(term), ...)] += each
        return total


def refused(why: str) -> UnavailableError:
    return UnavailableError(
        f'inference="mean_field" is not available: {why}.', remedy='Use inference="auto", or "gibbs" by name.'
    )


class Pieces:
    """The augmented model, the parts of q so far, and what laws are made of: constants, powers, rows of blocks."""

    def __init__(self, factors: Sequence[Factor], latents: Sequence[Node]) -> None:
        self.memo: Memo = {}
        self.model = augmented(factors, latents)
        self.parts: dict[str, Part] = {}
        self.of: dict[int, Part] = {}
        self.gammas: dict[int, list[float]] = {}
        self.bases: dict[int, Callable[[np.ndarray], np.ndarray]] = {}
        self.terms: list[Any] = []
        self.constant, self.is_proper = 0.0, not any(isinstance(factor.law, Flat) for factor in factors)
        self.auxiliary = {each.node.number: each for each in self.model.auxiliaries}
        self.columns: dict[int, int] = {}
        self.size = 0
        self.forms: Affine | None = None

    def _enter(self, part: Part) -> None:
        self.parts[part.name] = part
        for node in part.nodes:
            self.of[node.number] = part

    def _number(self, node: Node) -> np.ndarray:
        return np.asarray(Program([node], []).values({})[0], dtype=np.float64)

    def _at_ones(self, factor: Factor, law: Any) -> np.ndarray:
        """The law's log densities where everything latent is 1."""
        numbers = {number for part in factor.parts for number in dependencies(part, self.memo)}
        ones = {node.number: as_node(np.ones(node.shape)) for node in self.model.latents if node.number in numbers}
        x = self._number(substituted(factor.node, ones))
        if is_opaque(law):
            return np.asarray(law.log_prob(x))
        at = {k: self._number(substituted(as_node(v), ones)) for k, v in law.parameters.items() if v is not None}
        each = np.asarray(unchecked(type(law), at).log_prob(x))
        return each if law.event_ndim else np.broadcast_to(each, factor.node.shape)

    def _node(self, number: int) -> Node:
        return self.of[number].nodes[0]

    def _powers(self, value: Node, factor: Factor) -> tuple[np.ndarray, list[tuple[int, float]]]:
        """value = constant × Π θ^e: the constant, and (number, exponent) of each."""
        numbers = sorted(dependencies(value, self.memo))
        found = []
        for number in numbers:
            part = self.of[number]
            power = power_of(value, part.nodes[0], self.memo) if number not in self.columns else None
            if (
                power is None
                or part.nodes[0].support.kind != "real"
                or np.any(np.asarray(part.nodes[0].support.low) < 0)
            ):
                raise refused(f"in {factor.name}, {described(value)} is no product of powers of positive nodes")
            found.append((number, power.exponent))
        ones = {number: as_node(np.ones(self._node(number).shape)) for number in numbers}
        return self._number(substituted(value, ones)), found

    def _entries(self, value: Node, number: int, shape: tuple[int, ...]) -> np.ndarray:
        power = power_of(value, self._node(number), self.memo)
        assert power is not None
        return np.broadcast_to(power.entries, shape).ravel()

    def _at(self, number: int, index: int, value: Node, shape: tuple[int, ...]) -> PowerAt:
        self._index(self._node(number), None)
        node = self._node(number)
        return PowerAt(self.of[number].name, self._entries(value, number, shape), index, node.shape)

    def _index(self, node: Node, exponent: float | None) -> int:
        """Which of the node's moments θ^exponent is."""
        known = self.gammas.setdefault(node.number, [])
        if exponent is None:
            return 0
        if exponent not in known:
            known.append(exponent)
        return 1 + known.index(exponent)

    def _monomial(self, value: Node, factor: Factor, shape: tuple[int, ...]) -> MonomialTerm:
        constant, powers = self._powers(value, factor)
        found = []
        for number, exponent in powers:
            index = self._index(self._node(number), exponent)
            found.append(self._at(number, index, value, shape))
        return MonomialTerm(np.broadcast_to(constant, shape).ravel(), tuple(found))

    def _residual(self, node: Node, mean: Any, factor: Factor) -> tuple[Any, np.ndarray]:
        """A, c of node − mean = A z + c over all blocks' entries z."""
        shape, mean = factor.node.shape, as_node(mean)
        try:
            terms = self._repeated(node, shape) + [negated(term) for term in self._repeated(mean, shape)]
        except NotAffineError as error:
            raise refused(f"in {factor.name}, {error.reason}") from None
        matrix, constant = sp.csr_array((factor.node.size, self.size)), np.zeros(factor.node.size)
        for term in terms:
            if term.coefficient is not None or term.row is not None:
                of = term.coefficient if term.coefficient is not None else term.row
                raise refused(
                    f"in {factor.name}, effects are multiplied by {described(of)}, which is latent (declare the "  # type: ignore[arg-type]
                    "effects as Normal(mean, sd) of it instead)"
                )
            if term.matrix is not None:
                matrix = matrix + term.matrix
            else:
                constant = constant + np.asarray(term.vector)
        return matrix, constant

    def _repeated(self, value: Node, shape: tuple[int, ...]) -> list[Term]:
        """The affine terms of an expression, broadcast to a shape."""
        assert self.forms is not None
        S = repeats(value.shape, shape)
        return [term if S is None else term.mapped(S) for term in self.forms.form(value)]

    def _predictor(self, matrix: Any, constant: np.ndarray) -> tuple[Predictor, dict[str, Any]]:
        """The predictor, and the block rows that it reads: entered into their parts."""
        pieces, rows = {}, {}
        for part in {self.of[number].name: self.of[number] for number in self.columns}.values():
            at = np.concatenate(
                [np.arange(self.columns[n.number], self.columns[n.number] + n.size) for n in part.nodes]
            )
            piece = sp.csr_array(matrix.tocsc()[:, at])
            if piece.nnz:
                start, n = part.n_rows, len(constant)
                part.rows.append(piece)
                part.n_rows += n
                rows[part.name] = slice(start, start + n)
                pieces[part.name] = rows[part.name]
        return Predictor(np.asarray(constant, dtype=np.float64), rows), pieces

    def _add(self, term: Any, pieces: dict[str, slice] | None = None) -> None:
        self.terms.append(term)
        for name in set(term.names):
            part = self.parts[name]
            part.terms.append(term)
            if pieces and name in pieces:
                part.slices[id(term)] = pieces[name]
