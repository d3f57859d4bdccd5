"""`LatentDirichletAllocation`: topics with Dirichlet priors, by variational Bayes, collapsed or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from credo.errors import ParameterError
from credo.inference.em import EMFit, em
from credo.models.topics.base import FOLDED, MOST_PASSES, TopicEstimator
from credo.models.topics.cells import TopicSource
from credo.models.topics.collapsed import fit_collapsed, fold_collapsed
from credo.models.topics.dirichlet import DirichletTopics
from credo.models.topics.equations import MixtureTopics, TopicParameters
from credo.models.topics.overview import Overview
from credo.saving.registry import register

__all__ = ["LatentDirichletAllocation"]

# Variational Bayes begins where maximum likelihood (PLSA) has parted the topics, up to this rise a token. Begun at once
# it ended with a *higher* bound and worse topics: on reuters395, 10 topics, perplexity of held-out documents 2,540
# instead of 1,880. And α learned while all topics are nearly alike runs away.
PARTED = 1e-4
# Where learned priors begin: few topics a document, few words a topic.
FIRST_ALPHA, FIRST_ETA = 0.1, 0.05
METHODS = ("vb", "cvb0")


@register
class LatentDirichletAllocation(TopicEstimator):
    """Latent Dirichlet allocation by variational Bayes: PLSA with Dirichlet priors, both integrated over.

        θ_d ~ Dirichlet(α),  φ_z ~ Dirichlet(η),  p(w | d) = Σ_z φ_zw θ_dz

    q(θ_d), q(φ_z) are Dirichlets that maximise a lower bound on log p(words); so do α and η where they are learned. The
    fit begins where maximum likelihood has parted the topics.

    Parameters
    ----------
    n_components : K, the number of topics
    method : "vb", or "cvb0", collapsed variational Bayes of order zero: θ and φ are integrated out, and each token is
        taken out of the counts that place it. Its counts must be in memory, with K numbers for each that is stored
    doc_topic_prior, topic_word_prior : α and η, numbers > 0 (α also (K,)); None learns them, one α a topic and one η
        (scikit-learn fixes both at 1/K)
    n_init, init, random_state : as in `PLSA`
    max_iter, tol : stop when a step raises the bound by less than `tol` a token; "cvb0", when a sweep moves no more
        than √tol of the tokens

    Attributes
    ----------
    components_ : parameters λ (K, V) of q(φ), pseudo-counts, as scikit-learn has them
    topic_word_ : E φ (K, V); rows sum to 1
    doc_topic_prior_ : α (K,); topic_word_prior_ : η
    topic_shares_ : (K,) of the corpus's tokens; word_frequencies_ : p(w) (V,)
    lower_bound_ : the bound (ELBO) a token, in nats; lower_bounds_, of every start. Of "cvb0", that at its counts
    n_iter_, converged_, result_ ; n_features_in_, feature_names_in_

    Raises
    ------
    DataError, ParameterError : see `fit`.

    Notes
    -----
    A step of "vb" updates every document and every topic once: one reading of the counts, O(stored counts × K), and
    digamma of (documents + words) × K numbers. Answers do not depend on the number of threads. `score` and `perplexity`
    are by document completion, not the bound; the bound is `lower_bound_`. A sweep of "cvb0" goes through the tokens
    one after the other, on one thread.

    References
    ----------
    Blei, Ng and Jordan (2003), Latent Dirichlet allocation, JMLR 3. Wallach, Mimno and McCallum (2009), Rethinking LDA:
    why priors matter, NIPS (an α for every topic, one η). Asuncion, Welling, Smyth and Teh (2009), On smoothing and
    inference for topic models, UAI (CVB0).

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.array([[5, 4, 0, 0], [3, 6, 0, 0], [0, 0, 7, 2], [0, 0, 3, 5]] * 5)
    >>> model = LatentDirichletAllocation(2, doc_topic_prior=0.5, topic_word_prior=0.1, random_state=0).fit(counts)
    >>> sorted(model.topic_word_.round(1).tolist())
    [[0.0, 0.0, 0.6, 0.4], [0.4, 0.6, 0.0, 0.0]]
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: str = "vb",
        doc_topic_prior: Any = None,
        topic_word_prior: float | None = None,
        n_init: int = 1,
        init: Any = "documents",
        max_iter: int = 1000,
        tol: float = 1e-5,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.n_init = n_init
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @property
    def topic_word_(self) -> np.ndarray:
        """E φ (K, V): the mean of q; rows sum to 1."""
        return self.components_ / self.components_.sum(axis=1, keepdims=True)

    def _check_priors(self) -> None:
        if self.method not in METHODS:
            raise ParameterError("LatentDirichletAllocation", "method", f"one of {METHODS}", self.method)
        k = int(self.n_components)
        for name, shapes in (("doc_topic_prior", ((), (k,))), ("topic_word_prior", ((),))):
            value = getattr(self, name)
            if value is None:
                continue
            given = np.asarray(value)
            fine = given.dtype.kind in "fiu" and given.shape in shapes and np.all(np.isfinite(given))
            if not (fine and np.all(given > 0.0)):
                which = f"None, a number > 0 or {k} of them" if len(shapes) == 2 else "None or a number > 0"
                raise ParameterError("LatentDirichletAllocation", name, which, value)

    def _fit_from(self, source: TopicSource, seen: Overview, documents: np.ndarray, words: np.ndarray) -> EMFit:
        how = {"scale": seen.tokens, "max_iter": int(self.max_iter)}
        alpha = FIRST_ALPHA if self.doc_topic_prior is None else self.doc_topic_prior
        eta = FIRST_ETA if self.topic_word_prior is None else float(self.topic_word_prior)
        if self.method == "cvb0" and not source.in_memory:
            raise ParameterError(
                "LatentDirichletAllocation", "method", "'vb' for counts that are streamed", self.method,
                "CVB0 keeps numbers for every stored count: give it a matrix in memory.",
            )  # fmt: skip
        plain = MixtureTopics(words.shape)
        parted = em(plain, source, plain.parameters(documents, words, 0.0, 1.0, 1.0), tol=PARTED, **how)
        model = DirichletTopics(
            words.shape, learn_doc_prior=self.doc_topic_prior is None, learn_word_prior=self.topic_word_prior is None
        )
        if self.method == "cvb0":
            priors = (alpha, eta, seen.tokens)
            return fit_collapsed(model, source, parted.params, *priors, float(self.tol), int(self.max_iter))
        tokens = parted.statistics.words.sum(axis=0)
        # Pseudo-counts of documents as though all were of the mean length: the first pass sets them right.
        gamma = parted.params.following
        np.multiply(parted.params.documents, seen.tokens / seen.n_documents, out=gamma)
        gamma += alpha
        start = model.parameters(gamma, parted.params.words * tokens + eta, 0.0, alpha, eta)
        return em(model, source, start, tol=float(self.tol), **how)

    def _settle(self, fit: EMFit, seen: Overview) -> None:
        tokens = fit.statistics.words.sum(axis=0)
        self.components_ = np.ascontiguousarray(fit.params.words.T)
        self.doc_topic_prior_ = np.array(fit.params.doc_prior)
        self.topic_word_prior_ = fit.params.word_prior
        self.topic_shares_ = tokens / tokens.sum()
        self.word_frequencies_ = seen.words / seen.tokens

    def _fold(self, X: Any) -> np.ndarray:
        if self.method == "vb":
            return super()._fold(X)
        topics = np.ascontiguousarray(self.topic_word_.T)
        return fold_collapsed(X, topics, self.doc_topic_prior_, self.topic_shares_, FOLDED, MOST_PASSES)

    def _folding(self) -> tuple[DirichletTopics, TopicParameters]:
        model = DirichletTopics(self.components_.shape[::-1])
        nobody = np.empty((0, len(self.components_)))
        return model, model.parameters(nobody, self.components_.T, 0.0, self.doc_topic_prior_, self.topic_word_prior_)
