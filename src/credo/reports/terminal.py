"""The same report for a terminal: lines of text and rich tables, in the page's order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from credo.numerics.readable import aligned, count, percent, share, shortened
from credo.reports.belief import Belief
from credo.reports.build import Choice, Report
from credo.reports.calibration import Calibration
from credo.reports.noise import QUESTIONS, Noise
from credo.reports.uncertainty import Uncertainty

__all__ = ["lines"]

# What a screen holds of a table, and of a list, beside the rest.
MOST_ROWS, MOST_SENTENCES = 20, 8


def lines(report: Report) -> list[Any]:
    """Strings, and tables that rich renders; for `rich.console.Console.print(..., markup=False)`, one by one."""
    parts: list[Any] = [_head(report), *_bullets(report.reading.decisions)]
    story: list[tuple[Any, Any]] = [
        (report.comparison, _comparison), (report.belief, partial(_belief, report=report)),
        (report.calibration, _calibration), (report.uncertainty, _uncertainty), (report.noise, _noise),
    ]  # fmt: skip
    for part, show in story:
        if part is not None:
            parts += ["", *show(part)]
    parts += [f"Not shown ({name}): {why}" for name, why in report.absent.items()]
    return parts


def _head(report: Report) -> str:
    part = report.reading
    used = f"{part.rows:,} of {count(part.rows_read, 'row')}" if part.rows < part.rows_read else count(part.rows, "row")
    return f"{part.data}: {used}; {report.target!r} from {count(len(part.columns) - 1, 'column')}."


def _bullets(sentences: Sequence[str]) -> Iterator[str]:
    for sentence in sentences[:MOST_SENTENCES]:
        yield f"  - {sentence}"
    if len(sentences) > MOST_SENTENCES:
        yield f"  - … and {len(sentences) - MOST_SENTENCES} more"


def _grid(columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> Any:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(columns):
        table.add_column(name, justify="left" if i < left else "right", no_wrap=i >= left, overflow="fold")
    for row in rows:
        # Cells are data, and [red] in them is no style.
        table.add_row(*(Text(" ".join(cell.split())) for cell in row))
    return table


def _comparison(part: Choice) -> Iterator[Any]:
    record = part.record
    best, chosen = record["best"], record["chosen"]
    rows = []
    for row in record["models"]:
        mark = "* " if row["name"] == chosen and not part.averaged else "  "
        difference = "" if row["name"] == best else _with_error(row["difference"], row["difference_error"])
        evidence = "-" if row["log_evidence"] is None else f"{row['log_evidence']:.1f}"
        rows.append((mark + row["name"], _with_error(row["score"], row["standard_error"]), difference, evidence))
    yield (
        f"Models by log score per row held out ({record['scheme']}, {record['n_scored']:,} rows; "
        "nats, larger is better):"
    )
    yield _grid(("  model", "log score", "against the best", "log evidence"), rows)
    if not part.averaged:
        why = "the best" if chosen == best else f"the simplest within one standard error of {best}"
        yield f"Chosen: {chosen}, {why}."
    for what in ("failed", "skipped"):
        yield from (f"{what.capitalize()}: {name}: {reason}" for name, reason in record[what].items())


def _with_error(value: float | None, error: float | None) -> str:
    return " ± ".join(aligned([value, error], error))


def _belief(part: Belief, report: Report) -> Iterator[Any]:
    yield f"What is believed (model {part.model!r}, inference {part.inference}):"
    yield from (f"  {weight:.3f}  {name}" for name, weight in part.weights.items())
    if part.coefficients:
        yield _coefficients(part)
        if len(part.coefficients) > MOST_ROWS:
            yield f"  … and {len(part.coefficients) - MOST_ROWS} coefficients nearer to zero."
        yield part.about
    for told in report.process:
        yield told if isinstance(told, str) else _grid(told.columns, told.rows)
    if report.noise_law is not None:
        yield f"Noise: outcomes scatter about the prediction {report.noise_law}."
    yield from (f"Note: {sentence}" for sentence in part.advice)


def _coefficients(part: Belief) -> Any:
    """When there are many, those told best from zero."""
    kept = sorted(part.coefficients, key=lambda c: -abs(c.mean) / c.sd if c.sd else 0.0)[:MOST_ROWS]
    shown = [c for c in part.coefficients if c in kept]
    outcomes = len({c.outcome for c in part.coefficients}) > 1
    rows = []
    for c in shown:
        mean, sd, low, high = aligned([c.mean, c.sd, c.lower, c.upper], c.sd)
        names = [str(c.outcome), c.name] if outcomes else [c.name]
        rows.append((*names, mean, sd, f"{low} … {high}", share(c.prob_positive)))
    columns = (
        *(["class"] if outcomes else []),
        "coefficient",
        "mean",
        "sd",
        f"{percent(part.mass)} interval",
        "P(> 0)",
    )
    return _grid(columns, rows, left=2 if outcomes else 1)


def _calibration(part: Calibration) -> Iterator[Any]:
    yield f"Do predictions come true? {part.verdict} ({part.scheme})"
    yield "  " + ", ".join(f"{score.name} {score.value}" for score in part.scores)


def _uncertainty(part: Uncertainty) -> Iterator[Any]:
    yield f"Where doubt comes from: {part.verdict}"
    yield from (f"  {shortened(along.column)}: {along.advice}" for along in part.columns)


def _noise(part: Noise) -> Iterator[Any]:
    yield f"Does the noise model hold? {part.verdict}"
    for check in part.checks.checks:
        word = "holds" if check.holds else "a little off" if check.slight else "FAILS"
        yield f"  {QUESTIONS[check.name]:<42} {word}" + ("" if check.holds else f": {check.message}")
    yield from (f"  {what}" for what in part.remedies.values())
