"""Predicted rows: predictive → columns → CSV, Parquet or JSON lines, whole or not at all."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from credo.cli.text import label_text
from credo.errors import ParameterError, UnavailableError

if TYPE_CHECKING:
    import polars as pl

__all__ = ["prediction_frame", "write_rows", "print_rows", "check_writable", "FORMATS"]

FORMATS = (".csv", ".tsv", ".parquet", ".jsonl", ".ndjson")
# Rows for standard output wait in memory up to 64 MiB, then on disk: whoever reads gets all of them or none.
_SPOOL = 1 << 26


def prediction_frame(kept: Any, predictive: Any, interval: float, loss: Any) -> pl.DataFrame:
    """Columns of the predicted rows.

    Numbers: mean, sd, lower, upper, aleatoric, epistemic (variances). Classes: prediction, set (the fewest classes that
    hold `interval`), p(CLASS) for each, aleatoric and epistemic (nats). With a loss: action and expected_loss.
    """
    import polars as pl

    columns: dict[str, Any] = {name: kept[name] for name in kept.columns}
    if predictive.kind == "class":
        columns["prediction"] = predictive.mode.tolist()
        labels = predictive.classes.tolist()
        columns["set"] = _prediction_sets(predictive, interval)
        columns.update({f"p({label_text(name)})": predictive.probabilities[:, k] for k, name in enumerate(labels)})
    else:
        columns["mean"], columns["sd"] = predictive.mean, predictive.sd
        columns["lower"], columns["upper"] = predictive.interval(interval)
    columns["aleatoric"] = predictive.aleatoric
    try:
        columns["epistemic"] = predictive.epistemic
    except UnavailableError:  # a point estimate has no such part
        columns["epistemic"] = [None] * len(predictive)
    if loss is not None:
        from credo.decisions import evaluate

        decision = evaluate(predictive, loss)
        actions = decision.actions.tolist()
        # "(reject)" beside labels that are numbers: text in every row, so that the column has one type.
        columns["action"] = list(map(label_text, actions)) if hasattr(loss, "label") else actions
        columns["expected_loss"] = decision.expected_loss
    return pl.DataFrame(columns, strict=False)


def _prediction_sets(predictive: Any, mass: float) -> list[list[Any]]:
    """For every row the fewest classes that together hold `mass`, in class order."""
    import numpy as np

    # There are few different sets, however many rows.
    kinds, kind = np.unique(predictive.prediction_set(mass), axis=0, return_inverse=True)
    sets = [predictive.classes[members].tolist() for members in kinds]
    return [sets[k] for k in kind.ravel()]


def _joined(frame: pl.DataFrame) -> pl.DataFrame:
    """Sets as `a|b`, for files whose cells hold no lists."""
    import polars as pl

    lists = [name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)]
    return frame.with_columns(pl.col(name).cast(pl.List(pl.String)).list.join("|") for name in lists)


def check_writable(path: Path, inputs: Iterable[str]) -> None:
    """An error before the work rather than after it.

    Raises
    ------
    ParameterError, StorageError : the path is an input, a folder, or in a folder that may not be written.
    """
    from credo.saving import StorageError

    if path.is_dir():
        raise StorageError(f"Cannot write {str(path)!r}: it is a folder.", value=path)
    if any(source != "-" and path.exists() and os.path.exists(source) and path.samefile(source) for source in inputs):
        raise ParameterError("", "--output", "another file than the input", str(path))
    folder = path.resolve().parent
    if not folder.is_dir():
        raise StorageError(f"Cannot write {str(path)!r}: there is no folder {str(folder)!r}.", value=path)
    if not os.access(folder, os.W_OK):
        raise StorageError(f"Cannot write {str(path)!r}: the folder {str(folder)!r} may not be written.", value=path)


def write_rows(frames: Iterator[pl.DataFrame], path: Path) -> int:
    """Write frames to a file in the format of its name; returns the number of rows.

    Raises
    ------
    ParameterError : a name that ends in no known format.
    """
    from credo.saving import atomic_write

    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise ParameterError("", "--output", f"a name that ends in {', '.join(FORMATS)}", str(path))
    with atomic_write(path) as file:
        return _parquet(frames, file) if suffix == ".parquet" else _text(frames, file, suffix)


def print_rows(frames: Iterator[pl.DataFrame]) -> int:
    """CSV on standard output, once all rows are there."""
    with tempfile.SpooledTemporaryFile(_SPOOL) as file:
        rows = _text(frames, file, ".csv")  # type: ignore[arg-type]
        file.seek(0)
        sys.stdout.flush()
        target = getattr(sys.stdout, "buffer", None)
        if target is None:  # a stand-in for standard output that takes text only
            sys.stdout.write(file.read().decode("utf-8"))
        else:
            shutil.copyfileobj(file, target)
            target.flush()
    return rows


def _text(frames: Iterator[pl.DataFrame], file: BinaryIO, suffix: str) -> int:
    rows = 0
    for frame in frames:
        if suffix in (".jsonl", ".ndjson"):
            frame.write_ndjson(file)
        else:
            _joined(frame).write_csv(file, include_header=rows == 0, separator="\t" if suffix == ".tsv" else ",")
        rows += frame.height
    return rows


def _parquet(frames: Iterator[pl.DataFrame], file: BinaryIO) -> int:
    """Parquet in bounded memory: the frames wait on disk, since polars writes a Parquet file from one query only."""
    import polars as pl

    rows, parts = 0, []
    with tempfile.TemporaryDirectory(prefix="credo-") as folder:
        for frame in frames:
            part = Path(folder, f"{len(parts):06}.arrow")
            frame.write_ipc(part)
            parts.append(part)
            rows += frame.height
        pl.scan_ipc(parts).sink_parquet(file)
    return rows
