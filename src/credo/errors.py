"""Every error and warning that Credo raises on purpose.

An error names the owner, the parameter, the constraint, the value received and the remedy; the value
is on the exception too, so that a program can act on it. Each class also derives from the built-in that a
caller would expect (``ValueError``, ``ImportError``...), so that existing ``except`` clauses keep working.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from typing import Any

__all__ = [
    "CredoError",
    "ParameterError",
    "DataError",
    "NotIdentifiedError",
    "ZeroProbabilityError",
    "NotPositiveDefiniteError",
    "NumericalError",
    "BoundFellError",
    "MemoryLimitError",
    "UnavailableError",
    "SpaceExhaustedError",
    "FileFormatError",
    "StorageError",
    "MissingFileError",
    "SaveError",
    "MissingDependencyError",
    "CredoWarning",
    "DataWarning",
    "ConvergenceWarning",
    "ModelWarning",
    "shown",
]

# NumPy's scalars as its ``repr`` writes them: np.float64(0.1), np.True_.
NUMPY_SCALAR = re.compile(
    r"\bnp\.(?:(?:float|int|uint|complex|bool|str|longdouble|datetime|timedelta)\w*\(([^()]*)\)|(True|False)_)"
)

# Packages whose frames lie between a user's line and a warning: Credo itself, scikit-learn's wrappers and pools.
_BETWEEN = {"credo", "sklearn", "joblib", "functools", "contextlib", "concurrent", "threading"}


def shown(value: Any, width: int = 80) -> str:
    """``repr`` of a value, on one line and cut to ``width``: error messages stay readable.

    >>> shown([1.0] * 100, 20)
    '[1.0, 1.0, 1.0, 1...'

    A scalar of NumPy's is shown as the number it is, alone or in a list.

    >>> import numpy as np
    >>> shown((np.float64(1e-3), np.bool_(True)))
    '(0.001, True)'
    """
    try:
        text = NUMPY_SCALAR.sub(r"\1\2", " ".join(repr(value).split()))
    except Exception:
        text = f"<{type(value).__name__} whose repr fails>"
    return text if len(text) <= width else text[: width - 3] + "..."


class CredoError(Exception):
    """Base of every deliberate failure.

    ``value`` is what was received, ``remedy`` one sentence on what to do. Both may be None.
    """

    def __init__(self, message: str, *, value: Any = None, remedy: str | None = None) -> None:
        self.value = value
        self.remedy = remedy
        super().__init__(f"{message} {remedy}" if remedy else message)


class ParameterError(CredoError, ValueError):
    """An argument breaks its constraint.

    >>> raise ParameterError("Normal", "sd", "> 0", -1)
    Traceback (most recent call last):
    credo.errors.ParameterError: Normal.sd must be > 0, got -1.
    """

    def __init__(self, owner: str, parameter: str, constraint: str, value: Any, remedy: str | None = None) -> None:
        self.owner = owner
        self.parameter = parameter
        self.constraint = constraint
        name = f"{owner}.{parameter}" if owner else parameter
        super().__init__(f"{name} must be {constraint}, got {shown(value)}.", value=value, remedy=remedy)


class DataError(CredoError, ValueError):
    """Rows or columns that cannot be used; bad rows by number (from 0), bad columns by name."""

    def __init__(
        self,
        message: str,
        *,
        rows: Sequence[int] | None = None,
        columns: Sequence[str] | None = None,
        value: Any = None,
        remedy: str | None = None,
    ) -> None:
        self.rows = rows
        self.columns = columns
        super().__init__(message, value=value, remedy=remedy)


class NotIdentifiedError(CredoError, ValueError):
    """The data and the prior do not determine the posterior (it is improper)."""


class ZeroProbabilityError(CredoError, ValueError):
    """What is conditioned on has probability 0, so that nothing follows from it."""


class NumericalError(CredoError, ArithmeticError):
    """A computation left the range of floating point, or did not reach its stated accuracy."""


class BoundFellError(NumericalError):
    """EM's bound fell beyond rounding, which a correct M-step cannot do; `before` and `after` are its two values."""

    def __init__(self, before: float, after: float, step: int) -> None:
        self.before = before
        self.after = after
        super().__init__(
            f"EM: the bound fell from {before!r} to {after!r} at step {step}.",
            value=(before, after),
            remedy="The M-step does not maximise what the E-step gathered, or `bound` is not their objective.",
        )


class MemoryLimitError(CredoError, MemoryError):
    """A computation would need more memory than allowed; `value` is the number of bytes predicted."""


class NotPositiveDefiniteError(NumericalError, ValueError):
    """A matrix that must be positive definite is not, even after the largest permitted jitter."""


class UnavailableError(CredoError, AttributeError):
    """A quantity that this object cannot honestly supply, such as the sd of a point estimate."""


class SpaceExhaustedError(UnavailableError):
    """Every point of a finite space was tried."""


class FileFormatError(CredoError, ValueError):
    """A file that is damaged, from a newer version, or not of the stated kind."""


class StorageError(CredoError, OSError):
    """The operating system refused: no permission, no space, no such folder. `errno` is the system's."""

    def __str__(self) -> str:  # OSError would show the error number instead
        return str(self.args[0])


class MissingFileError(StorageError, FileNotFoundError):
    """There is no file of that name."""


class SaveError(CredoError, TypeError):
    """An object that cannot be written as data (it holds a user's own function, say)."""


class MissingDependencyError(CredoError, ImportError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed.",
            value=package,
            remedy=f"Run: pip install 'credo[{extra}]'.",
        )


class CredoWarning(UserWarning):
    """Base of every warning."""


class DataWarning(CredoWarning):
    """Something about the rows that the user should know: constant columns, dropped rows, imputed cells."""


class ConvergenceWarning(CredoWarning):
    """An engine stopped before its certificate held."""


class ModelWarning(CredoWarning):
    """The data contradict the model's assumptions."""


def warn(message: str, category: type[Warning]) -> None:
    """Warn, pointing at the user's line: the nearest one outside Credo and scikit-learn.

    In a thread of a pool, which no line of the user's leads to, it points at Credo's own.
    """
    own = frame = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    frame = frame or own
    where = frame.f_globals
    # `warnings.warn` counts frames by a `stacklevel` and leaves some out of the count: the line itself is surer.
    warnings.warn_explicit(
        message,
        category,
        frame.f_code.co_filename,
        frame.f_lineno,
        where.get("__name__", "sys"),
        where.setdefault("__warningregistry__", {}),
    )
