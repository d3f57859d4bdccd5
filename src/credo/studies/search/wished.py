"""What users of `RandomizedSearchCV` write (distributions, lists, several dicts) as a `Space`, and points back."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from credo.design.spaces import Choice, Constant, Integer, Ordinal, Parameter, Real, Space
from credo.design.spaces.choices import identity
from credo.errors import ParameterError, shown

__all__ = ["Wished", "wished"]

OWNER = "CredoSearchCV"
# Which of several dicts a point is of; a parameter of the study, not of the estimator.
WHICH = "which"


@dataclass(frozen=True)
class Wished:
    """A space for the study, and the way from its points to parameters of the estimator.

    names : study's name → estimator's; those of no estimator's parameter are missing
    meant : estimator's name → the function from the study's value to the estimator's, where that is another
    """

    space: Space
    names: Mapping[str, str]
    meant: Mapping[str, Callable[[Any], Any]]

    @property
    def meaning(self) -> dict[str, Any]:
        """What the study does not know of its values: objects they stand for, laws they are probabilities of."""
        return {name: how.about for name, how in self.meant.items()}  # type: ignore[attr-defined]

    def params(self, point: Mapping[str, Any]) -> dict[str, Any]:
        """The estimator's parameters at a point."""
        found = {}
        for name, value in point.items():
            if name in self.names:
                meant = self.meant.get(name)
                found[self.names[name]] = value if meant is None else meant(value)
        return found


def wished(given: Any) -> Wished:
    """A `Space` as it is; a dict name → `Parameter`, list or frozen distribution of SciPy; or a list of such dicts."""
    if isinstance(given, Space):
        return Wished(given, {name: name for name in given.names}, {})
    if isinstance(given, Mapping):
        given = [given]
    if isinstance(given, str) or not isinstance(given, Sequence) or not given:
        raise ParameterError(OWNER, "space", "a Space, a dict of distributions or lists, or a list of dicts", given)
    for table in given:
        if not isinstance(table, Mapping) or not all(isinstance(name, str) for name in table):
            raise ParameterError(OWNER, "space", "of dicts with names of parameters as keys", table)
    return _of_one(given[0]) if len(given) == 1 else _of_several(given)


def _of_one(table: Mapping[str, Any]) -> Wished:
    ours = _our_names(list(table))
    read = {name: _parameter(name, wish) for name, wish in table.items()}
    meant = {ours[name]: how for name, (_, how) in read.items() if how is not None}
    space = Space({ours[name]: parameter for name, (parameter, _) in read.items()})
    return Wished(space, {ours[name]: name for name in table}, meant)


def _of_several(tables: Sequence[Mapping[str, Any]]) -> Wished:
    """One choice says which dict; a parameter belongs to those that name it. What two dicts wish alike is shared, so
    that one teaches about the other."""
    entries: list[tuple[str, Any, Parameter, Callable[[Any], Any] | None, list[int]]] = []
    for i, table in enumerate(tables):
        for name, wish in table.items():
            parameter, how = _parameter(name, wish)
            if parameter.when is not None:
                raise ParameterError(OWNER, name, "without `when` in a list of dicts", wish, "Give a Space instead.")
            for entry in entries:
                if entry[0] == name and entry[2] == parameter and (how is None or entry[1] is wish):
                    entry[4].append(i)
                    break
            else:
                entries.append((name, wish, parameter, how, [i]))
    which = WHICH
    while any(which == entry[0] for entry in entries):
        which += "_"
    numbered = [name if _once(entries, name) else f"{name}__{dicts[0]}" for name, _, _, _, dicts in entries]
    ours = _our_names(numbered, taken=which)
    parameters: dict[str, Parameter] = {which: Choice(tuple(range(len(tables))))}
    names, meant = {}, {}
    for label, (name, _, parameter, how, dicts) in zip(numbered, entries):
        everywhere = len(dicts) == len(tables)
        parameters[ours[label]] = parameter if everywhere else replace(parameter, when={which: dicts})
        names[ours[label]] = name
        if how is not None:
            meant[ours[label]] = how
    return Wished(Space(parameters), names, meant)


def _once(entries: Sequence[tuple[Any, ...]], name: str) -> bool:
    return sum(entry[0] == name for entry in entries) == 1


