"""A bandit as a dictionary that JSON holds, and back. Floats survive JSON to the last bit."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from credo.design.bandits.arms import Arms
from credo.design.bandits.linear import LinearArms
from credo.design.bandits.policies import POLICIES, Policy
from credo.distributions.beta import Beta
from credo.distributions.conjugate_pairs import Statistics
from credo.distributions.normal_inverse_gamma import NormalInverseGamma
from credo.distributions.statistics import WeightedMoments
from credo.errors import FileFormatError, SaveError
from credo.inference.exact import RegressionStatistics

__all__ = ["bandit_state", "restored"]

VERSION = 1
_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_PRIORS: dict[str, Any] = {"Beta": Beta, "NormalInverseGamma": NormalInverseGamma}


def bandit_state(bandit: Any) -> dict[str, Any]:
    belief = bandit.belief
    if isinstance(belief, LinearArms):
        priors, seen = belief.priors, [_record(s) for s in belief.statistics]
    else:
        priors, seen = [m.prior for m in belief.models], [_statistics(m.statistics) for m in belief.models]
    return {
        "version": VERSION,
        "kind": bandit.kind,
        "arms": list(bandit.arms),
        "policy": _policy(bandit.policy),
        "priors": [{"family": type(p).__name__, **_plain(p.parameters)} for p in priors],
        "statistics": seen,
        "pending": bandit.pending.tolist(),
        "rng": _plain(bandit._rng.bit_generator.state),
    }


def restored(cls: type, state: dict[str, Any]) -> Any:
    try:
        if state["version"] > VERSION or state["kind"] != cls.kind:  # type: ignore[attr-defined]
            what = f"version {state['version']} of kind {state['kind']!r}"
            raise FileFormatError(f"{cls.__name__}.from_dict cannot read {what}.", value=state["kind"])
        priors = [_PRIORS[p["family"]](**{k: v for k, v in p.items() if k != "family"}) for p in state["priors"]]
        policy = dict(state["policy"])
        bandit = cls(state["arms"], prior=_joined(priors), policy=POLICIES[policy.pop("name")](**policy))
        bandit.belief = _filled(bandit.belief, state["statistics"])
        bandit.pending = np.array(state["pending"], dtype=np.float64)
        bandit._rng = _generator(state["rng"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{cls.__name__}.from_dict: the state is damaged ({error}).", value=state) from error
    return bandit


def _joined(priors: list) -> Any:
    if isinstance(priors[0], Beta):
        return Beta(np.array([p.a for p in priors]), np.array([p.b for p in priors]))
    return priors


def _filled(belief: Any, seen: list) -> Any:
    if isinstance(belief, LinearArms):
        for k, each in enumerate(seen):
            if each is not None:
                arrays = {n: None if each[n] is None else np.array(each[n]) for n in ("mean", "scatter", "factor")}
                belief = belief.with_statistics(k, RegressionStatistics(**{**each, **arrays}))
        return belief
    models = []
    for model, each in zip(belief.models, seen, strict=True):
        statistics = None
        if each is not None:
            m = each["moments"]
            arrays = m and {n: np.array(m[n], dtype=np.float64) for n in ("shift", "offset", "scatter")}
            moments = m and WeightedMoments(m["count"], m["total"], **arrays)
            statistics = Statistics(np.array(each["sums"], dtype=np.float64), moments)
        models.append(model if statistics is None else model._with(statistics))
    return Arms.of(tuple(models))


def _statistics(s: Statistics | None) -> dict[str, Any] | None:
    return None if s is None else {"sums": s.sums.tolist(), "moments": _record(s.moments)}


def _record(value: Any) -> dict[str, Any] | None:
    if value is None:
        return None
    return _plain({f.name: getattr(value, f.name) for f in dataclasses.fields(value)})


def _policy(policy: Policy) -> dict[str, Any]:
    for name, kind in POLICIES.items():
        if type(policy) is kind:
            return {"name": name, **dataclasses.asdict(policy)}  # type: ignore[call-overload]
    raise SaveError(f"bandit.to_dict: {type(policy).__name__} is a policy of your own.", value=policy)


def _plain(value: Any) -> Any:
    """NumPy arrays and numbers as lists and Python numbers."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _generator(state: dict[str, Any]) -> np.random.Generator:
    if state["bit_generator"] not in _GENERATORS:
        raise FileFormatError(f"No such generator: {state['bit_generator']!r}.", value=state["bit_generator"])
    generator = getattr(np.random, state["bit_generator"])()
    generator.state = _arrays(state)
    return np.random.Generator(generator)


def _arrays(value: Any) -> Any:
    """The inverse of `_plain` for generators, whose lists are of unsigned integers."""
    if isinstance(value, dict):
        return {key: _arrays(each) for key, each in value.items()}
    return np.array(value, dtype=np.uint64) if isinstance(value, list) else value
