"""`PreferenceGP`: what people like, learned from their choices."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from credo.diagnostics.information import LeaveOneOut
from credo.distributions.likelihoods import OrdinalLogit, OrdinalProbit
from credo.errors import ParameterError, UnavailableError
from credo.models.preference.belief import UtilityBelief
from credo.models.preference.choose import Request
from credo.models.preference.drawn import DrawnNormals
from credo.models.preference.duels import DuelBelief
from credo.models.preference.gibbs import sample_utilities
from credo.models.preference.history import Preferences
from credo.models.preference.items import Items, described
from credo.models.preference.laplace import Gaussian
from credo.models.preference.learning import Learner
from credo.models.preference.leave_out import left_out
from credo.models.preference.outcomes import Outcomes, counted
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.saving.registry import register

__all__ = ["PreferenceGP", "Ranking"]

INFERENCES = ("auto", "laplace", "ep", "gibbs")
LINKS = ("auto", "probit", "logit")
# Outcomes that are taken one by one: 10⁷ of them take some 80 MB an array.
MOST = 10_000_000


@dataclass(frozen=True, eq=False)
class Ranking:
    """Items from best to worst by posterior mean. Every member is in that order.

    items; mean, sd of utility; best : P(this one has the highest utility); rank : expected rank, 1 the best
    """

    items: tuple[Any, ...]
    mean: np.ndarray
    sd: np.ndarray
    best: np.ndarray
    rank: np.ndarray


@register
class PreferenceGP(BaseEstimator):
    """One latent utility per item, f ~ GP(0, k), learned from duels, ties, choices, rankings, grades and ratings.

    u_i = f_i + e_i is what a choice sees; a ≻ b where u_a − u_b > t, a tie where neither. Of several users each has
    f + d_u, d_u ~ GP(0, ρ k): what all share and what is one's own, k ⊗ (11' + ρ I).

    Parameters
    ----------
    kernel : a record of `cr.kernels`, on the features X; "precomputed": X are similarities; None: with features a
        Matérn of them plus a part of each item's own, without features one variance for all items (a Bayesian
        Thurstone or Bradley–Terry model)
    noise : > 0, the sd of e_i: the unit of utility. Choices determine utilities in no other unit, so that the
        kernel's variance is learned and the noise is not
    link : the law of e_i: "probit", Normal (Thurstone; ties: Glenn and David), or "logit", Gumbel (Bradley–Terry; ties:
        Rao and Kupper; choices and rankings: Luce and Plackett); "auto" is the one of higher evidence, probit where it
        hardly differs, and where `inference` demands it
    inference : "laplace"; "ep", expectation propagation; "gibbs", sampling of the exact posterior (probit) at the
        hyperparameters that EP's evidence prefers; "auto" is EP where link and size allow, else Laplace
    user_deviation : ρ > 0, None to learn it; of no effect where the history names no user
    optimizer : "auto" learns the hyperparameters by evidence; None keeps the kernel's, and the prior medians of others
    n_restarts_optimizer : further starts
    n_draws : sweeps kept of each of four Gibbs chains; a quarter as many before are not
    random_state : int, `numpy.random.Generator` or None; of Gibbs sampling and restarts

    Attributes
    ----------
    kernel_ : with what was learned; scales_ : `Scales`: the link, the threshold of ties, cut-points, the ratings'
        offset, slope and noise; user_deviation_ : ρ; noise_scale_ : `noise`
    theta_ : all of these on the whole line; belief_ : `UtilityBelief`; history_ : the `Preferences` fitted to
    items_ : how the items are described
    log_evidence_ : log p(outcomes), the hyperparameters plugged in; result_ : `Result`

    Raises
    ------
    ParameterError, DataError, NotPositiveDefiniteError : a bad argument, features that are no numbers, a matrix that is
        no similarity.

    Notes
    -----
    Counts of equal outcomes are sufficient: 10⁵ duels of 50 items cost what 1,225 pairs do. Only items that occur enter
    the algebra, (U + 1) m³ for U users and m such items; others are predicted. The same history gives the same belief,
    bit for bit, however it was come by: `fit(history.undo())` takes an answer back.

    References
    ----------
    Chu and Ghahramani (2005), Preference learning with Gaussian processes, ICML; Thurstone (1927); Glenn and David
    (1960); Rao and Kupper (1967); Plackett (1975); Houlsby et al. (2012), Collaborative Gaussian processes for
    preference learning, NIPS.

    Examples
    --------
    >>> import credo as cr
    >>> tea = cr.Preferences(["assam", "darjeeling", "sencha"])
    >>> tea = tea.with_duel("assam", "sencha", count=4).with_ranking(["darjeeling", "assam", "sencha"])
    >>> model = cr.PreferenceGP().fit(tea)
    >>> model.ranking(random_state=0).items
    ('darjeeling', 'assam', 'sencha')
    >>> 0.5 < model.probability("assam", "sencha") < model.probability("darjeeling", "sencha") < 1.0
    True
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        noise: float = 1.0,
        link: str = "auto",
        inference: str = "auto",
        user_deviation: float | None = None,
        optimizer: str | None = "auto",
        n_restarts_optimizer: int = 0,
        n_draws: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.noise = noise
        self.link = link
        self.inference = inference
        self.user_deviation = user_deviation
        self.optimizer = optimizer
        self.n_restarts_optimizer = n_restarts_optimizer
        self.n_draws = n_draws
        self.random_state = random_state

    # -- fitting ---------------------------------------------------------------------------------------------------

    def fit(self, preferences: Any, X: Any = None) -> Self:
        """Fit to a history.

        preferences : `Preferences`, or an array (duels, 2) of item numbers, the winner first
        X : features (items, columns), or similarities (items, items) under kernel="precomputed", or None
        """
        self._check()
        history = _history(preferences, X)
        X = _aligned(X, history.items)
        items, kernel = described(self.kernel, X, len(history.items), float(self.noise))
        outcomes, rng = counted(history), as_generator(self.random_state)
        with single_blas_thread():
            learner, theta, found = self._request().learn(outcomes, items.rows[outcomes.items], kernel, rng)
            gaussian = found if self.inference != "gibbs" else self._sampled(learner, theta, found, rng)
        kernel, deviation, psi = learner.split(theta)
        scales = learner.space.scales(psi)
        self.theta_ = theta
        self.kernel_ = kernel
        self.scales_ = scales
        self.user_deviation_ = deviation
        self.noise_scale_ = float(self.noise)
        self.belief_ = UtilityBelief(
            kernel, learner.rows, learner.outcomes.users, deviation, gaussian.alpha, gaussian.arrow.precision, scales
        )
        self.history_ = history
        self.items_ = items
        self.log_evidence_ = found.log_evidence
        self.result_ = gaussian.result
        return self

    def _sampled(self, learner: Learner, theta: np.ndarray, found: Gaussian, rng: np.random.Generator) -> Gaussian:
        _require_whole(learner.outcomes, 'inference="gibbs"')
        kernel, deviation, psi = learner.split(theta)
        prior = learner.prior(kernel, deviation)
        return sample_utilities(
            prior, learner.outcomes, learner.space, psi, found, self.n_draws, self.n_draws // 4, rng
        )

    def _check(self) -> None:
        owner = "PreferenceGP"
        if self.link not in LINKS:
            raise ParameterError(owner, "link", f"one of {LINKS}", self.link)
        if self.inference not in INFERENCES:
            raise ParameterError(owner, "inference", f"one of {INFERENCES}", self.inference)
        if self.inference == "gibbs" and self.link == "logit":
            raise ParameterError(owner, "inference", '"laplace" or "ep" under link="logit"', self.inference)
        if self.optimizer not in ("auto", None):
            raise ParameterError(owner, "optimizer", '"auto" or None', self.optimizer)
        if not (_positive(self.noise) and 1e-100 < self.noise < 1e100):  # its square is the unit of variances
            remedy = "It is the unit of utility; the kernel's variance is what is learned."
            raise ParameterError(owner, "noise", "a number > 0 (1e-100 to 1e100)", self.noise, remedy)
        if self.user_deviation is not None and not _positive(self.user_deviation):
            raise ParameterError(
                owner, "user_deviation", "a finite number > 0, or None to learn it", self.user_deviation
            )
        if isinstance(self.n_draws, bool) or not isinstance(self.n_draws, (int, np.integer)) or self.n_draws < 4:
            raise ParameterError(owner, "n_draws", "an integer ≥ 4", self.n_draws)

    def _request(self) -> Request:
        climb = self.optimizer is not None
        restarts = self.n_restarts_optimizer
        return Request(self.link, self.inference, float(self.noise), self.user_deviation, climb, restarts)

    # -- utilities -------------------------------------------------------------------------------------------------

    def predict(self, items: Any = None, user: Hashable = None) -> Any:
        """Posterior mean of utility, of `items`: None for all, a name, a list of names, or features (q, columns)."""
        X, single = self._rows(items)
        mean = self.belief_.means(X, user).mean(axis=0)
        return float(mean[0]) if single else mean

    def predict_distribution(self, items: Any = None, user: Hashable = None) -> Predictive:
        """Belief about utility, as a `Predictive` whose uncertainty is all epistemic."""
        return self._predictive(items, user, 0.0, 1.0, 0.0)

    def predict_rating(self, items: Any = None, user: Hashable = None) -> Predictive:
        """The next rating, y = offset + slope f + noise. `UnavailableError` where no rating was seen."""
        check_is_fitted(self, "belief_")
        scale = self.scales_.ratings
        if scale is None:
            raise UnavailableError("No rating was seen, so their scale is unknown: see predict_distribution.")
        return self._predictive(items, user, *scale)

    def predict_grade(self, items: Any = None, user: Hashable = None) -> np.ndarray:
        """Probabilities (q, levels) of the next grade. `UnavailableError` where no grade was seen."""
        X, _ = self._rows(items)
        cuts, slope = self.scales_.cutpoints, self.scales_.grade_slope
        if cuts is None or slope is None:
            raise UnavailableError("No grade was seen, so their cut-points are unknown: see predict_distribution.")
        law = (OrdinalProbit if self.scales_.link == "probit" else OrdinalLogit)(cuts.size + 1)
        psi = np.concatenate([cuts[:1], np.log(np.diff(cuts))])
        mean = slope * self.belief_.means(X, user)
        variance = np.broadcast_to(slope**2 * self.belief_.variances(X, user), mean.shape)
        each = law.predictive_probabilities(mean.ravel(), variance.ravel(), psi)
        return each.reshape(*mean.shape, -1).mean(axis=0)

    def ranking(
        self, items: Any = None, user: Hashable = None, *, n_draws: int = 4000, random_state: Any = None
    ) -> Ranking:
        """Items in order of posterior mean, with P(best) and expected ranks from `n_draws` joint draws of utility."""
        X, _ = self._rows(items)
        rng = as_generator(self.random_state if random_state is None else random_state)
        draws = self.belief_.draws(X, user, n_draws, rng)
        means = self.belief_.means(X, user)
        mean, variance = means.mean(axis=0), self.belief_.variances(X, user) + means.var(axis=0)
        best = np.bincount(draws.argmax(axis=1), minlength=len(X)) / n_draws
        rank = 1.0 + np.argsort(np.argsort(-draws, axis=1), axis=1).mean(axis=0)
        order = np.argsort(-mean, kind="stable")
        names = self._names(items, len(X))
        return Ranking(tuple(names[i] for i in order), mean[order], np.sqrt(variance)[order], best[order], rank[order])

    # -- choices ---------------------------------------------------------------------------------------------------

    def probability(self, a: Any, b: Any, user: Hashable = None) -> Any:
        """P(a ≻ b) of the next choice: names, or two lists of names or arrays of features of one length.

        Averaged over the belief, noise of the choice included; with ties, P(a ≻ b) + P(b ≻ a) < 1.
        """
        return self.duel(a, b, user).win

    def duel(self, a: Any, b: Any, user: Hashable = None) -> DuelBelief:
        """All that is believed of a choice between a and b: see `DuelBelief`."""
        (A, one), (B, other) = self._rows(a), self._rows(b)
        if len(A) != len(B) and 1 not in (len(A), len(B)):
            raise ParameterError("PreferenceGP.duel", "b", f"as many as a ({len(A)})", len(B))
        if self.items_.numbered and _features(a) and _features(b):
            B[:, -1] -= len(A)  # new items on the two sides are different ones
        pairs = max(len(A), len(B))
        A, B = (np.broadcast_to(side, (pairs, side.shape[1])) for side in (A, B))
        mean, variance = self.belief_.differences(A, B, user)
        return DuelBelief(mean, variance, self.scales_, one and other)

    def leave_one_out(self) -> LeaveOneOut:
        """log P(outcome | the others) of every duel, tie, choice, grade and rating, from the Gaussian without its site.

        Hyperparameters stay. Equal outcomes have equal entries, one each. A ranking counts choice by choice.

        Reference: Vehtari, Mononen, Tolvanen, Sivula and Winther (2016), JMLR 17, Bayesian leave-one-out for Gaussian
        latent variable models.
        """
        check_is_fitted(self, "belief_")
        outcomes, link = counted(self.history_), self.scales_.link
        _require_whole(outcomes, "leave_one_out")
        request = self._request()
        method = request.method(link, outcomes) if self.inference == "gibbs" else self.result_.inference
        learner = request.learner(link, method, outcomes, self.belief_.rows, self.kernel_)
        with single_blas_thread():
            return LeaveOneOut(left_out(learner.gaussian(self.theta_), outcomes, self.scales_), "normal")

    # -- inside ----------------------------------------------------------------------------------------------------

    def _rows(self, items: Any) -> tuple[np.ndarray, bool]:
        """What the kernel reads (q, d), and whether a single item was meant."""
        check_is_fitted(self, "belief_")
        known: Items = self.items_
        if items is None:
            return known.rows, False
        if _features(items):
            return known.new(items), False
        if isinstance(items, (list, np.ndarray)):
            return known.rows[self.history_.numbers(items)], False
        return known.rows[[self.history_.number(items)]], True

    def _names(self, items: Any, q: int) -> list[Any]:
        if items is None:
            return list(self.history_.items)
        return list(range(q)) if _features(items) else list(items)

    def _predictive(self, items: Any, user: Hashable, offset: float, slope: float, sd: float) -> Predictive:
        X, _ = self._rows(items)
        means, spread = self.belief_.means(X, user), slope**2 * self.belief_.variances(X, user)
        means, noise = offset + slope * means, np.full(len(X), sd**2)
        if len(means) == 1:
            return NormalPredictive(means[0], noise, spread, self.result_.inference)
        return DrawnNormals(means, noise, spread)


