"""`compile_plan`, `plan_for`: from the scopes of tables to a flat list of integers that one kernel runs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from credo.errors import ParameterError
from credo.probability.factors.elimination.guess import guess
from credo.probability.factors.elimination.layout import EXTRA, ONE, TABLES, WORK, Place, Space, cut, dense, encode
from credo.probability.factors.elimination.memory import MEMORY_LIMIT, check_memory
from credo.probability.factors.elimination.orders import EASY, EFFORT, PATIENCE, bits, elimination_orders
from credo.probability.factors.elimination.pruning import without_barren, without_unrelated
from credo.probability.factors.elimination.steps import NOTHING, Step, StepTree, backward, forward
from credo.probability.factors.elimination.tables import Tables

# An order of the whole graph that makes a question of up to this many entries serves it: some 50 µs a run, where a
# search of its own takes ten times as long.
GUESSED = 1 << 15

__all__ = ["Output", "Plan", "compile_plan", "plan_for"]


@dataclass(frozen=True)
class Output:
    """A result: where it begins in the room to work, its shape, and whether the last axis is the batch's."""

    offset: int
    shape: tuple[int, ...]
    batched: bool


@dataclass(frozen=True)
class Choice:
    """A maximisation to be traced back: of table a times table b, by variable {variable: stride}."""

    a: Place
    b: Place
    batched: tuple[bool, bool]
    known: tuple[tuple[int, int, int], ...]  # variable, stride in a, stride in b
    chosen: tuple[tuple[int, int, int, int], ...]  # the same with its number of states


@dataclass(frozen=True, eq=False)
class Plan:
    """What to do with tables of these scopes, whatever their values. Made by `compile_plan`, run by `run`.

    code : records (see `layout`) ; pieces : the same cut at the products left to BLAS
    size : entries of room to work ; batch : columns of a batch, 0 without
    evidence : variables in the order in which `run` takes their states ; likelihoods : likewise
    given, told : entries of all tables, and of all likelihoods ; formed : how many tables are formed on the way
    tables : numbers of the tables that take part
    outputs : the joint table over the targets, or one table a target where marginals were asked for
    roots : (offset, batched) of numbers whose product with the outputs' total is the whole total
    entries : of all products formed, the work to do ; variables, shapes : names, and numbers of states, by number
    """

    code: np.ndarray
    pieces: tuple[np.ndarray, ...]
    size: int
    batch: int
    formed: int
    given: int
    told: int
    evidence: tuple[Hashable, ...]
    likelihoods: tuple[Hashable, ...]
    tables: tuple[int, ...]
    outputs: tuple[Output, ...]
    roots: tuple[tuple[int, bool], ...]
    choices: tuple[Choice, ...]
    variables: tuple[Hashable, ...]
    shapes: tuple[int, ...]
    entries: int
    marginals: bool

    @property
    def peak_bytes(self) -> int:
        """Room to work, in bytes."""
        return 8 * self.size


def compile_plan(
    shapes: Sequence[Sequence[int]],
    scopes: Sequence[Sequence[Hashable]],
    targets: Sequence[Hashable] = (),
    evidence_names: Sequence[Hashable] = (),
    semiring: Literal["sum", "max"] = "sum",
    *,
    maximised: Sequence[Hashable] = (),
    likelihoods: Sequence[Hashable] = (),
    batch: int = 0,
    marginals: bool = False,
    sums_to_one: Mapping[int, Sequence[Hashable]] | None = None,
    keep_total: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    effort: int = EFFORT,
    patience: float = PATIENCE,
) -> Plan:
    """Plan Σ (or max) over all variables but the targets of a product of tables, given states of the evidence.

    Parameters
    ----------
    shapes, scopes : of each table: the states of each axis, and its variable
    targets : the result is one table over these in this order; with `marginals` one table for each
    evidence_names : variables whose states `run` is told
    semiring : what becomes of the other variables: "sum", or "max" (keeps what `trace_back` needs)
    maximised : under "sum", variables to maximise over after the others have been summed out
    likelihoods : variables for which `run` gets a vector of likelihoods; with `batch` > 0 of shape (states, batch)
    sums_to_one : {table: variables over each of which it sums to 1}: lets tables be dropped that cannot matter
    keep_total : also keep tables unrelated to the targets, so that the total is that of all tables
    memory_limit : bytes of room to work
    effort, patience : scores computed in search of an order; and for each entry of it (few, for a plan run once)

    Raises `MemoryLimitError` with the bytes predicted, before anything is allocated.
    Cost: some 20 µs a table and, if the graph is hard, less than a tenth of a second in search of an order.
    """
    return plan_for(
        Tables(shapes, scopes, sums_to_one), targets, evidence_names, semiring, maximised=maximised,
        likelihoods=likelihoods, batch=batch, marginals=marginals, keep_total=keep_total, memory_limit=memory_limit,
        effort=effort, patience=patience, first_guess=False,
    )  # fmt: skip


