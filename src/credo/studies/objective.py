"""Calling an objective: what it returns, raises and reports in between becomes an `Outcome`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from credo.errors import StorageError

__all__ = ["Outcome", "Pruned", "Report", "Unreported", "evaluate", "progress_of", "takes_progress"]

#: takes an intermediate value (trial, step, value), returns the reason to give the trial up, or None
Report = Callable[[int, Any, Any], str | None]


class Pruned(Exception):
    """Raise it in an objective to give a trial up early; the argument, if any, is the last value seen."""

    reason = "pruned by the objective"


class Unreported(BaseException):
    """An intermediate value could not be kept: nothing the objective did, so it should not catch it."""

    def __init__(self, error: StorageError) -> None:
        super().__init__(error)
        self.error = error


class Outcome(NamedTuple):
    """kind "told" (value), "failed", "pruned" (reason) or "broken": the storage failed, not the trial; `error` is the
    exception itself, where there is one here."""

    kind: str
    value: Any = None
    reason: str | None = None
    error: BaseException | None = None


def takes_progress(function: Any) -> bool:
    """Whether an objective has a second argument `progress`."""
    try:
        parameter = inspect.signature(function).parameters.get("progress")
    except (TypeError, ValueError):  # a function of an extension module may not tell
        return False
    return parameter is not None and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)


def evaluate(
    function: Callable[..., Any], params: Mapping[str, Any], progress: Callable[[int, Any], None] | None = None
) -> Outcome:
    """Call the objective; what it raises becomes an outcome."""
    try:
        given = {} if progress is None else {"progress": progress}
        return Outcome("told", function(dict(params), **given))
    except Pruned as pruned:
        return Outcome("pruned", pruned.args[0] if pruned.args else None, pruned.reason)
    except Unreported as broken:
        return Outcome("broken", None, str(broken.error), broken.error)
    except Exception as error:
        return Outcome("failed", None, f"{type(error).__name__}: {error}", error)


def progress_of(report: Callable[[Any, Any], str | None]) -> Callable[[int, Any], None]:
    """What an objective gets as `progress`."""

    def progress(step: int, value: Any) -> None:
        """Report an intermediate value; raises `Pruned` where the study's rule gives the trial up."""
        try:
            reason = report(step, value)
        except StorageError as error:
            raise Unreported(error) from error
        if reason is not None:
            pruned = Pruned(value)
            pruned.reason = reason
            raise pruned

    return progress
