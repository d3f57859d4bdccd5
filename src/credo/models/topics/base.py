"""What PLSA and LDA share: checked counts, the order of a fit, folding in, held-out scores, and reading the topics."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from credo.blocks.array import ArraySource
from credo.blocks.reduction import map_blocks
from credo.blocks.source import Block, Source
from credo.errors import ConvergenceWarning, DataError, ParameterError, warn
from credo.inference.em import EMFit
from credo.inference.result import Result
from credo.models.columns import column_names, note_columns
from credo.models.listing import Listing
from credo.models.topics.cells import TopicSource, checked_counts
from credo.models.topics.equations import MixtureTopics, TopicParameters
from credo.models.topics.evaluation import coherence, completion_score
from credo.models.topics.folding import fold_in
from credo.models.topics.overview import Overview, overview
from credo.models.topics.reading import NearestDocuments, NearestTopics, TopicWords, nearest_documents, nearest_topics
from credo.models.topics.reading import top_words as words_of
from credo.models.topics.starts import even_documents, starting_words
from credo.numerics.random import as_generator
from credo.tables.corpus import Corpus

__all__ = ["TopicEstimator"]

# A document is folded in until no share of a topic moves by more; at a rate of 0.99 what is left is 1e-3.
FOLDED, MOST_PASSES = 1e-5, 1000


class TopicEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base of the topic models; not public. A model supplies `_check_priors`, `_fit_from`, `_folding` and `_settle`."""

    n_components: Any
    n_init: Any
    init: Any
    max_iter: Any
    tol: Any
    random_state: Any
    n_features_in_: int
    feature_names_in_: np.ndarray
    topic_shares_: np.ndarray
    word_frequencies_: np.ndarray

    # -- what a model supplies -----------------------------------------------------------------------------------

    applied_by = "credo topics NEW --apply {}"

    def _check_priors(self) -> None:
        """Refuse priors that no data could make right."""
        raise NotImplementedError

    def _fit_from(self, source: TopicSource, seen: Overview, documents: np.ndarray, words: np.ndarray) -> EMFit:
        """Fit from shares (D, K) and (V, K)."""
        raise NotImplementedError

    def _settle(self, fit: EMFit, seen: Overview) -> None:
        """Set the attributes."""
        raise NotImplementedError

    def _folding(self) -> tuple[MixtureTopics, TopicParameters]:
        """What `fold_in` needs of the fitted model."""
        raise NotImplementedError

    @property
    def topic_word_(self) -> np.ndarray:
        """p(w | z), (K, V); rows sum to 1."""
        raise NotImplementedError

    def _blended(self) -> tuple[np.ndarray | None, float]:
        """The background (V,) and its share of every document."""
        return None, 0.0

    # -- fitting -------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit to counts X (documents, words): sparse, dense, a `Corpus`, or a `Source` of blocks of counts.

        Raises
        ------
        DataError : NaN, infinite or negative counts, or no tokens at all.
        ParameterError : a parameter breaks its constraint.
        """
        self._check()
        rng = as_generator(self.random_state)
        source = self._source(X, reset=True)
        owner = type(self).__name__
        seen = overview(owner, source, getattr(self, "feature_names_in_", None))
        if not seen.tokens > 0.0:
            raise DataError(f"{owner}: the {seen.n_documents} documents hold no tokens.", value=0)
        cells = TopicSource(source, seen.words.size, owner)
        fits = []
        for _ in range(int(self.n_init)):
            words = starting_words(owner, self.init, seen, source, int(self.n_components), rng)
            documents = even_documents(seen.n_documents, int(self.n_components), cells.in_memory)
            fits.append(self._fit_from(cells, seen, documents, words))
        best = max(fits, key=lambda fit: fit.bound)
        self._settle(best, seen)
        self._report(best.result, best.bound, seen, [fit.bound / seen.tokens for fit in fits])
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit`, then `transform` of the same documents: p(z | d), (documents, K)."""
        return self.fit(X).transform(X)

    def _check(self) -> None:
        owner = type(self).__name__
        for name in ("n_components", "n_init", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise ParameterError(owner, name, "an integer ≥ 1", value)
        if not (isinstance(self.tol, (int, float, np.number)) and self.tol >= 0.0):
            raise ParameterError(owner, "tol", "a number ≥ 0", self.tol)
        self._check_priors()

    def _report(self, result: Result, bound: float, seen: Overview, bounds: list[float]) -> None:
        self.n_iter_ = max(1, result.n_iter - 1)
        self.lower_bound_ = bound / seen.tokens
        self.lower_bounds_ = bounds
        self.converged_ = result.status == "converged"
        self.result_ = result
        if not self.converged_:
            advice = " ".join(result.advice) or f"Status: {result.status}."
            warn(f"{type(self).__name__} did not converge. {advice}", ConvergenceWarning)

    def _source(self, X: Any, *, reset: bool) -> Source:
        """X as a source of checked counts, with the columns noted or compared."""
        if isinstance(X, Corpus):
            X = ArraySource(self._counts(X, reset=reset), column_names=tuple(X.vocabulary))
        if not isinstance(X, Source):
            return ArraySource(self._counts(X, reset=reset))
        first = next(iter(X), None)
        if first is None:
            raise DataError(f"{type(self).__name__}: the source holds no documents.", value=0)
        if reset:
            note_columns(self, X, first.X.shape[1])
        elif first.X.shape[1] != self.n_features_in_:
            raise DataError(
                f"{type(self).__name__}: the source has {first.X.shape[1]} words, but the model {self.n_features_in_}.",
                value=first.X.shape[1],
            )
        return X

    def _counts(self, X: Any, *, reset: bool = False) -> Any:
        """X in memory as checked counts (CSR), its columns those of the fit."""
        owner = type(self).__name__
        if isinstance(X, Source):
            raise DataError(f"{owner}: this takes counts in memory, not a source.", value=X)
        if isinstance(X, Corpus):
            words = getattr(self, "feature_names_in_", None)
            if not reset and words is not None and not np.array_equal(words, X.vocabulary):
                raise DataError(
                    f"{owner}: the corpus has other words ({len(X.vocabulary)}) than the model ({len(words)}).",
                    value=len(X.vocabulary),
                    remedy="Use corpus.with_words(model.feature_names_in_).",
                )
            return checked_counts(owner, X.counts, 0, X.vocabulary)
        X = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False
        )
        return checked_counts(owner, X, 0, getattr(self, "feature_names_in_", None))

    # -- documents -----------------------------------------------------------------------------------------------

    def transform(self, X: Any) -> np.ndarray:
        """p(z | d) (documents, K) of documents folded in, topics held; rows sum to 1.

        A document's answer does not depend on which others are given with it. One without tokens gets the shares that
        topics have in the corpus (LDA: the prior's).
        """
        check_is_fitted(self)
        return self._folded(self._source(X, reset=False))

    def _folded(self, counts: Any) -> np.ndarray:
        owner, names = type(self).__name__, getattr(self, "feature_names_in_", None)
        source = counts if isinstance(counts, Source) else ArraySource(counts)

        def fold(block: Block) -> np.ndarray:
            found = self._fold(checked_counts(owner, block.X, block.start, names))
            return found / found.sum(axis=1, keepdims=True)

        return np.concatenate(list(map_blocks(source, fold)))

    def _fold(self, X: Any) -> np.ndarray:
        """Shares or pseudo-counts (n, K) of the documents X (CSR)."""
        model, params = self._folding()
        return fold_in(model, params, X, self.topic_shares_, FOLDED, MOST_PASSES)

    @property
    def _n_features_out(self) -> int:
        return int(self.n_components)

    # -- how good ------------------------------------------------------------------------------------------------

    def score(self, X: Any, y: Any = None, *, random_state: Any = 0) -> float:
        """Mean log p of a token held out of documents X, in nats (higher is better): −log `perplexity`.

        By document completion: the tokens of every document are dealt into halves by a generator seeded with
        `random_state`, one half is folded in, the other scored. Counts that are not whole are dealt a word at a time.
        """
        check_is_fitted(self)
        counts = self._counts(X)
        background, share = self._blended()
        return completion_score(self._folded, self.topic_word_, counts, as_generator(random_state), background, share)

    def perplexity(self, X: Any, *, random_state: Any = 0) -> float:
        """exp(−`score`): among how many equally likely words the held-out tokens leave one guessing; lower is better.

        ∞ where a token has no probability: give PLSA a `topic_word_prior` above 1, or a background.
        """
        return float(np.exp(-self.score(X, random_state=random_state)))

    def coherence(self, X: Any, n_words: int = 10) -> np.ndarray:
        """Mean NPMI (K,) in [−1, 1] of the pairs among each topic's top words, over the documents X of a reference.

        See `credo.models.topics.evaluation.coherence`.
        """
        check_is_fitted(self)
        return coherence(self.topic_word_, self._counts(X), n_words)

    # -- reading -------------------------------------------------------------------------------------------------

    def top_words(self, n_words: int = 10, by: str = "probability", feature_names: Any = None) -> TopicWords:
        """The words that tell what each topic is about; `by` "probability", "lift" or "relevance".

        feature_names : (V,) words; by default `feature_names_in_`, or x0, x1, …
        """
        check_is_fitted(self)
        names = column_names(self) if feature_names is None else feature_names
        return words_of(self.topic_word_, self.word_frequencies_, names, self.topic_shares_, n_words, by)

    # -- what `credo show` tells (`credo.models.listing`) ----------------------------------------------------------

    def summary(self, mass: float = 0.9) -> dict[str, Any]:
        """The topics and how they were fitted, as JSON data."""
        found = self.top_words()
        return {
            "kind": "topics",
            "model": type(self).__name__,
            "words": int(self.n_features_in_),
            "bound_per_token": self.lower_bound_,
            "converged": self.converged_,
            "steps": self.n_iter_,
            "topics": [
                {"topic": z + 1, "share": found.shares[z],
                 "words": [{"word": w, "probability": p} for w, p in zip(found.words[z], found.probabilities[z])]}
                for z in range(len(found))
            ],
            "warnings": list(self.result_.advice),
        }  # fmt: skip

    def told(self) -> list[str | Listing]:
        found = self.top_words(by="relevance")
        rows = sorted(range(len(found)), key=lambda z: -found.shares[z])
        table = tuple((str(z + 1), " ".join(found.words[z]), f"{100.0 * found.shares[z]:.1f} %") for z in rows)
        return [
            f"{len(found)} topics over {self.n_features_in_:,} words ({type(self).__name__}).",
            Listing(("topic", "words", "share"), table, 2),
        ]

    def nearest_topics(self, n_topics: int = 3) -> NearestTopics:
        """For every topic those with the most similar words, by Jensen–Shannon divergence in nats (0 to log 2)."""
        check_is_fitted(self)
        return nearest_topics(self.topic_word_, n_topics)

    def nearest_documents(self, X: Any, among: Any, n_documents: int = 5) -> NearestDocuments:
        """For every document of X those of `among` with the most similar topics, by Hellinger distance (0 to 1)."""
        return nearest_documents(self.transform(X), self.transform(among), n_documents)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        return tags
