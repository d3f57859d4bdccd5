"""`Space`: named parameters, when they matter, and what must hold between them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from credo.design.spaces import drawing, files
from credo.design.spaces.choices import Choice, Constant, identity
from credo.design.spaces.conditions import Condition, condition
from credo.design.spaces.constraints import Constraint, LinearConstraint, constraint_of, holds, names_of
from credo.design.spaces.encoding import Column, Encoded, columns_of, decode, encode
from credo.design.spaces.parameters import Parameter
from credo.distributions.categorical import Categorical
from credo.errors import ParameterError
from credo.numerics.random import as_generator
from credo.saving.registry import register

__all__ = ["Space"]


@register
class Space:
    """The points at which a function may be asked.

    Parameters
    ----------
    parameters : a mapping name → `Real`, `Integer`, `Categorical([…])`, `Ordinal`, `Boolean` or `Constant`; or give
        them by keyword. Names are identifiers.
    constraints : what must hold at every point: expressions (``"x + y <= 1"``), `LinearConstraint`s, functions of the
        active parameters. One that names an inactive parameter does not apply.

    A point is a dict of the *active* parameters: one whose `when=` is false is absent. `encode` maps points to the unit
    cube (one coordinate a parameter, one-hot for categories), with inactive coordinates at the middle and marked.

    Raises
    ------
    ParameterError : an unknown name in a condition or constraint, a value that a parameter cannot have in a condition,
        conditions in a circle; from what draws points, when no point satisfies the constraints

    Examples
    --------
    >>> import credo as cr
    >>> space = Space(lr=cr.Real(1e-4, 1, log=True), kernel=cr.Choice(["rbf", "linear"]),
    ...               width=cr.Integer(1, 9, when={"kernel": "rbf"}))
    >>> space.contains({"lr": 0.1, "kernel": "linear"})
    True
    >>> X, active = space.encode({"lr": 0.01, "kernel": "linear"})
    >>> X.tolist(), active.tolist()
    ([[0.5, 0.0, 1.0, 0.5]], [[True, True, True, False]])
    >>> space.decode(X)
    [{'lr': 0.01000..., 'kernel': 'linear'}]
    """

    def __init__(self, parameters: Mapping[str, Any] | None = None, /, *, constraints: Any = (), **named: Any) -> None:
        given = {**(parameters or {}), **named}
        if len(given) < len(parameters or {}) + len(named):
            raise ParameterError("Space", "parameters", "named once", sorted(set(parameters or {}) & set(named)))
        if not given:
            raise ParameterError("Space", "parameters", "at least one", given)
        self._build({_name(name): _parameter(name, value) for name, value in given.items()}, constraints)
        self._check_values()

    @classmethod
    def _built(cls, parameters: Mapping[str, Parameter], constraints: Any) -> Self:
        """A space that was checked before it was narrowed: conditions may be about values it had."""
        space = cls.__new__(cls)
        space._build(parameters, constraints)
        return space

    def _build(self, listed: Mapping[str, Parameter], constraints: Any) -> None:
        self.parameters: Mapping[str, Parameter] = MappingProxyType(dict(listed))
        single = isinstance(constraints, (str, Mapping, LinearConstraint)) or callable(constraints)
        wanted: Any = [constraints] if single else constraints
        self.constraints: tuple[Constraint, ...] = tuple(constraint_of(constraint) for constraint in wanted)
        names = list(listed)
        self._conditions: dict[str, Condition | None] = {
            name: condition(name, p.when, names[: names.index(name)]) for name, p in listed.items()
        }
        self._is_conditional = any(test is not None for test in self._conditions.values())
        self._check_names()
        self._order = self._sorted()

    def _check_names(self) -> None:
        readers = [(f"{name}.when", c.parents) for name, c in self._conditions.items() if c is not None]
        readers += [("constraints", names_of(constraint)) for constraint in self.constraints]
        for reader, names in readers:
            for unknown in (name for name in names if name not in self.parameters):
                raise ParameterError("Space", reader, f"about the parameters {list(self.parameters)}", unknown)
        for constraint in self.constraints:
            for name in names_of(constraint) if isinstance(constraint, LinearConstraint) else ():
                if self.parameters[name].kind not in ("real", "integer", "constant", "ordinal"):
                    raise ParameterError("Space", "constraints", "linear in numeric parameters", name)

    def _check_values(self) -> None:
        """A condition that can never hold is a slip of the pen, unless its parent is held."""
        for name, test in self._conditions.items():
            for parent, wanted in (test.state if test is not None and isinstance(test.state, Mapping) else {}).items():
                law = self.parameters[parent]
                if law.kind == "constant":
                    continue
                for value in wanted if isinstance(wanted, list) else [wanted]:
                    if not law.contains(value):
                        raise ParameterError("Space", f"{name}.when", f"about values of {parent}, {law!r}", value)

    def _sorted(self) -> tuple[str, ...]:
        """Parents before children."""
        order: list[str] = []
        waiting = list(self.parameters)
        while waiting:
            ready = [n for n in waiting if (c := self._conditions[n]) is None or set(c.parents) <= set(order)]
            if not ready:
                raise ParameterError("Space", "when", "without circles: no parameter may wait for itself", waiting)
            order += ready
            waiting = [name for name in waiting if name not in ready]
        return tuple(order)

    # -- what it is --------------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters' names, in order."""
        return tuple(self.parameters)

    @cached_property
    def columns(self) -> tuple[Column, ...]:
        """Whose each coordinate of the encoding is, and of what kind."""
        return columns_of(self.parameters)

    @property
    def width(self) -> int:
        """Number of coordinates of the encoding."""
        return len(self.columns)

    @property
    def size(self) -> float:
        """Number of points if nothing is conditional or constrained (an upper bound otherwise); ∞ with a `Real`."""
        return math.prod(parameter.count for parameter in self.parameters.values())

    def __repr__(self) -> str:
        listed = [f"{name}={parameter!r}" for name, parameter in self.parameters.items()]
        return f"Space({', '.join(listed)}{f', constraints={list(self.constraints)}' if self.constraints else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.state(strict=False) == other.state(strict=False)

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), dict(self.parameters), self.constraints)

    # -- points ------------------------------------------------------------------------------------------------

    def activate(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Only those of the values that matter, in the space's order."""
        if not self._is_conditional:
            return {name: values[name] for name in self.parameters if name in values}
        active: dict[str, Any] = {}
        for name in self._order:
            test = self._conditions[name]
            if name in values and (test is None or test.holds(active)):
                active[name] = values[name]
        return {name: active[name] for name in self.parameters if name in active}

    def feasible(self, params: Mapping[str, Any]) -> bool:
        """Whether the constraints hold."""
        return all(holds(constraint, params) for constraint in self.constraints)

    def check(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The point in plain Python values and the space's order; a `ParameterError` says what is wrong with it."""
        for name in params:
            if name not in self.parameters:
                raise ParameterError("Space", "params", f"of the parameters {list(self.parameters)}", name)
        active: dict[str, Any] = {}
        for name in self._order:
            parameter, test = self.parameters[name], self._conditions[name]
            if test is not None and not test.holds(active):
                if name in params:
                    raise ParameterError("Space", name, f"absent unless {parameter.when}", params[name])
            elif name not in params:
                raise ParameterError("Space", name, "given", None)
            elif not parameter.contains(params[name]):
                raise ParameterError("Space", name, f"in {parameter!r}", params[name])
            else:
                active[name] = parameter.normal(params[name])
        point = {name: active[name] for name in self.parameters if name in active}
        if broken := [c for c in self.constraints if not holds(c, point)]:
            raise ParameterError("Space", "params", f"such that {broken[0]!r} holds", point)
        return point

    def contains(self, params: Mapping[str, Any]) -> bool:
        """Whether `params` is a point of the space: the active parameters, in range, with the constraints true."""
        try:
            self.check(params)
        except ParameterError:
            return False
        return True

    def key(self, params: Mapping[str, Any]) -> tuple[Any, ...]:
        """A hashable that two points share exactly if they are the same."""
        return tuple((name, identity(params[name])) for name in self.parameters if name in params)

    def distance(self, a: Mapping[str, Any], b: Mapping[str, Any]) -> float:
        """Mean over the parameters active in either point of their gap in [0, 1]: coordinates apart, 1 for different
        categories and for a parameter that is active in one only (Gower 1971)."""
        names = [name for name in self.parameters if name in a or name in b]
        gaps = [self.parameters[n].gap(a[n], b[n]) if n in a and n in b else 1.0 for n in names]
        return math.fsum(gaps) / max(len(gaps), 1)

    def encode(self, rows: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> Encoded:
        """Points as `X` (n, width) in [0, 1] and the mask `active`; see `columns` for the order."""
        return encode(self.parameters, [rows] if isinstance(rows, Mapping) else rows)

    def decode(self, X: Any) -> list[dict[str, Any]]:
        """The points nearest to coordinates (n, width), conditions applied; constraints may be broken.

        ``decode(encode(p).X) == p`` for integers, ordinals, booleans and categories; reals return to within a few
        units in the last place of their range.
        """
        X = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if X.shape[1] != self.width:
            raise ParameterError("Space.decode", "X", f"of {self.width} columns", X.shape)
        if not np.all(np.isfinite(X)):
            raise ParameterError("Space.decode", "X", "finite", X)
        return [self.activate(row) for row in decode(self.parameters, X)]

    def from_uniform(self, U: np.ndarray) -> list[dict[str, Any]]:
        """Points from uniform numbers, shape (n, number of parameters): uniform in every parameter's own measure."""
        values = [p.quantile(U[:, j]) for j, p in enumerate(self.parameters.values())]
        return [self.activate(dict(zip(self.parameters, row))) for row in zip(*values)]

    def sample(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """n independent points, uniform among those that satisfy the constraints (by rejection)."""
        return drawing.sample(self, drawing.checked_size("sample", n), as_generator(rng))

    def design(self, n: int, rng: np.random.Generator) -> list[dict[str, Any]]:
        """n points that fill the space: a scrambled Sobol sequence, points that break the constraints left out."""
        return drawing.sobol(self, drawing.checked_size("design", n), as_generator(rng))

    def points(self, limit: int = 100_000) -> list[dict[str, Any]]:
        """All points of a finite space, in order; `ParameterError` if there are more than `limit` to look at."""
        return drawing.enumerate_points(self, limit)

    # -- changes -----------------------------------------------------------------------------------------------

    def narrowed(self, ranges: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """The space with smaller ranges: (low, high) for numbers (None keeps an end), a list of values for the rest.

        >>> import credo as cr
        >>> Space(n=cr.Integer(1, 10)).narrowed(n=(2, None)).decode([[0.0]])
        [{'n': 2}]
        """
        return self._changed({**(ranges or {}), **named}, lambda name, p, to: p.narrowed(f"Space.{name}", to))

    def fixed(self, values: Mapping[str, Any] | None = None, /, **named: Any) -> Self:
        """The space with some parameters held at one value; they stay in every point and lose their coordinate."""

        def fix(name: str, parameter: Parameter, value: Any) -> Parameter:
            if not parameter.contains(value):
                raise ParameterError("Space.fixed", name, f"in {parameter!r}", value)
            return Constant(parameter.normal(value), when=parameter.when)

        return self._changed({**(values or {}), **named}, fix)

    def _changed(self, to: Mapping[str, Any], change: Any) -> Self:
        for name in to:
            if name not in self.parameters:
                raise ParameterError("Space", "parameter", f"one of {list(self.parameters)}", name)
        changed = {n: change(n, p, to[n]) if n in to else p for n, p in self.parameters.items()}
        return type(self)._built(changed, self.constraints)

    # -- data --------------------------------------------------------------------------------------------------

    def state(self, strict: bool = True) -> dict[str, Any]:
        """The space as JSON data. A function among conditions or constraints is a `SaveError`; with `strict=False`
        its name stands for it, which `from_state` refuses."""
        return files.state(self, self._conditions, strict)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], version: int = 1) -> Self:
        """The space of `state()`, or of a parsed TOML file."""
        parameters, constraints = files.parse(state)
        return cls._built({_name(name): parameter for name, parameter in parameters.items()}, constraints)

    @classmethod
    def from_toml(cls, source: str | Path) -> Self:
        """A space from a TOML file (a `Path`, or a text ending in .toml) or from TOML text.

        >>> Space.from_toml('''
        ... constraints = ["lr * depth <= 2"]
        ... [parameters]
        ... lr = {low = 1e-5, high = 1.0, log = true}
        ... depth = {low = 1, high = 12}
        ... kernel = {choices = ["rbf", "linear"]}
        ... width = {low = 1, high = 9, when = {kernel = "rbf"}}
        ... ''').names
        ('lr', 'depth', 'kernel', 'width')
        """
        space = cls.from_state(files.read_toml(source))
        space._check_values()
        return space


def _rebuilt(cls: type[Space], parameters: dict[str, Parameter], constraints: tuple[Constraint, ...]) -> Space:
    return cls._built(parameters, constraints)


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name.isidentifier():
        raise ParameterError("Space", "name", "an identifier, so that conditions and commands can name it", name)
    return name


def _parameter(name: str, given: Any) -> Parameter:
    """`cr.Categorical` names a family too: inside a space what it holds are choices (decision 8)."""
    if isinstance(given, Parameter):
        return given
    if isinstance(given, Categorical) and np.ndim(given.p) == 1:
        values = np.asarray(given.p).tolist()
        return Choice(tuple(int(v) for v in values) if all(v == int(v) for v in values) else tuple(values))
    choices = getattr(given, "choices", None)
    if isinstance(choices, Iterable):
        return Choice(tuple(choices), when=getattr(given, "when", None))
    if isinstance(given, (str, int, float)) or given is None:
        raise ParameterError("Space", name, "a parameter", given, "For a fixed value write Constant(value).")
    raise ParameterError("Space", name, "Real, Integer, Categorical, Ordinal, Boolean or Constant", given)
