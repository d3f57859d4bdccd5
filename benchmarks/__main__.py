"""Command line: see `python -m benchmarks --help`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shlex
import shutil
import sys
from pathlib import Path

from benchmarks.case import case_files
from benchmarks.harness import run_case
from benchmarks.results import as_markdown, ok, update

HERE = Path(__file__).parent


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def parser(names: list[str]) -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure Credo and its peers side by side. "
        "Exits 1 if a contestant fails or a wanted ratio is missed.",
        epilog=f"Cases: {', '.join(names)}.",
    )
    result.add_argument("names", nargs="*", metavar="NAME", choices=[*names, []], help="cases (default: all)")
    result.add_argument("--json", action="store_true", help="reports as a JSON list on standard output")
    result.add_argument("--repeat", type=positive, metavar="N", help="rounds (default: each case's own)")
    result.add_argument(
        "--threads", type=positive, default=1, metavar="N", help="threads of every library (default: 1)"
    )
    result.add_argument(
        "--peers",
        metavar="PYTHON",
        default=os.environ.get("CREDO_BENCHMARK_PEERS"),
        help="a second interpreter, for peers that this one lacks (default: $CREDO_BENCHMARK_PEERS)",
    )
    result.add_argument("--date", help="date of the run (default: today, UTC)")
    result.add_argument(
        "--output", type=Path, default=HERE / "RESULTS.md", help="file to update (default: %(default)s)"
    )
    result.add_argument("--cases", type=Path, default=HERE / "cases", help=argparse.SUPPRESS)
    return result


def main(arguments: list[str]) -> int:
    early = argparse.ArgumentParser(add_help=False)
    early.add_argument("--cases", type=Path, default=HERE / "cases")
    files = case_files(early.parse_known_args(arguments)[0].cases)
    options = parser([*files]).parse_args(arguments)
    if options.peers is not None and shutil.which(options.peers) is None:
        parser([*files]).error(f"--peers: {options.peers!r} is not an interpreter")
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    reports = []
    for name in options.names or files:
        print(f"{name}: {options.threads} thread(s) a library ...", file=sys.stderr)
        report = run_case(files[name], repeats=options.repeat, threads=options.threads, peers=options.peers)
        report["date"] = options.date or today
        report["command"] = shlex.join(["python", "-m", "benchmarks", *arguments])
        update(options.output, report)
        print(as_markdown(report), file=sys.stderr)
        reports.append(report)
    if options.json:
        json.dump(reports, sys.stdout, indent=2, ensure_ascii=False)
        print()
    return 0 if all(map(ok, reports)) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
