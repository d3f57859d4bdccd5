"""Command line: `python -m benchmarks.posteriordb [names…] [--out results.csv]`."""

from __future__ import annotations

import argparse
import csv
import sys
import traceback
from pathlib import Path
from typing import Any

from benchmarks.posteriordb import POSTERIORS
from benchmarks.posteriordb.judge import FIELDS, judged
from benchmarks.posteriordb.page import PAGE, RESULTS, rewritten, rows_of


def write(path: Path, rows: dict[str, Any]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(FIELDS)
        writer.writerows([rows[name][field] for field in FIELDS] for name in sorted(rows))


def line(row: dict[str, Any]) -> str:
    return (
        f"{row['posterior']:46} {row['rung']:14} {row['seconds_cpu']:>6} s {row['status']:13} z {row['z_mean']:>5} "
        f"{row['z_sd']:>5} ({row['worst']}) {row['ok'] or '-'}   {row['certificate']}"
    )


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.posteriordb",
        description="Fit posteriors of stan-dev/posteriordb as Credo models and compare them with what was published. "
        "Exits 1 if one differs by more than four combined Monte Carlo errors, or is not certified.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="posteriors, or parts of their names (default: all)")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="table to update (default: %(default)s, and the page with it)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of every fit (default: 0)")
    options = parser.parse_args(arguments)
    wanted = [name for name in POSTERIORS if not options.names or any(part in name for part in options.names)]
    if not wanted:
        parser.error(f"no posterior is called {' or '.join(options.names)}: there are {', '.join(POSTERIORS)}")
    rows: dict[str, Any] = dict(rows_of(options.out))
    failed = False
    for name in wanted:
        try:
            row = judged(name, POSTERIORS[name], options.seed)
        except Exception as error:
            traceback.print_exc()
            row = dict.fromkeys(FIELDS, "") | {"posterior": name, "status": type(error).__name__, "ok": "no"}
        failed |= row["ok"] == "no"
        rows[name] = row
        print(line(row), flush=True)
        write(options.out, rows)
    if options.out == RESULTS:
        PAGE.write_text(rewritten(PAGE.read_text(), rows))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
