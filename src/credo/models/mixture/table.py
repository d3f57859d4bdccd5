"""`TableClusters`: a mixture that takes tables, answers in their terms, and is saved as one record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.models.listing import Listing
from credo.models.mixture.cards import ClusterCard, cards, profile
from credo.models.mixture.categorical import CategoricalMixture
from credo.models.mixture.choice import ComponentChoice, choose_components
from credo.models.mixture.columns import MixtureColumns, resolution
from credo.models.mixture.estimator import GaussianMixture
from credo.models.mixture.gaussian_base import COVARIANCE_TYPES
from credo.models.mixture.mixed import MixedMixture
from credo.models.tabular.model import Provenance
from credo.numerics.random import as_generator
from credo.numerics.readable import aligned, count, percent
from credo.saving.registry import register
from credo.tables.encoder import Encoder, FittedEncoder, warn_unseen
from credo.tables.table import Table, open_table

if TYPE_CHECKING:
    import polars as pl

__all__ = ["TableClusters", "ClusterFit", "fit_clusters"]

# Rows on which sizes and shapes are compared: BIC then tells components of 2 % apart, in seconds rather than minutes.
SAMPLE_ROWS = 10_000
# Starts of every mixture: the best of five misses the highest maximum rarely, at five times the price.
STARTS = 5
# A row is told apart where its likeliest cluster has at least this.
SURE = 0.9
# Traits of a card, and the least effect that is worth a line: a fifth of a standard deviation is called small (Cohen).
TRAITS, LEAST_EFFECT = 5, 0.2


@register
@dataclass(frozen=True, eq=False, repr=False)
class TableClusters:
    """A table's encoder and the mixture fitted behind it; clusters are numbered from 1, the largest first.

    Attributes
    ----------
    encoder, columns : the columns it reads, how they became numbers and codes
    estimator : a `GaussianMixture`, `MixedMixture` or `CategoricalMixture`
    cards : what every cluster is like
    provenance : data, rows, seed, command, version
    decisions : sentences on what was decided
    choice : the sizes and shapes that were compared; None when both were given
    """

    encoder: FittedEncoder
    columns: MixtureColumns
    estimator: Any
    cards: tuple[ClusterCard, ...]
    provenance: Provenance
    decisions: tuple[str, ...] = ()
    choice: ComponentChoice | None = None

    applied_by = "credo cluster NEW.csv --apply {}"

    def __len__(self) -> int:
        return len(self.cards)

    def __repr__(self) -> str:
        return f"<TableClusters: {len(self)} clusters of {self.provenance.rows:,} rows of {self.provenance.data}>"

    @property
    def order(self) -> np.ndarray:
        """The estimator's components, the largest first."""
        return np.argsort(-np.asarray(self.estimator.weights_), kind="stable")

    def open(self, data: Any, **how: Any) -> Table:
        """A table of new rows, its columns read as those of the fit.

        Raises
        ------
        DataError : columns are missing (named).
        """
        if isinstance(data, Table):
            return data
        table = open_table(data, like=self.encoder.schema.select(list(self.encoder.inputs)), **how)
        self.encoder.check_columns(table.columns)
        return table

    def probabilities(self, matrix: np.ndarray) -> np.ndarray:
        """p(cluster | row) (n, k) of rows as `columns.matrix` gives them."""
        return self.estimator.predict_proba(matrix)[:, self.order]

    def assign(self, data: Any, keep: Sequence[str] = ()) -> Iterator[pl.DataFrame]:
        """Frames of consecutive rows, in bounded memory: the columns `keep`, cluster, probability, anomaly (−log p, the
        higher the stranger), and p(1)…p(k)."""
        import polars as pl

        table = self.open(data)
        as_written = {name: "identifier" for name in keep if name not in self.encoder.inputs}
        table = table.with_schema(table.schema.with_types(as_written))
        unseen: dict[str, tuple[str, ...]] = {}
        for frame in table.frames(columns=tuple(dict.fromkeys((*self.encoder.inputs, *keep)))):
            X, strange = self.encoder.encode(frame)
            for name, levels in strange.items():
                unseen[name] = tuple(dict.fromkeys((*unseen.get(name, ()), *levels)))[:10]
            matrix = self.columns.matrix(X)
            p = self.probabilities(matrix)
            yield pl.DataFrame(
                {
                    **{name: frame[name] for name in keep},
                    "cluster": p.argmax(axis=1) + 1,
                    "probability": p.max(axis=1),
                    "anomaly": self.estimator.anomaly_score(matrix),
                    **{f"p({j + 1})": p[:, j] for j in range(p.shape[1])},
                }
            )
        warn_unseen(unseen, self.encoder)

    # -- what it believes ----------------------------------------------------------------------------------------

    def summary(self, mass: float = 0.9) -> dict[str, Any]:
        """Everything it believes and where it comes from, as JSON data."""
        model = self.estimator
        return {
            "kind": "clusters",
            "model": type(model).__name__,
            "covariance_type": getattr(model, "covariance_type", None),
            "rows": self.provenance.rows,
            "columns": [{"name": column.name, "type": column.type} for column in self.encoder.schema],
            "clusters": [asdict(card) for card in self.cards],
            "bound": model.lower_bound_,
            "converged": model.converged_,
            "steps": model.n_iter_,
            "choice": None if self.choice is None else [asdict(score) for score in self.choice.scores],
            "decisions": list(self.decisions),
            "warnings": list(model.result_.advice),
            "provenance": asdict(self.provenance),
        }

    def told(self) -> list[str | Listing]:
        from_ = self.provenance
        lines: list[str | Listing] = [
            f"{count(len(self), 'cluster')} of {count(from_.rows, 'row')} of {from_.data}, by {self.described}.",
            f"Made by Credo {from_.version}" + (f": {from_.command}" if from_.command else "."),
            "Decided:",
            *(f"  - {sentence}" for sentence in self.decisions),
        ]
        return [*lines, *self.believed()]

    @property
    def described(self) -> str:
        kind = getattr(self.estimator, "covariance_type", None)
        what = {"GaussianMixture": "a Gaussian mixture", "CategoricalMixture": "a mixture of categories"}
        name = what.get(type(self.estimator).__name__, "a mixture of numbers and categories")
        return name if kind is None else f"{name} ({kind} covariances)"

    def believed(self) -> list[str | Listing]:
        """The clusters as a table: how large, and what distinguishes each."""
        rows = []
        for card in self.cards:
            head = f"{card.cluster}: {count(card.rows, 'row')}, {100.0 * card.weight:.1f} %"
            rows += [(head if i == 0 else "", *trait) for i, trait in enumerate(shown_traits(card))]
        return [Listing(("cluster", "column", "in the cluster", "overall"), tuple(rows), 2)]


