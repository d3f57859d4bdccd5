"""Losses as they are written on a command line: `linear:over=1,under=9`, a table of costs, a price of rejection."""

from __future__ import annotations

from typing import Any

from credo.errors import DataError, ParameterError

__all__ = ["EXAMPLES", "chosen_loss", "loss_of"]

#: name → (class in `credo.decisions.losses`, parameters in order, an example)
_KNOWN: dict[str, tuple[str, tuple[str, ...], str]] = {
    "square": ("Square", (), "square"),
    "absolute": ("Absolute", (), "absolute"),
    "pinball": ("Pinball", ("q",), "pinball:0.9"),
    "linear": ("Linear", ("over", "under"), "linear:over=1,under=9"),
    "linex": ("Linex", ("a",), "linex:0.5"),
    "zero-one": ("ZeroOne", (), "zero-one"),
}
#: one of each, for people
EXAMPLES = ", ".join(example for _, _, example in _KNOWN.values())
REJECTED = "(reject)"


def chosen_loss(loss: str | None, costs: str | None, reject: float | None, model: Any) -> Any:
    """The loss that the options state, None when they state none.

    Raises
    ------
    ParameterError : two of them, a name or number that is not one, or a loss that does not fit the target.
    """
    stated = [name for name, value in (("--loss", loss), ("--costs", costs), ("--reject", reject)) if value is not None]
    if len(stated) > 1:
        raise ParameterError("", stated[1], f"given without {stated[0]}", (loss, costs, reject), "One loss decides.")
    if not stated:
        return None
    about_classes = costs is not None or reject is not None or loss == "zero-one"
    if about_classes != bool(model.labels):
        wanted = "--costs, --reject or --loss zero-one"
        if not model.labels:
            wanted = ", ".join(name for name in _KNOWN if name != "zero-one")
        raise ParameterError(
            "", stated[0], f"used for {'numbers' if model.labels else 'classes'} alone", loss or costs or reject,
            f"{model.target!r} is {'a class' if model.labels else 'a number'}: use {wanted}.",
        )  # fmt: skip
    if costs is not None:
        return costs_of(costs, model.labels)
    if reject is not None:
        return rejection(reject)
    assert loss is not None
    return loss_of(loss)


def rejection(price: float) -> Any:
    from credo.decisions.losses import Reject

    if not 0.0 <= price <= 1.0:
        raise ParameterError("", "--reject", "a cost between 0 and 1", price)
    return Reject(price, label=REJECTED)


def loss_of(text: str) -> Any:
    """The loss that `name`, `name:value` or `name:key=value,…` states.

    >>> loss_of("linear:over=1,under=9")
    Linear(over=1.0, under=9.0)
    >>> loss_of("pinball:0.9")
    Pinball(q=0.9)
    """
    from credo.decisions import losses

    name, _, rest = text.strip().partition(":")
    if name.lower() not in _KNOWN:
        raise ParameterError("", "--loss", "a known loss", text, f"Such as {EXAMPLES}.")
    law, names, example = _KNOWN[name.lower()]
    return getattr(losses, law)(**_parameters(text, rest, names, example))


def _parameters(text: str, rest: str, names: tuple[str, ...], example: str) -> dict[str, float]:
    values: dict[str, float] = {}
    for position, part in enumerate(filter(None, rest.split(","))):
        key, equals, number = part.partition("=")
        if not equals:
            key, number = (names[position] if position < len(names) else "?"), part
        try:
            values[key.strip()] = float(number)
        except ValueError:
            values["?"] = float("nan")
    if set(values) != set(names):
        raise ParameterError("", "--loss", f"written as {example}", text)
    return values


def costs_of(path: str, labels: tuple[Any, ...]) -> Any:
    """The cost matrix in a file: a row an action (named in the first column), a column a class.

    Raises
    ------
    DataError : a class without a column, or cells that are no numbers.
    """
    from credo.cli.text import label_text
    from credo.decisions.losses import CostMatrix
    from credo.tables import open_table

    table = open_table(path, header_rows=1)  # classes named 0 and 1 look like data
    first, named = table.columns[0], table.columns[1:]
    # true and false may be written in any case, or as the tables often have them: 1 and 0
    written = {"true": "1", "false": "0"} if {"0", "1"} <= set(named) else {}
    written |= {name.lower() if name.lower() in ("true", "false") else name: name for name in named}
    absent = [label for label in labels if label_text(label) not in named and label_text(label) not in written]
    if absent:
        raise DataError(
            f"{path} has no column for the class {absent[0]!r}; it has {', '.join(map(repr, named))}.",
            columns=[label_text(label) for label in absent],
            value=absent[0],
            remedy="A row is an action, named in the first column; a column is a class; cells are costs.",
        )
    columns = [name if (name := label_text(label)) in named else written[name] for label in labels]
    types = {first: "category", **dict.fromkeys(columns, "number")}
    frame = table.with_schema(table.schema.with_types(types)).read()
    if (empty := [name for name in columns if frame[name].null_count()]) or frame[first].null_count():
        raise DataError(f"{path} has empty cells in column {(empty or [first])[0]!r}.", columns=empty or [first])
    return CostMatrix(frame.select(columns).to_numpy(), actions=frame[first].to_list(), states=list(labels))
