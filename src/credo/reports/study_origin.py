"""The Python code that makes a study again."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from credo.studies import Study

__all__ = ["code_of"]

_CLASSES = {
    "real": "Real", "integer": "Integer", "categorical": "Categorical", "ordinal": "Ordinal", "boolean": "Boolean",
    "constant": "Constant",
}  # fmt: skip


def code_of(study: Study) -> str:
    """Imports, space and study. A function among conditions or constraints is named, and must be supplied."""
    created = study.events()[0].data
    space = created["space"]
    lines = [f"    {name}={_parameter(entry)}," for name, entry in space["parameters"].items()]
    constraints = [_constraint(each) for each in space.get("constraints") or ()]
    if constraints:
        lines.append(f"    constraints=[{', '.join(constraints)}],")
    direction = created["direction"]
    options = [repr(tuple(direction) if isinstance(direction, list) else direction), f"random_state={study.seed}"]
    if created.get("sampler", "auto") != "auto":
        options.append(f"sampler={created['sampler']!r}")
    options += [f"{key}={created[key]!r}" for key in ("noisy", "pruner") if created.get(key) is not None]
    if study.name != "study":
        options.append(f"name={study.name!r}")
    opened = f"study = cr.Study(space, {', '.join(options)})"
    command = study.description.get("command")
    runs = [f"# f runs {shlex.join(command)}"] if command else []
    return "\n".join(
        ["import credo as cr", "", "space = cr.Space(", *lines, ")", opened, *runs, "study.optimize(f, …)"]
    )


def _parameter(entry: dict[str, Any]) -> str:
    kind, when = entry["type"], entry.get("when")
    if "choices" in entry:
        given = [repr(entry["choices"])]
    elif "value" in entry:
        given = [repr(entry["value"])]
    else:
        given = [repr(entry[name]) for name in ("low", "high") if name in entry]
    if entry.get("log"):
        given.append("log=True")
    if when is not None:
        given.append(f"when={_function(when) or repr(when)}")
    return f"cr.{_CLASSES.get(kind, kind)}({', '.join(given)})"


def _constraint(given: Any) -> str:
    if isinstance(given, dict) and "coefficients" in given:
        return f"cr.LinearConstraint({', '.join(f'{key}={value!r}' for key, value in given.items())})"
    return _function(given) or repr(given)


def _function(given: Any) -> str | None:
    """The name of a function, which is not data."""
    return str(given["function"]) if isinstance(given, dict) and set(given) == {"function"} else None
