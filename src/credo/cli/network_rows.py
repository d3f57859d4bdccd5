"""`credo network predict`: each row's cells are evidence, and a node is told of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.errors import DataError, ModelWarning, ParameterError, warn

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

__all__ = ["predicted_rows"]


def predicted_rows(network: Any, table: Any, target: str, keep: tuple[str, ...]) -> pl.DataFrame:
    """Columns kept; then `prediction` and p(STATE) of each state, or the mean and sd of a target that is a real number.

    All are empty for rows that cannot be.

    Raises
    ------
    DataError : cells that are no states or numbers; no column that is a node.
    """
    import polars as pl

    from credo.cli.network_numbers import states_of

    if unknown := [name for name in keep if name not in table.columns]:
        raise ParameterError("", "--keep", f"a column of {table.name} ({', '.join(table.columns[:12])})", unknown[0])
    states, used = states_of(network), _evidence(network, table, target)
    frame = _frame_of(table, [*keep, *used], {name: states.get(name) for name in used})
    made: dict[str, Any] = {name: frame[name] for name in keep}
    if target in states:
        made |= _classes(states[target], network.predict_proba(frame.select(used), target))
    else:
        mean, sd = network.predict_moments(frame.select(used), target)
        made |= {"mean": pl.Series(mean).fill_nan(None), "sd": pl.Series(sd).fill_nan(None)}
    return pl.DataFrame(made)


def _evidence(network: Any, table: Any, target: str) -> list[str]:
    """The table's columns that are nodes; a warning names the nodes that have none."""
    used = [name for name in table.columns if name in network.nodes and name != target]
    if not used:
        raise DataError(
            f"{table.name} has no column that is a node other than {target!r}.", columns=list(table.columns),
            remedy=f"Columns are called as nodes are: {', '.join(network.nodes[:12])}.",
        )  # fmt: skip
    if absent := [node for node in network.nodes if node not in used and node != target]:
        some = f"{', '.join(absent[:8])}{', …' if len(absent) > 8 else ''}"
        warn(f"{table.name} has no column for {some}: taken as missing.", ModelWarning)
    return used


def _classes(states: tuple[Any, ...], p: np.ndarray) -> dict[str, Any]:
    """`prediction` and p(STATE), of probabilities p (n, k); a row of NaN is empty."""
    import numpy as np
    import polars as pl

    from credo.cli.text import label_text

    bad = np.isnan(p[:, 0])
    best = np.argmax(np.where(bad[:, None], 0.0, p), axis=1)
    named = states if len({type(state) for state in states}) == 1 else tuple(map(label_text, states))
    predicted = [None if out else named[i] for i, out in zip(best.tolist(), bad.tolist(), strict=True)]
    columns = {f"p({label_text(state)})": pl.Series(p[:, k]).fill_nan(None) for k, state in enumerate(states)}
    return {"prediction": pl.Series("prediction", predicted), **columns}


def _frame_of(table: Any, columns: list[str], states: dict[str, tuple[Any, ...] | None]) -> pl.DataFrame:
    """The rows of some columns, those of nodes by what their states are; None where a node is a real number."""
    types = {c.name: "category" for c in table.schema.columns if c.type == "boolean"}  # kept as written
    types |= {name: "number" if own is None else _type_of(own) for name, own in states.items()}
    return table.with_schema(table.schema.with_types(types).select(list(dict.fromkeys(columns)))).read()


def _type_of(states: tuple[Any, ...]) -> str:
    """The type of a column that holds such states."""
    if all(isinstance(state, bool) for state in states):
        return "boolean"
    if all(isinstance(state, (int, float)) and not isinstance(state, bool) for state in states):
        return "number"
    return "category"
