"""Makes the pictures of this folder: `tools/browser .venv/bin/python -m docs.images.make` from the root.

The plots of the pages, and screenshots in which a designer looks for faults: the report and three pages of the site.
"""

from __future__ import annotations

import itertools
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import credo as cr
from credo import diagnostics, plots, reports
from credo.models.tabular import TableTask
from credo.prediction.classes import ClassPredictive
from credo.selection import candidates, compare
from tools.chromium import DEVICES, SCHEMES, Browser, served

HERE = Path(__file__).resolve().parent
DATA = "examples/data/penguins.csv"
# A start with commands, a concept with mathematics and tables, a worked page with its figure.
PAGES = {"start": "start", "concept": "concepts/linear-regression", "worked": "worked/curve-fitting"}
# Points from the top of a page: enough to judge it, and each picture stays below 200 kB.
MOST = {"desktop": 2400, "phone": 1700}


def figures() -> dict[str, plots.Figure]:
    task = TableTask.prepare(DATA, "body_mass_g", drop=("island", "year"))
    sample, model = task.sample(10_000), task.fit()
    comparison = compare(candidates(task.task, task.encoder.n_features), sample.X, sample.y)
    found = reports.report(model, sample)
    flipper = next(each for each in found.uncertainty.columns if each.column == "flipper_length_mm")
    p = model.estimator.predict_distribution(sample.X)
    rng = np.random.default_rng(0)
    chance = rng.beta(0.8, 1.5, 1000)
    rain = ClassPredictive(np.column_stack([1 - chance, chance]), ["dry", "rain"])
    return {
        "forest": found.belief.forest,
        "band": flipper.prediction,
        "share": flipper.share,
        "comparison": plots.comparison(comparison),
        "pit": plots.pit(diagnostics.pit(p, sample.y)),
        "reliability": plots.reliability(
            diagnostics.reliability(rain, np.where(rng.random(1000) < chance, "rain", "dry"))
        ),
        "residuals": plots.residuals(p.mean, sample.y - p.mean),
        "expected-loss": plots.expected_loss(p, cr.losses.Linear(over=1, under=3), action="grams to state"),
        "net-benefit": plots.net_benefit(rain, np.where(rng.random(1000) < chance, "rain", "dry")),
    }


def photograph(report: Path, site: Path) -> None:
    """The report and three pages of the site, on a desktop and a telephone, in light and dark."""
    with served(site) as address, Browser() as browser:
        pages = {"report": report.as_uri(), **{name: f"{address}/{path}/" for name, path in PAGES.items()}}
        for (name, url), device, scheme in itertools.product(pages.items(), DEVICES, SCHEMES):
            with browser.open(url, device, scheme) as tab:
                tab.photograph(HERE / f"{name}-{device}-{scheme}.png", most=MOST[device])


def main() -> None:
    for name, figure in figures().items():
        for theme in SCHEMES:
            plots.draw(figure, theme=theme).figure.savefig(HERE / f"{name}-{theme}.png", dpi=110)
    with tempfile.TemporaryDirectory() as folder:
        # The site as it is now, with the plots just drawn.
        subprocess.run([sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", f"{folder}/site"], check=True)
        task = TableTask.prepare(DATA, "body_mass_g")
        model = task.fit(seed=0, command=f"credo fit {DATA} --target body_mass_g")
        reports.write_html(reports.report(model, task.sample(10_000, 0)), f"{folder}/report.html")
        photograph(Path(folder, "report.html"), Path(folder, "site"))
    for path in HERE.glob("*.png"):  # flat colours need no more, and the repository stays small
        Image.open(path).convert("RGB").quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
