"""Reading the UAI competitions' format: numbers of states, scopes, then tables whose last variable runs fastest."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from credo.errors import FileFormatError, MissingFileError, ParameterError, StorageError
from credo.probability.factors.factor import Factor
from credo.probability.factors.graph import FactorGraph

__all__ = ["read_uai", "read_uai_evidence"]


def read_uai(path: str | Path) -> FactorGraph:
    """The graph of a `.uai` file of type MARKOV or BAYES; variables and states are numbers from 0.

    A variable in no table gets a table of ones. Raises `FileFormatError` with the place where the file breaks off or
    does not add up.

    Reference: https://uaicompetition.github.io/uci-2022/file-formats
    """
    words = _Words(path)
    kind = words.word("the type of network")
    if kind not in ("MARKOV", "BAYES"):
        raise FileFormatError(f"{path}: a UAI file begins with MARKOV or BAYES, not {kind!r}.", value=kind)
    sizes = [words.integer("a number of states", 1) for _ in range(words.integer("the number of variables"))]
    scopes = []
    for k in range(words.integer("the number of tables")):
        size = words.integer(f"the number of variables of table {k}")
        scopes.append([words.integer(f"a variable of table {k}", 0, len(sizes) - 1) for _ in range(size)])
    factors = []
    for k, scope in enumerate(scopes):
        shape = [sizes[v] for v in scope]
        said = words.integer(f"the number of entries of table {k}")
        if said != math.prod(shape):
            raise FileFormatError(
                f"{path}: table {k} has {math.prod(shape)} entries by its scope, not {said}.", value=said
            )
        table = words.numbers(said, f"entries of table {k}").reshape(shape)
        try:
            factors.append(Factor(scope, table))
        except ParameterError as error:  # a variable twice; an entry below 0
            raise FileFormatError(f"{path}: table {k} is none: {error}", value=error.value) from None
    words.end()
    held = {v for scope in scopes for v in scope}
    return FactorGraph([*factors, *(Factor([v], np.ones(n)) for v, n in enumerate(sizes) if v not in held)])


def read_uai_evidence(path: str | Path) -> dict[int, int]:
    """{variable: state} of a `.uai.evid` file: how many, then pairs; the count of samples, 1, may come first."""
    words = _Words(path)
    count = len(words.words)
    first = words.integer("the number of observations")
    if count != 1 + 2 * first and first == 1:
        first = words.integer("the number of observations")
    found = {words.integer("a variable"): words.integer("a state") for _ in range(first)}
    words.end()
    return found


class _Words:
    """The words of a file, one after the other."""

    def __init__(self, path: str | Path) -> None:
        self.path, self.at = path, 0
        try:
            self.words = Path(path).read_text(encoding="utf-8").split()
        except FileNotFoundError:
            raise MissingFileError(f"There is no file {str(path)!r}.", value=path) from None
        except OSError as error:
            raise StorageError(f"{path} cannot be read: {error.strerror}.", value=path) from None
        except UnicodeDecodeError:
            raise FileFormatError(f"{path}: not a text file.", value=path) from None

    def word(self, what: str) -> str:
        if self.at == len(self.words):
            raise FileFormatError(f"{self.path}: the file ends where {what} should be.", value=self.at)
        self.at += 1
        return self.words[self.at - 1]

    def integer(self, what: str, low: int = 0, high: float = math.inf) -> int:
        word = self.word(what)
        if not word.isdecimal() or not low <= int(word) <= high:
            raise FileFormatError(f"{self.path}: word {self.at} should be {what}, not {word!r}.", value=word)
        return int(word)

    def numbers(self, count: int, what: str) -> np.ndarray:
        words = self.words[self.at : self.at + count]
        if len(words) < count:
            raise FileFormatError(f"{self.path}: the file ends among the {what}.", value=len(words))
        self.at += count
        try:
            return np.array(words, dtype=np.float64)
        except ValueError:
            raise FileFormatError(f"{self.path}: the {what} are not all numbers.", value=words[:10]) from None

    def end(self) -> None:
        if self.at < len(self.words):
            raise FileFormatError(
                f"{self.path}: {len(self.words) - self.at} words too many at the end.", value=self.words[self.at]
            )
