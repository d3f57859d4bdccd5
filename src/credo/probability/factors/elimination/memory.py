"""Memory is predicted from the plan, and refused before it is asked for."""

from __future__ import annotations

from credo.errors import CredoError

__all__ = ["MEMORY_LIMIT", "MemoryLimitError", "check_memory"]

#: bytes: what a machine of these days spares without swapping
MEMORY_LIMIT = 4 * 2**30


class MemoryLimitError(CredoError, MemoryError):
    """A computation would need more memory than allowed; `value` is the number of bytes predicted."""


def check_memory(needed: int, limit: int) -> None:
    if needed > limit:
        raise MemoryLimitError(
            f"Exact elimination would need {needed / 2**30:.3g} GiB, above memory_limit = {limit / 2**30:.3g} GiB.",
            value=needed,
            remedy="Observe more variables, raise memory_limit, or sample instead.",
        )