def plan_for(
    tables: Tables,
    targets: Sequence[Hashable] = (),
    evidence_names: Sequence[Hashable] = (),
    semiring: Literal["sum", "max"] = "sum",
    *,
    maximised: Sequence[Hashable] = (),
    likelihoods: Sequence[Hashable] = (),
    batch: int = 0,
    marginals: bool = False,
    keep_total: bool = False,
    memory_limit: int = MEMORY_LIMIT,
    effort: int = EFFORT,
    patience: float = PATIENCE,
    first_guess: bool = True,
) -> Plan:
    """`compile_plan` for one of many questions of the same tables.

    first_guess : take the order of the whole graph if it makes the question easy, and search for none
    """
    if semiring not in ("sum", "max"):
        raise ParameterError("compile_plan", "semiring", '"sum" or "max"', semiring)
    if first_guess and semiring == "sum" and not (maximised or likelihoods or batch or marginals):
        found = _guessed(tables, targets, evidence_names, keep_total, memory_limit)
        if found is not None:
            return found
    request = _Request(tables, targets, evidence_names, likelihoods, batch)
    request.maximise(range(len(tables.names)) if semiring == "max" else [tables.number[v] for v in maximised])
    request.prune(keep_total or marginals)
    goal = () if marginals else request.targets
    hidden = request.held() & ~sum(1 << v for v in goal) & ~request.batch_bit
    summed, largest = hidden & ~request.maximised, hidden & request.maximised
    weight = [math.log2(n) for n in request.sizes]
    masks = [sum(1 << v for v in axes) & ~request.batch_bit for axes in request.axes]
    last = (len(request.sizes) - 1,) if batch else ()
    trees: list[tuple[float, int, list[int], StepTree]] = []

    def attempt(order: list[int], absorb: bool = False) -> None:
        tree = forward(request.axes, order, (*goal, *last), weight, summed, largest, absorb)
        trees.append((tree.entries(weight), len(trees), order, tree))

    if first_guess and not largest:
        attempt([v for v in tables.order if summed >> v & 1])
    if not trees or trees[0][0] > GUESSED:
        groups = [group for group in (summed, largest) if group]
        hasty = patience < PATIENCE
        for order in elimination_orders(masks, weight, groups, effort, patience)[: 1 if hasty else None]:
            attempt(order)
        if min(trees)[0] > (GUESSED if hasty else EASY):
            attempt(min(trees)[2], absorb=True)
    _, _, order, tree = min(trees)
    if marginals:
        rank = {v: place for place, v in enumerate([*order, *last])}
        tree.roots += [i for i in tree.outputs if i != NOTHING]
        backward(tree, request.targets, rank, request.batch_bit, semiring == "max")
    return _Writer(request, tree, reuse=not marginals and not largest, marginals=marginals).plan(memory_limit)