def shown_traits(card: ClusterCard) -> list[tuple[str, str, str]]:
    """(column, in the cluster, overall) of the columns that differ most, as text."""
    found = []
    for trait in card.traits[:TRAITS]:
        if abs(trait.effect) < LEAST_EFFECT:
            break
        if trait.level is None:
            value, sd, overall = aligned([trait.value, trait.sd, trait.overall], trait.sd)
            found.append((trait.column, f"{value} ± {sd}", overall))
        else:
            found.append((f"{trait.column} = {trait.level}", percent(trait.value, 2), percent(trait.overall, 2)))
    return found or [("(like the whole)", "", "")]


# -- fitting -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ClusterFit:
    """model ; matrix (n, columns) of the rows it was fitted to, for pictures."""

    model: TableClusters
    matrix: np.ndarray


def fit_clusters(
    table: Table,
    *,
    k: int | None = None,
    covariance: str | None = None,
    columns: Sequence[str] = (),
    drop: Sequence[str] = (),
    seed: int = 0,
    command: str | None = None,
) -> ClusterFit:
    """Clusters of a table's rows.

    Parameters
    ----------
    k : how many; None chooses by BIC ; covariance : a covariance type; None chooses by BIC
    columns : those to use, all others being left out ; drop : columns to leave out

    Raises
    ------
    DataError : no column is left, or too few rows.

    Notes
    -----
    Numbers are Normal in a cluster, categories have shares; missing cells are integrated out. A number written in steps
    of δ has at least a variance of δ²/4 in a cluster, else a cluster for every value would have the highest likelihood.
    A weak prior keeps clusters from shrinking onto a few rows (Fraley and Raftery 2007).
    """
    left_out = _left_out(table, columns, drop)
    encoder = Encoder(table.schema, exclude=left_out, full=True).fit(table)
    used = MixtureColumns.of(encoder)
    matrix = np.concatenate([used.matrix(block.X) for block in table.to_source(encoder)])
    if len(matrix) < 3:
        raise DataError(
            f"{table.name} has {count(len(matrix), 'row')}: clusters need three or more.", value=len(matrix)
        )
    said = [*table.decisions, *encoder.decisions, *used.decisions]
    estimator, choice, more = _chosen(matrix, used, k, covariance, seed)
    labels = estimator.predict(matrix)
    sizes = np.bincount(labels, minlength=len(estimator.weights_))
    model = TableClusters(
        encoder, used, estimator, cards(profile(estimator), used.numbers, used.categories, sizes),
        Provenance(table.name, len(matrix), len(matrix), seed=seed, command=command), (*said, *more), choice,
    )  # fmt: skip
    return ClusterFit(model, matrix)


