"""What to try, ask or measure next: pure functions of a history and a generator.

`spaces`       what may be tried: ranges, choices, conditions, constraints; to the unit cube and back
`surrogates`   beliefs about an objective on the unit cube
`acquisition`  what a point is worth, and where that is highest: Bayesian optimisation
`fronts`       two objectives: dominance, hypervolume, what a point is expected to add
`forest`       the same with a random forest, for rough, conditional and categorical spaces
`trust`        within a region that grows and shrinks, for many dimensions
`importance`   which parameters matter
`tastes`       what a person likes, and what to show next
`bandits`      arms as beliefs, policies, when to stop
`active`       which rows of a pool to label
"""

from __future__ import annotations

import importlib
from typing import Any

_SUBMODULES = (
    "spaces",
    "surrogates",
    "acquisition",
    "fronts",
    "forest",
    "trust",
    "importance",
    "tastes",
    "bandits",
    "active",
)


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"credo.design.{name}")
    raise AttributeError(f"module 'credo.design' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *_SUBMODULES]
