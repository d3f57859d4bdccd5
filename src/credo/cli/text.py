"""Numbers, lists and beliefs as terminal tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from credo.numerics.readable import aligned, percent, share

__all__ = [
    "grid",
    "bullets",
    "label_text",
    "belief_table",
    "comparison_table",
]

# Rows of a table that a screen holds beside the rest.
MOST_ROWS = 20


def grid(columns: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1, title: str | None = None) -> Any:
    """A plain table; the first `left` columns are text, the others numbers."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="", pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right", no_wrap=i >= left, overflow="fold")
    for row in rows:
        # Cells are data, and [red] in them is no style.
        table.add_row(*(_escaped(cell) for cell in row))
    return table


def _escaped(cell: str) -> Any:
    from rich.text import Text

    return Text(" ".join(cell.split()))


def bullets(sentences: Sequence[str], most: int = 12) -> list[str]:
    """Indented lines, the rest counted."""
    lines = [f"  - {sentence}" for sentence in sentences[:most]]
    return lines + ([f"  - … and {len(sentences) - most} more"] if len(sentences) > most else [])


def label_text(label: Any) -> str:
    """A class as files write it.

    >>> label_text(True), label_text(2), label_text("no")
    ('true', '2', 'no')
    """
    return str(label).lower() if isinstance(label, bool) else str(label)


def belief_table(coefficients: Sequence[Any], mass: float, most: int | None = MOST_ROWS) -> tuple[Any, int]:
    """(table of coefficients, how many were left out): when there are many, those told best from zero are kept."""
    kept = list(coefficients)
    if most is not None and len(kept) > most:
        by_size = sorted(kept, key=lambda c: -abs(c.mean) / c.sd if c.sd else -math.inf)
        chosen = {id(c) for c in by_size[:most]}
        kept = [c for c in kept if id(c) in chosen or c.name == "intercept"]
    outcomes = len({c.outcome for c in kept}) > 1
    rows = []
    for c in kept:
        cells = aligned([c.mean, c.sd, c.lower, c.upper], c.sd)
        names = [str(c.outcome), c.name] if outcomes else [c.name]
        rows.append([*names, cells[0], cells[1], f"{cells[2]} … {cells[3]}", share(c.prob_positive)])
    columns = [*(["class"] if outcomes else []), "coefficient", "mean", "sd", f"{percent(mass)} interval", "P(> 0)"]
    return grid(columns, rows, left=2 if outcomes else 1), len(coefficients) - len(kept)


def comparison_table(record: dict[str, Any], choosing: bool = True) -> list[Any]:
    """Candidates by their held-out score, best first, and which is chosen, if one is to be."""

    def with_error(value: float | None, error: float | None) -> str:
        if value is None or error is None:
            return "-"
        first, second = aligned([value, error], error)
        return f"{first} ± {second}"

    rows = [
        [
            ("* " if choosing and row["name"] == record["chosen"] else "  ") + row["name"],
            with_error(row["score"], row["standard_error"]),
            "" if row["name"] == record["best"] else with_error(row["difference"], row["difference_error"]),
            "-" if row["log_evidence"] is None else f"{row['log_evidence']:.1f}",
        ]
        for row in record["models"]
    ]
    why = (
        "the best"
        if record["chosen"] == record["best"]
        else f"the simplest within one standard error of {record['best']}"
    )
    lines = [
        "Candidates by log score per row held out (nats, larger is better; "
        f"{record['n_scored']:,} rows, {record['scheme']}):",
        grid(["  model", "log score", "against the best", "log evidence"], rows),
        *([f"Chosen: {record['chosen']}, {why}."] if choosing else []),
    ]
    for what in ("failed", "skipped"):
        lines += [f"{what.capitalize()}: {name}: {reason}" for name, reason in record[what].items()]
    if any(" s (limit " in reason for reason in record["skipped"].values()):
        lines.append("Candidates that would take long are tried with a larger --time-limit.")
    return lines
