"""Files that hold counts of words: LDA-C, UCI's bags of words, Matrix Market; with their vocabularies beside them."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credo.errors import DataError, FileFormatError
from credo.tables.corpus import Corpus
from credo.tables.options import ReadOptions
from credo.tables.plain import Chunks, PlainText, plain_text

__all__ = ["read_counts", "words_of"]


def read_counts(path: Path, kind: str, words: list[str] | None, names: Sequence[str] | None) -> Corpus:
    """The corpus of a file in format "ldac", "uci" or "matrix-market"."""
    counts = {"ldac": _ldac, "uci": _uci, "matrix-market": _matrix_market}[kind](path)
    decisions: list[str] = []
    if words is None:
        beside = next((each for each in _vocabularies(path) if each.is_file()), None)
        words = words_of(beside)
        decisions.append(f"The words are named by {beside}." if beside else "The words have no names: w0, w1, …")
    if words is not None and len(words) > counts.shape[1]:
        counts.resize(counts.shape[0], len(words))  # words that no document uses
    return Corpus(counts, words, names, tuple(decisions))


def words_of(vocabulary: Any) -> list[str] | None:
    """Words as stated, or of a file with one a line."""
    if vocabulary is None:
        return None
    if not isinstance(vocabulary, (str, Path)):
        return [str(word) for word in vocabulary]
    with plain_text(vocabulary, ReadOptions()).open_text() as stream:
        return [line.rstrip("\r\n") for line in stream]


def _vocabularies(path: Path) -> list[Path]:
    """Where the words of a file of counts may be named."""
    stem = path.name.removesuffix(".gz")
    stem = stem.rpartition(".")[0] or stem
    found = [path.with_name(f"{stem}.vocab.txt"), path.with_name(f"{stem}.vocab")]
    if stem.startswith("docword"):
        found.insert(0, path.with_name(stem.replace("docword", "vocab", 1) + ".txt"))
    return found


def _ldac(path: Path) -> Any:
    import scipy.sparse

    text = plain_text(path, ReadOptions())
    ends, indices, values = [0], [], []
    with text.open_text() as stream:
        for number, line in enumerate(stream, 1):
            cells = line.replace(":", " ").split()
            if not cells:
                continue
            try:
                numbers = np.array(cells, np.float64)
            except ValueError:
                numbers = np.zeros(0)
            ids = numbers[1::2]
            if numbers.size != 1 + 2 * (numbers[0] if numbers.size else -1) or np.any(ids != np.floor(np.abs(ids))):
                raise _refused(text, number, "is not `words id:count id:count …`", line)
            indices.append(ids.astype(np.int64))
            values.append(numbers[2::2])
            ends.append(ends[-1] + ids.size)
    if len(ends) == 1:
        raise DataError(f"{path} holds no documents.", value=str(path))
    inner = np.concatenate(indices)
    shape = (len(ends) - 1, int(inner.max(initial=-1)) + 1)
    counts = scipy.sparse.csr_matrix((np.concatenate(values), inner, np.array(ends)), shape)
    counts.sum_duplicates()
    return counts


def _uci(path: Path) -> Any:
    import polars as pl
    import scipy.sparse

    text = plain_text(path, ReadOptions())
    with text.open_text() as stream:
        head = [stream.readline().strip() for _ in range(3)]
    if not all(each.isdigit() for each in head):
        raise _refused(text, 1, "must be followed by two more with one number each", head)
    n, v, stored = map(int, head)
    try:
        cells = pl.read_csv(
            text.content, has_header=False, skip_rows=3, separator=" ",
            schema={"document": pl.Int64, "word": pl.Int64, "count": pl.Float64}, truncate_ragged_lines=False,
        )  # fmt: skip
    except pl.exceptions.PolarsError as error:
        said = str(error).strip().splitlines()[0]
        raise FileFormatError(f"{path}: triples `document word count` expected: {said}.", value=said) from error
    if cells.height != stored or cells.null_count().sum_horizontal().item():
        raise FileFormatError(
            f"{path} promises {stored} triples and holds {cells.height}, {cells.drop_nulls().height} of them whole.",
            value=cells.height,
            remedy="The file is cut short, or not UCI's: check it.",
        )
    at = [cells[name].to_numpy() - 1 for name in ("document", "word")]
    for where, size, what in ((at[0], n, "document"), (at[1], v, "word")):
        bad = np.flatnonzero((where < 0) | (where >= size))
        if bad.size:
            raise _refused(text, int(bad[0]) + 4, f"names {what} {where[bad[0]] + 1} of {size}", int(where[bad[0]]) + 1)
    return scipy.sparse.coo_matrix((cells["count"].to_numpy(), tuple(at)), (n, v)).tocsr()


def _matrix_market(path: Path) -> Any:
    import scipy.io
    import scipy.sparse

    try:
        with gzip.open(path) if Chunks(str(path), path).zipped else path.open("rb") as stream:
            found = scipy.io.mmread(stream)
    except (ValueError, OverflowError, EOFError, gzip.BadGzipFile) as error:
        raise FileFormatError(f"{path} is not a Matrix Market file of counts: {error}.", value=str(path)) from error
    return scipy.sparse.csr_matrix(found)


def _refused(text: PlainText, line: int, why: str, value: Any) -> FileFormatError:
    return FileFormatError(f"{text.name}, line {line}, {why}.", value=value, remedy="Check the file, or state format=.")
