"""A space as JSON data, which is also what its TOML file parses to."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credo.design.spaces.choices import Boolean, Choice, Constant, Ordinal
from credo.design.spaces.conditions import Condition
from credo.design.spaces.constraints import LinearConstraint
from credo.design.spaces.expressions import Expression
from credo.design.spaces.parameters import Integer, Parameter, Real
from credo.errors import FileFormatError, MissingFileError, ParameterError, SaveError, StorageError

if TYPE_CHECKING:
    from credo.design.spaces.space import Space

__all__ = ["state", "parse", "read_toml"]

_TYPES: dict[str, type[Parameter]] = {
    "real": Real,
    "integer": Integer,
    "categorical": Choice,
    "ordinal": Ordinal,
    "boolean": Boolean,
    "constant": Constant,
}


# Sections of a TOML file that commands read, and a space does not.
SECTIONS = ("gallery", "tune")


def state(space: Space, conditions: Mapping[str, Condition | None], strict: bool) -> dict[str, Any]:
    """See `Space.state`."""

    def named(function: Any, role: str) -> dict[str, str]:
        name = getattr(function, "__qualname__", type(function).__name__)
        if strict:
            raise SaveError(
                f"Space.{role} is the function {name}, which cannot be written as data.",
                value=function,
                remedy="Write it as an expression: 'x + 2 * y <= 3'.",
            )
        return {"function": name}

    parameters = {}
    for name, parameter in space.parameters.items():
        entry: dict[str, Any] = {"type": parameter.kind, **parameter.options}
        test = conditions[name]
        if test is not None:
            entry["when"] = named(parameter.when, f"{name}.when") if test.state is None else test.state
        parameters[name] = entry
    written: dict[str, Any] = {"parameters": parameters}
    constraints = []
    for constraint in space.constraints:
        if isinstance(constraint, Expression):
            constraints.append(constraint.text)
        elif isinstance(constraint, LinearConstraint):
            constraints.append(constraint.state)
        else:
            constraints.append(named(constraint, "constraints"))
    return written | ({"constraints": constraints} if constraints else {})


def parse(written: Mapping[str, Any]) -> tuple[dict[str, Parameter], list[Any]]:
    """Parameters and constraints from JSON or TOML data: `{"parameters": …, "constraints": […]}`, or the parameters
    alone at the top."""
    if not isinstance(written, Mapping):
        raise ParameterError("Space", "state", "a mapping", written)
    constraints = written.get("constraints", [])
    tables = written.get(
        "parameters", {k: v for k, v in written.items() if k != "constraints" and not _is_section(k, v)}
    )
    if "parameters" in written:
        _check_sections(written)
    if not isinstance(tables, Mapping) or not tables:
        raise ParameterError("Space", "parameters", "a table of at least one parameter", tables)
    if not isinstance(constraints, list):
        raise ParameterError("Space", "constraints", "a list", constraints)
    for constraint in constraints:
        if isinstance(constraint, Mapping) and "function" in constraint:
            raise _needs_function(constraint["function"])
    return {name: _parameter(name, table) for name, table in tables.items()}, constraints


def _is_section(name: str, table: Any) -> bool:
    """Whether a table is settings of a command, and no parameter that happens to have its name."""
    return name in SECTIONS and not (isinstance(table, Mapping) and set(table) & {"type", "low", "choices", "value"})


def _check_sections(written: Mapping[str, Any]) -> None:
    """A constraint under a name that nobody reads would silently not hold."""
    known = ("parameters", "constraints", *SECTIONS)
    for name in written:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        is_parameter = isinstance(written[name], Mapping) and set(written[name]) & {"low", "choices", "value"}
        remedy = f"Did you mean {near[0]}?" if near else f"A parameter is written [parameters.{name}]."
        raise ParameterError(
            "Space", "state", f"of the sections {', '.join(known)}", name, remedy if near or is_parameter else None
        )


def _needs_function(name: str) -> ParameterError:
    remedy = "Pass the space that holds the function itself: Study(space, storage=…) in place of Study.load."
    return ParameterError("Space", "state", "without functions", name, remedy)


def _parameter(name: str, table: Any) -> Parameter:
    if not isinstance(table, Mapping):
        below = name == "constraints" and isinstance(table, list)
        remedy = "In TOML, what follows [parameters] belongs to it: write constraints above." if below else None
        raise ParameterError("Space", name, "a table such as {low = 0.0, high = 1.0}", table, remedy)
    options = dict(table)
    kind = options.pop("type", None) or _guess(name, options)
    if kind not in _TYPES:
        raise ParameterError("Space", f"{name}.type", f"one of {', '.join(_TYPES)}", kind)
    if isinstance(options.get("when"), Mapping) and set(options["when"]) == {"function"}:
        raise _needs_function(options["when"]["function"])
    try:
        return _TYPES[kind](**options)
    except ParameterError as error:  # of many tables in a file, which
        where = f"{name}.{error.parameter}"
        raise ParameterError("Space", where, error.constraint, error.value, error.remedy) from error
    except TypeError:
        known = {"real": "low, high, log", "integer": "low, high, log", "constant": "value", "boolean": "nothing"}
        raise ParameterError("Space", name, f"given {known.get(kind, 'choices')} (and when)", options) from None


def _guess(name: str, options: Mapping[str, Any]) -> str:
    if "choices" in options:
        return "categorical"
    if "value" in options:
        return "constant"
    ends = (options.get("low"), options.get("high"))
    if all(isinstance(end, (int, float)) for end in ends):
        return "integer" if all(isinstance(end, int) for end in ends) else "real"
    raise ParameterError("Space", name, "a table with low and high, choices, value, or type", dict(options))


def read_toml(source: str | Path) -> dict[str, Any]:
    """See `Space.from_toml`."""
    text = str(source)
    named = isinstance(source, Path) or ("\n" not in text and text.endswith(".toml"))
    try:
        return tomllib.loads(Path(source).read_text(encoding="utf-8-sig") if named else text)
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {text}.", value=text) from None
    except OSError as error:
        raise StorageError(f"{text} cannot be read: {error.strerror}.", value=text) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        where = text if named else "The text"
        raise FileFormatError(f"{where} is not TOML: {error}.", value=text[:200]) from error
