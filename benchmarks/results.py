"""RESULTS.md: one section a case, replaced when the case is run again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

__all__ = ["as_markdown", "ok", "update"]

HEADER = """\
# Benchmarks

Written by `python -m benchmarks`; not edited by hand. Each section says when, where and with which command it
was measured. *Ratio* is a contestant's time over Credo's in the same round: 15 means that Credo is 15 times
faster, 0.5 that it takes twice as long. Figures are medians with (lowest – highest) over the rounds;
contestants take turns, each in a process of its own. *Call* is the memory that a call added at its peak,
*process* the peak of the whole process.
"""


def ok(report: dict[str, Any]) -> bool:
    """Whether every contestant that is installed ran, and every bar that could be measured is met."""
    return all(
        row["status"] != "failed" and row.get("bar_met") is not False and row.get("limit_met") is not False
        for row in report["contestants"]
    )


def _figure(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if abs(value) < 999.5 else f"{value:,.0f}"


def _spread(values: dict[str, float] | None) -> str:
    if values is None:
        return ""
    return f"{_figure(values['median'])} ({_figure(values['low'])} – {_figure(values['high'])})"


def _row(row: dict[str, Any]) -> str:
    if row["status"] != "ok":
        return f"| {row['name']} | {row['status']}: {row['error']} | | {_wanted(row)} | | | |".replace("\n", " ")
    quality = "" if row["quality"] is None else f"{row['quality']:.8g}"
    if row.get("reached") is False:
        quality += " (not reached)"
    cells = (
        row["name"], _spread(row["seconds"]), _spread(row.get("ratio")), _wanted(row),
        _figure(row["call_mb"]), _figure(row["process_mb"]), quality,
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _wanted(row: dict[str, Any]) -> str:
    """The bar and the limit, each met or missed; what a limit compares is shown where no other column does."""
    said = []
    for kind in ("bar", "limit"):
        if kind in row:
            met = {True: " met", False: " **missed**", None: ""}[row[f"{kind}_met"]]
            figure = f" ({_figure(row['taken'])})" if kind == "limit" and "beyond" in row[kind] and met else ""
            said.append(f"{row[kind]}{figure}{met}")
    return "; ".join(said)


def as_markdown(report: dict[str, Any]) -> str:
    """One section of RESULTS.md."""
    limit = report["memory_limit_mb"]
    threads = f"{report['threads']} thread{'s' if report['threads'] > 1 else ''}"
    lines = [
        f"## {report['case']}",
        "",
        report["question"],
        "",
        "| contestant | seconds | ratio | wanted | call (MB) | process (MB) | "
        + (report["quality"] or "quality") + " |",
        "|---|---|---|---|---|---|---|",
        *map(_row, report["contestants"]),
        "",
        f"{report['date']} · {report['machine']} · {threads} a library"
        f" · {report['mode']}, {report['repeats']} rounds"
        + (f" · private memory of the process limited to {limit:.0f} MB" if limit else ""),
        f"· {', '.join(f'{name} {number}' for name, number in report['versions'].items())}",
        f"· `{report['command']}`",
        "",
    ]  # fmt: skip
    return "\n".join(lines)


def update(path: Path, report: dict[str, Any]) -> None:
    """Put the report's section into the file, in place of an older one; in alphabetical order."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    sections = {part.partition("\n")[0].strip(): part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    sections[report["case"]] = as_markdown(report).removeprefix("## ")
    body = "".join(f"\n## {sections[name].rstrip()}\n" for name in sorted(sections))
    path.write_text(HEADER + body, encoding="utf-8")
