"""The evidence of a Gaussian process over two of its hyperparameters, and where it is highest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.errors import NumericalError, ParameterError
from credo.numerics.readable import count, number, shortened, typeset
from credo.plots.chart import Chart
from credo.plots.fields import Surface, check_resolution
from credo.plots.hyperparameters import Hyperparameters
from credo.plots.readings import reading

__all__ = ["EvidenceSurface", "evidence_surface"]

# Of the evidence, each place a factorisation, or under a likelihood that is not Normal a search of ten.
EVIDENCE_RESOLUTION, LATENT_RESOLUTION = 30, 18
# Nats below the top at which the evidence is drawn: within 3 lies 95 % of a Normal posterior of two.
STEPS = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# Either way from the learned value, on a log axis.
REACH = 20.0
# A top of the evidence this many cells of the grid from another is the same; or one between which and a higher one it
# falls by less than this many nats: a ridge that is level to rounding.
SAME, DIP = 1.5, 0.05


@dataclass(frozen=True)
class EvidenceSurface:
    """log p(y | θ) over two hyperparameters, the others held.

    names (2) ; x (m,), y (k,) ; log_evidence (k, m), −∞ where there is none
    learned (2,), at_learned : what the model has, and the value there
    optima (j, 2), at_optima (j,) : tops within the plane, highest first; that at the learned values is not among them
    held : name → value of the others ; prior : whether log priors are added
    """

    names: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    log_evidence: np.ndarray
    learned: np.ndarray
    at_learned: float
    optima: np.ndarray
    at_optima: np.ndarray
    held: dict[str, float]
    log: tuple[bool, bool]
    prior: bool = False

    @property
    def what(self) -> str:
        return "Log evidence and prior" if self.prior else "Log evidence"

    def chart(self) -> Chart:
        top = max(float(self.log_evidence.max()), self.at_learned, *self.at_optima.tolist())
        finite = self.log_evidence[np.isfinite(self.log_evidence)]
        values = np.maximum(self.log_evidence, finite.min() - 1.0)
        levels = tuple((top - s, f"−{number(s)}") for s in reversed(STEPS) if values.min() < top - s < values.max())
        points = [(*self.learned.tolist(), "learned", True)]
        points += [
            (float(a), float(b), typeset(f"{value - self.at_learned:+.1f}"), False)
            for (a, b), value in zip(self.optima, self.at_optima, strict=True)
        ]
        shorts = _shorts(self.names)
        return Surface(
            f"{self.what} by {shortened(shorts[0], 18)} and {shortened(shorts[1], 18)}", *shorts, self.description,
            self.x, self.y, values, levels, points=tuple(points), log=self.log,
        ).chart()  # fmt: skip

    @property
    def description(self) -> str:
        a, b = (f"{name} {number(float(v), 3)}" for name, v in zip(self.names, self.learned, strict=True))
        said = (
            f"Lines are nats below the highest. Learned: {a}, {b}, with {self.what.lower()} {number(self.at_learned)}."
        )
        if len(self.optima):
            others = "; ".join(
                f"{number(float(x), 3)}, {number(float(y), 3)}: {value - self.at_learned:+.1f} nats"
                for (x, y), value in zip(self.optima, self.at_optima, strict=True)
            )
            said += f" {count(len(self.optima), 'other top')} (hollow, against the learned): {others}."
        if self.held:
            said += " Held: " + ", ".join(f"{name} {number(value, 3)}" for name, value in self.held.items()) + "."
        return typeset(said)


def _shorts(names: tuple[str, str]) -> tuple[str, str]:
    """Names without the path through the kernel, if they still differ."""
    a, b = (name.rsplit(".", 1)[-1] for name in names)
    return (a, b) if a != b else names


def evidence_surface(
    model: Any,
    x: str | None = None,
    y: str | None = None,
    *,
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    resolution: int | None = None,
    prior: bool = False,
) -> EvidenceSurface:
    """The log evidence over two hyperparameters, the others as learned, with its tops marked.

    A second top is a second explanation of the rows, mostly a longer lengthscale with more noise; a search finds the
    one that it starts below (`n_restarts_optimizer` looks further).

    Parameters
    ----------
    model : a fitted Gaussian process; it stays as it is
    x, y : names of hyperparameters, or ends of names; None takes the lengthscale of the first column, and the noise,
        or the variance where there is none
    x_range, y_range : ends of the axes; None goes a factor of 20 either way from what was learned
    resolution : places along each axis; None is 30, or 18 under a likelihood that is not Normal
    prior : adds the log priors of hyperparameters, as learn="map" does

    Raises
    ------
    ParameterError : no such hyperparameters (the message lists those there are), or a bad range.
    NumericalError : no evidence anywhere in the plane.

    Cost resolution² + 60 for each top evaluations of the evidence, n³/3 each where it is exact; the noise, or the
    variance of a scaled kernel, on an axis makes a whole line of places as dear as some ten, both a whole plane.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0); x = np.linspace(0, 6, 20)[:, None]
    >>> model = cr.GaussianProcessRegressor().fit(x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=20))
    >>> figure = evidence_surface(model, "lengthscale", "noise", resolution=15)
    >>> figure.names, bool(figure.at_learned >= figure.log_evidence.max() - 0.5)
    (('kernel.lengthscale', 'noise'), True)
    """
    owner = "plots.evidence_surface"
    read = reading(owner, model, _first_output(model))
    if resolution is None:
        resolution = EVIDENCE_RESOLUTION if read.exact else LATENT_RESOLUTION
    check_resolution(owner, resolution)
    hyper = Hyperparameters.of(owner, model)
    i = hyper.lengthscale(0) if x is None else hyper.index("x", x)
    j = _other(hyper, i) if y is None else hyper.index("y", y)
    if i == j:
        raise ParameterError(owner, "y", f"another hyperparameter than x, of {', '.join(map(repr, hyper.names))}", y)
    log = (bool(hyper.positive[i]), bool(hyper.positive[j]))
    learned = hyper.values[[i, j]]
    spans = (("x_range", x_range), ("y_range", y_range))
    axes = [
        _span(owner, name, given, float(value), positive, resolution)
        for (name, given), value, positive in zip(spans, learned, log, strict=True)
    ]

    def value(a: float, b: float) -> float:
        return hyper.log_evidence(hyper.moved({i: a, j: b}), prior)

    with hyper.threads():
        values = hyper.log_evidences(i, j, axes[0], axes[1], prior)
        if not np.any(np.isfinite(values)):
            raise NumericalError(f"{owner}: the evidence is −∞ all over the plane.", value=(x_range, y_range))
        at_learned = hyper.log_evidence(hyper.theta, prior)
        optima, at_optima = _tops(value, axes, values, log, learned, at_learned)
    held = {name: float(v) for k, (name, v) in enumerate(zip(hyper.names, hyper.values)) if k not in (i, j)}
    names = (hyper.names[i], hyper.names[j])
    return EvidenceSurface(
        names, axes[0], axes[1], values, learned, at_learned, optima, at_optima, held, log, prior
    )  # fmt: skip


def _first_output(model: Any) -> Any:
    """The evidence is of all targets: any will do to see that the model is one of these."""
    units = getattr(model, "units_", None)
    return 0 if units is not None and units.unit.size > 1 else None


def _other(hyper: Hyperparameters, taken: int) -> int:
    names = [name for name in ("noise", "scale", "variance") if name in hyper.names]
    rest = [k for k in range(len(hyper.names)) if k != taken]
    if not names and not rest:
        return hyper.index("y", "noise")  # the error lists what there is
    return hyper.names.index(names[0]) if names else rest[0]


def _span(
    owner: str, parameter: str, given: tuple[float, float] | None, value: float, positive: bool, n: int
) -> np.ndarray:
    if given is None:
        reach = (value / REACH, value * REACH) if positive else (value - 2.0, value + 2.0)
        return np.geomspace(*reach, n) if positive else np.linspace(*reach, n)
    low, high = (float(end) for end in given)
    if not (np.isfinite([low, high]).all() and low < high and (low > 0.0 or not positive)):
        raise ParameterError(owner, parameter, "(low, high)" + ", both > 0" * positive + ", low < high", given)
    return np.geomspace(low, high, n) if positive else np.linspace(low, high, n)


def _tops(
    value: Callable[[float, float], float],
    axes: list[np.ndarray],
    values: np.ndarray,
    log: tuple[bool, bool],
    learned: np.ndarray,
    at: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Local maxima inside the plane other than the learned point, refined, highest first."""
    import scipy.optimize

    inner = np.array([np.log(a) if positive else a for a, positive in zip(axes, log, strict=True)])
    step = inner[:, 1] - inner[:, 0]

    def outside(point: np.ndarray) -> np.ndarray:
        return np.where(log, np.exp(np.where(log, point, 0.0)), point)

    own = np.where(log, np.log(np.where(log, learned, 1.0)), learned)
    found: list[tuple[np.ndarray, float]] = [(own, at)]
    for j, i in _peaks(values):
        start = np.array([inner[0, i], inner[1, j]])
        if np.all(np.abs(start - own) < SAME * step) and values[j, i] <= at + 1e-6:
            continue
        simplex = start + np.array([[0.0, 0.0], [0.5, 0.0], [0.0, 0.5]]) * step
        top = scipy.optimize.minimize(
            lambda point: -value(*outside(point).tolist()), start, method="Nelder-Mead",
            options={"initial_simplex": simplex, "xatol": 1e-2 * float(step.min()), "fatol": 1e-3, "maxfev": 80},
        )  # fmt: skip
        height = -float(top.fun)

        def same(other: np.ndarray, high: float, here: np.ndarray = top.x, height: float = height) -> bool:
            way = [value(*outside(here + t * (other - here)).tolist()) for t in (0.25, 0.5, 0.75)]
            near = bool(np.all(np.abs(here - other) < SAME * step))
            return near or min(way) > min(height, high) - DIP

        within = np.all((top.x >= inner[:, 0]) & (top.x <= inner[:, -1]))
        if within and not any(same(*other) for other in found):
            found.append((top.x, height))
    rest = sorted(found[1:], key=lambda each: -each[1])
    return np.array([outside(point) for point, _ in rest]).reshape(-1, 2), np.array([v for _, v in rest])


def _peaks(values: np.ndarray) -> np.ndarray:
    """(p, 2) rows and columns of entries above all eight neighbours; the edge has no tops, only slopes that go on."""
    inside = values[1:-1, 1:-1]
    higher = np.isfinite(inside)
    k, m = values.shape
    for a in (0, 1, 2):
        for b in (0, 1, 2):
            if (a, b) != (1, 1):
                higher &= inside > values[a : k - 2 + a, b : m - 2 + b]
    return np.argwhere(higher) + 1
