"""Memory is predicted from the plan, and refused before it is asked for."""

from __future__ import annotations

from credo.errors import MemoryLimitError

__all__ = ["MEMORY_LIMIT", "MemoryLimitError", "check_memory"]

#: bytes: what a machine of these days spares without swapping
MEMORY_LIMIT = 4 * 2**30


def check_memory(needed: int, limit: int) -> None:
    if needed > limit:
        raise MemoryLimitError(
            f"Exact elimination would need {needed / 2**30:.3g} GiB, above memory_limit = {limit / 2**30:.3g} GiB.",
            value=needed,
            remedy="Observe more variables, raise memory_limit, or sample instead.",
        )
