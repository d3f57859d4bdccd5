"""`ArrowQuestions`: what a network is asked of its arrows alone; `separation` and `causes` answer."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from credo.errors import ParameterError
from credo.models.network import causes, separation
from credo.models.network.findings import OWNER, known_node
from credo.models.network.naming import listed

if TYPE_CHECKING:
    from credo.models.network.definition import NetworkDefinition

__all__ = ["ArrowQuestions"]


class ArrowQuestions:
    """The methods of `BayesianNetwork` that look at no number."""

    definition_: NetworkDefinition

    def d_separated(self, a: Any, b: Any, given: Any = ()) -> bool:
        """Whether the arrows alone say that a and b (names or lists) tell nothing of each other given the rest."""
        return self.active_path(a, b, given) is None

    def active_path(self, a: Any, b: Any, given: Any = ()) -> str | None:
        """A shortest path along which a tells of b given the rest, ``"rain → wet ← sprinkler"``; None without one."""
        groups = [self._named(names, name) for names, name in ((a, "a"), (b, "b"), (given, "given"))]
        path = separation.active_path(self.definition_, *groups)
        return None if path is None else " ".join(part for pair in path for part in pair if part)

    def markov_blanket(self, node: str) -> tuple[str, ...]:
        """Parents, children, and the children's other parents: given these, all else says nothing of the node."""
        return separation.markov_blanket(self.definition_, known_node(self.definition_.states, node))

    def adjustment_set(self, cause: str, effect: str, observed: Iterable[str] | None = None) -> tuple[str, ...] | None:
        """Nodes to adjust for when the effect of `cause` is estimated from a table: a back-door set, none to spare.

            P(effect | do(cause)) = Σ_z P(effect | cause, z) P(z)

        observed : nodes that the table has columns of; all by default. Others are hidden
        Returns () where the plain shares are right, None where no observed nodes do: see `front_door_set`.

        Reference: Pearl (2009), Causality, chapter 3.
        """
        return causes.adjustment_set(self.definition_, *self._effect(cause, effect, observed))

    def front_door_set(self, cause: str, effect: str, observed: Iterable[str] | None = None) -> tuple[str, ...] | None:
        """Nodes through which the effect of `cause` can be estimated though a common cause is hidden; None without any.

            P(effect | do(cause)) = Σ_m P(m | cause) Σ_c P(effect | m, c) P(c)

        observed : as of `adjustment_set`
        """
        return causes.front_door_set(self.definition_, *self._effect(cause, effect, observed))

    def to_dot(self) -> str:
        """The arrows in Graphviz' language: ``dot -Tpdf``. For NetworkX: ``networkx.DiGraph(network.edges)``."""

        def quoted(name: str) -> str:
            escaped = name.replace("\\", "\\\\").replace('"', '\\"')
            return f'"{escaped}"'

        d = self.definition_
        lines = [f"  {quoted(node)};" for node in d.nodes]
        lines += [f"  {quoted(parent)} -> {quoted(child)};" for parent, child in d.edges]
        return "\n".join([f"digraph {quoted(d.name or 'network')} {{", *lines, "}", ""])

    def _named(self, names: Any, parameter: str) -> list[str]:
        return [known_node(self.definition_.states, n, parameter) for n in listed(OWNER, parameter, names)]

    def _effect(self, cause: str, effect: str, observed: Iterable[str] | None) -> tuple[str, str, list[str]]:
        states = self.definition_.states
        known_node(states, cause, "cause")
        known_node(states, effect, "effect")
        if cause == effect:
            raise ParameterError(OWNER, "effect", "another node than the cause", effect)
        names = list(states) if observed is None else self._named(observed, "observed")
        if observed is not None and (missing := [n for n in (cause, effect) if n not in names]):
            raise ParameterError(OWNER, "observed", "with cause and effect", missing[0])
        return cause, effect, names
