"""Options by name: to the search or to the tables, and those of neither with the names that are like them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any

from credo.errors import ParameterError

__all__ = ["PRIOR_OPTIONS", "TABLE_OPTIONS", "check_names", "missing_rule", "near", "routed"]

# Of `fit_tables`, and of the priors.
TABLE_OPTIONS = ("n_init", "tol", "max_iter", "acceleration", "random_state", "threads")
PRIOR_OPTIONS = ("prior", "equivalent_sample_size", "prior_estimate", "sample_weight")


def check_names(owner: str, options: Iterable[str], known: Iterable[str], of: str = "") -> None:
    """Raise `ParameterError` for the first name that is not known, with those like it."""
    names = list(known)
    for name in options:
        if name not in names:
            allowed = f"among {', '.join(names)}" if names else "none"
            raise ParameterError(owner, "options", allowed + of, name, near(name, names))


def near(name: str, names: Iterable[str]) -> str | None:
    """ "Did you mean …?", or None where no name is like it."""
    texts = {str(each).lower(): str(each) for each in names}
    like = [texts[text] for text in difflib.get_close_matches(str(name).lower(), list(texts), n=3)]
    return f"Did you mean {' or '.join(map(repr, like))}?" if like else None


def routed(
    owner: str, method: str, searching: Iterable[str], search: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """(options of the search, options of the tables): each by its name, `random_state` to both, `max_iter` to EM.

    searching : names that the search knows; `search` goes to it whatever its names, and before `options`
    """
    known = list(searching)
    check_names(owner, options, dict.fromkeys([*known, *TABLE_OPTIONS, *PRIOR_OPTIONS]), f", of method={method!r}")
    both = [name for name in options if name in known and (name not in TABLE_OPTIONS or name == "random_state")]
    return (
        {**{name: options[name] for name in both}, **(search or {})},
        {name: value for name, value in options.items() if name in TABLE_OPTIONS},
    )


def missing_rule(owner: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """(options without `missing`, whether missing cells go to EM rather than out with their rows)."""
    rest = dict(options)
    rule = rest.pop("missing", "em")
    if not isinstance(rule, str) or rule not in ("em", "drop"):
        raise ParameterError(owner, "missing", '"em" or "drop"', rule)
    return rest, rule == "em"
