"""Makes the pictures of this folder (matplotlib; chromium for reports): `python docs/images/make.py` from the root."""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import credo as cr
from credo import diagnostics, plots, reports
from credo.models.tabular import TableTask
from credo.prediction.classes import ClassPredictive
from credo.selection import candidates, compare

HERE = Path(__file__).parent
DATA = "examples/data/penguins.csv"


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


def photograph(width: int, height: int, scheme: str, page: Path, target: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        subprocess.run(
            [
                "chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                f"--user-data-dir={profile}",
                f"--window-size={width},{height}", f"--blink-settings=preferredColorScheme={int(scheme == 'light')}",
                f"--screenshot={target}", page.as_uri(),
            ],
            check=True, capture_output=True,
        )  # fmt: skip


def main() -> None:
    for name, figure in figures().items():
        for theme in ("light", "dark"):
            plots.draw(figure, theme=theme).figure.savefig(HERE / f"{name}-{theme}.png", dpi=110)
    task = TableTask.prepare(DATA, "body_mass_g")
    page = Path(tempfile.mkdtemp()) / "report.html"
    model = task.fit(seed=0, command=f"credo fit {DATA} --target body_mass_g")
    reports.write_html(reports.report(model, task.sample(10_000, 0)), page)
    for device, width, height in (("desktop", 1100, 2600), ("phone", 500, 2600)):
        for scheme in ("light", "dark"):
            photograph(width, height, scheme, page, HERE / f"report-{device}-{scheme}.png")
    for path in HERE.glob("*.png"):  # flat colours need no more, and the repository stays small
        Image.open(path).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(path, optimize=True)


if __name__ == "__main__":
    main()
