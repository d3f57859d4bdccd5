"""Decisions: from a predictive and a loss to the action of least expected loss.

`losses/`         what an action costs (`cr.losses`)
`laws`            the expectations that losses ask of an outcome's law, closed where they can be
`decide`          actions, expected losses, both as a record
`information`     what it is worth to know more before acting
`rejection`       the coverage-risk curve
`cost_sensitive`  the wrapper of any scikit-learn classifier
`networks/`       decision networks: chance, decisions, utilities
"""

from typing import TYPE_CHECKING, Any

from credo.decisions import losses
from credo.decisions.decide import Decision, decide, evaluate, expected_loss
from credo.decisions.information import InformationValue, value_of_information
from credo.decisions.rejection import CoverageRisk, coverage_risk

if TYPE_CHECKING:
    from credo.decisions.cost_sensitive import CostSensitive

__all__ = [
    "losses",
    "decide",
    "expected_loss",
    "evaluate",
    "Decision",
    "value_of_information",
    "InformationValue",
    "coverage_risk",
    "CoverageRisk",
    "CostSensitive",
]


def __getattr__(name: str) -> Any:
    if name == "CostSensitive":  # the one module here that needs scikit-learn
        from credo.decisions.cost_sensitive import CostSensitive

        return CostSensitive
    raise AttributeError(f"module 'credo.decisions' has no attribute {name!r}")