def _guessed(
    tables: Tables, targets: Sequence[Hashable], evidence: Sequence[Hashable], keep_total: bool, memory_limit: int
) -> Plan | None:
    """A plan along the order of the whole graph, where that makes the question easy."""
    number = tables.number
    if any(name not in number for name in (*targets, *evidence)):
        return None  # whoever looks closer says so
    asked = [number[name] for name in targets]
    found = guess(tables, asked, [number[name] for name in evidence], keep_total, GUESSED)
    if found is None:
        return None
    check_memory(8 * found.size, memory_limit)
    return Plan(
        code=found.code,
        pieces=(found.code,) if found.code.size else (),
        size=found.size,
        batch=0,
        formed=found.formed,
        given=tables.entries,
        told=0,
        evidence=tuple(evidence),
        likelihoods=(),
        tables=found.tables,
        outputs=(Output(found.offset, tuple(tables.sizes[v] for v in asked), False),),
        roots=tuple((offset, False) for offset in found.roots),
        choices=(),
        variables=tables.names,
        shapes=tuple(tables.sizes),
        entries=found.entries,
        marginals=False,
    )


class _Request:
    """The tables sliced and pruned, with likelihoods added."""

    def __init__(
        self, tables: Tables, targets: Sequence[Hashable], evidence: Sequence[Hashable],
        likelihoods: Sequence[Hashable], batch: int,
    ) -> None:  # fmt: skip
        self.tables, number = tables, tables.number
        self.names, self.given, self.entries = tables.names, len(tables.scopes), tables.entries
        self.sizes = tables.sizes + ([batch] if batch else [])
        self.batch, self.batch_bit = batch, 1 << len(self.names) if batch else 0
        for name in (*targets, *evidence, *likelihoods):
            if name not in number:
                raise ParameterError("compile_plan", "targets, evidence, likelihoods", "variables of some table", name)
        self.targets = tuple(number[name] for name in targets)
        self.evidence, self.likelihoods = tuple(evidence), tuple(likelihoods)
        self.maximised = 0
        self.slot = {number[name]: place for place, name in enumerate(evidence)}
        self.places, self.axes = list(tables.places), list(tables.scopes)
        self.told = [False] * self.given  # whether evidence or a likelihood bears on the table
        for t in {t for v in self.slot for t in tables.holders[v]}:
            self._slice(t)
        offset = 0
        for name in likelihoods:
            v = number[name]
            axes = (v, len(self.names)) if batch else (v,)
            self.places.append(Place(EXTRA, offset, dense(axes, self.sizes)))
            self.axes.append(axes)
            self.told.append(True)
            offset += self.sizes[v] * max(batch, 1)
        self.told_entries = offset
        self.kept = list(range(len(self.axes)))

    def _slice(self, t: int) -> None:
        place, scope, slot = self.tables.places[t], self.tables.scopes[t], self.slot
        slices = tuple((slot[v], place.strides[v]) for v in scope if v in slot)
        strides = {v: stride for v, stride in place.strides.items() if v not in slot}
        self.places[t] = Place(TABLES, place.offset, strides, slices)
        self.axes[t] = tuple(v for v in scope if v not in slot)
        self.told[t] = True

    def maximise(self, numbers: Iterable[int]) -> None:
        self.maximised = sum(1 << v for v in numbers)

    def prune(self, keep_total: bool) -> None:
        """Keep the tables that matter; `axes` and `places` are then of these only."""
        tables, given = self.tables, self.given
        if tables.laws or not keep_total:
            likely = {self.tables.number[name] for name in self.likelihoods}
            fixed = {*self.targets, *self.slot, *likely, *bits(self.maximised)}
            kept = without_barren(tables.scopes, tables.holders, tables.laws, fixed, self.targets)
            if not keep_total and self.targets and not self.maximised:
                told = [self.told[t] or not likely.isdisjoint(scope) for t, scope in enumerate(tables.scopes)]
                kept = without_unrelated(tables.scopes, tables.holders, kept, told, self.targets, set(self.slot))
            self.kept = [t for t in range(given) if kept[t]] + list(range(given, len(self.axes)))
        self.axes, self.places = [self.axes[t] for t in self.kept], [self.places[t] for t in self.kept]

    def held(self) -> int:
        """Mask of the variables that are left."""
        found = 0
        for v in {v for axes in self.axes for v in axes}:
            found |= 1 << v
        return found


