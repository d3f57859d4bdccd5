"""Numbers, lists and beliefs as terminal tables."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "number",
    "aligned",
    "grid",
    "bullets",
    "belief_table",
    "comparison_table",
    "shortened",
    "count",
    "share",
    "percent",
]

# Rows of a table that a screen holds beside the rest.
MOST_ROWS = 20


def count(n: int, one: str, many: str | None = None) -> str:
    """`3 rows`, `1 row`.

    >>> count(1, "row"), count(12345, "row")
    ('1 row', '12,345 rows')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def number(value: Any, digits: int = 4) -> str:
    """Four significant digits, without an exponent where that is readable; `-` for nothing.

    >>> number(1234.567), number(0.00012346), number(1.5e12), number(None), number(0.0)
    ('1235', '0.0001235', '1.5e+12', '-', '0')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    value = float(value)
    if value == 0.0 or not math.isfinite(value):
        return f"{value:g}"
    size = math.floor(math.log10(abs(value)))
    if not -5 <= size <= 7:
        return f"{value:.{digits}g}"
    text = f"{value:.{max(0, digits - 1 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def aligned(values: Sequence[float], scale: float) -> list[str]:
    """Numbers with the decimals that an uncertainty of `scale` leaves meaning to: three digits of it.

    >>> aligned([1234.5678, -0.04321], 0.0123)
    ['1234.5678', '-0.0432']
    """
    if not (math.isfinite(scale) and scale > 0) or not 1e-6 < scale < 1e9:
        return [number(value) for value in values]
    decimals = max(0, 2 - math.floor(math.log10(scale)))
    return [f"{value:.{decimals}f}" for value in values]


def share(p: float) -> str:
    """A probability; never 0 or 1, which data cannot teach.

    >>> share(0.25), share(0.99999), share(0.0)
    ('0.250', '>0.999', '<0.001')
    """
    return "<0.001" if p < 0.001 else ">0.999" if p > 0.999 else f"{p:.3f}"


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


def percent(mass: float) -> str:
    """>>> percent(0.9), percent(0.955)
    ('90 %', '95.5 %')
    """
    return f"{100.0 * mass:.6g} %"


def shortened(text: str, width: int = 30) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


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
    return lines
