"""How much memory there is, and the error of what needs more."""

from __future__ import annotations

import os

from credo.errors import NumericalError

__all__ = ["available", "require"]


def available() -> float:
    """Bytes that could be had now, caches included; ∞ where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        return _pages("SC_AVPHYS_PAGES")


def require(owner: str, n: int, needed: float, remedy: str) -> None:
    """`NumericalError` if `needed` bytes for n rows are more than the machine's memory."""
    there = _pages("SC_PHYS_PAGES")
    if needed > there:
        raise NumericalError(
            f"{owner} for {n:,} rows needs {needed / 2**30:,.0f} GiB; this machine has {there / 2**30:,.0f}.",
            value=n,
            remedy=remedy,
        )


def _pages(name: str) -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf(name))
    except (AttributeError, ValueError, OSError):
        return float("inf")