def _history(preferences: Any, X: Any) -> Preferences:
    if isinstance(preferences, Preferences):
        return preferences
    duels = np.asarray(preferences)
    if duels.ndim != 2 or duels.shape[1] != 2 or duels.dtype.kind not in "iu":
        raise ParameterError(
            "PreferenceGP.fit", "preferences", "a Preferences record, or whole numbers (duels, 2), the winner first",
            preferences,
        )  # fmt: skip
    n = len(X) if X is not None else int(duels.max(initial=0)) + 1
    return Preferences(n).with_duels(duels[:, 0], duels[:, 1])


def _aligned(X: Any, items: Any) -> Any:
    """A frame whose index names the items is put in their order; one that names some of them only is refused."""
    index = getattr(X, "index", None)
    if index is None or callable(index):
        return X
    labels, names = list(index), list(items)
    known = set(names)
    if labels == names or not known & set(labels) or labels == list(range(len(labels))):
        return X  # numbered rows are in the items' order
    if set(labels) != known or len(labels) != len(names):
        missing = [name for name in names if name not in set(labels)] or labels
        raise ParameterError(
            "PreferenceGP.fit", "X", "a frame with one row an item, named by its index", missing[:3],
            "Give every item a row, or pass an array in the order of the items.",
        )  # fmt: skip
    return X.loc[names]


def _require_whole(outcomes: Outcomes, purpose: str) -> None:
    """Outcomes that are taken one by one must be there a whole number of times, and not beyond memory."""
    count = np.concatenate([outcomes.count, outcomes.choice_count])
    odd = count[count != np.floor(count)]
    if odd.size:
        raise ParameterError("PreferenceGP", "counts", f"whole numbers for {purpose}", float(odd[0]))
    if count.sum() > MOST:
        remedy = 'Laplace and EP count equal outcomes: inference="auto".'
        raise ParameterError("PreferenceGP", "counts", f"≤ {MOST:,} in all for {purpose}", float(count.sum()), remedy)


def _features(items: Any) -> bool:
    """Whether they are rows of features rather than names."""
    return np.ndim(items) == 2 if isinstance(items, (np.ndarray, list)) else hasattr(items, "to_numpy")


def _positive(value: Any) -> bool:
    return np.ndim(value) == 0 and isinstance(value, (int, float, np.number)) and 0.0 < float(value) < np.inf
