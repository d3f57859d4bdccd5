"""What `bo_regret` and `gallery_regret` share: traces, a row for each step of a contestant on a problem with a seed.

Read by peers' interpreters too: nothing here needs Credo.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["add_run", "aligned", "read", "run"]

Trace = Callable[[str, str, int], list[tuple[Any, ...]]]


def add_run(commands: Any, contestants: Iterable[str], problems: Iterable[str]) -> None:
    """The command `run`: its options are arguments of the function `run`."""
    names = list(problems)
    runs: argparse.ArgumentParser = commands.add_parser("run")
    runs.add_argument("contestants", nargs="+", choices=list(contestants))
    runs.add_argument("--problems", nargs="+", choices=names, default=names)
    runs.add_argument("--seeds", nargs="+", type=int, default=list(range(10)))
    runs.add_argument("--out", type=Path, required=True)


def run(trace: Trace, columns: Sequence[str], asked: argparse.Namespace) -> None:
    """Append the rows of `trace(contestant, problem, seed)`, seed by seed, but for those that the file holds."""
    out: Path = asked.out
    done = {(row["contestant"], row["problem"], int(row["seed"])) for row in read(out)} if out.exists() else set()
    if not out.exists():
        out.write_text(",".join(columns) + "\n")
    for seed in asked.seeds:
        for problem in asked.problems:
            for contestant in asked.contestants:
                if (contestant, problem, seed) in done:
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # peers' own
                    rows = trace(contestant, problem, seed)
                with out.open("a", newline="") as file:
                    csv.writer(file, lineterminator="\n").writerows(rows)


def read(path: Path) -> list[dict[str, str]]:
    """Rows of a file of traces, gzipped or not; lines that begin with # are remarks."""
    with gzip.open(path, "rt", newline="") if path.suffix == ".gz" else path.open(newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Rows of cells as text, columns flush right."""
    widths = [max(len(row[j]) for row in table) + 2 for j in range(len(table[0]))]
    return "\n".join("".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in table)