def _our_names(names: Sequence[str], taken: str = "") -> dict[str, str]:
    """Names as a `Space` wants them: identifiers, each once."""
    ours: dict[str, str] = {}
    used = {taken}
    for name in names:
        plain = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        plain = plain if plain.isidentifier() else f"p_{plain}"
        while plain in used:
            plain += "_"
        used.add(plain)
        ours[name] = plain
    return ours


def _parameter(name: str, wish: Any) -> tuple[Parameter, Callable[[Any], Any] | None]:
    """A parameter of the space, and the function from its values to those wished, None if they are the same."""
    if isinstance(wish, Parameter):
        return wish, None
    if hasattr(wish, "ppf") and hasattr(wish, "support") and not hasattr(wish, "freeze"):
        return _of_distribution(name, wish)
    if isinstance(wish, (list, tuple, range, np.ndarray)) and np.ndim(np.asarray(wish, dtype=object)) >= 1:
        return _of_list(name, list(wish))
    raise ParameterError(
        OWNER, f"space[{name!r}]", "a list of values, a frozen distribution of scipy.stats, or a Parameter", wish,
        "For one value write [value].",
    )  # fmt: skip


def _of_list(name: str, values: list[Any]) -> tuple[Parameter, Callable[[Any], Any] | None]:
    """Numbers in their order, so that neighbours teach about each other; other values without order."""
    if not values:
        raise ParameterError(OWNER, f"space[{name!r}]", "not empty", values)
    listed = [value.item() if isinstance(value, np.generic) else value for value in values]
    if not all(_is_data(value) for value in listed):
        named = _Named(values, listed)
        return Choice(named.labels) if len(listed) > 1 else Constant(named.labels[0]), named
    distinct = list({identity(value): value for value in listed}.values())
    if len(distinct) == 1:
        return Constant(distinct[0]), None
    if all(isinstance(value, numbers.Real) and not isinstance(value, bool) for value in distinct):
        return Ordinal(tuple(sorted(distinct))), None
    return Choice(tuple(distinct)), None


def _is_data(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value))


def _of_distribution(name: str, law: Any) -> tuple[Parameter, Callable[[Any], Any] | None]:
    """Uniform and log-uniform laws are ranges. Of any other the study sees the probability below the value."""
    low, high = (float(end) for end in law.support())
    if not low <= high:
        raise ParameterError(OWNER, f"space[{name!r}]", "a distribution that has values", law)
    kind = getattr(getattr(law, "dist", None), "name", "")
    if low == high:
        return Constant(int(low) if kind == "randint" else low), None
    if kind == "randint":
        return Integer(int(low), int(high)), None
    if kind == "uniform":
        return Real(low, high), None
    if kind in ("loguniform", "reciprocal") and low > 0 and math.isclose(law.median(), math.sqrt(low * high)):
        return Real(low, high, log=True), None
    return Real(0.0, 1.0), _Quantile(law)


class _Named:
    """Values that are no data, by what a report may call them: their class, or their own name; numbered where alike."""

    def __init__(self, values: list[Any], listed: list[Any]) -> None:
        self.about = values
        self._meant: dict[Any, Any] = {}
        labels: list[Any] = []
        for value, plain in zip(values, listed):
            name = plain if _is_data(plain) else _called(value)
            label, n = name, 1
            while identity(label) in self._meant:
                n += 1
                label = f"{name} {n}"
            self._meant[identity(label)] = value
            labels.append(label)
        self.labels = tuple(labels)

    def __call__(self, label: Any) -> Any:
        return self._meant[identity(label)]


def _called(value: Any) -> str:
    """SVC of SVC(C=3); numbers, lists and tuples as they are written, functions and classes by their name."""
    if isinstance(value, (list, tuple, dict, numbers.Number)):
        return shown(value, 40)
    return str(getattr(value, "__name__", None) or type(value).__name__)


class _Quantile:
    """The value of a law below which there is probability u."""

    def __init__(self, law: Any) -> None:
        self.law, self.whole = law, hasattr(law, "pmf")

    @property
    def about(self) -> tuple[Any, ...]:
        return self.law.dist.name, self.law.args, self.law.kwds

    def __call__(self, u: float) -> Any:
        least = np.finfo(np.float64).eps  # the quantiles of 0 and 1 may be infinite
        value = float(self.law.ppf(min(max(u, least), 1.0 - least)))
        return int(value) if self.whole else value
