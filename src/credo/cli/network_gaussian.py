"""`credo network learn --kind gaussian`: a table of measured numbers to a linear-Gaussian network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.cli.network_learning import Kind, Wanted
from credo.errors import DataError, ParameterError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["of_numbers"]

# Equations that a screen holds.
_SHOWN = 40


def of_numbers(wanted: Wanted) -> Kind:
    """Of real numbers.

    Raises
    ------
    ParameterError : what only a network of states has.
    """
    for option, value in (("--target", wanted.target), ("--prior", None if wanted.prior == "bdeu" else wanted.prior)):
        if value is not None:
            raise ParameterError("", option, "left out, of --kind gaussian", value)

    def learned(frame: pl.DataFrame, name: str) -> tuple[Any, dict[str, Any], list[str]]:
        network = learned_numbers(frame, wanted)
        return network, *told_numbers(network, frame.height, wanted.structure, name)

    return Kind((".json", ".credo"), lambda table: read_numbers(table, wanted.drop), learned)


def read_numbers(table: Any, drop: tuple[str, ...]) -> pl.DataFrame:
    """The columns, all of which must hold numbers."""
    if unknown := [name for name in drop if name not in table.columns]:
        raise ParameterError("", "--drop", f"a column of {table.name} ({', '.join(table.columns[:12])})", unknown[0])
    columns = [c for c in table.schema.columns if c.name not in drop]
    if words := [c for c in columns if c.type not in ("number", "count")]:
        raise DataError(
            f"{table.name}: column {words[0].name} holds {words[0].type} cells, and this network real numbers alone.",
            columns=[c.name for c in words],
            remedy=f"Leave it out: {' '.join(f'--drop {c.name}' for c in words[:4])}; or learn a network of states: "
            "--kind states.",
        )  # fmt: skip
    return table.with_schema(table.schema.select([c.name for c in columns])).read()


def learned_numbers(frame: pl.DataFrame, wanted: Wanted) -> Any:
    """The `LinearGaussianNetwork`: arrows by search or from a file.

    Raises
    ------
    ParameterError : options that do not go together.
    """
    from credo.models.network.gaussian import LinearGaussianNetwork

    score, size = wanted.score, wanted.size
    if wanted.structure != "hill-climb":
        for name, value in (("--score", score), ("--max-parents", wanted.max_parents), ("--sample-size", size)):
            if value is not None:
                raise ParameterError("", name, "left out unless --structure is hill-climb", value)
        return _with_arrows(frame, wanted.structure)
    if score not in (None, "bic", "bge", "aic"):
        raise ParameterError("", "--score", "bic, bge or aic, of --kind gaussian", score)
    if size is not None and score != "bge":
        raise ParameterError("", "--sample-size", "left out unless --score is bge, of --kind gaussian", size)
    options: dict[str, Any] = {} if size is None else {"equivalent_sample_size": size}
    return LinearGaussianNetwork.learn(
        frame, score=score or "bic", max_parents=wanted.max_parents, random_state=wanted.seed, **options
    )


def _with_arrows(frame: pl.DataFrame, path: str) -> Any:
    import os

    from credo.cli.network_parts import arrows_of
    from credo.models.network.gaussian import LinearGaussianNetwork

    if not os.path.exists(path):
        raise ParameterError("", "--structure", "hill-climb, or a file of arrows, of --kind gaussian", path)
    parents, _ = arrows_of(path)
    named = {*parents, *(name for family in parents.values() for name in family)}
    if absent := sorted(name for name in named if name not in frame.columns):
        raise DataError(
            f"{path} has arrows of {absent[0]!r}, which is no column.", columns=absent,
            remedy=f"Columns are {', '.join(frame.columns[:12])}.",
        )  # fmt: skip
    edges = [(parent, child) for child, family in parents.items() for parent in family]
    network = LinearGaussianNetwork(edges, nodes=frame.columns)
    missing = any(frame[name].null_count() for name in frame.columns)
    return network.fit(frame, method="mle" if missing else "bayes")


def told_numbers(network: Any, rows: int, structure: str, name: str) -> tuple[dict[str, Any], list[str]]:
    """(document, lines) on what was learned."""
    from credo.cli.network_parts import undirected
    from credo.cli.text import bullets
    from credo.numerics.readable import count, number

    chosen = network.structure_
    open_ = undirected(network)
    arrows = [f"{a} {'—' if (a, b) in open_ else '→'} {b}" for a, b in network.edges]
    document = {
        "kind": network.kind, "data": name, "rows": rows, "nodes": list(network.nodes),
        "edges": [{"parent": a, "child": b, "directed": (a, b) not in open_} for a, b in network.edges],
        "structure": structure, "score": None if chosen is None else {chosen.score_name: chosen.score},
        "equations": {
            node: {"intercept": e.intercept, "coefficients": dict(e.coefficients), "sd": e.sd}
            for node, e in network.equations_.items()
        },
    }  # fmt: skip
    lines = [
        f"{name}: {count(rows, 'row')}; {count(len(network.nodes), 'node')}, {count(len(arrows), 'arrow')}.",
        *bullets(arrows, most=_SHOWN),
    ]
    if open_:
        lines.append("— could point either way: the data cannot tell.")
    if chosen is not None:
        lines.append(f"{chosen.score_name} {number(chosen.score, 7)}.")
    return document, lines
