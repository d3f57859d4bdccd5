"""L1-penalised least squares: optimality conditions, the gap as a bound, agreement of all forms, awkward problems."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from credo.errors import NotIdentifiedError, ParameterError
from credo.inference.coordinate_columns import ColumnProblem, SparseProblem, problem_of
from credo.inference.coordinate_descent import GramProblem, duality_gap, lasso_gram, minimise


def table(n, p, correlation=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, p)) + np.sqrt(correlation) * rng.normal(size=(n, 1))
    return X, X[:, : min(5, p)].sum(axis=1) + rng.normal(size=n)


def kkt(X, y, w, l1, ridge):
    """Largest violation of the optimality conditions, relative to the penalty."""
    g = X.T @ (y - X @ w) - ridge * w
    return np.max(np.where(w != 0, np.abs(g - l1 * np.sign(w)), np.maximum(np.abs(g) - l1, 0.0))) / np.max(l1)


def objective(X, y, w, l1, ridge):
    return 0.5 * np.sum((y - X @ w) ** 2) + np.sum(l1 * np.abs(w)) + 0.5 * np.sum(ridge * w**2)


@pytest.fixture(scope="module")
def collinear():
    np.random.seed(1)
    z = np.random.normal(0, 1, 1000)
    X = np.column_stack([z + np.random.normal(0, 0.1, 1000) for _ in range(3)])
    return X, X.sum(axis=1) + np.random.normal(0, 1, 1000)


@pytest.mark.parametrize(
    ("intercept", "expected"), [(True, [0.90393659, 0.0, 1.01617857]), (False, [0.92052767, 0.0, 1.0043411])]
)
def test_collinear_example(collinear, intercept, expected):
    """MATHS §3; the sd of the noise is 1, α = 1 and b = 1/1000 are the same penalty."""
    X, y = collinear
    if intercept:
        X, y = X - X.mean(axis=0), y - y.mean()
    fit = lasso_gram(X.T @ X, X.T @ y, 1000.0, square=y @ y)
    np.testing.assert_allclose(fit.coef, expected, atol=5e-9)
    assert fit.coef[1] == 0.0
    assert kkt(X, y, fit.coef, 1000.0, 0.0) < 1e-12


@pytest.mark.parametrize(("n", "p"), [(100, 50), (300, 200), (100, 150)])
@pytest.mark.parametrize("correlation", [0.0, 0.99])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("strength", [0.5, 0.01])
def test_optimality_conditions(n, p, correlation, ridge, strength):
    X, y = table(n, p, correlation)
    l1 = strength * np.abs(X.T @ y).max()
    fit = lasso_gram(X.T @ X, X.T @ y, l1, ridge, square=y @ y)
    assert fit.result.status == "converged"
    # The gap is quadratic in the violation where ridge > 0: (1e-12 ‖y‖² · 2 ridge)^½, about 1e-5.
    assert kkt(X, y, fit.coef, l1, ridge) < (1e-10 if ridge == 0.0 else 1e-5)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), st.floats(0.0, 1.5))
def test_gap_bounds_the_distance_to_the_minimum(seed, ridge, size):
    rng = np.random.default_rng(seed)
    X, y = table(12, 6, 0.5, seed)
    l1, ridge = rng.uniform(0.5, 3.0, 6), ridge * rng.uniform(0.5, 2.0, 6)
    best = lasso_gram(X.T @ X, X.T @ y, l1, ridge, square=y @ y).coef
    w = best + size * rng.normal(size=6) * (rng.random(6) < 0.5)
    r = y - X @ w
    gap = duality_gap(w, X.T @ r, r @ r, l1, ridge)
    assert gap >= objective(X, y, w, l1, ridge) - objective(X, y, best, l1, ridge) - 1e-10


def test_minimum_agrees_with_a_general_optimiser():
    X, y = table(30, 4)
    l1, ridge = np.array([5.0, 0.0, 10.0, 3.0]), np.array([0.0, 2.0, 1.0, 0.0])
    found = lasso_gram(X.T @ X, X.T @ y, l1, ridge, square=y @ y).coef
    split = lambda v: objective(X, y, v[:4] - v[4:], 0, ridge) + np.sum(np.r_[l1, l1] * v)
    other = scipy.optimize.minimize(split, np.ones(8), bounds=[(0, None)] * 8, options={"ftol": 1e-15, "gtol": 1e-10})
    np.testing.assert_allclose(found, other.x[:4] - other.x[4:], atol=1e-5)


def test_columns_without_penalty_are_projected_out():
    X, y = table(50, 5, 0.5)
    l1 = np.array([4.0, 0.0, 0.0, 8.0, 2.0])
    fit = lasso_gram(X.T @ X, X.T @ y, l1, square=y @ y)
    assert kkt(X, y, fit.coef, l1, 0.0) < 1e-10
    X[:, 2] = X[:, 1]
    with pytest.raises(NotIdentifiedError, match="collinear"):
        lasso_gram(X.T @ X, X.T @ y, l1, square=y @ y)


def test_several_targets_share_the_gram_matrix():
    X, y = table(50, 5)
    Y = np.column_stack([y, -2.0 * y, X[:, 0]])
    fit = lasso_gram(X.T @ X, X.T @ Y, 3.0, square=np.square(Y).sum(axis=0))
    for k in range(3):
        one = lasso_gram(X.T @ X, X.T @ Y[:, k], 3.0, square=Y[:, k] @ Y[:, k])
        np.testing.assert_allclose(fit.coef[k], one.coef, atol=1e-12)


def test_duplicate_and_constant_columns():
    X, y = table(50, 5)
    X[:, 3], X[:, 4] = X[:, 0], 0.0
    fit = lasso_gram(X.T @ X, X.T @ y, 3.0, square=y @ y)
    assert fit.coef[4] == 0.0
    assert kkt(X, y, fit.coef, 3.0, 0.0) < 1e-10


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(scale):
    X, y = table(50, 5)
    base = lasso_gram(X.T @ X, X.T @ y, 3.0, square=y @ y).coef
    X, y = X * scale, y / scale
    np.testing.assert_allclose(lasso_gram(X.T @ X, X.T @ y, 3.0, square=y @ y).coef, base / scale**2, rtol=1e-9)


def test_all_zero_and_iteration_limit():
    X, y = table(50, 5)
    assert not lasso_gram(X.T @ X, X.T @ y, 1e6, square=y @ y).coef.any()
    assert not lasso_gram(X.T @ X, np.zeros(5), 1.0, square=0.0).coef.any()
    X, y = table(300, 200, 0.99)
    short = lasso_gram(X.T @ X, X.T @ y, 0.01, square=y @ y, max_iter=3)
    assert short.result.status == "max_iter"
    assert "duality gap" in short.result.message


@pytest.mark.parametrize("bad", [-1.0, np.nan, [1.0, 2.0]])
def test_bad_penalties_are_named(bad):
    with pytest.raises(ParameterError, match="l1"):
        lasso_gram(np.eye(3), np.ones(3), bad, square=1.0)


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_dense_sparse_and_gram_forms_agree(centred, ridge):
    rng = np.random.default_rng(0)
    S = scipy.sparse.random(60, 150, 0.1, format="csc", random_state=0)
    y = np.asarray(S[:, :5].sum(axis=1)).ravel() + 0.1 * rng.normal(size=60) + 3.0
    X = S.toarray()
    dense, *_ = problem_of(X, y, centred=centred)
    sparse, means, squares = problem_of(S, y, centred=centred)
    assert isinstance(dense, ColumnProblem)
    assert isinstance(sparse, SparseProblem)
    Xc, yc = (X - X.mean(axis=0), y - y.mean()) if centred else (X, y)
    np.testing.assert_allclose(means, X.mean(axis=0) if centred else 0.0, atol=1e-15)
    np.testing.assert_allclose(squares, np.square(Xc).mean(axis=0), atol=1e-12)
    gram = GramProblem(Xc.T @ Xc, Xc.T @ yc, float(yc @ yc))
    weights = rng.uniform(0.5, 2.0, 150)
    l1, rd = 0.05 * np.abs(Xc.T @ yc).max() * weights, ridge * weights
    fits = [minimise(problem, l1, rd, np.zeros(150), 1e-14)[0].coef for problem in (dense, sparse, gram)]
    for coef in fits:
        assert kkt(Xc, yc, coef, l1, rd) < 1e-5
        np.testing.assert_allclose(coef, fits[0], atol=1e-6)


def test_more_columns_in_the_model_than_rows():
    """A strong ridge beside a weak L1 keeps most columns: the products outgrow their first buffers."""
    X, y = table(20, 300)
    problem, *_ = problem_of(X, y, centred=True)
    l1, ridge = np.full(300, 1e-3), np.full(300, 50.0)
    fit, _ = minimise(problem, l1, ridge, np.zeros(300), 1e-12)
    assert fit.result.ok
    assert np.count_nonzero(fit.coef) > 200


def test_sweeps_are_accelerated():
    """As many plain sweeps as it takes, written out, against the compiled ones, in a valley (correlation .9)."""
    from credo.inference.coordinate_kernels import history, sweep_gram

    X, y = table(200, 40, 0.9)
    gram, cross, l1, ridge = X.T @ X, X.T @ y, np.full(40, 2.0), np.full(40, 0.5)
    goal, w, g, plain = 1e-7 * float(y @ y), np.zeros(40), X.T @ y, 0
    while duality_gap(w, g, float(y @ y - w @ (cross + g)), l1, ridge) > goal:
        for j in range(40):
            z = g[j] + gram[j, j] * w[j]
            new = np.sign(z) * max(abs(z) - l1[j], 0.0) / (gram[j, j] + ridge[j])
            g, w[j] = g - gram[j] * (new - w[j]), new
        plain += 1
    mixed, left = np.zeros(40), cross.copy()
    sweeps = sweep_gram(gram, cross, float(y @ y), left, mixed, l1, ridge, goal, 10_000, *history(40))
    assert sweeps < plain / 3
    np.testing.assert_allclose(left, cross - gram @ mixed, atol=1e-9 * np.abs(cross).max())
    assert objective(X, y, mixed, l1, ridge) - goal <= objective(X, y, w, l1, ridge)


def test_a_carried_residual_stays_the_residual():
    """Along a path of sparse columns the gaps are those of residuals computed afresh."""
    X = scipy.sparse.random(300, 80, 0.2, format="csc", random_state=0)
    y = X @ np.random.default_rng(1).normal(size=80) + 5.0
    problem, means, _ = problem_of(X, y, centred=True)
    rows, target = X.toarray() - means, y - y.mean()
    w, known, previous = np.zeros(80), None, None
    for l1 in np.abs(problem.cross).max() * np.geomspace(1.0, 1e-3, 40)[:, None] * np.ones(80):
        fit, known = minimise(problem, l1, np.zeros(80), w, 1e-8, 10_000, previous, known)
        w, previous, r = fit.coef, l1, target - rows @ fit.coef
        afresh = duality_gap(w, rows.T @ r, float(r @ r), l1, np.zeros(80)) / problem.square
        assert abs(fit.gap / problem.square - afresh) < 1e-13
        assert afresh <= 1.001e-8
