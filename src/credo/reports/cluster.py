"""The report of a clustering: a card for every cluster, the rows to look at, how the fit went. Data first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.mixture.cards import ClusterCard
from credo.models.mixture.table import SURE, ClusterFit, TableClusters, shown_traits
from credo.numerics.readable import aligned, count, number, percent, typeset
from credo.plots.bounds import BoundFigure, bound
from credo.plots.clusters import CriterionFigure, EllipsesFigure, criterion, ellipses
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, reproduced, section, shell

__all__ = ["ClusterReport", "Oddity", "UncertainRow", "cluster_report", "clusters_html", "write_clusters_html"]

# Rows that are listed.
MOST_LISTED = 8


@dataclass(frozen=True)
class UncertainRow:
    """row : from 1, as the table has them ; first, second : the two likeliest clusters, with their probabilities"""

    row: int
    first: tuple[int, float]
    second: tuple[int, float]


@dataclass(frozen=True)
class Oddity:
    """row : from 1 ; anomaly : −log p of the row ; column, value : the number furthest from its cluster, in sds
    (None where a combination of categories is what is rare) ; sd : of the column in the cluster"""

    row: int
    cluster: int
    anomaly: float
    column: str | None
    value: float | None
    distance: float | None
    sd: float | None = None


@dataclass(frozen=True)
class ClusterReport:
    """n_uncertain : rows whose likeliest cluster has less than `SURE` ; uncertain, oddities : the first of them
    usual : the median of −log p over rows"""

    model: TableClusters
    cards: tuple[ClusterCard, ...]
    n_uncertain: int
    uncertain: tuple[UncertainRow, ...]
    oddities: tuple[Oddity, ...]
    usual: float
    bound: BoundFigure
    criterion: CriterionFigure | None
    ellipses: EllipsesFigure | None
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """What is not in the model itself."""
        return {
            "uncertain": {
                "rows": self.n_uncertain,
                "below": SURE,
                "first": [
                    {"row": u.row, "clusters": [u.first[0], u.second[0]], "probabilities": [u.first[1], u.second[1]]}
                    for u in self.uncertain
                ],
            },
            "anomalies": [vars(oddity) for oddity in self.oddities],
            "usual_anomaly": self.usual,
        }

    @property
    def sentences(self) -> list[str]:
        """Rows to look at, in words."""
        rows = self.model.provenance.rows
        said = [
            f"{count(self.n_uncertain, 'row')} of {rows:,} ({percent(self.n_uncertain / rows, 2)}) "
            f"{'belongs' if self.n_uncertain == 1 else 'belong'} to no cluster with probability {SURE} or more."
        ]
        said += [
            f"Row {u.row}: cluster {u.first[0]} ({u.first[1]:.2f}) or {u.second[0]} ({u.second[1]:.2f})."
            for u in self.uncertain[:3]
        ]
        said += [_odd(oddity, self.usual) for oddity in self.oddities[:3]]
        return said


def cluster_report(fit: ClusterFit, *, warnings: Sequence[str] = ()) -> ClusterReport:
    """The report of `fit_clusters`. Cost: two passes over its rows."""
    model, matrix = fit.model, fit.matrix
    p = model.probabilities(matrix)
    anomaly = model.estimator.anomaly_score(matrix)
    labels, ranked = p.argmax(axis=1), np.sort(p, axis=1)
    unsure = np.flatnonzero(ranked[:, -1] < SURE)
    uncertain = []
    for i in unsure[np.argsort(ranked[unsure, -1], kind="stable")[:MOST_LISTED]]:
        a, b = np.argsort(-p[i], kind="stable")[:2]
        uncertain.append(UncertainRow(int(i) + 1, (int(a) + 1, float(p[i, a])), (int(b) + 1, float(p[i, b]))))
    strangest = np.argsort(-anomaly, kind="stable")[: min(MOST_LISTED, len(anomaly))]
    return ClusterReport(
        model, model.cards, len(unsure), tuple(uncertain),
        tuple(_oddity(model, matrix[i], int(i), int(labels[i]), float(anomaly[i])) for i in strangest),
        float(np.median(anomaly)), bound(model.estimator),
        None if model.choice is None else criterion(model.choice), _ellipses(model, matrix, labels), tuple(warnings),
    )  # fmt: skip


def _oddity(model: TableClusters, row: np.ndarray, number_of: int, cluster: int, anomaly: float) -> Oddity:
    """The number that is furthest from the row's own cluster, if any is 3 sds away or more."""
    furthest: tuple[float, str, float, float] | None = None
    traits = {trait.column: trait for trait in model.cards[cluster].traits if trait.sd}
    for j, column in enumerate(model.columns.numbers):
        trait = traits.get(column.name)
        if trait is None or not trait.sd or np.isnan(row[j]):
            continue
        distance = float((row[j] - trait.value) / trait.sd)
        if abs(distance) >= 3.0 and (furthest is None or abs(distance) > abs(furthest[0])):
            furthest = (distance, column.name, float(row[j]), trait.sd)
    distance, name, value, sd = furthest or (None, None, None, None)
    return Oddity(number_of + 1, cluster + 1, anomaly, name, value, distance, sd)


