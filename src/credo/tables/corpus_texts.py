"""Texts as counts of words: folders, JSON lines and files with one document a line, each read once."""

from __future__ import annotations

import json
import math
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.numerics.readable import count
from credo.tables.corpus import Corpus
from credo.tables.options import ReadOptions
from credo.tables.plain import plain_text

__all__ = ["TextOptions", "read_texts"]

# Letters, with apostrophes and hyphens between them.
WORD = r"[^\W\d_]+(?:['’\-][^\W\d_]+)*"


@dataclass(frozen=True)
class TextOptions:
    """How texts become words; see `read_corpus`."""

    lowercase: bool = True
    pattern: str | None = None
    stop_words: Any = None
    min_df: int | float = 2
    max_df: int | float = 0.5
    encoding: str | None = None
    vocabulary: list[str] | None = None

    def __post_init__(self) -> None:
        for name in ("min_df", "max_df"):
            value = getattr(self, name)
            whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            if not (value >= 1 if whole else isinstance(value, float) and 0.0 <= value <= 1.0):
                raise ParameterError("read_corpus", name, "a whole number ≥ 1, or a share between 0.0 and 1.0", value)
        if isinstance(self.stop_words, str) and self.stop_words != "english":
            raise ParameterError("read_corpus", "stop_words", "None, 'english' or words", self.stop_words)
        try:
            re.compile(self.pattern or WORD)
        except re.error as error:
            raise ParameterError("read_corpus", "pattern", f"a regular expression ({error})", self.pattern) from error

    def tokens(self) -> Any:
        """text → its words."""
        find, least = re.compile(self.pattern or WORD).findall, 1 if self.pattern else 2
        left_out = self._left_out()

        def split(text: str) -> list[str]:
            words = find(text.lower() if self.lowercase else text)
            return [word for word in words if len(word) >= least and word not in left_out]

        return split

    def _left_out(self) -> frozenset[str]:
        if self.stop_words is None:
            return frozenset()
        if isinstance(self.stop_words, str):
            from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

            return frozenset(ENGLISH_STOP_WORDS)
        return frozenset(map(str, self.stop_words))


def read_texts(path: Path, kind: str, options: TextOptions, field: str | None, name_field: str | None) -> Corpus:
    """The corpus of texts in format "folder", "jsonl" or "lines"."""
    decisions: list[str] = []
    if kind == "folder":
        texts = _folder(path, options, decisions)
    elif kind == "jsonl":
        texts = _json_lines(path, options, field, name_field, decisions)
    else:
        texts = _lines(path, options, decisions)
    return _counted(texts, options, decisions, path)


def _counted(texts: Iterator[tuple[str, str]], options: TextOptions, decisions: list[str], path: Path) -> Corpus:
    """(name, text)s as counts; words are numbered as they come, then put in alphabetical order."""
    import scipy.sparse

    split = options.tokens()
    fixed = options.vocabulary is not None
    ids = {word: at for at, word in enumerate(options.vocabulary or ())}
    names, ends, indices, values, unknown = [], array("q", [0]), array("i"), array("i"), 0
    for name, text in texts:
        names.append(name)
        for word, times in Counter(split(text)).items():
            at = ids.get(word, -1) if fixed else ids.setdefault(word, len(ids))
            if at < 0:
                unknown += times
                continue
            indices.append(at)
            values.append(times)
        ends.append(len(indices))
    if not names:
        raise DataError(f"{path} holds no documents.", value=str(path), remedy="A folder needs files named *.txt.")
    arrays = (np.frombuffer(each, each.typecode) if each else np.zeros(0, np.int32) for each in (values, indices, ends))
    counts = scipy.sparse.csr_matrix(tuple(arrays), (len(names), len(ids)))
    words = np.array(list(ids), dtype=object)
    if fixed:
        if unknown:
            decisions.append(f"{unknown:,} tokens are of words outside the vocabulary.")
        return Corpus(counts, words, names, tuple(decisions))
    return _pruned(counts, words, names, options, decisions, path)


