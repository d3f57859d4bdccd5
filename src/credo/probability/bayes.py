"""Bayes' rule, from events or from three numbers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from credo.errors import ParameterError, ZeroProbabilityError
from credo.probability.events import Event
from credo.probability.masses import exactly, is_exact

__all__ = ["bayes_rule"]

# Printed probabilities are rounded: a joint probability that exceeds its bound by less is taken for equal.
ROUNDING = 1e-12


def bayes_rule(
    hypothesis: Event | None = None,
    datum: Event | None = None,
    *,
    likelihood: Any = None,
    prior: Any = None,
    evidence: Any = None,
    otherwise: Any = None,
) -> Any:
    """P(A | B) = P(B | A) P(A) / P(B).

    Parameters
    ----------
    hypothesis, datum : events A and B of one space; or, instead, numbers or arrays of one shape:
    likelihood, prior : P(B | A) and P(A)
    evidence : P(B); or
    otherwise : P(B | not A), from which P(B) = P(B | A) P(A) + P(B | ¬A) (1 − P(A))

    `Fraction`s and integers stay exact.

    Raises
    ------
    ParameterError : a number outside [0, 1], or three that no distribution has: P(A ∩ B) = P(B | A) P(A) may exceed
        neither P(B) nor leave more of B than ¬A has room for, P(B) − P(A ∩ B) ≤ 1 − P(A).
    ZeroProbabilityError : P(B) = 0.

    Examples
    --------
    >>> round(bayes_rule(likelihood=0.6, prior=0.3, evidence=0.2), 12)
    0.9
    >>> from fractions import Fraction
    >>> bayes_rule(likelihood=Fraction(99, 100), prior=Fraction(1, 1000), otherwise=Fraction(5, 100))
    Fraction(11, 566)
    """
    if hypothesis is not None or datum is not None:
        if not (isinstance(hypothesis, Event) and isinstance(datum, Event)):
            raise ParameterError("bayes_rule", "hypothesis, datum", "two events", (hypothesis, datum))
        if any(value is not None for value in (likelihood, prior, evidence, otherwise)):
            raise ParameterError("bayes_rule", "likelihood, prior, evidence", "None beside events", likelihood)
        return hypothesis.given(datum)
    given = {"likelihood": likelihood, "prior": prior, "evidence": evidence, "otherwise": otherwise}
    arrays = {name: np.shape(value) for name, value in given.items() if value is not None and np.ndim(value)}
    try:
        np.broadcast_shapes(*arrays.values())
    except ValueError:
        raise ParameterError("bayes_rule", ", ".join(arrays), "of one shape", list(arrays.values())) from None
    likelihood, prior = _probability("likelihood", likelihood), _probability("prior", prior)
    if arrays or not (is_exact(likelihood) and is_exact(prior)):  # arrays of Fractions are not arithmetic's friends
        likelihood, prior = (float(p) if isinstance(p, Fraction) else p for p in (likelihood, prior))
    joint = likelihood * prior
    if (evidence is None) == (otherwise is None):
        raise ParameterError("bayes_rule", "evidence, otherwise", "one of the two", (evidence, otherwise))
    if evidence is None:
        evidence = joint + _probability("otherwise", otherwise) * (1 - prior)
    else:
        evidence = _probability("evidence", evidence)
        _check_consistent(joint, prior, evidence)
    if np.any(np.equal(evidence, 0)):
        raise ZeroProbabilityError("P(A | B) is undefined: P(B) is 0.", value=evidence)
    if all(is_exact(value) for value in (joint, evidence)):
        return joint / evidence
    posterior = np.minimum(np.asarray(joint, dtype=np.float64) / np.asarray(evidence, dtype=np.float64), 1.0)
    return float(posterior) if posterior.ndim == 0 else posterior


def _probability(name: str, value: Any) -> Any:
    if value is None:
        raise ParameterError("bayes_rule", name, "given: a number in [0, 1]", value)
    if is_exact(value):
        value = exactly(value)
        inside = 0 <= value <= 1
    else:
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise ParameterError("bayes_rule", name, "a number in [0, 1]", value) from None
        inside = bool(np.all((array >= 0.0) & (array <= 1.0)))
        value = float(array) if array.ndim == 0 else array
    if not inside:
        raise ParameterError("bayes_rule", name, "a number in [0, 1]", value)
    return value


def _check_consistent(joint: Any, prior: Any, evidence: Any) -> None:
    if np.any(joint > evidence + (0 if is_exact(joint) and is_exact(evidence) else ROUNDING)):
        raise ParameterError(
            "bayes_rule",
            "evidence",
            f"at least P(B | A) P(A) = {joint}, the part of B inside A",
            evidence,
            "The three numbers contradict each other; state otherwise=P(B | not A) instead of the evidence.",
        )
    if np.any(evidence - joint > 1 - prior + (0 if is_exact(joint - prior - evidence) else ROUNDING)):
        raise ParameterError(
            "bayes_rule",
            "evidence",
            f"at most P(B | A) P(A) + 1 − P(A) = {joint + 1 - prior}",
            evidence,
            "The three numbers contradict each other: B outside A is larger than everything outside A.",
        )
