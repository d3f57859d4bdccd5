"""README's table of measured ratios, copied from benchmarks/RESULTS.md: `python tools/measured.py`
(--check only compares).

No figure is typed by hand, so none can be older or rosier than the measurement.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
README, RESULTS = ROOT / "README.md", ROOT / "benchmarks" / "RESULTS.md"

#: case → what it measures, in the order of the table; cases without a result yet have no row
CASES = {
    "linear_fit_1e6x20": "posterior of a linear regression, 1,000,000 × 20",
    "linear_evidence_1e5x50": "the same with the prior's scale by the evidence, 100,000 × 50",
    "logistic_map_1e5x10": "mode of a logistic regression, 100,000 × 10",
    "logistic_posterior_1000x5_fresh": "posterior of a logistic regression, 1,000 × 5, fresh process",
    "glm_fresh_1000x5_poisson": "posterior of a Poisson regression, 1,000 × 5, fresh process",
    "glm_map_1e5x20": "modes of a Poisson and a Gamma regression, 100,000 × 20",
    "l1_path_1000x500": "elastic-net path, 1,000 × 500",
    "gmm_200000x8": "Gaussian mixture, 200,000 × 8, 8 components",
    "topics_ap": "PLSA of 20 topics to equal likelihood, 300,000 counts",
    "nb_gaussian_1e6x20": "Gaussian naive Bayes, 1,000,000 × 20",
    "density_grid_1e5": "kernel density of 100,000 points on a grid",
    "parquet_bounded": "fit to a Parquet file ten times larger than memory",
}
BETWEEN = re.compile(r"(<!-- measured -->\n).*?(<!-- /measured -->)", re.DOTALL)


def table(results: str) -> str:
    """One row a peer: its time over Credo's, median (lowest – highest), and the command."""
    sections = {part.partition("\n")[0].strip(): part for part in re.split(r"^## ", results, flags=re.MULTILINE)[1:]}
    lines = ["| what | beside | its time ÷ Credo's | measured by |", "|---|---|---|---|"]
    for case, what in CASES.items():
        for row in re.findall(r"^\| (.+) \|$", sections.get(case, ""), flags=re.MULTILINE):
            name, _, ratio, *_ = (cell.strip() for cell in row.split("|"))
            if re.match(r"[\d.]", ratio) and not name.lower().startswith("credo"):
                lines.append(f"| {what} | {name} | {ratio} | `python -m benchmarks {case}` |")
    return "\n".join(lines) + "\n"


def renewed(readme: str, results: str) -> str:
    text, found = BETWEEN.subn(lambda marks: f"{marks[1]}{table(results)}{marks[2]}", readme)
    if found != 1:
        raise SystemExit("README.md needs one pair of <!-- measured --> and <!-- /measured -->.")
    return text


def main(arguments: list[str]) -> int:
    old = README.read_text(encoding="utf-8")
    new = renewed(old, RESULTS.read_text(encoding="utf-8"))
    if "--check" in arguments:
        return int(new != old)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
