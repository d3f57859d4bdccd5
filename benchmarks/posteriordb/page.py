"""The table of docs/concepts/posteriordb.md, from results.csv."""

from __future__ import annotations

import csv
from pathlib import Path

__all__ = ["BEGIN", "END", "PAGE", "RESULTS", "as_markdown", "rows_of", "rewritten"]

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results.csv"
PAGE = ROOT / "docs" / "concepts" / "posteriordb.md"
BEGIN, END = "<!-- table: python -m benchmarks.posteriordb -->", "<!-- end of table -->"
HEADS = ("posterior", "numbers", "what it became", "s", "certificate", "log evidence", "z means", "z sds", "")
# What of a certificate the table shows, and how it is written.
SHOWN = {"pareto_k": "k̂", "effective": "effective", "quadrature_error": "error", "rhat": "R̂", "ess_bulk": "ESS"}


def rows_of(path: Path = RESULTS) -> dict[str, dict[str, str]]:
    """The rows of the results by posterior; none if there is no file."""
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {row["posterior"]: row for row in csv.DictReader(file)}


def certificate(row: dict[str, str]) -> str:
    pairs = (each.split(" ", 1) for each in row["certificate"].split("; ") if " " in each)
    told = [f"{SHOWN[name]} {float(value):.2g}" for name, value in pairs if name in SHOWN]
    return ", ".join(told) if row["status"] in ("exact", "converged") else f"**{row['status']}** {', '.join(told)}"


def number(text: str) -> str:
    return "" if text in ("", "nan") else text


def as_markdown(rows: dict[str, dict[str, str]]) -> str:
    lines = [f"| {' | '.join(HEADS)} |", f"|{'---|' * len(HEADS)}"]
    for name in sorted(rows):
        row = rows[name]
        cells = (name, row["numbers"], row["how"], row["seconds_cpu"], certificate(row), number(row["log_evidence"]),
                 number(row["z_mean"]), number(row["z_sd"]), {"yes": "✓", "no": "✗"}.get(row["ok"], ""))  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def rewritten(page: str, rows: dict[str, dict[str, str]]) -> str:
    """The page with its table made new."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{as_markdown(rows)}\n{END}{after}"