def _odd(oddity: Oddity, usual: float) -> str:
    head = f"Row {oddity.row} is unlike the rest (−log p is {number(oddity.anomaly, 3)}, usually {number(usual, 3)})"
    if oddity.column is None or oddity.value is None or oddity.distance is None:
        return f"{head}."
    value, way = aligned([oddity.value], oddity.sd)[0], "above" if oddity.distance > 0 else "below"
    return (
        f"{head}: {oddity.column} = {value} is {number(abs(oddity.distance), 2)} standard deviations {way} "
        f"cluster {oddity.cluster}."
    )


def _ellipses(model: TableClusters, matrix: np.ndarray, labels: np.ndarray) -> EllipsesFigure | None:
    columns = tuple(column.name for column in model.columns.numbers)
    if len(columns) < 2:
        return None
    numbers = getattr(model.estimator, "numbers_", model.estimator)
    place = np.argsort(model.order)
    names = tuple(str(place[k] + 1) for k in range(len(place)))
    return ellipses(numbers, matrix[:, : len(columns)], columns, labels=model.order[labels], names=names)


# -- the page ----------------------------------------------------------------------------------------------------


def clusters_html(report: ClusterReport) -> str:
    """One self-contained page."""
    model = report.model
    facts = [
        ("clusters", str(len(model))), ("rows", f"{model.provenance.rows:,}"),
        ("columns", str(len(model.columns.names))), ("uncertain rows", f"{report.n_uncertain:,}"),
        ("steps", f"{model.estimator.n_iter_}{'' if model.estimator.converged_ else ', not converged'}"),
    ]  # fmt: skip
    pictures = [pictured(report.ellipses, "c1")] if report.ellipses is not None else []
    listed = element("ul", *(element("li", typeset(each)) for each in report.sentences))
    origin = reproduced(model.decisions, model.provenance.command, "clusters")
    sections = [
        section("clusters", "Clusters", element("p", _NOTE, class_="note"), *pictures,
                element("div", *map(_card, report.cards), class_="charts")),
        section("rows", "Rows to look at", listed),
        section("fit", "How the fit went", *_fit(report)),
        origin,
    ]  # fmt: skip
    title = f"Clusters of {model.provenance.data}"
    return shell(title, sections, lead=f"By {model.described}.", facts=facts, to="the clusters")


_NOTE = (
    "Largest first. A card lists the columns in which a cluster differs most from the whole, as mean ± standard "
    "deviation, or as the share of a category."
)


def write_clusters_html(report: ClusterReport, path: Any) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    StorageError : the system refuses.
    """
    from credo.saving.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(clusters_html(report).encode("utf-8"))


def _card(card: ClusterCard) -> Markup:
    rows = [
        element("tr", element("th", name, scope="row"), element("td", typeset(inside), class_="n"),
                element("td", typeset(overall), class_="n"))
        for name, inside, overall in shown_traits(card)
    ]  # fmt: skip
    head = element("tr", *(element("th", each, scope="col") for each in ("column", "in the cluster", "overall")))
    return element(
        "article",
        element("h3", f"Cluster {card.cluster}: {count(card.rows, 'row')}, {100.0 * card.weight:.1f} %"),
        element("table", element("thead", head), element("tbody", *rows), aria_label=f"Cluster {card.cluster}"),
    )


def _fit(report: ClusterReport) -> list[Any]:
    parts: list[Any] = [pictured(report.bound, "c2")]
    if report.criterion is not None:
        parts.append(pictured(report.criterion, "c3"))
    if report.warnings:
        parts.append(element("div", *(element("p", each) for each in report.warnings), class_="box warn"))
    return parts