def _pruned(
    counts: Any, words: np.ndarray, names: list[str], options: TextOptions, decisions: list[str], path: Path
) -> Corpus:
    """Without the words that are in too few or too many documents."""
    held_by = np.bincount(counts.indices, minlength=words.size)
    n = len(names)
    least, most = ((x if isinstance(x, (int, np.integer)) else x * n) for x in (options.min_df, options.max_df))
    rare, common = held_by < least, held_by > most
    kept = np.flatnonzero(~(rare | common))
    if kept.size == 0:
        raise DataError(
            f"{path}: none of {words.size} words is in {least:g} to {most:g} of {n} documents.",
            value=words.size,
            remedy="Lower min_df or raise max_df.",
        )
    kept = kept[np.argsort(words[kept].astype(str), kind="stable")]
    if rare.any():
        decisions.append(
            f"Left out: {count(int(rare.sum()), 'word')} in fewer than {count(math.ceil(least), 'document')}."
        )
    if common.any():
        shown = ", ".join(sorted(words[common])[:5]) + (", …" if common.sum() > 5 else "")
        what = f"{count(int(common.sum()), 'word')} in more than {count(math.floor(most), 'document')}"
        decisions.append(f"Left out: {what} ({shown}).")
    chosen = counts[:, kept]
    chosen.sort_indices()
    return Corpus(chosen, words[kept], names, tuple(decisions))


def _folder(path: Path, options: TextOptions, decisions: list[str]) -> Iterator[tuple[str, str]]:
    encodings: Counter[str] = Counter()
    for file in sorted(each for each in path.rglob("*") if each.name.endswith((".txt", ".txt.gz")) and each.is_file()):
        text = ""
        if file.stat().st_size:
            plain = plain_text(file, ReadOptions(encoding=options.encoding))
            encodings[plain.encoding.name] += 1
            with plain.open_text() as stream:
                text = stream.read()
        yield str(file.relative_to(path)), text
    odd = {name: n for name, n in encodings.items() if name not in ("ascii", "utf-8")}
    decisions += [f"Read as {name}: {count(n, 'file')}." for name, n in sorted(odd.items())]


def _lines(path: Path, options: TextOptions, decisions: list[str]) -> Iterator[tuple[str, str]]:
    plain = plain_text(path, ReadOptions(encoding=options.encoding))
    decisions += plain.decisions
    with plain.open_text() as stream:
        yield from ((str(number), line) for number, line in enumerate(stream, 1) if line.strip())


def _json_lines(
    path: Path, options: TextOptions, field: str | None, name_field: str | None, decisions: list[str]
) -> Iterator[tuple[str, str]]:
    plain = plain_text(path, ReadOptions(encoding=options.encoding))
    decisions += plain.decisions
    with plain.open_text() as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            record = _record(plain.name, number, line)
            if field is None:
                field = _text_field(plain.name, record)
                decisions.append(f"The text is in the field {field!r}.")
            for needed in (field, *([name_field] if name_field else [])):
                if needed not in record:
                    raise _no_field(plain.name, number, needed, record)
            text = record[field]
            if not isinstance(text, (str, type(None))):
                raise DataError(
                    f"{plain.name}, line {number}: field {field!r} holds no text.", rows=[number - 1], value=text
                )
            yield str(record[name_field]) if name_field else str(number), text or ""


def _record(name: str, number: int, line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except json.JSONDecodeError as error:
        record, line = None, f"{error.msg} at character {error.pos + 1}"
    if not isinstance(record, dict):
        raise DataError(
            f"{name}, line {number} is not a JSON object: {line.strip()[:80]}.",
            rows=[number - 1],
            value=line,
            remedy='Each line must be one object, such as {"text": "…"}.',
        )
    return record


def _text_field(name: str, record: dict[str, Any]) -> str:
    texts = [key for key, value in record.items() if isinstance(value, str)]
    if "text" in texts or len(texts) == 1:
        return "text" if "text" in texts else texts[0]
    raise DataError(
        f"{name}, line 1: which field is the text? It has {', '.join(map(repr, record)) or 'none'}.",
        rows=[0],
        value=list(record),
        remedy="Say with field= (--field) where the text is.",
    )


def _no_field(name: str, number: int, field: str, record: dict[str, Any]) -> DataError:
    return DataError(
        f"{name}, line {number} has no field {field!r}; it has {', '.join(map(repr, record)) or 'none'}.",
        rows=[number - 1],
        value=list(record),
        remedy="Say with field= (--field) where the text is.",
    )
