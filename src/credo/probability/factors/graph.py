"""`FactorGraph`: a product of factors, and exact answers about it."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import MemoryLimitError, ParameterError, ZeroProbabilityError
from credo.probability.factors.elimination import (
    MEMORY_LIMIT,
    Packed,
    Plan,
    Run,
    Tables,
    pack,
    plan_for,
    run,
    trace_back,
)
from credo.probability.factors.elimination.execution import run_exactly
from credo.probability.factors.evidence import LEAST_BLOCK, Likelihoods, read_likelihoods, read_states
from credo.probability.factors.factor import Factor
from credo.probability.factors.prepared import JointQuery
from credo.probability.factors.scopes import Name, State, aligned, as_names

__all__ = ["FactorGraph"]

# Plans kept; the oldest goes first.
MOST_PLANS = 4096
# Scores for each entry in search of an order, of a question that is not of a batch: as long as some ten answers.
HASTE = 0.2
# How far from 1 the sums of a conditional table may be for it to be left out where it cannot matter.
ROUNDING = 1e-12


class FactorGraph:
    """p(x) = Π φ_k(x_k)/Z, where each factor φ_k concerns a few of the variables: exact inference by elimination.

    Parameters
    ----------
    factors : `Factor`s, without batches; those of one name share its states
    memory_limit : bytes that a question may take; predicted before anything is computed
    laws : of each factor, the variable over which it sums to 1, where that is known (None: not); else they are looked
        for. Such factors are left out where they cannot matter

    A question is compiled once, by which variables are asked for and observed, and then costs microseconds on small
    graphs. Sums are of floating-point products, each message scaled by its largest entry; where underflow could matter
    the question is answered again in logarithms. If all factors hold `Fraction`s, `query` and `marginals` are exact.

    `evidence` is {variable: state}. `likelihoods` is {variable: p(something seen | each of its states)}, an array
    (states,), or (states, rows) for many cases at once; answers then have a batch of that many rows.

    Raises
    ------
    ZeroProbabilityError : evidence that cannot be (of a batch: which rows)
    MemoryLimitError : elimination would exceed `memory_limit`; the bytes are its `value`

    References
    ----------
    Koller and Friedman (2009), Probabilistic Graphical Models, chapters 9 and 10; Darwiche (2009), Modeling
    and Reasoning with Bayesian Networks, chapter 12 (marginals as derivatives).

    Examples
    --------
    >>> yn = ["no", "yes"]
    >>> rain = Factor("rain", [0.8, 0.2], [yn])
    >>> wet = Factor(["rain", "wet"], [[0.9, 0.1], [0.1, 0.9]], [yn, yn])
    >>> graph = FactorGraph([rain, wet])
    >>> round(graph.query("rain", {"wet": "yes"})["yes"], 6)
    0.692308
    >>> graph.most_probable()[0]
    {'rain': 'no', 'wet': 'no'}
    """

    def __init__(
        self,
        factors: Iterable[Factor],
        *,
        memory_limit: int = MEMORY_LIMIT,
        laws: Sequence[Name | None] | None = None,
    ) -> None:
        if isinstance(factors, Factor) or not isinstance(factors, Iterable):
            raise ParameterError("FactorGraph", "factors", "a list of Factors", factors)
        if isinstance(memory_limit, bool) or not isinstance(memory_limit, numbers.Real) or not memory_limit > 0:
            raise ParameterError("FactorGraph", "memory_limit", "a number of bytes > 0", memory_limit)
        self.factors = tuple(factors)
        self.memory_limit = memory_limit
        self._laws = laws
        self.variables: dict[Name, tuple[State, ...]] = {}
        for place, factor in enumerate(self.factors):
            if not isinstance(factor, Factor):
                raise ParameterError("FactorGraph", f"factors[{place}]", "a Factor", factor)
            if factor.batch is not None:
                raise ParameterError(
                    "FactorGraph", f"factors[{place}]", "one table", factor, "Give what differs by row as likelihoods."
                )
            for name, states in factor.states.items():
                self.variables.setdefault(name, states)
        self._tables = [self._in_order(factor) for factor in self.factors]
        self._plans: dict[Any, Plan] = {}
        self._queries: dict[Any, JointQuery] = {}

    def _in_order(self, factor: Factor) -> np.ndarray:
        """The factor's table with states in the order of `variables`."""
        states = tuple(self.variables[name] for name in factor.names)
        table = factor.log_values if factor.is_log else factor.values
        return aligned(table, factor.names, tuple(factor.states.values()), factor.names, states, False)[0, ...]

    @property
    def is_exact(self) -> bool:
        """Whether all factors hold `Fraction`s."""
        return bool(self.factors) and all(factor.is_exact for factor in self.factors)

    @functools.cached_property
    def _packed(self) -> Packed:
        return pack(self._tables, [factor.is_log for factor in self.factors])

    @functools.cached_property
    def _fractions(self) -> np.ndarray:
        return np.concatenate([table.ravel() for table in self._tables])

    @functools.cached_property
    def _sums_to_one(self) -> dict[int, list[Name]]:
        """Conditional tables, and what each is the law of."""
        if self._laws is not None:
            return {place: [name] for place, name in enumerate(self._laws) if name is not None}
        found = {}
        for place, (factor, table) in enumerate(zip(self.factors, self._tables, strict=True)):
            if not factor.is_log:
                sums = {name: table.sum(axis=axis) for axis, name in enumerate(factor.names)}
                laws = [name for name, total in sums.items() if np.all(abs(total - 1) <= ROUNDING)]
                if laws:
                    found[place] = laws
        return found

    @functools.cached_property
    def _conditional(self) -> Tables:
        return Tables(*self._scopes, self._sums_to_one)

    @functools.cached_property
    def _unconditional(self) -> Tables:
        return Tables(*self._scopes)

    @property
    def _scopes(self) -> tuple[list[tuple[int, ...]], list[tuple[Name, ...]]]:
        return [table.shape for table in self._tables], [factor.names for factor in self.factors]

    def query(
        self,
        targets: Any,
        evidence: Mapping[Any, Any] | None = None,
        *,
        likelihoods: Mapping[Any, Any] | None = None,
        joint: bool = True,
    ) -> Any:
        """P(targets | evidence) as one `Factor` over the targets in their order; with joint=False {target: Factor}."""
        key = None
        if joint and not likelihoods:
            try:
                key = (targets if type(targets) is str else tuple(targets), *(evidence or ()))
                return self._queries[key].answer(evidence.values() if evidence else ())
            except (KeyError, TypeError, AttributeError):
                pass  # not asked before, or a state that is none: looked at below
        names = self._checked_targets(targets, evidence)
        if not joint:
            return self._marginals(names, evidence, likelihoods)
        numbers, seen = self._read(evidence, likelihoods)
        if self.is_exact and not seen.names:
            plan = self._plan(names, numbers, seen, 0)
            return self._exact(plan, names, run_exactly(plan, self._fractions, as_states(numbers))[1])
        if not seen.names:
            observed = [self.variables[name] for name in numbers]
            plan = self._plan(names, numbers, seen, 0)
            if len(self._queries) >= MOST_PLANS:
                del self._queries[next(iter(self._queries))]
            states = tuple(self.variables[name] for name in names)
            self._queries[key] = query = JointQuery.of(plan, self._packed, names, states, observed)
            return query.answer(evidence.values() if evidence else ())
        runs = self._runs(names, numbers, seen)
        return self._factor(names, runs, seen)

    def marginals(
        self, evidence: Mapping[Any, Any] | None = None, *, likelihoods: Mapping[Any, Any] | None = None
    ) -> dict[Name, Factor]:
        """{variable: P(variable | evidence)} for every variable, in two passes over the graph."""
        return self._marginals(tuple(self.variables), evidence, likelihoods)

    def log_partition(
        self, evidence: Mapping[Any, Any] | None = None, *, likelihoods: Mapping[Any, Any] | None = None
    ) -> Any:
        """log Σ Π φ_k over the states that agree with the evidence, −∞ if none do; of a network log P(evidence)."""
        numbers, seen = self._read(evidence, likelihoods)
        try:
            runs = self._runs((), numbers, seen, keep_total=True)
        except ZeroProbabilityError:
            return -np.inf if seen.rows is None else np.full(seen.rows, -np.inf)
        return self._log_totals(runs, seen)

    def most_probable(
        self,
        evidence: Mapping[Any, Any] | None = None,
        *,
        maximise: Any = None,
        likelihoods: Mapping[Any, Any] | None = None,
    ) -> tuple[dict[Name, Any], Any]:
        """The states where Π φ_k is largest given the evidence, and log Π φ_k there.

        With `maximise` a list of variables, the others are summed out (marginal MAP), which can be far harder: all sums
        must come first. Of a batch: {variable: list of states}, and an array.
        """
        numbers, seen = self._read(evidence, likelihoods)
        if maximise is None:
            kind: tuple[Any, ...] = ("max", ())
        else:
            kind = ("sum", self._checked_targets(maximise, evidence))
        runs = self._runs((), numbers, seen, kind=kind, keep_total=True)
        states, block = as_states(numbers), runs[0].plan.batch
        parts = [trace_back(r, self._packed, states, seen.flat(place * block, block)) for place, r in enumerate(runs)]
        found: dict[Name, Any] = {}
        for name in [name for name in self.variables if name in parts[0]]:
            own = self.variables[name]
            if seen.rows is None:
                found[name] = own[parts[0][name]]
            else:
                found[name] = [own[i] for part in parts for i in part[name]][: seen.rows]
        totals = self._log_totals(runs, seen)
        self._refuse_impossible(totals)
        return found, totals

    def indicators(self, name: Name, states: Iterable[Any]) -> np.ndarray:
        """(states, rows) likelihoods of a column of states: 1 at what was seen, 1 everywhere where it is missing (None,
        NaN).

        >>> FactorGraph([Factor("x", [0.5, 0.5], ["ab"])]).indicators("x", ["a", None])
        array([[1., 1.],
               [0., 1.]])
        """
        if name not in self.variables:
            raise ParameterError("FactorGraph.indicators", "name", "a variable of the graph", name)
        own = {state: i for i, state in enumerate(self.variables[name])}
        found = []
        for row, state in enumerate(states):
            known = isinstance(state, Hashable) and state in own
            if not known and not _is_missing(state):
                raise ParameterError("FactorGraph.indicators", f"states[{row}]", f"one of {list(own)} or None", state)
            found.append(own[state] if known else -1)
        column = np.array(found, dtype=np.int64)
        return ((np.arange(len(own))[:, None] == column) | (column < 0)).astype(np.float64)

    def plan_size(self, targets: Any = (), evidence: Iterable[Name] = ()) -> dict[str, int]:
        """What a question would cost, without answering it: entries of all products formed, and bytes at the peak."""
        names = self._checked_targets(targets, dict.fromkeys(evidence)) if targets != () else ()
        plan = self._plan(names, dict.fromkeys(evidence, 0), Likelihoods(), 0)
        return {"entries": plan.entries, "bytes": plan.peak_bytes}

    def __reduce__(self) -> Any:
        return functools.partial(FactorGraph, memory_limit=self.memory_limit), (self.factors,)

    def __repr__(self) -> str:
        return f"FactorGraph({len(self.variables)} variables, {len(self.factors)} factors)"

    def _checked_targets(self, targets: Any, evidence: Any) -> tuple[Name, ...]:
        names = as_names(targets, "FactorGraph", "targets")
        for name in names:
            if name not in self.variables:
                raise ParameterError("FactorGraph", "targets", "variables of the graph", name)
            if evidence and name in evidence:
                raise ParameterError("FactorGraph", "targets", "variables without evidence", name)
        return names

    def _read(self, evidence: Any, likelihoods: Any) -> tuple[dict[Name, int], Likelihoods]:
        numbers = read_states(self.variables, evidence)
        return numbers, read_likelihoods(self.variables, numbers, likelihoods)

    def _plan(
        self, targets: tuple[Name, ...], numbers: Mapping[Name, int], seen: Likelihoods, block: int, **options: Any
    ) -> Plan:
        """From the cache, or compiled."""
        key = (targets, tuple(numbers), seen.names, block, *options.items())
        found = self._plans.get(key)
        if found is None:
            kind = options.pop("kind", ("sum", ()))
            found = plan_for(
                self._conditional if kind[0] == "sum" else self._unconditional,
                targets,
                tuple(numbers),
                kind[0],
                maximised=kind[1],
                likelihoods=seen.names,
                batch=block,
                memory_limit=self.memory_limit,
                **({"first_guess": False} if block else {"patience": HASTE}),
                **options,
            )
            if len(self._plans) >= MOST_PLANS:
                del self._plans[next(iter(self._plans))]
            self._plans[key] = found
        return found

    def _runs(
        self, targets: tuple[Name, ...], numbers: Mapping[Name, int], seen: Likelihoods, **options: Any
    ) -> list[Run]:
        """One run, or one a block of rows."""
        states, block = as_states(numbers), seen.block
        while True:
            try:
                plan = self._plan(targets, numbers, seen, block, **options)
                break
            except MemoryLimitError:
                if block <= LEAST_BLOCK:
                    raise
                block //= 2
        starts = range(0, seen.rows, block) if seen.rows is not None else (0,)
        return [run(plan, self._packed, states, seen.flat(start, block), seen.tiny) for start in starts]

    def _marginals(self, names: tuple[Name, ...], evidence: Any, likelihoods: Any) -> dict[Name, Factor]:
        numbers, seen = self._read(evidence, likelihoods)
        hidden = tuple(name for name in names if name not in numbers)
        if self.is_exact and not seen.names:
            plan = self._plan(hidden, numbers, seen, 0, marginals=True)
            work = run_exactly(plan, self._fractions, as_states(numbers))[1]
            found = {name: self._exact(plan, (name,), work, place) for place, name in enumerate(hidden)}
        else:
            runs = self._runs(hidden, numbers, seen, marginals=True)
            found = {name: self._factor((name,), runs, seen, place) for place, name in enumerate(hidden)}
        for name, number in numbers.items():
            point = np.zeros(len(self.variables[name]))
            point[number] = 1.0
            found[name] = Factor(name, point, [self.variables[name]])
        return {name: found[name] for name in names}

    def _factor(self, names: tuple[Name, ...], runs: Sequence[Run], seen: Likelihoods, place: int = 0) -> Factor:
        """The blocks' results as one factor, its batch first."""
        states = tuple(self.variables[name] for name in names)
        if seen.rows is None:
            return Factor.of(names, runs[0].probabilities(place), states)
        blocks = []
        for r in runs:
            table = r.probabilities(place)
            alike = not r.plan.outputs[place].batched
            blocks.append(np.broadcast_to(table, (r.plan.batch, *table.shape)) if alike else np.moveaxis(table, -1, 0))
        table = np.ascontiguousarray(np.concatenate(blocks)[: seen.rows])
        self._refuse_impossible(self._log_totals(runs, seen))
        table.flags.writeable = False
        return Factor.of(names, table, states)

    def _exact(self, plan: Plan, names: tuple[Name, ...], work: np.ndarray, place: int = 0) -> Factor:
        table = Run(plan, work, False, 0.0).output(place)
        return Factor.of(names, table, tuple(self.variables[name] for name in names)).normalise()

    def _log_totals(self, runs: Sequence[Run], seen: Likelihoods) -> Any:
        constant = float(self._packed.log_scale[list(runs[0].plan.tables)].sum())
        if seen.rows is None:
            return float(runs[0].log_total + constant + seen.log_scale)
        totals = [np.broadcast_to(r.log_total, r.plan.batch) for r in runs]
        return np.concatenate(totals)[: seen.rows] + constant + seen.log_scale

    @staticmethod
    def _refuse_impossible(totals: Any) -> None:
        rows = np.flatnonzero(np.asarray(totals) == -np.inf)
        if rows.size:
            some = f"{rows[:10].tolist()}{' …' if rows.size > 10 else ''}"
            raise ZeroProbabilityError(f"FactorGraph: the evidence of rows {some} has probability 0.", value=rows)


def _is_missing(state: Any) -> bool:
    """None, NaN, or the NA of a table."""
    return state is None or (isinstance(state, numbers.Real) and state != state) or type(state).__name__ == "NAType"


def as_states(numbers: Mapping[Name, int]) -> np.ndarray:
    return np.array(list(numbers.values()), dtype=np.int64)
