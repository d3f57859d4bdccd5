"""The candidates that Credo brings.

Seconds are estimates for one core of 2020, within a factor of two or so (`benchmarks` measure them).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from credo.distributions.noise import StudentT
from credo.distributions.normal import Normal
from credo.models.baseline import InterceptOnlyClassifier, InterceptOnlyRegressor
from credo.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from credo.models.featured import FeaturedModel, Quadratic
from credo.models.glm import (
    GammaRegression,
    LogisticRegression,
    NegativeBinomialRegression,
    OrdinalRegression,
    PoissonRegression,
)
from credo.models.linear import LinearRegression
from credo.models.naive_bayes import NaiveBayes
from credo.models.tabular import CELLS
from credo.selection.outcomes import OutcomeShape
from credo.selection.registry import Candidate, register_candidate

__all__: list[str] = []

# Multiply-adds a second of BLAS on one core, and of elementwise work.
BLAS = 1e10
ELEMENTWISE = 2e8
# Student-t quantiles a second: what places the importance points.
QUANTILES = 5e5


# One scale for all coefficients of `Quadratic`'s columns, which are standardised and share out the prior's variance.
def curved(model: Callable[..., Any], interactions: bool) -> FeaturedModel:
    return FeaturedModel(Quadratic(interactions=interactions), model(prior=Normal(0, None)))


def squares(p: int) -> int:
    return 2 * p


def interactions(p: int) -> int:
    return p * (p + 3) // 2


def process() -> Any:
    from credo.models.gaussian_process.regression import GaussianProcessRegressor  # a fifth of a second, if it is tried

    return GaussianProcessRegressor()


def process_of_classes() -> Any:
    from credo.models.gaussian_process.classification import GaussianProcessClassifier

    return GaussianProcessClassifier()


def none(p: int) -> int:
    return 0


def baseline_seconds(n: int, columns: int) -> float:
    return 1e-8 * n


def linear_seconds(n: int, columns: int) -> float:
    """Moments, a decomposition, and 16 nodes of leverages for every row."""
    return (n * columns**2 + 10.0 * columns**3) / BLAS + 20.0 * n * columns / ELEMENTWISE


def logistic_seconds(n: int, columns: int) -> float:
    """Fifteen Newton passes and the importance points; six such fits where leave-one-out is not to be had."""
    points = min(4096.0, max(256.0, 4e7 / n)) + 8.0 * columns
    newton = 15.0 * (n * columns**2 + columns**3 / 3.0) / BLAS
    draws = points * columns / QUANTILES
    fit = newton + points * n * columns / BLAS + points * n / ELEMENTWISE + draws
    return fit * (1.0 if columns <= 50 and n >= 20 * columns else 6.0)


def auxiliary_seconds(n: int, columns: int) -> float:
    """As for two classes, with special functions of each row's mean."""
    return 3.0 * logistic_seconds(n, columns)


def robust_seconds(n: int, columns: int) -> float:
    """Some 1,500 sweeps of four chains, each a Cholesky of weighted moments, and the weights of the rows left out."""
    return 1.0 + 6000.0 * (n * columns**2 / BLAS + 5.0 * n / ELEMENTWISE) + 4e-4 * n


def naive_seconds(n: int, columns: int) -> float:
    """Two passes; the split of the entropy takes six special functions of every cell in every class."""
    return CLASSES * n * (20.0 * columns + 4.0 * SPLIT_NODES) / ELEMENTWISE


def discriminant_seconds(n: int, columns: int) -> float:
    """Two passes; the split of the entropy takes 128 draws of the parameters, and the densities of all rows at each."""
    return 128.0 * CLASSES * (n * (columns**2 / BLAS + 8.0 / ELEMENTWISE) + columns**3 / BLAS) + 1e-3 * columns


def process_seconds(n: int, columns: int) -> float:
    """Some 40 evidences with gradients, then five times that at four fifths of the rows."""
    return FOLDED * 40.0 * (n**3 / 3e10 + n**2 * (columns + 4.0) / 3.2e8)


def process_class_seconds(n: int, columns: int) -> float:
    """Some 40 searches for the mode of three classes' functions, and the folds."""
    return FOLDED * (2.5e-8 * n**3 + 40.0 * n**2 * (columns + 4.0) / ELEMENTWISE)


# A fit of all rows and five of four fifths, n³ each.
FOLDED = 3.6

