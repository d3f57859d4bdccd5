"""`refit`: a network's tables from rows that need not have a column for each node, nor only such columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.models.network.definition import NetworkDefinition
from credo.models.network.learning.encoding import table_columns
from credo.models.network.learning.fitting import LearnedNetwork, learn_parameters
from credo.models.network.learning.options import PRIOR_OPTIONS, TABLE_OPTIONS, check_names, near

__all__ = ["refit"]

_OWNER = "BayesianNetwork.fit"


def refit(definition: NetworkDefinition, table: Any, options: Mapping[str, Any]) -> LearnedNetwork:
    """Estimate the tables anew. Columns that are no nodes are left out, nodes that are no column are hidden.

    Either is warned of. EM begins at the tables that there are, so that a hidden node's states mean what they meant.
    An array has a column for each node, in their order.

    Raises
    ------
    ParameterError : an unknown option. DataError : no column is a node; an array of another width.
    """
    import polars as pl

    check_names(_OWNER, options, (*PRIOR_OPTIONS, *TABLE_OPTIONS))
    nodes = definition.nodes
    if isinstance(table, np.ndarray):
        if table.ndim != 2 or table.shape[1] != len(nodes):
            raise DataError(
                f"{_OWNER}: an array must have a column for each of the {len(nodes)} nodes, in their order, got shape "
                f"{table.shape}.",
                value=table.shape,
            )
        table = dict(zip(nodes, table.T))
    columns: dict[str, Any] = table_columns(_OWNER, table)
    options = dict(options)
    weight = options.get("sample_weight")
    if isinstance(weight, str):
        if weight not in columns or weight in nodes:
            others = [name for name in columns if name not in nodes]
            raise ParameterError(_OWNER, "sample_weight", f"a column that is no node ({', '.join(others)})", weight)
        options["sample_weight"] = columns.pop(weight).to_numpy()
    strange = [name for name in columns if name not in nodes]
    hidden = [node for node in nodes if node not in columns]
    if len(hidden) == len(nodes):
        raise DataError(
            f"{_OWNER}: no column is a node of the network.", columns=list(columns),
            remedy=f"Columns are called as nodes are: {', '.join(nodes[:12])}.",
        )  # fmt: skip
    _warn_of(strange, hidden)
    n = len(next(iter(columns.values())))
    used = {node: columns[node] if node in columns else pl.Series(node, [None] * n, dtype=pl.String) for node in nodes}
    return learn_parameters(
        used, definition.parents, states=dict(definition.states), start=definition.tables, **options
    )


def _warn_of(strange: list[str], hidden: list[str]) -> None:
    if strange:
        said = [f"{name} ({like})" if (like := near(name, hidden)) else name for name in strange[:8]]
        warn(f"{_OWNER}: column(s) {', '.join(said)} are no nodes, and left out.", DataWarning)
    if hidden:
        some = f"{', '.join(hidden[:8])}{', …' if len(hidden) > 8 else ''}"
        warn(
            f"{_OWNER}: node(s) {some} have no column, and are hidden: their tables, and those of their children, are "
            "what EM makes of the other columns, beginning at the network's own.",
            DataWarning,
        )
