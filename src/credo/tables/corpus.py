"""`Corpus`: counts of words in documents, with words and documents named; `read_corpus` makes one of anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError

__all__ = ["Corpus", "read_corpus", "format_of", "CORPUS_FORMATS"]

CORPUS_FORMATS = ("folder", "jsonl", "lines", "ldac", "uci", "matrix-market")


@dataclass(frozen=True, eq=False)
class Corpus:
    """Counts of words in documents.

    Parameters
    ----------
    counts : (documents, words), sparse or dense; kept as CSR
    vocabulary : (words,) names, all different; None names them w0, w1, …
    names : (documents,) of the documents; None numbers them from 1
    decisions : sentences on what was decided while it was read

    Raises
    ------
    DataError : names that do not fit the counts in number, or a word named twice.

    Examples
    --------
    What a vectoriser of scikit-learn makes, with its names:

    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> vectoriser = CountVectorizer()
    >>> counts = vectoriser.fit_transform(["a cat sat", "the cat ran, the dog ran"])
    >>> corpus = Corpus(counts, vectoriser.get_feature_names_out())
    >>> len(corpus), corpus.n_tokens, corpus.vocabulary[:2].tolist()
    (2, 8.0, ['cat', 'dog'])
    """

    counts: Any
    vocabulary: Any = None
    names: Any = None
    decisions: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        import scipy.sparse

        given = self.counts if scipy.sparse.issparse(self.counts) else np.asarray(self.counts)
        if given.dtype.kind not in "fiub" or given.ndim != 2:
            raise DataError(
                f"Corpus.counts must be a matrix of numbers, got {given.dtype} of shape {given.shape}.",
                value=given.shape,
            )
        counts = scipy.sparse.csr_matrix(given)
        n, v = int(given.shape[0]), int(given.shape[1])
        words = [f"w{i}" for i in range(v)] if self.vocabulary is None else [str(word) for word in self.vocabulary]
        names = [str(i + 1) for i in range(n)] if self.names is None else [str(name) for name in self.names]
        for what, given, size in (("vocabulary", words, v), ("names", names, n)):
            if len(given) != size:
                raise DataError(
                    f"Corpus.{what} must have one entry for each of {size} {'words' if size == v else 'documents'}, "
                    f"got {len(given)}.",
                    value=len(given),
                )
        if len(set(words)) < v:
            seen: set[str] = set()
            twice = next(word for word in words if word in seen or seen.add(word))
            raise DataError(f"Corpus.vocabulary holds {twice!r} twice.", columns=[twice], value=twice)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "vocabulary", np.array(words, dtype=object))
        object.__setattr__(self, "names", np.array(names, dtype=object))

    def __len__(self) -> int:
        return self.counts.shape[0]

    @property
    def n_tokens(self) -> float:
        return float(self.counts.sum())

    def __getitem__(self, rows: Any) -> Corpus:
        """Some of the documents: a slice, numbers or a mask."""
        chosen = np.arange(len(self))[rows] if isinstance(rows, slice) else np.asarray(rows)
        chosen = np.flatnonzero(chosen) if chosen.dtype == bool else np.atleast_1d(chosen)
        return Corpus(self.counts[chosen], self.vocabulary, self.names[chosen], self.decisions)

    def with_words(self, vocabulary: Any) -> Corpus:
        """The same documents in the columns of another vocabulary: words that it lacks are left out, and said."""
        import scipy.sparse

        place = {word: at for at, word in enumerate(map(str, vocabulary))}
        known = np.array([place.get(word, -1) for word in self.vocabulary], dtype=np.int64)
        kept = np.flatnonzero(known >= 0)
        moved = self.counts[:, kept].tocoo()
        counts = scipy.sparse.csr_matrix((moved.data, (moved.row, known[kept][moved.col])), (len(self), len(place)))
        lost = self.n_tokens - float(counts.sum())
        decisions = self.decisions
        if lost > 0.0:
            decisions = (*decisions, f"{lost:,.0f} tokens are of words that the model does not know.")
        return replace(self, counts=counts, vocabulary=list(map(str, vocabulary)), decisions=decisions)


def read_corpus(
    source: Any,
    *,
    format: str | None = None,
    vocabulary: Any = None,
    names: Sequence[str] | None = None,
    field: str | None = None,
    name_field: str | None = None,
    encoding: str | None = None,
    lowercase: bool = True,
    pattern: str | None = None,
    stop_words: Any = None,
    min_df: int | float = 2,
    max_df: int | float = 0.5,
) -> Corpus:
    """Read documents, and count their words where they are texts.

    Parameters
    ----------
    source : a path, or a matrix of counts (documents, words), such as a vectoriser of scikit-learn makes
    format : None tells by the content; or
        "folder", of texts, one document a file (\\*.txt, in subfolders too);
        "jsonl", one JSON object a line, its text in `field`;
        "lines", one document a line;
        "ldac", `words id:count id:count …` a line, ids from 0;
        "uci", three lines with the numbers of documents, words and triples, then `document word count`, from 1;
        "matrix-market", documents × words. All but folders may be gzipped.
    vocabulary : names of the words, or a file of them, one a line; for counts by default the file NAME.vocab.txt (for
        UCI's docword.NAME.txt, vocab.NAME.txt) beside them if there is one. Of texts: count these words only.
    names : of the documents
    field, name_field : of JSON lines, where the text and the name are; None is "text", or the only field that is text
    encoding : of texts; None finds it, and says so
    lowercase, pattern : how texts become words. The pattern is a regular expression; by default letters, with
        apostrophes and hyphens between them, two at least.
    stop_words : words to leave out: None, "english" (scikit-learn's list), or words
    min_df, max_df : words in fewer or more documents are left out: a whole number, or a share of the documents. By
        default words must be in two documents, as one alone says nothing about words together, and in no more than
        half. Of texts only, and not when the vocabulary is given.

    Raises
    ------
    DataError, FileFormatError : no such file, no documents, a line that cannot be read (by number), no words left.
    ParameterError : an option breaks its constraint.

    Notes
    -----
    Texts are read once and never held together: memory goes with the counts. Cost: some 2 µs a token.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp(), "pets.jsonl")
    >>> _ = path.write_text('{"text": "Cats purr, cats sleep"}\\n{"text": "Cats sleep"}\\n{"text": "Dogs bark"}\\n')
    >>> corpus = read_corpus(path, min_df=1, max_df=1.0)
    >>> corpus.vocabulary.tolist(), corpus.counts.toarray()[0].tolist()
    (['bark', 'cats', 'dogs', 'purr', 'sleep'], [0, 2, 0, 1, 1])
    """
    from credo.tables.corpus_counts import read_counts, words_of
    from credo.tables.corpus_texts import TextOptions, read_texts

    if format is not None and format not in CORPUS_FORMATS:
        raise ParameterError("read_corpus", "format", f"None or one of {', '.join(CORPUS_FORMATS)}", format)
    if hasattr(source, "shape"):
        return Corpus(source, vocabulary, names)
    path = _existing(source)
    words = words_of(vocabulary)
    kind = format or format_of(path)
    if kind in ("ldac", "uci", "matrix-market"):
        return read_counts(path, kind, words, names)
    options = TextOptions(lowercase, pattern, stop_words, min_df, max_df, encoding, words)
    corpus = read_texts(path, kind, options, field, name_field)
    return corpus if names is None else replace(corpus, names=names)


def _existing(source: Any) -> Path:
    if not isinstance(source, (str, Path)):
        raise ParameterError("read_corpus", "source", "a path, or a matrix of counts", source)
    path = Path(source)
    if not path.exists():
        raise DataError(f"There is no file or folder {str(path)!r}.", value=str(path), remedy="Check the path.")
    return path


def format_of(source: Any) -> str:
    """Which of `CORPUS_FORMATS` a path is, by its first lines.

    Raises
    ------
    DataError : there is no such file or folder.
    """
    path = _existing(source)
    if path.is_dir():
        return "folder"
    from credo.tables.plain import Chunks

    head = Chunks(str(path), path).first()[:65536].decode("utf-8", errors="replace").lstrip("\ufeff")
    lines = [line.split() for line in head.splitlines()[:4] if line.strip()]
    if head.startswith("%%MatrixMarket"):
        return "matrix-market"
    if head.lstrip().startswith("{"):
        return "jsonl"
    if len(lines) >= 3 and all(len(line) == 1 and line[0].isdigit() for line in lines[:3]):
        return "uci"
    if lines and all(line[0].isdigit() and all(":" in cell for cell in line[1:]) for line in lines[:-1] or lines):
        return "ldac"
    return "lines"
