"""The registry: the only classes that a file may name.

A class of Credo's is stored as ``credo.module:Class``. To load it, that module is imported (modules of the
`credo` package and nothing else) and the name is looked up *here*: what is not registered is never built. A
class of another package must be registered in the loading process before the file is opened.
"""

from __future__ import annotations

import dataclasses
import importlib
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

from credo.errors import CredoError, FileFormatError, MissingDependencyError, ParameterError, SaveError

__all__ = [
    "register",
    "entry_of",
    "find",
    "state_of",
    "rebuild",
    "estimator_state",
    "estimator_from_state",
]

C = TypeVar("C", bound=type)


class Entry(NamedTuple):
    cls: Any
    name: str
    version: int


_BY_NAME: dict[str, Entry] = {}
_BY_CLASS: dict[type, Entry] = {}

# No component may start with two underscores: importing `credo.__main__` would run the command line.
_CREDO_MODULE = re.compile(r"credo(\.(?!__)[A-Za-z_][A-Za-z0-9_]*)+", re.ASCII)


@overload
def register(cls: C, name: str | None = None, version: int = 1) -> C: ...
@overload
def register(cls: None = None, name: str | None = None, version: int = 1) -> Callable[[C], C]: ...
def register(cls: Any = None, name: str | None = None, version: int = 1) -> Any:
    """Allow a class to be saved and loaded; a decorator, bare or with arguments.

    Parameters
    ----------
    cls : the class; it supplies ``state() -> dict`` and the class method ``from_state(state, version)``, or
        is a dataclass, a named tuple, or a scikit-learn-shaped estimator (``get_params``, fitted attributes
        ending in ``_``), which need neither.
    name : stored in files; by default ``module:QualifiedName``.
    version : ≥ 1; raise it when the state changes meaning. `from_state` receives the version that was saved,
        and a file of a newer version than this is refused.

    Raises
    ------
    ParameterError : the name already belongs to another class, or the version is not an integer ≥ 1.

    Examples
    --------
    >>> import dataclasses
    >>> @register(version=2)
    ... @dataclasses.dataclass(frozen=True)
    ... class Coin:
    ...     heads: int
    >>> state_of(Coin(3))
    {'heads': 3}
    """
    if cls is None:
        return lambda decorated: register(decorated, name, version)
    if type(version) is not int or version < 1:
        raise ParameterError("register", "version", "an integer ≥ 1", version)
    entry = Entry(cls, name or f"{cls.__module__}:{cls.__qualname__}", version)
    known = _BY_NAME.get(entry.name)
    # The same definition run again (a notebook cell, a reload, dataclass(slots=True)) replaces itself.
    if known is not None and _origin(known.cls) != _origin(cls):
        raise ParameterError("register", "name", f"unused (it belongs to {known.cls!r})", entry.name)
    _BY_NAME[entry.name] = _BY_CLASS[cls] = entry
    return cls


def _origin(cls: type) -> tuple[str, str]:
    return cls.__module__, cls.__qualname__


def entry_of(cls: type) -> Entry | None:
    """The entry of exactly this class: a subclass may hold more than its parent saves."""
    return _BY_CLASS.get(cls)


def find(name: str) -> Entry:
    """The registered class of a stored name, after importing its module if that is one of Credo's."""
    module = name.partition(":")[0]
    if name not in _BY_NAME and _CREDO_MODULE.fullmatch(module):
        try:
            importlib.import_module(module)
        except MissingDependencyError:
            raise
        except ImportError as error:
            raise FileFormatError(
                f"The file holds a {name!r}, which this version of Credo does not have ({error}).",
                value=name,
                remedy="Upgrade Credo, or open the file with the version that wrote it.",
            ) from error
    if name not in _BY_NAME:
        raise FileFormatError(
            f"The file holds a {name!r}, which is not a registered class.",
            value=name,
            remedy="If you trust it, import the package that defines and registers it before loading.",
        )
    return _BY_NAME[name]


def state_of(value: Any) -> dict[str, Any]:
    """The state of a registered object, by its own `state()` or by the default for its shape."""
    cls = type(value)
    if hasattr(cls, "from_state") and hasattr(cls, "state"):
        return value.state()
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return value._asdict()
    if hasattr(cls, "__dataclass_fields__"):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
    if hasattr(cls, "get_params"):
        return estimator_state(value)
    raise SaveError(f"{cls.__name__} is registered but has no state() and from_state().", value=value)


def rebuild(entry: Entry, state: dict[str, Any], version: int) -> Any:
    """The inverse of `state_of`. A state that the class refuses is a `FileFormatError`."""
    if version > entry.version:
        raise FileFormatError(
            f"The file holds version {version} of {entry.name!r}, newer than {entry.version} here.",
            value=version,
            remedy="Upgrade Credo (or the package that defines the class).",
        )
    cls = entry.cls
    try:
        if hasattr(cls, "from_state") and hasattr(cls, "state"):
            return cls.from_state(state, version)
        record = hasattr(cls, "__dataclass_fields__") or issubclass(cls, tuple)
        return cls(**state) if record else estimator_from_state(cls, state)
    except (FileFormatError, MissingDependencyError, MemoryError):
        raise
    except Exception as error:  # whatever the class does with a stranger's values, the file is at fault
        reason = error if isinstance(error, CredoError) else f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{entry.name!r} cannot be rebuilt from the file: {reason}", value=state) from error


# scikit-learn keeps `set_output`'s choice here; it is configuration that a loaded estimator must not lose.
_CONFIGURATION = "_sklearn_output_config"


def _is_fitted_name(name: str) -> bool:
    return (name.endswith("_") and not name.startswith("_")) or name == _CONFIGURATION


def estimator_state(value: Any) -> dict[str, Any]:
    """Constructor arguments, then fitted attributes (ending in ``_``), of a scikit-learn-shaped estimator."""
    fitted = {name: attribute for name, attribute in vars(value).items() if _is_fitted_name(name)}
    return {**value.get_params(deep=False), **fitted}


def estimator_from_state(cls: type, state: dict[str, Any]) -> Any:
    """The inverse of `estimator_state`: construct, then set what ends in ``_``."""
    estimator = cls(**{name: value for name, value in state.items() if not _is_fitted_name(name)})
    vars(estimator).update({name: value for name, value in state.items() if _is_fitted_name(name)})
    return estimator
