"""A saved model in words: reading it, where it comes from, what it believes."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from typing import Any

from credo.cli.regression import SavedRegression, is_regression
from credo.errors import FileFormatError, ParameterError

__all__ = ["load_model", "load_saved", "rendered", "origin", "belief", "outlook"]


def load_saved(path: str, writer: str = "credo fit TABLE --target COLUMN") -> Any:
    """Whatever a Credo file holds; `writer` is the command that makes such files.

    Raises
    ------
    FileFormatError : not a Credo file.
    """
    from credo.saving import is_credo_file, load

    if os.path.isfile(path) and not is_credo_file(path):
        raise FileFormatError(f"{path} is not a Credo model.", value=path, remedy=f"{writer} writes one.")
    return load(path)


def load_model(path: str, new_levels: str | None = None, seed: int = 0) -> Any:
    """The model of a table in a file: a `TableModel`, or a regression by formula (`SavedRegression`).

    new_levels, seed : of a regression

    Raises
    ------
    FileFormatError : not a Credo file, or one that holds something else.
    """
    from credo.models.tabular import TableModel

    model = load_saved(path)
    if is_regression(model):
        return SavedRegression(model, new_levels or "sample", seed)
    if new_levels is not None:
        raise ParameterError("", "--new-levels", "left out with a model that credo regress did not write", new_levels)
    if not isinstance(model, TableModel):
        applied_by = getattr(model, "applied_by", None)
        raise FileFormatError(
            f"{path} holds a {type(model).__name__}, not a model of a table.",
            value=path,
            remedy="Open it in Python with credo.load; `credo fit` writes models of tables."
            if applied_by is None
            else f"Apply it with: {applied_by.format(path)}",
        )
    return model


def rendered(parts: Iterable[Any]) -> list[Any]:
    """Lines and `Listing`s as a terminal shows them."""
    from credo.cli.text import grid
    from credo.models.listing import Listing

    return [grid(part.columns, part.rows, part.left) if isinstance(part, Listing) else part for part in parts]


def origin(model: Any) -> list[str]:
    """What the model predicts from what, and where it comes from."""
    from credo.cli.text import bullets
    from credo.numerics.readable import count

    from_ = model.provenance
    what = f"{len(model.labels)} classes" if model.labels else "a number"
    lines = [
        f"A model of {model.target!r} ({what}), fitted to {count(from_.rows, 'row')} of {from_.data}, "
        f"{count(len(model.inputs), 'column')} as {count(model.encoder.n_features, 'feature')}.",
        f"Made by Credo {from_.version}: {from_.command}" if from_.command else f"Made by Credo {from_.version}.",
    ]
    return [*lines, "Decided:", *bullets(model.decisions, most=60)]


def belief(model: Any, summary: dict[str, Any], most: int | None) -> list[Any]:
    """Coefficients, noise, certificate, in lines and tables. `most` rows at most."""
    from credo.cli.text import belief_table
    from credo.models.tabular.told import noise_law, process_told
    from credo.numerics.readable import aligned, number, percent

    lines: list[Any] = [f"What it believes (model {model.name!r}, inference {summary['inference']}):"]
    if model.weights:
        lines.append("The models predict together, each with a weight that was best on rows held out:")
        lines += [f"  {weight:.3f}  {name}" for name, weight in model.weights.items()]
    rows = model.coefficients(summary["interval"])
    if rows:
        table, left_out = belief_table(rows, summary["interval"], most)
        lines.append(table)
        if left_out:
            lines.append(f"  … and {left_out} coefficients nearer to zero; credo show has them all.")
    if rows:
        lines += model.coefficient_notes
    if (profile := model.class_profile(summary["interval"])) is not None:
        lines += [
            f"Of a row of each class it expects (median and {percent(summary['interval'])} interval, or usual levels):",
            *rendered([profile]),
        ]
    for row in rows.auxiliary:
        centre, spread, which = row.mean, row.sd, ""
        if not math.isfinite(centre):  # the posterior has no mean: the estimator shows the median
            centre, which = getattr(model.estimator, f"{row.name}_", centre), "median, "
        if not math.isfinite(spread):
            spread = (row.upper - row.lower) / 4.0
        centre, lower, upper = aligned([centre, row.lower, row.upper], spread)
        lines.append(f"{row.name}: {centre} ({which}{percent(summary['interval'])} interval {lower} … {upper}).")
    process = process_told(model.estimator, tuple(model.encoder.feature_names))
    lines += rendered(process)
    if (law := noise_law(model.estimator)) is not None:
        lines.append(f"Noise: outcomes scatter around the {'function' if process else 'line'} {law}.")
    # A quadrature that settled to rounding certifies itself; what can fail is shown.
    shown = {
        name: value
        for name, value in summary["certificate"].items()
        if name != "quadrature_error" and isinstance(value, (int, float))
    }
    certificate = ", ".join(f"{name} {number(value)}" for name, value in shown.items())
    if certificate:
        lines.append(f"Certificate: {certificate}.")
    return lines + [f"Note: {sentence}" for sentence in summary["warnings"]]


def outlook(model: Any, path: Any) -> list[str]:
    """What to try next."""
    new = "NEW.csv"
    lines = [f"  credo predict {path} {new}{'' if model.labels else ' --interval 0.9'}"]
    lines.append(
        f"  credo predict {path} {new} --reject 0.1"
        if model.labels
        else f"  credo predict {path} {new} --loss linear:over=1,under=9"
    )
    return ["Try next:", *lines, f"  credo show {path}"]
