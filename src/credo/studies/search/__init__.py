"""Hyperparameters of scikit-learn's estimators, searched by a `Study`.

`search_cv`   `CredoSearchCV`: fit, and what was found
`delegates`   predict, score and the like, by the refitted estimator
`wished`      scikit-learn's distributions and lists as a `Space`, and points back as parameters
`folds`       a candidate on a fold: scores and times, or what went wrong
`trials`      the loop: ask, fit on all folds, tell; what a storage keeps of a fold
`results`     `cv_results_`
`routing`     which metadata goes to the estimator, the scorers and the splitter
"""

from credo.studies.search.search_cv import CredoSearchCV

__all__ = ["CredoSearchCV"]
