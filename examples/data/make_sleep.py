"""Writes sleep.csv: 18 made-up people, 10 days of too little sleep, a reaction time (ms) a day.

    reaction = 250 + 10·days + a + b·days + noise,   sd(a) = 25, sd(b) = 6, cor(a, b) = 0.1, sd(noise) = 25

Run from anywhere: python examples/data/make_sleep.py
"""

from pathlib import Path

import numpy as np

rng = np.random.default_rng(13)
people, days = 18, 10
covariance = [[25.0**2, 0.1 * 25.0 * 6.0], [0.1 * 25.0 * 6.0, 6.0**2]]
own = rng.multivariate_normal([250.0, 10.0], covariance, size=people)
lines = ["subject,days,reaction"]
for person, (level, slope) in enumerate(own, start=1):
    for day in range(days):
        lines.append(f"p{person:02d},{day},{level + slope * day + rng.normal(0.0, 25.0):.1f}")
(Path(__file__).parent / "sleep.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