class _Writer:
    """Finds room for the tables formed, and writes the records."""

    def __init__(self, request: _Request, tree: StepTree, reuse: bool, marginals: bool) -> None:
        self.request, self.tree, self.reuse, self.marginals = request, tree, reuse, marginals
        self.sizes, self.space = request.sizes, Space()
        self.places: dict[int, Place] = {NOTHING: ONE, **dict(enumerate(request.places))}
        self.entries = 0
        self.choices: list[Choice] = []

    def count(self, i: int) -> int:
        return math.prod(self.sizes[v] for v in self.tree.axes[i])

    def plan(self, memory_limit: int) -> Plan:
        request, tree = self.request, self.tree
        given, keep = len(request.axes), {*tree.outputs, *tree.roots}
        records: list[list[int]] = []
        for place, step in enumerate(tree.steps):
            records.append(self.write(step, place < tree.n_forward, given))
            for i in {step.a, step.b} if self.reuse else ():
                if i >= given and i not in keep:
                    self.space.give(self.places[i].offset, self.count(i))
            check_memory(8 * self.space.size, memory_limit)
        pieces = cut(records)
        return Plan(
            code=np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64),
            pieces=tuple(pieces),
            size=self.space.size + len(tree.axes) - given + 1,
            batch=request.batch,
            formed=len(tree.axes) - given,
            given=request.entries,
            told=request.told_entries,
            evidence=request.evidence,
            likelihoods=request.likelihoods,
            tables=tuple(t for t in request.kept if t < request.given),
            outputs=tuple(self.output(i) for i in tree.outputs),
            roots=tuple((self.places[i].offset, bool(tree.axes[i])) for i in tree.roots),
            choices=tuple(reversed(self.choices)),
            variables=request.names,
            shapes=tuple(self.sizes[: len(request.names)]),
            entries=self.entries,
            marginals=self.marginals,
        )

    def write(self, step: Step, counted: bool, given: int) -> list[int]:
        """The record of a step, its result given a place."""
        tree, sizes = self.tree, self.sizes
        out_axes = tree.axes[step.out]
        held = {*tree.axes[step.a], *(tree.axes[step.b] if step.b != NOTHING else ())}
        a, b = self.places[step.a], self.places[step.b]
        gone = list(held.difference(out_axes))
        if len(gone) > 1:
            gone.sort(key=lambda v: -max(a.strides.get(v, 0), b.strides.get(v, 0)))
        axes = [*gone, *out_axes]
        offset = self.space.take(self.count(step.out))
        self.places[step.out] = Place(WORK, offset, dense(out_axes, sizes))
        columns = self.request.batch if len(self.request.names) in out_axes else 1
        self.entries += math.prod(sizes[v] for v in axes)
        formed = len(tree.axes) - given
        numbers = tuple(i - given if i >= given else formed for i in (step.a, step.b, step.out))
        if counted and step.maximise:
            self.choices.append(self.choice(a, b, axes, out_axes))
        return encode(step, axes, out_axes, sizes, (a, b), offset, columns, numbers, counted)  # type: ignore[arg-type]

    def choice(self, a: Place, b: Place, axes: Sequence[int], out_axes: Sequence[int]) -> Choice:
        batch = len(self.request.names)
        return Choice(
            a,
            b,
            (batch in a.strides, batch in b.strides),
            tuple((v, a.strides.get(v, 0), b.strides.get(v, 0)) for v in out_axes if v != batch),
            tuple((v, a.strides.get(v, 0), b.strides.get(v, 0), self.sizes[v]) for v in axes if v not in out_axes),
        )

    def output(self, i: int) -> Output:
        if i == NOTHING:
            return Output(0, (), False)
        axes = self.tree.axes[i]
        batched = bool(self.request.batch_bit) and len(self.request.names) in axes
        return Output(self.places[i].offset, tuple(self.sizes[v] for v in axes), batched)
