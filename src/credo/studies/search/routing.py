"""Which metadata (sample weights, groups, …) goes to the estimator, the scorers and the splitter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sklearn import get_config
from sklearn.metrics import check_scoring, get_scorer
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from credo.errors import ParameterError

__all__ = ["Routed", "is_routing", "routed", "router_of", "scorers_of", "scoring_metadata"]


@dataclass(frozen=True)
class Routed:
    """fit : of the estimator and its scorers, under the names that `cross_validate` routes; refit : of the estimator
    alone; split : of the splitter."""

    fit: Mapping[str, Any]
    refit: Mapping[str, Any]
    split: Mapping[str, Any]


def is_routing() -> bool:
    """Whether scikit-learn's metadata routing is on."""
    return bool(get_config()["enable_metadata_routing"])


def scorers_of(estimator: Any, scoring: Any) -> Any:
    """One scorer, or a dict of them."""
    if scoring is None or isinstance(scoring, str) or callable(scoring):
        return scoring if callable(scoring) else check_scoring(estimator, scoring)
    if isinstance(scoring, Mapping):
        named = dict(scoring)
    elif isinstance(scoring, (list, tuple, set)) and all(isinstance(name, str) for name in scoring):
        named = {name: name for name in scoring}
        if len(named) < len(scoring):
            raise ParameterError("CredoSearchCV", "scoring", "of metrics each named once", scoring)
    else:
        named = {}
    if not named:
        raise ParameterError(
            "CredoSearchCV", "scoring", "the name of a metric, a scorer, or a list or dict of them that is not empty",
            scoring,
        )  # fmt: skip
    return {name: scorer if callable(scorer) else get_scorer(scorer) for name, scorer in named.items()}


def _scorer_router(search: Any) -> Any:
    """One object that knows what all scorers request."""
    scorers = scorers_of(search.estimator, search.scoring)
    return check_scoring(search.estimator, scorers) if isinstance(scorers, dict) else scorers


def router_of(search: Any, splitter: bool = True) -> MetadataRouter:
    """As scikit-learn's own searches have it."""
    fit_and_score = MethodMapping().add(caller="fit", callee="score").add(caller="score", callee="score")
    router = MetadataRouter(owner=search)
    router.add(estimator=search.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))
    router.add(scorer=_scorer_router(search), method_mapping=fit_and_score)
    if splitter:
        router.add(splitter=search.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
    return router


def routed(search: Any, params: Mapping[str, Any]) -> Routed:
    """Without routing: `groups` to the splitter, the rest to `fit`, as scikit-learn does."""
    if not is_routing():
        rest = {name: value for name, value in params.items() if name != "groups"}
        return Routed(rest, rest, {"groups": params.get("groups")})
    found = process_routing(search, "fit", **params)
    wanted = router_of(search, splitter=False).consumes("fit", list(params))
    fit = {name: value for name, value in params.items() if name in wanted}
    return Routed(fit, found.estimator.fit, found.splitter.split)


def scoring_metadata(search: Any, params: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the scorer of `search.score` gets."""
    if is_routing():
        return process_routing(search, "score", **params).scorer["score"]
    if params:
        raise ParameterError(
            "CredoSearchCV.score", "params", "empty unless metadata is routed", sorted(params),
            "Call sklearn.set_config(enable_metadata_routing=True).",
        )  # fmt: skip
    return {}