# Of a usual target; the time of generative models is in proportion.
CLASSES = 3
# Points of the rule for the split of the entropy (`models.generative.equations.NODES`).
SPLIT_NODES = 64

# Whose steps are lost in their spread: whole numbers of a thousand and more are amounts.
LARGEST_MEAN = 1000.0
# Of an exponential it is 2, of a Gamma twice its coefficient of variation: below 1 a Normal is about as good.
SKEWED = 1.0
# Excess kurtosis of a Student-t of ten degrees of freedom; and of chance alone, four standard errors.
HEAVY, SURE = 1.0, 4.0


def no_counts(y: OutcomeShape) -> str | None:
    if not y.whole or y.low < 0.0:
        return "the outcomes are not all whole numbers ≥ 0"
    if y.distinct < 3:
        return "the outcomes have two values"
    if y.mean > LARGEST_MEAN:
        return f"the outcomes are of {y.mean:,.0f} on average: amounts rather than counts"
    if y.variance < y.mean * (1.0 - 3.0 * (2.0 / y.n) ** 0.5):  # Var(y) ≥ E Var(y | x) ≥ E y, up to chance
        return "the outcomes vary less than counts with such a mean can"
    return None


def no_amounts(y: OutcomeShape) -> str | None:
    if y.low <= 0.0:
        return "the outcomes are not all above 0"
    if no_counts(y) is None:
        return "the outcomes are counts"
    return None if y.skewness > SKEWED else "the outcomes are not skewed to the right"


def light_tails(y: OutcomeShape) -> str | None:
    if no_counts(y) is None:
        return "the outcomes are counts"
    if y.tails > max(HEAVY, SURE * y.tails_error):
        return None
    return "what the columns leave unexplained has no heavy tails"


def no_measurements(y: OutcomeShape) -> str | None:
    return None if y.measured else "categories, and columns of two values, have no Normal law"


def no_order(y: OutcomeShape) -> str | None:
    return None if y.ordered and y.distinct > 2 else "the classes are in no order"


for _candidate in (
    Candidate("poisson", "regression", 9, PoissonRegression, int, logistic_seconds, no_counts),
    Candidate("negative_binomial", "regression", 10, NegativeBinomialRegression, int, auxiliary_seconds, no_counts),
    Candidate("gamma", "regression", 10, GammaRegression, int, auxiliary_seconds, no_amounts),
    Candidate(
        "student_t", "regression", 12, lambda: LinearRegression(noise=StudentT()), int, robust_seconds, light_tails
    ),
    Candidate("ordinal", "classification", 9, OrdinalRegression, int, auxiliary_seconds, no_order),
    Candidate("baseline", "regression", 0, InterceptOnlyRegressor, none, baseline_seconds),
    Candidate("linear", "regression", 10, LinearRegression, int, linear_seconds),
    Candidate("squares", "regression", 20, lambda: curved(LinearRegression, False), squares, linear_seconds),
    Candidate(
        "interactions",
        "regression",
        30,
        lambda: curved(LinearRegression, True),
        interactions,
        linear_seconds,
    ),
    Candidate("process", "regression", 40, process, int, process_seconds),
    Candidate("baseline", "classification", 0, InterceptOnlyClassifier, none, baseline_seconds),
    Candidate("logistic", "classification", 10, LogisticRegression, int, logistic_seconds),
    # Classes that are Normal with one covariance have the logistic regression's boundaries; with their own, those of
    # all squares and products. Naive Bayes knows no products.
    Candidate(
        "lda",
        "classification",
        11,
        lambda: LinearDiscriminantAnalysis(prior="auto"),
        int,
        discriminant_seconds,
        no_measurements,
        CELLS,
    ),
    Candidate(
        "naive_bayes",
        "classification",
        12,
        NaiveBayes,
        int,
        naive_seconds,
        view=CELLS,
        families="families",
    ),
    Candidate("squares", "classification", 20, lambda: curved(LogisticRegression, False), squares, logistic_seconds),
    Candidate(
        "qda",
        "classification",
        29,
        lambda: QuadraticDiscriminantAnalysis(prior="auto"),
        int,
        discriminant_seconds,
        no_measurements,
        CELLS,
    ),
    Candidate(
        "interactions",
        "classification",
        30,
        lambda: curved(LogisticRegression, True),
        interactions,
        logistic_seconds,
    ),
    Candidate("process", "classification", 40, process_of_classes, int, process_class_seconds),
):
    register_candidate(_candidate)
