"""`report`: everything a person wants to know of a fitted model, as data; `page` and `terminal` show it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from credo.models.listing import Listing
from credo.models.tabular import RowSample, TableModel
from credo.models.tabular.told import NoiseLaw, noise_law, process_told
from credo.numerics.readable import count, number
from credo.plots.choices import ComparisonFigure, comparison
from credo.reports.belief import Belief, belief
from credo.reports.calibration import Calibration, calibration
from credo.reports.decision import ExampleDecision, example_decision
from credo.reports.noise import Noise, noise
from credo.reports.reading import Reading, reading
from credo.reports.rows import Rows, held_out
from credo.reports.uncertainty import Uncertainty, uncertainty
from credo.tables.target import Label

__all__ = ["Report", "Choice", "Origin", "report", "comparison_report"]


@dataclass(frozen=True)
class Choice:
    """The comparison that led to the model: its record as JSON data, drawn, and whether all were averaged."""

    record: dict[str, Any]
    figure: ComparisonFigure
    averaged: bool


@dataclass(frozen=True)
class Origin:
    """How to make the same again."""

    version: str
    data: str
    seed: int | None
    command: str | None


@dataclass(frozen=True)
class Report:
    """The story of a model, section by section; a section that cannot be is None, with its reason in `absent`.

    target, task, labels ; facts : (name, value) for the head ; noise_law : of the belief, None where it has no scale
    process : kernel, hyperparameters, evidence and solver, of a Gaussian process
    """

    target: str
    task: str
    labels: tuple[Label, ...]
    facts: tuple[tuple[str, str], ...]
    reading: Reading
    comparison: Choice | None
    belief: Belief | None
    calibration: Calibration | None
    uncertainty: Uncertainty | None
    noise: Noise | None
    decision: ExampleDecision | None
    origin: Origin
    absent: dict[str, str] = field(default_factory=dict)
    noise_law: NoiseLaw | None = None
    process: tuple[str | Listing, ...] = ()


def report(model: TableModel, sample: RowSample, *, warnings: Sequence[str] = (), mass: float = 0.9) -> Report:
    """The report of a fitted model.

    Parameters
    ----------
    model : as `TableTask.fit` or `.keep` returns it, with its comparison
    sample : the rows it was fitted to, or a random sample of them (`TableTask.sample`)
    warnings : sentences said while it was made
    mass : of the intervals

    Notes
    -----
    Nothing depends on the clock: the same model, rows and seed give the same report. Cost: five fits to at most 2,000
    rows, and some predictions of the sample.

    Examples
    --------
    >>> import numpy as np, polars as pl
    >>> from credo.models.tabular import TableTask
    >>> x = np.random.default_rng(0).uniform(-1, 1, 80)
    >>> task = TableTask.prepare(pl.DataFrame({"x": x, "y": x**2 + 0.05 * np.cos(99.0 * x)}), "y")
    >>> found = report(task.fit(), task.sample(10_000))
    >>> [check.name for check in found.noise.checks.failed]
    ['curvature']
    """
    rows = Rows(model, sample)
    absent: dict[str, str] = {}

    def kept(name: str, found: Any) -> Any:
        if isinstance(found, str):
            absent[name] = found
            return None
        return found

    held = held_out(rows, model.provenance.seed)
    judged = kept("calibration", held if isinstance(held, str) else calibration(held, len(sample)))
    split = kept("uncertainty", uncertainty(rows, mass))
    left = kept("noise", noise(rows, None if judged is None else judged.transforms))
    if split is not None and left is not None and any(not check.slight for check in left.checks.failed):
        split = replace(split, verdict=f"{split.verdict} What is called noise here includes the misfit found below.")
    acting = kept("decision", example_decision(rows, 0 if split is None else split.row, held))
    return Report(
        model.target, model.task, model.labels, _facts(model, judged), reading(model, warnings), _choice(model),
        belief(rows, mass), judged, split, left, acting, _origin(model), absent,
        noise_law(model.estimator), tuple(process_told(model.estimator, tuple(model.encoder.feature_names))),
    )  # fmt: skip


def comparison_report(model: TableModel, *, warnings: Sequence[str] = ()) -> Report:
    """The report of a comparison alone: what was read, and how the candidates did.

    model : the chosen one, as `TableTask.keep` returns it, with its comparison
    """
    facts = _facts(model, None)
    return Report(
        model.target, model.task, model.labels, facts, reading(model, warnings), _choice(model),
        None, None, None, None, None, _origin(model),
    )  # fmt: skip


def _choice(model: TableModel) -> Choice | None:
    if model.comparison is None:
        return None
    return Choice(model.comparison, comparison(model.comparison), bool(model.weights))


def _origin(model: TableModel) -> Origin:
    from_ = model.provenance
    return Origin(from_.version, from_.data, from_.seed, from_.command)


def _facts(model: TableModel, judged: Calibration | None) -> tuple[tuple[str, str], ...]:
    facts = [
        ("predicts", f"{len(model.labels)} classes" if model.labels else "a number"),
        ("rows", f"{model.provenance.rows:,}"),
        ("from", count(model.encoder.n_features, "feature")),
        ("model", model.name),
    ]
    if (law := noise_law(model.estimator)) is not None:
        facts.append(("noise (sd)" if law.family == "normal" else "noise (scale)", number(law.scale)))
    if law is not None and law.df is not None:
        facts.append(("noise (df)", number(law.df, 3)))
    if judged is not None:
        facts += [
            (score.name, score.value) for score in judged.scores if score.name in ("explained variance", "accuracy")
        ]
    return tuple(facts)
