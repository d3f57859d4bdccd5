"""What a formula says: its response, terms, group terms and offsets, with products written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from credo.program.formula.functions import FUNCTIONS, LATENT
from credo.program.formula.syntax import Call, Name, Node, names_in

__all__ = ["Factor", "Term", "GroupTerm", "Formula"]


@dataclass(frozen=True)
class Factor:
    """A column or a function of columns; the same text is the same factor."""

    text: str
    node: Node = field(compare=False, repr=False)

    @property
    def columns(self) -> list[str]:
        return names_in(self.node)

    @property
    def label(self) -> str:
        """For the names of coefficients: a plain column without backticks."""
        return self.node.name if isinstance(self.node, Name) else self.text

    @property
    def kind(self) -> str:
        """Of its function; "" of a plain column."""
        return FUNCTIONS[self.node.function].kind if isinstance(self.node, Call) else ""


@dataclass(frozen=True)
class Term:
    """A product of factors; without any, the intercept."""

    factors: tuple[Factor, ...] = ()

    @cached_property
    def key(self) -> frozenset[str]:
        """What makes it the same term: a:b is b:a."""
        return frozenset(factor.text for factor in self.factors)

    @property
    def label(self) -> str:
        return ":".join(factor.label for factor in self.factors) or "Intercept"

    def __str__(self) -> str:
        return ":".join(factor.text for factor in self.factors) or "1"

    def times(self, other: Term) -> Term:
        return Term((*self.factors, *(f for f in other.factors if f not in self.factors)))


@dataclass(frozen=True)
class GroupTerm:
    """(terms | group): effects that each level of the group has of its own.

    `correlated` says whether the effects of one level are correlated (`|`) or independent (`||`).
    """

    terms: tuple[Term, ...]
    group: Term
    correlated: bool = True

    @property
    def label(self) -> str:
        return self.group.label

    def __str__(self) -> str:
        return f"({_sum(self.terms)} {'|' if self.correlated else '||'} {self.group})"


@dataclass(frozen=True)
class Formula:
    """A formula that was read.

    text : as it was written; response : left of `~`, or None; terms : of the mean, the intercept (if any) first, then
    by the number of factors; groups, offsets; others : the columns that `.` stood for; trials : what a response of
    successes is out of, or None.
    """

    text: str
    response: Factor | None
    terms: tuple[Term, ...]
    groups: tuple[GroupTerm, ...] = ()
    offsets: tuple[Factor, ...] = ()
    others: tuple[str, ...] = ()
    trials: Factor | None = None

    @property
    def latent(self) -> tuple[Factor, ...]:
        """Smooths, monotone effects, columns measured with error or imputed: effects with latent parts of their own."""
        return tuple(f for term in self.terms for f in term.factors if f.kind in LATENT)

    @property
    def may_be_missing(self) -> frozenset[str]:
        """Columns whose missing cells are imputed."""
        return frozenset(f.columns[0] for f in self.latent if f.kind == "imputed")

    @property
    def intercept(self) -> bool:
        return any(not term.factors for term in self.terms)

    @property
    def inputs(self) -> list[str]:
        """The columns to predict from, each once, in order."""
        terms = [*self.terms, *(t for g in self.groups for t in (*g.terms, g.group))]
        factors = [*(f for term in terms for f in term.factors), *self.offsets]
        return list(dict.fromkeys(name for factor in factors for name in factor.columns))

    def __str__(self) -> str:
        parts = [_sum(self.terms)] if self.terms or not self.groups else ["0"]
        parts += [str(group) for group in self.groups] + [f"offset({_inner(o)})" for o in self.offsets]
        left = "" if self.response is None else f"{self.response.text} "
        left += "" if self.trials is None else f"| trials({self.trials.text}) "
        return f"{left}~ {' + '.join(parts)}"


def _sum(terms: tuple[Term, ...]) -> str:
    shown = [str(term) for term in terms]
    if not any(not term.factors for term in terms):
        shown = ["0", *shown]
    return " + ".join(shown)


def _inner(offset: Factor) -> str:
    return str(offset.node.arguments[0]) if isinstance(offset.node, Call) else offset.text
