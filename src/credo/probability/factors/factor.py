"""`Factor`: the one table behind a pmf, a CPT and a potential."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError, UnavailableError, ZeroProbabilityError
from credo.probability.factors import printing, tables
from credo.probability.factors.scopes import Name, State, aligned, as_names, checked_states, places, state_number

__all__ = ["Factor"]


class Factor:
    """A function φ(x₁, …, xₖ) ≥ 0 of finitely many states, as an array whose axes have names and states.

    Parameters
    ----------
    names : k distinct names of axes (a string is one name)
    values : array of k axes, ≥ 0; `Fraction`s stay exact. With k + 1 axes the first counts the tables of a batch
    states : {name: states} or k sequences of distinct states; 0 … n − 1 by default

    A factor never changes. Operations line axes up by name, and states by state; those of a batch go table by table.
    One made by `from_log` stays in logarithms, whatever is done to it.

    Raises
    ------
    ParameterError : a negative, infinite or NaN value (which one); names or states that do not fit

    References
    ----------
    Koller and Friedman (2009), Probabilistic Graphical Models, §4.2.

    Examples
    --------
    >>> rain = Factor("rain", [0.8, 0.2], {"rain": ["no", "yes"]})
    >>> grass = Factor(["rain", "wet"], [[0.9, 0.1], [0.2, 0.8]], [["no", "yes"], ["no", "yes"]])
    >>> joint = rain * grass                                        # P(rain) P(wet | rain)
    >>> round(joint.marginalise("rain")["yes"], 12)
    0.24
    >>> round(joint.condition({"wet": "yes"}).normalise()["yes"], 6)
    0.666667
    """

    __slots__ = ("_logs", "_states", "_table", "names")
    __array_ufunc__ = None
    names: tuple[Name, ...]

    def __init__(self, names: Any, values: Any, states: Any = None) -> None:
        self._fill(as_names(names), tables.as_table(values), states, False)

    @classmethod
    def from_log(cls, names: Any, log_values: Any, states: Any = None) -> Factor:
        """From log φ, −∞ where φ = 0: for tables beyond the range of floating point.

        >>> Factor.from_log("x", [-2000.0, -2001.0]).normalise().values.round(6)
        array([0.731059, 0.268941])
        """
        self = cls.__new__(cls)
        self._fill(as_names(names), tables.as_logs(log_values), states, True)
        return self

    @classmethod
    def of(
        cls, names: tuple[Name, ...], table: np.ndarray, states: tuple[tuple[State, ...], ...], logs: bool = False
    ) -> Factor:
        """Without any check or copy: the caller vouches for the parts, and gives the table away."""
        self = object.__new__(cls)
        put = object.__setattr__
        put(self, "names", names)
        put(self, "_states", states)
        put(self, "_table", table)
        put(self, "_logs", logs)
        return self

    def _fill(self, names: tuple[Name, ...], table: np.ndarray, states: Any, logs: bool) -> None:
        if table.ndim not in (len(names), len(names) + 1):
            raise ParameterError(
                "Factor", "values", f"an array of {len(names)} axes, or one more for a batch", table.shape
            )
        shape = table.shape[table.ndim - len(names) :]
        if 0 in table.shape:
            raise ParameterError("Factor", "values", "an array with at least one entry", table.shape)
        table.flags.writeable = False
        put = object.__setattr__
        put(self, "names", names)
        put(self, "_states", checked_states(names, shape, states))
        put(self, "_table", table)
        put(self, "_logs", logs)

    def __setattr__(self, name: str, value: Any) -> None:
        raise UnavailableError(f"A Factor never changes: {name} cannot be set.", value=value)

    def __reduce__(self) -> Any:
        return _rebuilt, (self.names, self._table, self._states, self._logs)

    @property
    def states(self) -> dict[Name, tuple[State, ...]]:
        """{name: its states, in the order of the axis}."""
        return dict(zip(self.names, self._states, strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many states each axis has; the batch is not counted."""
        return tuple(map(len, self._states))

    @property
    def batch(self) -> int | None:
        """How many tables; None for one without a batch axis."""
        return self._table.shape[0] if self._table.ndim > len(self.names) else None

    @property
    def is_log(self) -> bool:
        """Whether logarithms are held."""
        return self._logs

    @property
    def is_exact(self) -> bool:
        """Whether the values are `Fraction`s."""
        return self._table.dtype == object

    @property
    def values(self) -> np.ndarray:
        """φ. Raises `NumericalError` where held logarithms exceed floating point; use `log_values`."""
        if not self._logs:
            return self._table
        if np.max(self._table) > np.log(np.finfo(np.float64).max):
            raise NumericalError(
                "Factor.values: the largest exceeds floating point.",
                value=float(np.max(self._table)),
                remedy="Use log_values, or normalise() first.",
            )
        return np.exp(self._table)

    @property
    def log_values(self) -> np.ndarray:
        """log φ, −∞ where φ = 0."""
        return self._table if self._logs else tables.to_log(self._table)

    def __getitem__(self, state: Any) -> Any:
        """φ at a state, or at a tuple of states in the order of the axes; of a batch, an array."""
        several = isinstance(state, (tuple, list)) and not (len(self.names) == 1 and state in self._states[0])
        wanted = tuple(state) if several else (state,)
        if len(wanted) != len(self.names):
            raise ParameterError("Factor", "index", f"a state for each of {list(self.names)}", state)
        found = self.condition(dict(zip(self.names, wanted, strict=True))).values
        return found.item() if found.ndim == 0 else found

    def __float__(self) -> float:
        if self._table.size != 1:
            raise UnavailableError(f"A number needs a factor without axes; this one has {list(self.names)}.")
        return float(self.values.reshape(-1)[0])

    def __mul__(self, other: Any) -> Factor:
        """φ₁ φ₂ over the axes of both; or by a number."""
        if not isinstance(other, Factor):
            return self * Factor((), other)
        a, b, names, states, logs = self._lined_up(other)
        return Factor.of(names, tables.multiply(a, b, logs), states, logs)._squeezed(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Factor:
        """φ₁/φ₂ with 0/0 = 0, so that (φ₁ φ₂)/φ₂ = φ₁ where φ₂ > 0."""
        if not isinstance(other, Factor):
            return self / Factor((), other)
        a, b, names, states, logs = self._lined_up(other)
        tables.check_memory("quotient", a, b)
        zero = -np.inf if logs else 0
        if np.any((b == zero) & (a != zero)):
            raise ZeroProbabilityError(
                f"Factor: the divisor over {list(other.names)} is 0 where the dividend is not.", value=other
            )
        return Factor.of(names, tables.divide(a, b, logs), states, logs)._squeezed(self, other)

    def marginalise(self, names: Any) -> Factor:
        """Σ over the axes named.

        >>> Factor(["a", "b"], [[1.0, 2.0], [3.0, 4.0]]).marginalise("a").values
        array([4., 6.])
        """
        return self._reduced(names, lambda table, axes: tables.total(table, axes, self._logs), "marginalise")

    def maximise(self, names: Any) -> Factor:
        """max over the axes named."""
        return self._reduced(names, tables.maximum, "maximise")

    def marginal(self, names: Any) -> Factor:
        """Σ over all axes but those named, which the result has in this order."""
        kept = as_names(names, "Factor.marginal")
        places(self.names, kept, "Factor.marginal", "names")
        return self.marginalise([name for name in self.names if name not in kept]).reorder(kept)

    def condition(self, evidence: Mapping[Any, Any]) -> Factor:
        """The part where each variable named has the state given; other names are passed over, for they are not here.

        >>> Factor(["a", "b"], [[1.0, 2.0], [3.0, 4.0]]).condition({"b": 1}).values
        array([2., 4.])
        """
        index: list[Any] = [slice(None)] * self._table.ndim
        first = self._table.ndim - len(self.names)
        for axis, (name, states) in enumerate(zip(self.names, self._states, strict=True)):
            if name in evidence:
                index[first + axis] = state_number("Factor.condition", name, states, evidence[name])
        rest = [axis for axis, name in enumerate(self.names) if name not in evidence]
        return self._with_axes(rest, np.asarray(self._table[tuple(index)]))

    def normalise(self, given: Any = None) -> Factor:
        """Divided by its sum over all axes but those `given`: a pmf, or a CPT of the rest given these.

        Raises `ZeroProbabilityError` where that sum is 0, naming the states given.
        """
        kept = [] if given is None else places(self.names, given, "Factor.normalise", "given")
        first = self._table.ndim - len(self.names)
        axes = tuple(first + axis for axis in range(len(self.names)) if axis not in kept)
        sums = tables.total(self._table, axes, self._logs, keepdims=True)
        if np.any(empty := sums == (-np.inf if self._logs else 0)):
            place = np.argwhere(empty)[0][first:]
            where = {self.names[axis]: self._states[axis][place[axis]] for axis in kept}
            raise ZeroProbabilityError(
                f"Factor over {list(self.names)} sums to 0{f' given {where}' if where else ''}.", value=where or self
            )
        return Factor.of(self.names, tables.divide(self._table, sums, self._logs), self._states, self._logs)

    def reorder(self, names: Any) -> Factor:
        """The same with axes in another order."""
        wanted = as_names(names, "Factor.reorder")
        if set(wanted) != set(self.names):
            raise ParameterError("Factor.reorder", "names", f"the axes {list(self.names)} in some order", names)
        axes = [self.names.index(name) for name in wanted]
        first = self._table.ndim - len(axes)
        table = self._table.transpose([*range(first), *(first + axis for axis in axes)])
        return self._with_axes(axes, table)

    @property
    def total(self) -> Any:
        """Σ φ; of a batch an array."""
        found = self.marginalise(self.names).values
        return found.item() if found.ndim == 0 else found

    @property
    def log_total(self) -> Any:
        """log Σ φ; of a batch an array."""
        found = self.marginalise(self.names).log_values
        return float(found) if found.ndim == 0 else found

    def argmax(self) -> dict[Name, State]:
        """The states at which φ is largest; the first of several."""
        self._refuse_batch("argmax")
        place = np.unravel_index(int(np.argmax(self._table)), self._table.shape)
        return {name: states[i] for name, states, i in zip(self.names, self._states, place, strict=True)}

    def to_dict(self) -> dict[Any, Any]:
        """{state: φ}, or {tuple of states: φ} for several axes.

        >>> Factor("coin", [0.5, 0.5], [["heads", "tails"]]).to_dict()
        {'heads': 0.5, 'tails': 0.5}
        """
        self._refuse_batch("to_dict")
        keys: Iterable[Any] = self._states[0] if len(self.names) == 1 else itertools.product(*self._states)
        return dict(zip(keys, self.values.ravel().tolist(), strict=True))

    def __repr__(self) -> str:
        return printing.as_text(self)

    def _repr_html_(self) -> str:
        return printing.as_html(self)

    def _refuse_batch(self, method: str) -> None:
        if self.batch is not None:
            raise UnavailableError(f"Factor.{method} is of one table; this is a batch of {self.batch}.")

    def _reduced(self, names: Any, function: Any, method: str) -> Factor:
        gone = places(self.names, names, f"Factor.{method}", "names")
        first = self._table.ndim - len(self.names)
        table = function(self._table, tuple(first + axis for axis in gone))
        return self._with_axes([axis for axis in range(len(self.names)) if axis not in gone], table)

    def _with_axes(self, axes: Sequence[int], table: np.ndarray) -> Factor:
        names, states = tuple(self.names[i] for i in axes), tuple(self._states[i] for i in axes)
        return Factor.of(names, table, states, self._logs)

    def _lined_up(self, other: Factor) -> tuple[Any, Any, tuple[Name, ...], tuple[tuple[State, ...], ...], bool]:
        """Both tables over the axes of both, batch first: ready for an operator of arrays."""
        if self.batch is not None and other.batch is not None and self.batch != other.batch:
            raise ParameterError("Factor", "batch", f"{self.batch}, as in the other factor", other.batch)
        new = [axis for axis, name in enumerate(other.names) if name not in self.names]
        names = self.names + tuple(other.names[axis] for axis in new)
        states = self._states + tuple(other._states[axis] for axis in new)
        logs = self._logs or other._logs
        sides = []
        for side in (self, other):
            table = side.log_values if logs else side._table
            sides.append(aligned(table, side.names, side._states, names, states, side.batch is not None))
        if not logs and sides[0].dtype != sides[1].dtype:  # a Fraction times a float is a float
            sides = [side.astype(np.float64) for side in sides]
        return (*sides, names, states, logs)

    def _squeezed(self, a: Factor, b: Factor) -> Factor:
        if a.batch is None and b.batch is None:
            object.__setattr__(self, "_table", self._table[0, ...])
        self._table.flags.writeable = False
        return self


def _rebuilt(names: Any, table: np.ndarray, states: Any, logs: bool) -> Factor:
    return Factor.of(names, table, states, logs)