def _left_out(table: Table, columns: Sequence[str], drop: Sequence[str]) -> tuple[str, ...]:
    for name in (*columns, *drop):
        table.schema[name]  # raises, naming the columns there are
    chosen = set(columns or table.columns) - set(drop)
    return tuple(name for name in table.columns if name not in chosen)


def _chosen(
    matrix: np.ndarray, used: MixtureColumns, k: int | None, covariance: str | None, seed: int
) -> tuple[Any, ComponentChoice | None, list[str]]:
    """(the fitted mixture, what was compared, what to say of it)."""
    if k is not None and len(matrix) < k:
        raise ParameterError("", "-k", f"at most the {len(matrix)} rows", k)
    base = _estimator(matrix, used, seed)
    types = (COVARIANCE_TYPES if covariance is None else (covariance,)) if used.numbers else ("",)
    if covariance is None and len(used.numbers) == 1:
        types = ("full", "tied")  # the others are the same in one dimension
    if k is not None and len(types) == 1:
        settings = {"n_components": k} | ({"covariance_type": types[0]} if types[0] else {})
        return base.set_params(**settings).fit(matrix), None, []
    sample = matrix
    if len(matrix) > SAMPLE_ROWS:
        rows = as_generator(seed).choice(len(matrix), SAMPLE_ROWS, replace=False)
        sample = matrix[np.sort(rows)]
    sizes = None if k is None else [k]
    found = choose_components(sample, sizes, covariance_types=types if types[0] else None, estimator=base)
    best = found.record.best
    what = count(best.n_components, "cluster") + (f", {best.covariance_type} covariances" if types[0] else "")
    said = [f"Chosen by BIC among {len(found.record.scores)} mixtures: {what}."]
    if len(sample) == len(matrix):
        return found.best, found.record, said
    said.append(f"They were compared on {len(sample):,} rows drawn at random; the mixture is fitted to all rows.")
    return found.best.fit(matrix), found.record, said


def _estimator(matrix: np.ndarray, used: MixtureColumns, seed: int) -> Any:
    """The mixture that the columns ask for, without its size."""
    n = len(used.numbers)
    if not n:
        return CategoricalMixture(1, concentration=2.0, n_init=STARTS, random_state=seed)
    variance = np.nanvar(matrix[:, :n], axis=0)
    steps = np.array([resolution(matrix[:, j]) for j in range(n)])
    how: dict[str, Any] = {
        "reg_covar": tuple(np.maximum(1e-6 * variance, 0.25 * np.square(steps)).tolist()),
        "component_prior": "auto",
        "n_init": STARTS,
        # a step that raises the log likelihood of all rows by a hundredth: BIC counts whole ones
        "tol": 0.01 / len(matrix),
        "max_iter": 1000,
        "random_state": seed,
    }
    if not used.categories:
        return GaussianMixture(1, acceleration="squarem", **how)
    return MixedMixture(1, categories=tuple(range(n, n + len(used.categories))), **how)
