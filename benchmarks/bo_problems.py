"""What `bo_regret` minimises: functions on the unit cube, two of BBOB's, and the tuning of three kinds of regression.

Branin, Hartmann, Ackley, Rosenbrock and Levy are those of Surjanovic & Bingham's Virtual Library of Simulation
Experiments. f15 (rotated Rastrigin) and f22 (Gallagher's 21 peaks) are those of Hansen, Finck, Ros & Auger (2009),
"Real-parameter black-box optimization benchmarking 2009: noiseless functions definitions", instance 1, without f_opt;
`python -m benchmarks.bo_problems` compares them with COCO's own code (pip install coco-experiment) at random points.

A point is a vector u of [0, 1]ᵈ. In `tuning` a coordinate stands for a choice, an integer or a number, and some matter
only for one choice: `snapped` moves u to the middle of its cell, coordinates that do not matter to ½.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

__all__ = ["PROBLEMS", "Knob", "Problem"]


class Knob(NamedTuple):
    """A parameter of a mixed problem: choices, or low and high; `when` the first knob has this value."""

    name: str
    choices: tuple[str, ...] = ()
    low: float = 0.0
    high: float = 1.0
    log: bool = False
    integer: bool = False
    when: str | None = None

    def ends(self) -> tuple[float, float]:
        half = 0.5 * self.integer
        low, high = self.low - half, self.high + half
        return (math.log(low), math.log(high)) if self.log else (low, high)

    def value(self, u: float) -> Any:
        if self.choices:
            return self.choices[min(int(u * len(self.choices)), len(self.choices) - 1)]
        low, high = self.ends()
        scale = low + (high - low) * u
        number = math.exp(scale) if self.log else scale
        return min(max(round(number), int(self.low)), int(self.high)) if self.integer else number

    def unit(self, value: Any) -> float:
        if self.choices:
            return (self.choices.index(value) + 0.5) / len(self.choices)
        low, high = self.ends()
        return ((math.log(value) if self.log else value) - low) / (high - low)


class Problem(NamedTuple):
    """f on [0, 1]ᵈ, its least value, the sd of the noise on evaluations, and what the coordinates stand for.

    floor : regrets below this count as this
    """

    f: Callable[[np.ndarray], float]
    d: int
    least: float
    noise: float = 0.0
    knobs: tuple[Knob, ...] = ()
    floor: float = 1e-12

    def values(self, u: np.ndarray) -> dict[str, Any]:
        """The knobs that matter at u, by name."""
        if not self.knobs:
            return {f"x{j}": float(value) for j, value in enumerate(u)}
        first = self.knobs[0].value(float(u[0]))
        matter = [(knob, x) for knob, x in zip(self.knobs, u.tolist()) if knob.when in (None, first)]
        return {knob.name: knob.value(x) for knob, x in matter}

    def unit(self, values: dict[str, Any]) -> np.ndarray:
        """u of those values; names that do not matter may be there or not."""
        if not self.knobs:
            return np.array([values[f"x{j}"] for j in range(self.d)], dtype=np.float64)
        first = values[self.knobs[0].name]
        matter = [knob.name in values and knob.when in (None, first) for knob in self.knobs]
        return np.array([knob.unit(values[knob.name]) if has else 0.5 for knob, has in zip(self.knobs, matter)])

    def snapped(self, u: np.ndarray) -> np.ndarray:
        return self.unit(self.values(u)) if self.knobs else u


def branin(x: np.ndarray) -> float:
    a, b = 15.0 * x[0] - 5.0, 15.0 * x[1]
    bent = b - 5.1 / (4.0 * np.pi**2) * a * a + 5.0 / np.pi * a - 6.0
    return float(bent**2 + 10.0 * (1.0 - 1.0 / (8.0 * np.pi)) * np.cos(a) + 10.0)


HEIGHTS = np.array([1.0, 1.2, 3.0, 3.2])
SHAPES = np.array([[10, 3, 17, 3.5, 1.7, 8], [0.05, 10, 17, 0.1, 8, 14], [3, 3.5, 1.7, 10, 17, 8],
                   [17, 8, 0.05, 10, 0.1, 14]])  # fmt: skip
CENTRES = 1e-4 * np.array([[1312, 1696, 5569, 124, 8283, 5886], [2329, 4135, 8307, 3736, 1004, 9991],
                           [2348, 1451, 3522, 2883, 3047, 6650], [4047, 8828, 8732, 5743, 1091, 381]])  # fmt: skip


def hartmann6(x: np.ndarray) -> float:
    return float(-HEIGHTS @ np.exp(-np.sum(SHAPES * np.square(x - CENTRES), axis=1)))


def ackley(x: np.ndarray) -> float:
    z = 65.536 * x - 32.768
    waves = np.exp(np.mean(np.cos(2.0 * np.pi * z)))
    return float(-20.0 * np.exp(-0.2 * np.sqrt(np.mean(z * z))) - waves + 20.0 + np.e)


def rosenbrock(x: np.ndarray) -> float:
    z = 15.0 * x - 5.0
    return float(np.sum(100.0 * np.square(z[1:] - z[:-1] ** 2) + np.square(1.0 - z[:-1])))


def levy(x: np.ndarray) -> float:
    w = 1.0 + (20.0 * x - 11.0) / 4.0
    inner = np.square(w[:-1] - 1.0) * (1.0 + 10.0 * np.square(np.sin(np.pi * w[:-1] + 1.0)))
    last = (w[-1] - 1.0) ** 2 * (1.0 + np.sin(2.0 * np.pi * w[-1]) ** 2)
    return float(np.sin(np.pi * w[0]) ** 2 + np.sum(inner) + last)


# -- BBOB ------------------------------------------------------------------------------------------------------------


@cache
def uniforms(n: int, seed: int) -> np.ndarray:
    """Numbers of (0, 1) that fix an instance: Park and Miller's generator, shuffled by a table of 32."""

    def step(state: int) -> int:
        return 16807 * state % 2147483647

    state, table = max(abs(seed), 1), [0] * 32
    for i in range(39, -1, -1):
        state = step(state)
        if i < 32:
            table[i] = state
    drawn, numbers = table[0], []
    for _ in range(n):
        state = step(state)
        place = drawn // 67108865
        drawn, table[place] = table[place], state
        numbers.append(drawn / 2147483647.0)
    return np.array(numbers)


