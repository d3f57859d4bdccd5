"""Mixtures: rows with the ellipses of their components, and the criterion by the number of components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg

from credo.errors import DataError
from credo.numerics.readable import count, number, percent, shortened, typeset
from credo.plots.chart import Axis, Chart, Dots, Line, Mark, Text, axis, spread_out

if TYPE_CHECKING:
    from credo.models.mixture import ComponentChoice

__all__ = ["EllipsesFigure", "CriterionFigure", "ellipses", "criterion"]

ROLES = ("primary", "secondary", "tertiary", "muted")
# Rows that a picture of this size can show.
MOST_ROWS = 1000
# Corners of an ellipse.
CORNERS = 72
# What an ellipse holds of its component.
MASS = 0.9
# Columns that name a direction.
NAMED = 2


@dataclass(frozen=True)
class EllipsesFigure:
    """Rows in the plane that separates the components best, with their ellipses.

    rows (n, 2), labels (n,) : a sample, and the likeliest component of each
    outlines (k, corners, 2), centres (k, 2) : of the ellipses that hold `mass` of each component ; names (k,)
    x, y : what the directions are
    """

    rows: np.ndarray
    labels: np.ndarray
    outlines: np.ndarray
    centres: np.ndarray
    names: tuple[str, ...]
    x: str
    y: str
    mass: float = MASS

    def chart(self) -> Chart:
        marks: list[Mark] = []
        for k in range(len(self.outlines)):
            mine, role = self.rows[self.labels == k], ROLES[k % len(ROLES)]
            # colours repeat after four; then dots are hollow
            marks.append(Dots(mine[:, 0], mine[:, 1], role, 2.0, 0.55, hollow=(k // len(ROLES)) % 2 == 1))
        for k, outline in enumerate(self.outlines):
            dashed = (k // len(ROLES)) % 2 == 1
            marks.append(Line(outline[:, 0], outline[:, 1], ROLES[k % len(ROLES)], dashed=dashed))
        marks += [
            Text(float(c[0]), float(c[1]), name, anchor="middle")
            for c, name in zip(self.centres, self.names, strict=True)
        ]
        said = (
            f"{count(len(self.rows), 'row')} and {count(len(self.names), 'ellipse')}, each of which holds "
            f"{percent(self.mass)} of its cluster, in the plane that separates the clusters best."
        )
        corners = self.outlines.reshape(-1, 2)
        x, y = axis(self.x, self.rows[:, 0], corners[:, 0]), axis(self.y, self.rows[:, 1], corners[:, 1])
        return Chart("Clusters", said, x, y, tuple(marks), grid="")


def ellipses(
    model: Any, X: Any, columns: tuple[str, ...] | None = None, *, labels: np.ndarray | None = None,
    names: tuple[str, ...] | None = None, mass: float = MASS,
) -> EllipsesFigure:  # fmt: skip
    """Rows and the ellipses of a Gaussian mixture, in the plane that separates its components best.

    Parameters
    ----------
    model : a fitted `GaussianMixture` of two or more columns ; X (n, d) : rows, NaN where missing
    columns : their names ; labels : component of every row, by default `model.predict(X)` ; names : of components

    Raises
    ------
    DataError : one column.

    Examples
    --------
    >>> import numpy as np, credo as cr
    >>> X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0, 0], [9, 0]], 30, axis=0)
    >>> figure = ellipses(cr.GaussianMixture(2, random_state=0).fit(X), X, ("width", "height"))
    >>> figure.x, figure.outlines.shape
    ('width', (2, 72, 2))
    """
    means, covariances = np.asarray(model.means_, dtype=np.float64), model._components().scale_matrices
    d = means.shape[1]
    if d < 2:
        raise DataError("plots.ellipses draws mixtures of two or more columns.", value=d)
    columns = columns or tuple(f"x{j}" for j in range(d))
    rows = np.asarray(X, dtype=np.float64)
    found = model.predict(rows) if labels is None else np.asarray(labels)
    kept = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), MOST_ROWS)).astype(int))
    rows, found = model.impute(rows[kept]), found[kept]
    directions, said = _plane(np.asarray(model.weights_, dtype=np.float64), means, covariances, columns)
    turn = np.linspace(0.0, 2.0 * np.pi, CORNERS)
    # chi-square of two coordinates: P(r² ≤ q) = 1 − exp(−q/2)
    circle = np.sqrt(-2.0 * np.log1p(-mass)) * np.column_stack([np.cos(turn), np.sin(turn)])
    # discriminant directions are no column's: their origin is the overall mean
    centre = np.zeros(d) if d == 2 else np.average(means, axis=0, weights=np.asarray(model.weights_, dtype=np.float64))
    rows, means = rows - centre, means - centre
    outlines = []
    for mean, covariance in zip(means, covariances, strict=True):
        values, vectors = np.linalg.eigh(directions.T @ covariance @ directions)
        outlines.append(mean @ directions + circle @ (vectors * np.sqrt(np.maximum(values, 0.0))).T)
    names = names or tuple(str(k) for k in range(len(means)))
    return EllipsesFigure(rows @ directions, found, np.stack(outlines), means @ directions, names, *said, mass)


def _plane(
    weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, columns: tuple[str, ...]
) -> tuple[np.ndarray, tuple[str, str]]:
    """Two directions (d, 2), and what they are: of two columns those, else the discriminant directions."""
    d = means.shape[1]
    if d == 2:
        return np.eye(2), (columns[0], columns[1])
    w = weights / weights.sum()
    within = np.einsum("k,kij->ij", w, covariances)
    deviation = means - w @ means
    between = (w[:, None] * deviation).T @ deviation
    _, vectors = scipy.linalg.eigh(between, within, subset_by_index=(d - 2, d - 1))
    directions = vectors[:, ::-1]
    # in units of the columns' own spread, loadings can be compared
    loadings = directions * np.sqrt(np.diag(within + between))[:, None]
    return directions, (_named(loadings[:, 0], columns), _named(loadings[:, 1], columns))


def _named(loading: np.ndarray, columns: tuple[str, ...]) -> str:
    most = np.argsort(-np.abs(loading), kind="stable")[:NAMED]
    parts = [f"{'more' if loading[j] > 0 else 'less'} {shortened(columns[j], 18)}" for j in most]
    return " and ".join(parts) + (" …" if len(columns) > NAMED else "")


@dataclass(frozen=True)
class CriterionFigure:
    """criterion : its name ; lines : (covariance type, sizes, losses) ; best : (size, loss)"""

    criterion: str
    lines: tuple[tuple[str, np.ndarray, np.ndarray], ...]
    best: tuple[int, float]

    def chart(self) -> Chart:
        marks: list[Mark] = []
        losses = np.concatenate([loss for *_, loss in self.lines])
        height = max(float(np.ptp(losses)), 1e-9)
        ends = spread_out([float(loss[-1]) for *_, loss in self.lines], 0.06 * height)
        for i, ((name, sizes, loss), end) in enumerate(zip(self.lines, ends, strict=True)):
            role = ROLES[i % len(ROLES)]
            marks += [Line(sizes, loss, role), Dots(sizes, loss, role, 2.5)]
            marks.append(Text(float(sizes[-1]), end, name, role, dx=8.0))
        marks.append(Dots(np.array([self.best[0]]), np.array([self.best[1]]), "ink", 6.0, hollow=True))
        most = int(max(sizes[-1] for _, sizes, _ in self.lines))
        least = int(min(sizes[0] for _, sizes, _ in self.lines))
        x = Axis("clusters", least - 0.3, most + 0.3, tuple((float(k), str(k)) for k in range(least, most + 1)))
        said = f"Lower is better; lowest at {count(self.best[0], 'cluster')} ({typeset(number(self.best[1], 5))})."
        return Chart(
            f"{self.criterion} by number of clusters", said, x, axis(self.criterion, losses), tuple(marks), 64.0
        )


def criterion(choice: ComponentChoice) -> CriterionFigure:
    """What `choose_components` compared, by number of components: a line for each covariance type.

    Examples
    --------
    >>> import numpy as np
    >>> from credo.models.mixture import choose_components
    >>> X = np.random.default_rng(0).normal(size=(80, 1)) + np.repeat([[0], [9]], 40, axis=0)
    >>> criterion(choose_components(X, range(1, 4), random_state=0).record).best[0]
    2
    """
    by: dict[str, list[tuple[int, float]]] = {}
    for score in choice.scores:
        by.setdefault(score.covariance_type, []).append((score.n_components, score.loss(choice.criterion)))
    lines = []
    for name, points in by.items():
        points.sort()
        sizes, losses = np.array(points, dtype=np.float64).T
        lines.append((name, sizes, losses))
    best = choice.best
    label = {"bic": "BIC", "icl": "ICL", "cv": "held-out loss"}[choice.criterion]
    return CriterionFigure(label, tuple(lines), (best.n_components, best.loss(choice.criterion)))
