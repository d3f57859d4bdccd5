"""How the response scatters about the linear predictor: what `family=` may name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.distributions import Bernoulli, Binomial, NegativeBinomial, Normal, Poisson, StudentT
from credo.errors import DataError, ParameterError
from credo.program import math

__all__ = ["FAMILIES", "ResponseFamily", "family_of"]


@dataclass(frozen=True)
class ResponseFamily:
    """A family of responses.

    link : of its mean: "identity", "log" or "logit"; parameters : names of what it has beside the mean
    law : (linear predictor, parameters by name, trials) → the response's law
    """

    name: str
    link: str
    parameters: tuple[str, ...]
    law: Callable[[Any, Mapping[str, Any], Any], Any]

    def check(
        self, y: np.ndarray, levels: tuple[str, ...], trials: np.ndarray | None, text: str, rows: np.ndarray
    ) -> None:
        """Raise `DataError` for responses that the family cannot give; rows : their numbers in the user's table."""
        if levels and (self.link != "logit" or len(levels) != 2):
            raise DataError(
                f"The response {text} has levels {', '.join(map(repr, levels[:5]))}; family {self.name!r} needs "
                f"{'two of them' if self.link == 'logit' else 'numbers'}.",
                columns=[text],
                value=levels,
                remedy="Of two levels: family 'bernoulli'." if len(levels) == 2 else None,
            )
        if self.link == "identity":
            if np.all(y == y[0]):
                raise DataError(f"The response {text} is {y[0]:g} in all {len(y)} rows.", columns=[text], value=y[0])
            return
        most = 1.0 if self.name == "bernoulli" else np.inf if trials is None else trials
        bad = np.flatnonzero((y < 0) | (y > most) | (y != np.floor(y)))
        if bad.size:
            kind = {"bernoulli": "0 and 1", "binomial": "whole numbers from 0 to trials"}.get(self.name, "counts")
            raise DataError(
                f"The response {text} must be {kind} for family {self.name!r}; row {rows[bad[0]]} has {y[bad[0]]:g}.",
                rows=np.asarray(rows)[bad[:20]].tolist(),
                columns=[text],
                value=float(y[bad[0]]),
            )


FAMILIES = {
    family.name: family
    for family in (
        ResponseFamily("gaussian", "identity", ("sigma",), lambda eta, own, trials: Normal(eta, own["sigma"])),
        ResponseFamily(
            "student_t",
            "identity",
            ("sigma", "df"),
            lambda eta, own, trials: StudentT(own["df"], eta, own["sigma"]),
        ),
        ResponseFamily("bernoulli", "logit", (), lambda eta, own, trials: Bernoulli(math.expit(eta))),
        ResponseFamily("binomial", "logit", (), lambda eta, own, trials: Binomial(trials, math.expit(eta))),
        ResponseFamily("poisson", "log", (), lambda eta, own, trials: Poisson(math.exp(eta))),
        ResponseFamily(
            "negative_binomial",
            "log",
            ("overdispersion",),  # 1/√shape: 0 is the Poisson
            lambda eta, own, trials: NegativeBinomial(math.exp(eta), own["overdispersion"] ** -2),
        ),
    )
}


def family_of(name: Any) -> ResponseFamily:
    """The family of that name."""
    if not isinstance(name, str) or name not in FAMILIES:
        raise ParameterError("regress", "family", f"one of {', '.join(map(repr, FAMILIES))}", name)
    return FAMILIES[name]
