"""`CredoSearchCV`: hyperparameters by Bayesian optimisation, in the place of `RandomizedSearchCV`."""

from __future__ import annotations

import numbers
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import joblib
import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed

from credo.errors import DataError, DataWarning, ParameterError, warn
from credo.studies.search.delegates import Delegates
from credo.studies.search.folds import Fold, candidate, fitted_fold
from credo.studies.search.results import add_gaps, metrics_of, results_table
from credo.studies.search.routing import routed, scorers_of
from credo.studies.search.trials import Loop
from credo.studies.search.wished import Wished, wished
from credo.studies.study import Study
from credo.studies.trial import Trial

__all__ = ["CredoSearchCV"]

OWNER = "CredoSearchCV"


class CredoSearchCV(Delegates):
    """The parameters of an estimator with the best cross-validated score, sought by a `Study`.

    Takes the place of scikit-learn's `RandomizedSearchCV`: the same arguments and attributes, but each candidate is
    proposed in view of those before it. All candidates are fitted on the *same* folds, also where `cv` shuffles, so
    that what one is better than another by is a paired difference.

    Parameters
    ----------
    estimator : anything with scikit-learn's interface, a Pipeline say
    space : a `Space`, with the estimator's names of parameters (``svc__C``); or, as for `RandomizedSearchCV`, a dict of
        lists and frozen distributions of SciPy, or a list of such dicts. Numbers in a list count as ordered. A
        parameter that is inactive keeps the estimator's own value. Its other name is ``param_distributions=``.
    n_iter : number of candidates; the first max(5, 2 d) of d parameters fill the space, the rest are chosen by a model
    scoring, refit, cv, error_score, return_train_score, n_jobs, pre_dispatch, verbose : as for
        `RandomizedSearchCV`. Of several metrics the study maximises the one that `refit` names, else the first.
        `n_jobs` is the number of fits at once.
    random_state : seed of the candidates. They depend neither on `n_jobs` nor on time.
    sampler : of the `Study`: "auto", "gp", "forest", "random", … or a `Sampler`
    storage : None; or a path or URL (see `Study`) that keeps every fit. A search of the same estimator, data, folds,
        scoring, space and seed goes on where it was interrupted; any other begins a study of its own there.
    noisy : whether the same candidate would get another score on the same folds, as with an estimator that draws random
        numbers without a seed. Then `best_index_` is the candidate with the best posterior mean, not the luckiest. None
        lets the sampler find out. False: the best mean score, as in scikit-learn.
    batch : candidates proposed at once; more than 1 keeps more processors busy than there are folds, and learns a
        little less from each

    Attributes
    ----------
    best_estimator_, best_params_, best_score_, best_index_, refit_time_, cv_results_, scorer_, n_splits_,
    multimetric_, n_features_in_, feature_names_in_, classes_ : as scikit-learn's. `cv_results_` has two more columns
        for each metric m: ``gap_test_m``, what a candidate is worse by than the best one, and ``se_gap_test_m``, the
        standard error of that, from the differences within folds.
    study_ : the `Study`; not pickled

    Raises
    ------
    ParameterError : an argument that breaks its constraint; DataError : every fit failed

    Examples
    --------
    >>> from scipy.stats import loguniform
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> search = CredoSearchCV(SVC(), {"C": loguniform(1e-2, 1e3), "gamma": loguniform(1e-4, 1e1)}, n_iter=20,
    ...                        random_state=0).fit(X, y)
    >>> search.best_score_ > 0.96, sorted(search.best_params_)
    (True, ['C', 'gamma'])
    """

    def __init__(
        self,
        estimator: Any,
        space: Any = None,
        *,
        n_iter: int = 30,
        scoring: Any = None,
        n_jobs: int | None = None,
        refit: Any = True,
        cv: Any = None,
        verbose: int = 0,
        random_state: Any = None,
        error_score: Any = np.nan,
        return_train_score: bool = False,
        sampler: Any = "auto",
        storage: str | Path | None = None,
        noisy: bool | None = False,
        batch: int = 1,
        param_distributions: Any = None,
        pre_dispatch: Any = "2*n_jobs",
    ) -> None:
        self.estimator = estimator
        self.space = space
        self.n_iter = n_iter
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.refit = refit
        self.cv = cv
        self.verbose = verbose
        self.random_state = random_state
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.sampler = sampler
        self.storage = storage
        self.noisy = noisy
        self.batch = batch
        self.param_distributions = param_distributions
        self.pre_dispatch = pre_dispatch

    def fit(self, X: Any, y: Any = None, **params: Any) -> Self:
        """Search, then fit the best candidate on all rows if `refit`.

        params : metadata for the estimator's `fit`, the scorers and the splitter (``sample_weight``, ``groups``),
        passed on as scikit-learn does, by routing if that is on. Cost: n_iter × folds fits, and as many proposals.
        """
        self._check(y)
        space = wished(self._given())
        X, y = indexable(X, y)
        metadata = routed(self, params)
        scorers = scorers_of(self.estimator, self.scoring)
        if isinstance(scorers, dict):
            self._check_refit(list(scorers))
        splitter: Any = check_cv(self.cv, y, classifier=is_classifier(self.estimator))
        splits = list(splitter.split(X, y, **metadata.split))
        if not splits:
            raise DataError(f"{OWNER}: the cross-validation has no folds.", value=self.cv)
        self.study_ = self._study(space, X, y, splits)

        def evaluate(points: Sequence[Mapping[str, Any]]) -> list[list[Fold]]:
            jobs = [(point, split) for point in points for split in splits]
            folds: Any = parallel(
                delayed(fitted_fold)(
                    self.estimator, space.params(point), X, y, split, scorers, metadata.fit, self.return_train_score
                )
                for point, split in jobs
            )
            return [folds[i : i + len(splits)] for i in range(0, len(folds), len(splits))]

        stored = self.storage is not None
        loop = Loop(self.study_, evaluate, self._metric, len(splits), self.error_score, stored, self._say)
        if self.verbose > 0:
            print(f"Fitting {len(splits)} folds for each of {self.n_iter} candidates, {self.n_iter * len(splits)} fits")
        with Parallel(n_jobs=self.n_jobs, pre_dispatch=self.pre_dispatch) as parallel:
            loop.run(self.n_iter, self.batch)
        self._warn(loop)
        self._settle(loop, space, scorers, splits)
        if self.refit:
            self._refit(X, y, metadata.refit)
        return self

    # -- before ------------------------------------------------------------------------------------------------

    def _check(self, y: Any) -> None:
        for name, least in (("n_iter", 1), ("batch", 1)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, numbers.Integral) or int(value) < least:
                raise ParameterError(OWNER, name, f"an integer ≥ {least}", value)
        if self.error_score != "raise" and not isinstance(self.error_score, numbers.Real):
            raise ParameterError(OWNER, "error_score", "'raise' or a number", self.error_score)
        if not hasattr(self.estimator, "fit"):
            raise ParameterError(OWNER, "estimator", "an object with a method fit", self.estimator)
        if y is None and get_tags(self.estimator).target_tags.required:
            owner = type(self.estimator).__name__
            raise DataError(f"{OWNER}: {owner} requires y to be passed, but the target y is None.")
        if not (self.storage is None or isinstance(self.storage, (str, Path))):
            raise ParameterError(OWNER, "storage", "a path, a URL or None", self.storage)

    def _given(self) -> Any:
        """The space, by either of its names."""
        both = self.space is not None and self.param_distributions is not None
        if both or (self.space is None and self.param_distributions is None):
            remedy = "It may be called space or param_distributions, as in RandomizedSearchCV."
            raise ParameterError(OWNER, "space", "given once", self.param_distributions if both else None, remedy)
        return self.param_distributions if self.space is None else self.space

    def _check_refit(self, names: list[str]) -> None:
        named = isinstance(self.refit, str) and self.refit in names
        if self.refit is not False and not named and not callable(self.refit):
            raise ParameterError(
                OWNER, "refit", f"with several metrics one of {names}, a function of cv_results_, or False", self.refit
            )

    def _metric(self, columns: list[str]) -> str:
        """The metric that the study maximises."""
        names = metrics_of(columns)
        return self.refit if isinstance(self.refit, str) and self.refit in names else names[0]

    def _study(self, space: Wished, X: Any, y: Any, splits: list[Any]) -> Study:
        seed = self.random_state
        if seed is not None and not isinstance(seed, numbers.Integral):
            drawn = seed.integers(2**31) if hasattr(seed, "integers") else seed.randint(2**31 - 1)
            seed = int(drawn)
        name = "search"
        if self.storage is not None:
            settings = (self.scoring, self.refit, self.error_score, self.return_train_score, seed)
            wish = (space.space.state(strict=False), space.meaning)
            try:
                about = joblib.hash((type(self.estimator), self.estimator, X, y, splits, *settings, *wish))
            except Exception as error:
                remedy = f"What cannot be pickled ({error}) cannot be told from another when the search is resumed."
                raise ParameterError(OWNER, "storage", "None here", self.storage, remedy) from error
            name = f"search-{about}"
        return Study(space.space, "maximize", self.storage, seed, name=name, sampler=self.sampler, noisy=self.noisy)

    # -- after -------------------------------------------------------------------------------------------------

    def _say(self, trial: Trial, scores: Mapping[str, float]) -> None:
        if self.verbose > 1:
            told = ", ".join(f"{name} {value:.4g}" for name, value in scores.items() if name.startswith("test_"))
            print(f"[{trial.id + 1}/{self.n_iter}] {dict(trial.params)}: {told or 'failed'}")

    def _warn(self, loop: Loop) -> None:
        n_fits = len(loop.rows) * loop.n_splits
        last = loop.failures[-1] if loop.failures else None
        if not loop.columns:
            why = [trial.reason for trial in self.study_.records if trial.reason]
            raise DataError(
                f"{OWNER}: all {n_fits} fits failed; the last: {f'{type(last).__name__}: {last}' if last else why[-1]}",
                remedy="error_score='raise' shows where.",
            ) from last
        if last is not None:
            warn(
                f"{OWNER}: {len(loop.failures)} of {n_fits} fits failed, and count as {self.error_score}; the last: "
                f"{type(last).__name__}: {last}",
                DataWarning,
            )
        if len(loop.rows) < self.n_iter and self.study_.space.size <= len(loop.rows):
            warn(f"{OWNER}: all {len(loop.rows)} points of the space were tried, fewer than n_iter.", DataWarning)

    def _settle(self, loop: Loop, space: Wished, scorers: Any, splits: list[Any]) -> None:
        """The fitted attributes but the refitted estimator."""
        order = sorted(loop.rows)
        numbers_ = np.array([loop.rows[i].numbers for i in order])
        table = results_table([space.params(loop.rows[i].point) for i in order], loop.columns, numbers_)
        metrics = metrics_of(loop.columns)
        self.scorer_, self.n_splits_ = scorers, len(splits)
        self.multimetric_ = metrics != ["score"]
        if self.multimetric_ and not isinstance(scorers, dict):
            self._check_refit(metrics)
        metric = self._metric(loop.columns)
        best = self._best(table, metric, order)
        sizes = [(np.size(train), np.size(test)) for train, test in splits]
        for name in metrics:
            top = best if name == metric else int(np.argmin(table[f"rank_test_{name}"]))
            add_gaps(table, name, top, sizes)
        self.cv_results_ = table
        if self.refit or not self.multimetric_:
            self.best_index_, self.best_params_ = best, table["params"][best]
            if not callable(self.refit):
                self.best_score_ = float(table[f"mean_test_{metric}"][best])

    def _best(self, table: dict[str, Any], metric: str, order: list[int]) -> int:
        if callable(self.refit):
            best = self.refit(table)
            if not isinstance(best, numbers.Integral) or not 0 <= int(best) < len(order):
                raise ParameterError(OWNER, "refit", f"a function whose value is an index below {len(order)}", best)
            return int(best)
        if self.noisy is False or not any(trial.state == "told" for trial in self.study_.records):
            return int(np.argmin(table[f"rank_test_{metric}"]))
        return order.index(self.study_.best.id)

    def _refit(self, X: Any, y: Any, metadata: Mapping[str, Any]) -> None:
        self.best_estimator_ = candidate(self.estimator, self.best_params_)
        start = time.perf_counter()
        self.best_estimator_.fit(X, *(() if y is None else (y,)), **metadata)
        self.refit_time_ = time.perf_counter() - start
        if hasattr(self.best_estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.best_estimator_.feature_names_in_

    def __getstate__(self) -> dict[str, Any]:
        """Without the study, which holds a connection: it is in the storage, or was for this search only."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "study_"}