@cache
def rotation(d: int, seed: int) -> np.ndarray:
    """A random rotation: Gram and Schmidt on the columns of Normal numbers."""
    u = uniforms(2 * d * d, seed)
    normal = np.sqrt(-2.0 * np.log(u[: d * d])) * np.cos(2.0 * np.pi * u[d * d :])
    columns = np.linalg.qr(normal.reshape(d, d).T)
    return columns.Q * np.sign(np.diag(columns.R))


def oscillated(x: np.ndarray) -> np.ndarray:
    """T_osz: a smooth monotone function with bumps."""
    size = np.log(np.abs(np.where(x == 0.0, 1.0, x)))
    a, b = np.where(x > 0.0, 10.0, 5.5), np.where(x > 0.0, 7.9, 3.1)
    return np.sign(x) * np.exp(size + 0.049 * (np.sin(a * size) + np.sin(b * size)))


@cache
def rastrigin_instance(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x_opt, R, and R Λ¹⁰ Q."""
    seed = 15 + 10_000
    best = 8.0 * np.floor(1e4 * uniforms(d, seed)) / 1e4 - 4.0
    R, Q = rotation(d, seed + 1_000_000), rotation(d, seed)
    return best, R, R @ np.diag(np.sqrt(10.0) ** np.linspace(0.0, 1.0, d)) @ Q


def rastrigin_f15(x: np.ndarray) -> float:
    """f15: 10 (d − ∑ cos 2πzᵢ) + ‖z‖², z = R Λ¹⁰ Q T_asy(T_osz(R (x − x_opt))), on [−5, 5]ᵈ."""
    d = len(x)
    best, R, after = rastrigin_instance(d)
    z = oscillated(R @ (10.0 * x - 5.0 - best))
    powers = 1.0 + 0.2 * np.linspace(0.0, 1.0, d) * np.sqrt(np.maximum(z, 0.0))
    z = after @ np.where(z > 0.0, np.maximum(z, 0.0) ** powers, z)
    return float(10.0 * (d - np.sum(np.cos(2.0 * np.pi * z))) + z @ z)


@cache
def gallagher_instance(d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """R, the peaks' places (21, d), the diagonals of their C (21, d), and their heights."""
    seed, peaks = 22 + 10_000, 21
    places = 9.8 * uniforms(d * peaks, seed).reshape(peaks, d) - 4.9
    places[0] *= 0.8
    order = np.argsort(uniforms(peaks - 1, seed), kind="stable")
    conditions = np.append(1000.0**2, 1000.0 ** (2.0 * order / (peaks - 2)))
    scales = np.array([
        condition ** (np.argsort(uniforms(d, seed + 1000 * i), kind="stable") / (d - 1) / 2 - 0.25)
        for i, condition in enumerate(conditions)
    ])  # fmt: skip
    return rotation(d, seed), places, scales, np.append(10.0, np.linspace(1.1, 9.1, peaks - 1))


def gallagher_f22(x: np.ndarray) -> float:
    """f22: T_osz(10 − maxᵢ wᵢ exp(−(x − yᵢ)ᵀ Rᵀ Cᵢ R (x − yᵢ) / 2d))², on [−5, 5]ᵈ."""
    R, places, scales, heights = gallagher_instance(len(x))
    apart = (10.0 * x - 5.0 - places) @ R.T
    highest = np.max(heights * np.exp(-np.sum(scales * apart**2, axis=1) / (2.0 * len(x))))
    return float(oscillated(np.array([10.0 - highest]))[0] ** 2)


# -- tuning ----------------------------------------------------------------------------------------------------------

KNOBS = (
    Knob("model", ("svr", "forest", "boosting")),
    Knob("C", low=1e-2, high=1e3, log=True, when="svr"),
    Knob("gamma", low=1e-4, high=10.0, log=True, when="svr"),
    Knob("epsilon", low=1e-3, high=1.0, log=True, when="svr"),
    Knob("max_features", low=0.1, high=1.0, when="forest"),
    Knob("min_samples_leaf", low=1, high=60, log=True, integer=True, when="forest"),
    Knob("learning_rate", low=1e-2, high=1.0, log=True, when="boosting"),
    Knob("n_estimators", low=5, high=150, log=True, integer=True, when="boosting"),
    Knob("max_depth", low=1, high=6, integer=True, when="boosting"),
)


@cache
def tuning_loss(values: tuple[tuple[str, Any], ...]) -> float:
    """Mean squared error over the variance, in 5 fixed folds of scikit-learn's diabetes data (442 × 10)."""
    from sklearn.datasets import load_diabetes
    from sklearn.ensemble import ExtraTreesRegressor, GradientBoostingRegressor
    from sklearn.model_selection import KFold, cross_val_predict
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVR

    options = dict(values)
    makers: dict[str, Callable[..., Any]] = {
        "svr": lambda **given: SVR(max_iter=20_000, **given),
        "forest": lambda **given: ExtraTreesRegressor(40, random_state=0, **given),
        "boosting": lambda **given: GradientBoostingRegressor(random_state=0, **given),
    }
    model = makers[options.pop("model")](**options)
    X, y = (np.asarray(part) for part in load_diabetes(return_X_y=True))
    X, y = StandardScaler().fit_transform(X), (y - y.mean()) / y.std()
    folds = KFold(5, shuffle=True, random_state=0)
    return float(np.mean((cross_val_predict(model, X, y, cv=folds) - y) ** 2))


def tuning(u: np.ndarray) -> float:
    return tuning_loss(tuple(PROBLEMS["tuning"].values(u).items()))


PROBLEMS = {
    "branin": Problem(branin, 2, 0.39788735772973816),
    "hartmann6": Problem(hartmann6, 6, -3.322368011415515),
    "ackley5": Problem(ackley, 5, 0.0),
    "rosenbrock4": Problem(rosenbrock, 4, 0.0),
    "noisy_levy4": Problem(levy, 4, 0.0, noise=1.0),
    "bbob_f15": Problem(rastrigin_f15, 5, 0.0),
    "bbob_f22": Problem(gallagher_f22, 5, 0.0),
    # Not known: the least of 600 random SVRs, 120 forests and 150 boostings, bettered by Nelder & Mead from the best;
    # `final_regrets` lowers it to the least of the traces.
    "tuning": Problem(tuning, len(KNOBS), 0.48235250743993563, knobs=KNOBS, floor=1e-6),
}


def check_against_coco(points: int = 200) -> dict[str, float]:
    """Largest relative difference to COCO's f15 and f22, instance 1, in 5-D."""
    import cocoex

    rng, worst = np.random.default_rng(0), {}
    for number, f in ((15, rastrigin_f15), (22, gallagher_f22)):
        suite = cocoex.Suite("bbob", "instances: 1", f"function_indices: {number} dimensions: 5")
        theirs = suite[0]
        shift = theirs(10.0 * np.full(5, 0.5) - 5.0) - f(np.full(5, 0.5))  # f_opt
        gaps = []
        for u in rng.random((points, 5)):
            ours, wanted = f(u), theirs(10.0 * u - 5.0) - shift
            gaps.append(abs(ours - wanted) / max(abs(wanted), 1e-9))
        worst[f"f{number}"] = max(gaps)
    return worst


if __name__ == "__main__":
    print(check_against_coco())
