"""Tables to networks: columns as categories, structures by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from credo.errors import DataError, ParameterError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Kind", "Wanted", "of_states"]

METHODS = {"hill-climb": "hill_climb", "pc": "pc", "chow-liu": "chow_liu", "tan": "tan", "naive-bayes": "naive_bayes"}
# Arrows that a screen holds.
_SHOWN = 40


@dataclass(frozen=True)
class Wanted:
    """What `credo network learn` was told of how to learn, as it was written."""

    structure: str
    score: str | None
    max_parents: int | None
    target: str | None
    prior: str
    size: float | None
    drop: tuple[str, ...]
    seed: int


class Kind(NamedTuple):
    """How networks of one kind are learned: endings of their files (the first by default), table → rows, and
    (rows, name) → (network, document, lines)."""

    endings: tuple[str, ...]
    read: Callable[[Any], Any]
    learned: Callable[[Any, str], tuple[Any, dict[str, Any], list[str]]]


def of_states(wanted: Wanted) -> Kind:
    """Of states."""
    from credo.cli.network_parts import ENDINGS

    def learned(rows: Any, name: str) -> tuple[Any, dict[str, Any], list[str]]:
        from credo.models.network.network import BayesianNetwork

        frame, states = rows
        found = learned_from(frame, states, wanted)
        return BayesianNetwork.of(found.definition), *told(found, frame, wanted.structure, name)

    return Kind(ENDINGS, lambda table: read_categories(table, wanted.drop), learned)


def read_categories(table: Any, drop: tuple[str, ...]) -> tuple[pl.DataFrame, dict[str, tuple[Any, ...]]]:
    """(rows, states of ordered columns): words as they are written, numbers as numbers.

    Columns that were told to be boolean stay words too: who wrote yes and no wants to ask for yes.
    """
    if unknown := [name for name in drop if name not in table.columns]:
        raise ParameterError("", "--drop", f"a column of {table.name} ({', '.join(table.columns[:12])})", unknown[0])
    columns = [c for c in table.schema.columns if c.name not in drop]
    words = {c.name: "category" for c in columns if c.type == "boolean" and c.name not in table.stated}
    kept = table.schema.with_types(words).select([c.name for c in columns])
    states = {c.name: tuple(c.levels) for c in kept.columns if c.type == "ordered" and c.levels}
    return table.with_schema(kept).read(), states


def learned_from(frame: pl.DataFrame, states: dict[str, tuple[Any, ...]], wanted: Wanted) -> Any:
    """The `LearnedNetwork`: structure by search, by a tree, or from a file.

    Raises
    ------
    ParameterError : options that do not go together.
    """
    from credo.models.network.learning import learn_network, learn_parameters

    method = METHODS.get(wanted.structure)
    for name, value in (("--score", wanted.score), ("--max-parents", wanted.max_parents)):
        if value is not None and method != "hill_climb":
            raise ParameterError("", name, "left out unless --structure is hill-climb", value)
    target = wanted.target
    if (target is not None) != (method in ("tan", "naive_bayes")):
        must = "left out unless --structure is tan or naive-bayes" if target is not None else "given: the class"
        raise ParameterError("", "--target", must, target)
    if target is not None and target not in frame.columns:
        raise ParameterError("", "--target", f"a column ({', '.join(frame.columns[:12])})", target)
    if wanted.score not in (None, "bic", "aic", "bdeu", "k2"):
        raise ParameterError("", "--score", "bic, aic, bdeu or k2", wanted.score)
    if wanted.prior not in ("bdeu", "k2", "none"):
        raise ParameterError("", "--prior", "bdeu, k2 or none", wanted.prior)
    options = {"prior": wanted.prior, "equivalent_sample_size": wanted.size, "random_state": wanted.seed}
    if method is None:
        return _with_arrows(frame, states, wanted.structure, options, learn_parameters)
    search: dict[str, Any] = {}
    if method == "hill_climb":
        search = {"score": wanted.score or "bic", "max_parents": wanted.max_parents, "random_state": wanted.seed}
    return learn_network(frame, method, class_node=target, states=states or None, search=search, **options)


def _with_arrows(frame: pl.DataFrame, states: Any, path: str, options: dict[str, Any], learn: Any) -> Any:
    import os

    from credo.cli.network_parts import arrows_of

    if not os.path.exists(path):
        raise ParameterError("", "--structure", f"{', '.join(METHODS)}, or a file", path)
    parents, known = arrows_of(path)
    named = {*parents, *(name for family in parents.values() for name in family)}
    if not known and (absent := [name for name in named if name not in frame.columns]):
        raise DataError(
            f"{path} has arrows of {sorted(absent)[0]!r}, which is no column.", columns=sorted(absent),
            remedy=f"Columns are {', '.join(frame.columns[:12])}.",
        )  # fmt: skip
    if known:  # a network's file: its nodes and no others
        if not any(name in known for name in frame.columns):
            raise DataError(
                f"No column is a node of {path}.", columns=frame.columns,
                remedy=f"Its nodes are {', '.join(list(known)[:12])}.",
            )  # fmt: skip
        frame = frame.select([name for name in frame.columns if name in known])
    return learn(frame, parents, states={**states, **known} or None, **options)


def told(found: Any, frame: pl.DataFrame, structure: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """(document, lines) on what was learned."""
    from credo.cli.network_parts import undirected
    from credo.cli.text import bullets
    from credo.numerics.readable import count, number

    d, chosen = found.definition, found.structure
    open_ = undirected(d)
    document = {
        "kind": "network", "data": name, "rows": frame.height, "nodes": list(d.nodes),
        "edges": [{"parent": a, "child": b, "directed": (a, b) not in open_} for a, b in d.edges],
        "parameters": d.n_parameters, "structure": structure, "log_likelihood": found.log_likelihood,
        "score": None if chosen is None else {chosen.score_name: chosen.score}, "status": found.result.status,
        "search": None if chosen is None or chosen.result is None else chosen.result.inference,
    }  # fmt: skip
    arrows = [f"{a} {'—' if (a, b) in open_ else '→'} {b}" for a, b in d.edges]
    lines = [
        f"{name}: {count(frame.height, 'row')}; {count(len(d.nodes), 'node')}, {count(len(d.edges), 'arrow')}, "
        f"{count(d.n_parameters, 'parameter')}.",
        *bullets(arrows, most=_SHOWN),
    ]
    if open_:
        lines.append("— could point either way: the data cannot tell.")
    score = ""
    if chosen is not None and chosen.score_name != "log_likelihood":
        score = f", {chosen.score_name} {number(chosen.score, 7)}"
    lines.append(f"Log-likelihood {number(found.log_likelihood, 7)} nats{score}.")
    if chosen is not None and chosen.result is not None and chosen.result.inference == "structural_em":
        lines.append(f"Cells are missing: structural EM, in {count(chosen.result.n_iter, 'round')}.")
    return document, lines
