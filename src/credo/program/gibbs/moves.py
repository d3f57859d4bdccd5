"""Which move each latent node gets in a sweep, and in what order.

Blocks first, given everything; then nodes of a known family, and pairs of scales along their product; then discrete
cells; then tied states and nodes by slices, with the laws as declared, so that auxiliaries are integrated out there;
auxiliaries last, each drawn from its conditional. A slice followed by its auxiliaries is a draw from their joint
conditional: what comes between a slice and the auxiliaries uses none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from credo.errors import ParameterError, UnavailableError
from credo.program.gibbs.augment import Augmented, augmented
from credo.program.gibbs.auxiliary import PolyaGammaMove, ProbitMove
from credo.program.gibbs.linear import BlockMove
from credo.program.gibbs.powers import PowerMove, power_move
from credo.program.gibbs.products import product_moves
from credo.program.gibbs.shares import beta_move, dirichlet_move
from credo.program.gibbs.slices import SliceMove
from credo.program.gibbs.states import LeafMove, StatesMove
from credo.program.model import Factor
from credo.program.nodes import Node
from credo.program.passes.finite import finite_leaves
from credo.program.passes.powers import Memo

__all__ = ["Moves", "moves_of"]


class Moves:
    """The moves of a sweep in order; `augmented` : the model they move in; `latents` : those of the user's."""

    def __init__(self, factors: Sequence[Factor], latents: Sequence[Node]) -> None:
        memo: Memo = {}
        self.augmented: Augmented = augmented(factors, latents)
        self.latents = tuple(latents)
        everything, larger = self.augmented.latents, self.augmented.factors
        blocks = [BlockMove(block, larger, everything, memo) for block in self.augmented.blocks]
        done = {node.number for block in blocks for node in block.nodes}
        known, states, slices, last = [], [], [], []
        special = {each.node.number: each for each in self.augmented.auxiliaries}
        for node in everything:
            if node.number in done:
                continue
            if node.number in special:
                last.append(self._auxiliary(special[node.number], larger, everything, memo))
                continue
            move = self._known(node, larger, everything, memo)
            if move is not None:
                known.append(move)
            elif node.support.is_discrete:
                states += self._states(node, larger, factors, latents, memo, done)
            else:
                slices.append(self._slice(node, factors, latents, memo))
        pairs = product_moves([move for move in known if isinstance(move, PowerMove)])
        tied = [move for move in states if isinstance(move, LeafMove)]
        apart = [move for move in states if not isinstance(move, LeafMove)]
        self.moves: list[Any] = [*blocks, *known, *pairs, *apart, *tied, *slices, *last]
        self.slices = slices

    def _known(self, node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> Any:
        return (power_move(node, factors, latents, memo) or beta_move(node, factors, latents, memo)
                or dirichlet_move(node, factors, latents, memo))  # fmt: skip

    def _states(
        self, node: Node, larger: Sequence[Factor], factors: Sequence[Factor], latents: Sequence[Node], memo: Memo,
        done: set[int],
    ) -> list[Any]:  # fmt: skip
        """By itself where its cells are apart; with what it is tied to where elimination can; else cell by cell."""
        is_path = type(node.law).__name__ == "Chain"
        move = None if is_path else StatesMove(node, larger, self.augmented.latents, memo)
        if move is not None and (move.at_once or node.size == 1):
            return [move]
        leaf = next((each for each in finite_leaves(factors, latents, labels=False) if node in each.nodes), None)
        if leaf is not None:
            done |= {each.number for each in leaf.nodes}
            return [LeafMove(leaf, latents)]
        if move is None:
            raise UnavailableError(f'inference="gibbs" is not available: the path {node.name} cannot be drawn given '
                                   "the rest.", remedy='Use inference="auto".')  # fmt: skip
        return [move]

    def _auxiliary(self, auxiliary: Any, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> Any:
        if auxiliary.kind == "polya_gamma":
            return PolyaGammaMove(auxiliary, latents, memo)
        if auxiliary.kind == "probit":
            return ProbitMove(auxiliary, latents, memo)
        move = power_move(auxiliary.node, factors, latents, memo)
        assert move is not None
        move.said = f"{auxiliary.node.name}: {auxiliary.pair}"
        return move

    def _slice(self, node: Node, factors: Sequence[Factor], latents: Sequence[Node], memo: Memo) -> SliceMove:
        try:
            return SliceMove(node, factors, latents, memo)
        except ParameterError as error:
            raise UnavailableError(f'inference="gibbs" is not available: {error}', remedy='Use inference="auto".'
                                   ) from None  # fmt: skip

    @property
    def sentences(self) -> list[tuple[tuple[str, ...], str]]:
        """For people: names, what is done."""
        return [(tuple(str(node.name) for node in move.nodes), move.said) for move in self.moves]


def moves_of(factors: Sequence[Factor], latents: Sequence[Node]) -> Moves:
    """The sweep of a model. Raises `UnavailableError` where a node cannot be moved."""
    return Moves(factors, latents)
