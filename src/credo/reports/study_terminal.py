"""The report of a study for a terminal, in the page's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from credo.numerics.readable import number, shortened
from credo.plots.slicing import shown_value
from credo.plots.studies import explained, share_of_variance
from credo.reports.study import StudyReport
from credo.reports.study_page import WEAK

__all__ = ["study_lines"]

# What a screen holds of each.
MOST_TRIALS, MOST_PARAMETERS, MOST_REASONS = 5, 8, 5


def study_lines(report: StudyReport) -> list[Any]:
    """Strings, and tables that rich renders; for `rich.console.Console.print(..., markup=False)`, one by one."""
    parts: list[Any] = [report.lead, ""]
    parts.append(", ".join(f"{name} {value}" for name, value in report.facts) + ".")
    for part in (_matters, _trials, _failures, _sampler):
        parts += part(report)
    return parts


def _matters(report: StudyReport) -> Iterator[Any]:
    for figure in report.importances:
        found = figure.found
        of = f" of {figure.outcome}" if figure.outcome else ""
        yield f"What matters (share of the variance{of} alone ± sd, in all):"
        rows = [
            (shortened(name, 28), f"{share_of_variance(share)} ± {share_of_variance(sd)}", share_of_variance(total))
            for name, share, sd, total in zip(found.names, found.share, found.sd, found.total)
        ]
        yield _grid(("parameter", "alone", "in all"), rows[:MOST_PARAMETERS])
        if found.explained < WEAK:
            yield f"Hardly more than guesses, unless trials are noisy. {explained(found)}"


def _trials(report: StudyReport) -> Iterator[Any]:
    if not report.table:
        return
    two = len(report.directions) > 1
    yield "On the front:" if two else "The best trials:"
    rows = [
        (str(row.id), *(number(v) for v in row.values),
         *(shown_value(row.params[name]) if name in row.params else "off" for name in report.names))
        for row in report.table[:MOST_TRIALS]
    ]  # fmt: skip
    yield _grid(("trial", *report.outcomes, *report.names), rows)


def _failures(report: StudyReport) -> Iterator[Any]:
    for state, reason, n, _ in report.failures[:MOST_REASONS]:
        yield f"{n:,} {state}: {shortened(reason, 90)}"


def _sampler(report: StudyReport) -> Iterator[Any]:
    yield from report.sampler
    yield from report.changes


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(Text(name), justify="right" if i else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))  # cells are data, and [red] in them is no style
    return table
