"""Names of nodes are text; whole numbers, by which columns of frames made of arrays are called, stand for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from credo.errors import ParameterError

__all__ = ["as_name", "listed", "mapped", "named", "renamed", "text_named"]


def listed(owner: str, parameter: str, given: Any, what: str = "a name or a list of names") -> list[Any]:
    """One name, or each of several; an error for what is neither.

    >>> listed("", "given", "rain"), listed("", "given", ("a", "b"))
    (['rain'], ['a', 'b'])
    """
    if isinstance(given, str):
        return [given]
    try:
        return list(given)
    except TypeError:
        raise ParameterError(owner, parameter, what, given) from None


def named(owner: str, parameter: str, given: Any) -> list[str]:
    """`listed`, and all of them text."""
    found = listed(owner, parameter, given)
    if bad := [name for name in found if not isinstance(name, str)]:
        raise ParameterError(owner, parameter, "names (text)", bad[0])
    return found


def mapped(owner: str, parameter: str, given: Any, what: str) -> Mapping[Any, Any]:
    """The mapping itself, empty for None; an error for what is none."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise ParameterError(owner, parameter, what, given)
    return given


def as_name(name: Any, known: Iterable[Any]) -> Any:
    """The text of a whole number, if that is a known name and the number is not; else the name itself.

    >>> as_name(0, ("0", "1")), as_name("a", ("a",)), as_name(True, ("True",))
    ('0', 'a', True)
    """
    if isinstance(name, (int, np.integer)) and not isinstance(name, bool) and name not in known and str(name) in known:
        return str(name)
    return name


def text_named(frame: Any, nodes: Iterable[str]) -> tuple[Any, dict[Any, Any]]:
    """The frame with columns called by numbers called as the nodes are, and {its name: what it was called}."""
    if isinstance(frame, np.ndarray):
        return frame, {}
    if isinstance(frame, (list, tuple)):
        rows = [row for row in frame if isinstance(row, Mapping)]
        names: Iterable[Any] = dict.fromkeys(name for row in rows for name in row)
    else:
        # only frames like pandas' have names that are no text
        names = frame if isinstance(frame, Mapping) else getattr(frame, "columns", ()) if hasattr(frame, "iloc") else ()
    held = {name for name in names if isinstance(name, str)}
    known = [node for node in nodes if node not in held]
    numbers = [name for name in names if isinstance(name, (int, np.integer)) and not isinstance(name, bool)]
    new = {name: as_name(name, known) for name in numbers}
    new = {name: text for name, text in new.items() if text is not name}
    return renamed(frame, new), {text: name for name, text in new.items()}


def renamed(frame: Any, names: Mapping[Any, Any]) -> Any:
    """The same frame, list of dicts or mapping with other names; those not among `names` stay."""
    if not names:
        return frame
    if isinstance(frame, (list, tuple)):
        return [{names.get(name, name): cell for name, cell in row.items()} for row in frame]
    if isinstance(frame, Mapping):
        return {names.get(name, name): cells for name, cells in frame.items()}
    return frame.rename(columns=names)
