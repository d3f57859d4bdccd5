"""`SampleSpace`: finitely many outcomes and their probabilities."""

from __future__ import annotations

import itertools
import math
import numbers
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from credo.errors import ParameterError, UnavailableError, ZeroProbabilityError
from credo.numerics.random import as_generator
from credo.probability.algebra import Algebra
from credo.probability.events import Event
from credo.probability.masses import Masses, exactly, is_exact

__all__ = ["SampleSpace"]

# A product or a tree writes its outcomes out: ten million tuples take about a gigabyte.
MOST_OUTCOMES = 10_000_000


class SampleSpace:
    """A finite probability space (Ω, S, P).

    Parameters
    ----------
    outcomes : the distinct outcomes, hashable; or a mapping outcome → probability
    probabilities : one an outcome, ≥ 0 and summing to 1; by default all are equally likely. `Fraction`s and integers
        stay exact: every probability asked for is then a `Fraction`.
    weights : instead of probabilities, numbers ≥ 0 of any sum > 0
    events : the σ-algebra S, a collection of sets of outcomes; by default all sets. It must hold ∅ and Ω and be closed
        under complement and union: if not, the error names a set that is missing. `generated` makes the smallest one
        that holds given events. P is then defined on S alone.

    Sets, predicates and `Event`s are all taken where an event is asked for. `space * other` and `space ** n` are
    independent trials, whose outcomes are tuples; `then` is a tree of dependent ones.

    Examples
    --------
    >>> die = SampleSpace(range(1, 7))
    >>> even, high = die.event({2, 4, 6}), die.event(lambda face: face > 3)
    >>> even.probability, even.given(high), even.is_independent(high)
    (Fraction(1, 2), Fraction(2, 3), False)
    >>> coins = SampleSpace("HT") ** 2
    >>> coins.probability(lambda toss: "H" in toss)
    Fraction(3, 4)
    """

    def __init__(
        self,
        outcomes: Iterable[Hashable] | Mapping[Hashable, Any],
        probabilities: Sequence[Any] | None = None,
        *,
        weights: Sequence[Any] | None = None,
        events: Iterable[Collection[Hashable]] | None = None,
    ) -> None:
        if isinstance(outcomes, Mapping):
            if probabilities is not None or weights is not None:
                raise ParameterError("SampleSpace", "probabilities", "None beside a mapping", probabilities)
            outcomes, probabilities = tuple(outcomes), list(outcomes.values())
        if not isinstance(outcomes, Iterable):
            raise ParameterError("SampleSpace", "outcomes", "a collection of outcomes", outcomes)
        listed = tuple(outcomes)
        if probabilities is not None and weights is not None:
            raise ParameterError("SampleSpace", "weights", "None beside probabilities", weights)
        stated = probabilities if probabilities is not None else weights
        name = "probabilities" if weights is None else "weights"
        if stated is not None and (not np.iterable(stated) or len(stated) != len(listed)):
            raise ParameterError("SampleSpace", name, f"one for each of {len(listed)} outcomes", stated)
        if weights is not None:
            probabilities = _shares(listed, weights)
        if probabilities is None:
            masses = Masses.equal(max(len(listed), 1))
        else:
            masses = Masses.of("SampleSpace", listed, list(probabilities))
        self._set(listed, masses)
        if events is not None:
            self.algebra = Algebra.of(self.outcomes, [self.mask(e) for e in events])

    @classmethod
    def _of(cls, outcomes: Iterable[Hashable], masses: Masses, trials: bool = False) -> SampleSpace:
        space = cls.__new__(cls)
        space._set(tuple(outcomes), masses)
        space._trials = trials
        return space

    def _set(self, outcomes: tuple[Hashable, ...], masses: Masses) -> None:
        self.outcomes = outcomes
        self.algebra: Algebra | None = None
        self._trials = False  # whether outcomes are tuples of several trials' outcomes, and may grow by more
        self._masses = masses
        if not outcomes:
            raise ParameterError("SampleSpace", "outcomes", "at least one", outcomes)
        if len(self._index) != len(outcomes):
            counted: set[Hashable] = set()
            twice = next(o for o in outcomes if o in counted or counted.add(o))
            raise ParameterError("SampleSpace", "outcomes", "distinct", twice)

    @cached_property
    def _index(self) -> dict[Hashable, int]:
        try:
            return {outcome: i for i, outcome in enumerate(self.outcomes)}
        except TypeError:
            raise ParameterError("SampleSpace", "outcomes", "hashable", self.outcomes) from None

    @property
    def is_exact(self) -> bool:
        """Whether probabilities are `Fraction`s."""
        return self._masses.exact

    @property
    def probabilities(self) -> dict[Hashable, Any]:
        """Outcome → probability."""
        return {outcome: self._masses.at(i) for i, outcome in enumerate(self.outcomes)}

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.outcomes)

    def __repr__(self) -> str:
        shown = {o: str(self._masses.at(i)) for i, o in enumerate(self.outcomes[:6])}
        more = f", and {len(self) - 6} more" if len(self) > 6 else ""
        return f"SampleSpace({', '.join(f'{o!r}: {p}' for o, p in shown.items())}{more})"

    # Events

    def mask(self, event: Any) -> np.ndarray:
        """(n,) which outcomes belong to an `Event` of this space, a predicate, or a collection of outcomes."""
        if isinstance(event, Event):
            if event.space is not self and event.space.outcomes != self.outcomes:
                raise ParameterError("SampleSpace", "event", "an event of this space", event)
            return event.mask
        if callable(event):
            answers: list[Any] = [event(o) for o in self.outcomes]
            for outcome, answer in zip(self.outcomes, answers, strict=True):
                if np.ndim(answer):
                    raise ParameterError("SampleSpace", "event", f"a predicate; of {outcome!r} it is not one", answer)
            return np.fromiter(map(bool, answers), dtype=bool, count=len(self))
        if isinstance(event, (str, bytes)) or not isinstance(event, Iterable):
            raise ParameterError(
                "SampleSpace", "event", "an Event, a predicate or a collection of outcomes", event, "Use {outcome}."
            )
        mask = np.zeros(len(self), dtype=bool)
        for outcome in event:
            if not isinstance(outcome, Hashable) or outcome not in self._index:
                raise ParameterError("SampleSpace", "event", "made of outcomes of the space", outcome)
            mask[self._index[outcome]] = True
        return mask

    def event(self, members: Any) -> Event:
        """The event of these outcomes, or of those for which a predicate holds."""
        return Event(self, self.mask(members))

    @property
    def certain(self) -> Event:
        """Ω."""
        return Event(self, np.ones(len(self), dtype=bool))

    @property
    def impossible(self) -> Event:
        """∅."""
        return Event(self, np.zeros(len(self), dtype=bool))

    def generated(self, events: Iterable[Any]) -> SampleSpace:
        """The same outcomes with the smallest σ-algebra that holds these events."""
        space = SampleSpace._of(self.outcomes, self._masses, self._trials)
        space.algebra = Algebra.generated([self.mask(e) for e in events], len(self))
        return space

    def probability(self, event: Any) -> Any:
        """P(event), a `Fraction` if the space is exact."""
        mask = self.mask(event)
        if self.algebra is not None and not self.algebra.holds(mask):
            raise UnavailableError(
                f"P is not defined on {Event(self, mask)!r}: the event is not in the σ-algebra.",
                value=mask,
                remedy="Ask for a union of its atoms, or leave out events=.",
            )
        return self._masses.sum(mask)

    def given(self, event: Any) -> SampleSpace:
        """P( · | event) as a distribution over the outcomes of the event."""
        mask = self.mask(event)
        if self.probability(mask_event := Event(self, mask)) == 0:
            raise ZeroProbabilityError(
                f"P( · | {mask_event!r}) is undefined: the event has probability 0.", value=mask_event
            )
        kept = itertools.compress(self.outcomes, mask.tolist())
        space = SampleSpace._of(kept, self._masses.renormalised(mask), self._trials)
        if self.algebra is not None:
            space.algebra = self.algebra.restricted(mask)
        return space

    def chain_rule(self, events: Sequence[Any]) -> list[Any]:
        """P(A₁), P(A₂ | A₁), P(A₃ | A₁ ∩ A₂), …, whose product is P(A₁ ∩ … ∩ A_k)."""
        so_far, factors = self.certain, []
        for event in events:
            event = self.event(event)
            factors.append(event.given(so_far))
            so_far = so_far & event
        return factors

    def total_probability(self, event: Any, partition: Sequence[Any]) -> list[tuple[Any, Any]]:
        """(P(event | B_k), P(B_k)) for each part of a partition of Ω: Σ P(event | B_k) P(B_k) = P(event).

        A part of probability 0 contributes nothing and has P(event | B_k) None.
        """
        masks = [self.mask(part) for part in partition]
        covered = np.sum(masks, axis=0) if masks else np.zeros(len(self))
        if np.any(covered != 1):
            wrong = self.outcomes[int(np.argmax(covered != 1))]
            raise ParameterError("SampleSpace", "partition", "disjoint parts that cover every outcome", wrong)
        event, parts = self.event(event), [Event(self, mask) for mask in masks]
        return [(event.given(part) if part.probability else None, part.probability) for part in parts]

    def are_independent(self, events: Sequence[Any]) -> bool:
        """Mutually independent: P(∩ A_i) = Π P(A_i) for *every* subset; exact, or within 1e-12.

        Pairwise independence is not enough. Cost 2^k for k events.
        """
        listed = [self.event(e) for e in events]
        return all(
            Event(self, np.logical_and.reduce([e.mask for e in some]))._factorises(some)
            for size in range(2, len(listed) + 1)
            for some in itertools.combinations(listed, size)
        )

    # Random variables

    def law(self, variable: Callable[[Any], Hashable]) -> SampleSpace:
        """The distribution of a function of the outcome: P(X = x) = P{ω: X(ω) = x}."""
        members: dict[Hashable, list[int]] = {}
        for i, outcome in enumerate(self.outcomes):
            value = variable(outcome)
            if not isinstance(value, Hashable):
                raise ParameterError("SampleSpace.law", "variable", f"of hashable values, as at {outcome!r}", value)
            members.setdefault(value, []).append(i)
        sums = np.array([self._masses.numerators[rows].sum() for rows in members.values()])
        kind = self._masses.numerators.dtype
        return SampleSpace._of(members, Masses(sums.astype(kind), self._masses.denominator))

    def expectation(self, variable: Callable[[Any], Any] | None = None) -> Any:
        """Σ X(ω) P(ω); of the outcomes themselves by default. A `Fraction` if all is exact."""
        values: list[Any] = list(self.outcomes) if variable is None else [variable(o) for o in self.outcomes]
        if self.is_exact and all(is_exact(v) for v in values):
            return sum((self._masses.at(i) * exactly(v) for i, v in enumerate(values)), Fraction(0))
        try:
            array = np.array([float(value) for value in values])
        except (TypeError, ValueError):
            bad = next((value for value in values if not isinstance(value, numbers.Real)), values)
            raise ParameterError("SampleSpace.expectation", "variable", "of real values", bad) from None
        used = self._masses.floats()
        return float(np.sum(used[used > 0] * array[used > 0]))

    def variance(self, variable: Callable[[Any], Any] | None = None) -> Any:
        """E (X − E X)²."""
        mean: Any = self.expectation(variable)

        def square(outcome: Any) -> Any:
            value = outcome if variable is None else variable(outcome)
            return ((exactly(value) if is_exact(value) else value) - mean) ** 2

        return self.expectation(square)

    def sample(self, size: int, rng: Any = None) -> list[Hashable]:
        """Outcomes of independent trials."""
        if isinstance(size, bool) or not isinstance(size, numbers.Integral) or size < 0:
            raise ParameterError("SampleSpace.sample", "size", "an integer ≥ 0", size)
        rows = as_generator(rng).choice(len(self), size=size, p=self._masses.floats())
        return [self.outcomes[i] for i in rows]

    # Trials

    def __mul__(self, other: SampleSpace) -> SampleSpace:
        """Both, independently: outcomes are pairs; trials of a product or a tree stand side by side, so that
        (a * b) * c has triples. An outcome that is a tuple of yours stays one."""
        if not isinstance(other, SampleSpace):
            return NotImplemented
        _within_reach(len(self) * len(other))
        joined = (a + b for a in self._parts() for b in other._parts())
        return SampleSpace._of(joined, self._masses.outer(other._masses), trials=True)

    def _parts(self) -> list[tuple[Any, ...]]:
        """Each outcome as a tuple of its trials'."""
        return list(self.outcomes) if self._trials else [(outcome,) for outcome in self.outcomes]  # type: ignore[arg-type]

    def __pow__(self, n: int) -> SampleSpace:
        """n independent repetitions: outcomes are n-tuples."""
        if isinstance(n, bool) or not isinstance(n, numbers.Integral) or n < 1:
            raise ParameterError("SampleSpace", "n", "an integer ≥ 1", n)
        n = int(n)
        _within_reach(len(self) ** n if n < 64 or len(self) == 1 else math.inf)
        masses = self._masses
        for _ in range(n - 1):
            masses = masses.outer(self._masses)
        repeated = (sum(parts, ()) for parts in itertools.product(self._parts(), repeat=n))
        return SampleSpace._of(repeated, masses, trials=True)

    def then(self, following: Callable[[Any], SampleSpace]) -> SampleSpace:
        """A tree: after outcome ω comes a trial of `following(ω)`; P(ω, ω′) = P(ω) P(ω′ | ω).

        >>> balls = SampleSpace(["red", "red2", "blue"])
        >>> pair = balls.then(lambda first: SampleSpace([b for b in balls if b != first]))
        >>> pair.probability(lambda draw: "blue" not in draw)
        Fraction(1, 3)
        """
        branches = [
            (part, self._masses.at(i), following(o))
            for i, (o, part) in enumerate(zip(self.outcomes, self._parts(), strict=True))
        ]
        for part, _, space in branches:
            if not isinstance(space, SampleSpace):
                raise ParameterError("SampleSpace.then", "following", f"a SampleSpace after {part!r}", space)
        _within_reach(sum(len(space) for _, _, space in branches))
        outcomes = [part + more for part, _, space in branches for more in space._parts()]
        values = [p * q for _, p, space in branches for q in space.probabilities.values()]
        return SampleSpace._of(outcomes, Masses.of("SampleSpace", outcomes, values), trials=True)


def _shares(names: Sequence[Any], weights: Sequence[Any]) -> list[Any]:
    for name, weight in zip(names, weights, strict=True):
        if not (isinstance(weight, numbers.Real) and float(weight) >= 0.0 and math.isfinite(weight)):
            raise ParameterError("SampleSpace", f"weights[{name!r}]", "a finite number ≥ 0", weight)
    # Python's own integers and floats: those of NumPy overflow, or are of single precision.
    exact = all(is_exact(weight) for weight in weights)
    own = [exactly(weight) if exact else float(weight) for weight in weights]
    top: Any = max(own)
    if not top > 0:
        raise ParameterError("SampleSpace", "weights", "of a sum > 0", weights)
    if not exact:
        own = [weight / top for weight in own]
    total: Any = sum(own) if exact else math.fsum(own)
    return [weight / total for weight in own]


def _within_reach(n: float) -> None:
    if n > MOST_OUTCOMES:
        raise ParameterError(
            "SampleSpace", "trials", f"of at most {MOST_OUTCOMES:,} outcomes together", n,
            "Count with law() before multiplying, or simulate with sample().",
        )  # fmt: skip
