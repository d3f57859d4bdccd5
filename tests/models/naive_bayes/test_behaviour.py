"""What holds for every naive Bayes: streaming, weights, missing labels, uncertainty, drawing, extremes, saving."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import entr, logsumexp

import credo as cr
from credo.blocks import ArraySource
from credo.distributions import NormalInverseGamma
from credo.errors import DataError, ModelWarning, ParameterError, UnavailableError
from credo.models.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, NaiveBayes

rng = np.random.default_rng(7)
Y = rng.integers(0, 3, 90)
COUNTS = rng.poisson(2 + Y[:, None], (90, 4)).astype(float)
REAL = rng.normal(Y[:, None], 1.0, (90, 4))
MIXED = pl.DataFrame({"a": rng.choice(["x", "y", "z"], 90), "b": REAL[:, 0], "n": COUNTS[:, 0].astype(int),
                      "t": REAL[:, 1] > 0})  # fmt: skip

CASES = [
    (GaussianNB(), REAL), (CategoricalNB(), COUNTS), (BernoulliNB(binarize=2.0), COUNTS), (MultinomialNB(), COUNTS),
    *[(NaiveBayes(f), COUNTS + 1.0) for f in ("gaussian", "log_normal", "student_t", "poisson", "kde")],
]  # fmt: skip


@pytest.mark.parametrize(("model", "X"), CASES, ids=lambda v: type(v).__name__)
def test_batches_give_what_fit_gives(model, X):
    from sklearn.base import clone

    whole = clone(model).fit(X, Y)
    parts = clone(model)
    for start in (0, 20, 40):
        stop = 90 if start == 40 else start + 20
        parts.partial_fit(X[start:stop], Y[start:stop], classes=[0, 1, 2])
    np.testing.assert_allclose(parts.predict_joint_log_proba(X), whole.predict_joint_log_proba(X), rtol=1e-10)
    one = clone(model).partial_fit(X[Y == 0], Y[Y == 0], classes=[0, 1, 2])  # two classes empty in a batch
    one.partial_fit(X[Y != 0], Y[Y != 0])
    np.testing.assert_allclose(one.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_counts_of_batches_are_exact_also_where_categories_appear_later():
    X = np.array([["a", "p"], ["b", "q"], ["c", "p"], ["a", "r"]], dtype=object)
    whole = CategoricalNB().fit(X, [0, 1, 1, 0])
    parts = CategoricalNB().partial_fit(X[:1], [0], classes=[0, 1]).partial_fit(X[1:2], [1]).partial_fit(X[2:], [1, 0])
    assert all(np.array_equal(a, b) for a, b in zip(whole.feature_log_prob_, parts.feature_log_prob_, strict=True))
    frame = NaiveBayes().fit(MIXED, Y)
    halves = NaiveBayes(frame.families_)
    halves.partial_fit(MIXED[:30], Y[:30], classes=[0, 1, 2]).partial_fit(MIXED[30:], Y[30:])
    np.testing.assert_allclose(halves.predict_proba(MIXED), frame.predict_proba(MIXED), rtol=1e-10)


@pytest.mark.parametrize(("model", "X"), CASES[:7], ids=lambda v: type(v).__name__)
def test_weights_count_rows(model, X):
    from sklearn.base import clone

    w = np.random.default_rng(1).integers(0, 3, 90)
    weighted = clone(model).fit(X, Y, sample_weight=w)
    repeated = clone(model).fit(np.repeat(X, w, axis=0), np.repeat(Y, w))
    np.testing.assert_allclose(weighted.predict_joint_log_proba(X), repeated.predict_joint_log_proba(X), rtol=1e-9)


@pytest.mark.parametrize("cls", [GaussianNB, MultinomialNB, BernoulliNB])
def test_a_source_of_blocks_gives_what_arrays_give(cls):
    source = ArraySource(COUNTS, Y, block_rows=7)
    np.testing.assert_allclose(cls().fit(source).predict_proba(COUNTS), cls().fit(COUNTS, Y).predict_proba(COUNTS))


@pytest.mark.parametrize("cls", [BernoulliNB, MultinomialNB])
def test_sparse_is_dense(cls):
    X = sp.csr_matrix(COUNTS)
    a, b = cls().fit(X, Y), cls().fit(COUNTS, Y)
    np.testing.assert_allclose(a.predict_joint_log_proba(X), b.predict_joint_log_proba(COUNTS), rtol=1e-12)
    p, q = a.predict_distribution(X), b.predict_distribution(COUNTS)
    np.testing.assert_allclose(p.probabilities, q.probabilities, rtol=1e-10)
    np.testing.assert_allclose(p.aleatoric, q.aleatoric, rtol=1e-8)


def test_one_precision_keeps_a_large_offset():
    X32 = (REAL + 1e4).astype(np.float32)
    model = GaussianNB(var_smoothing=0.0).fit(X32, Y)
    expected = np.stack([X32[c == Y].astype(float).var(axis=0) for c in range(3)])
    np.testing.assert_allclose(model.var_, expected, rtol=1e-9)
    far = REAL + 1e8 * Y[:, None]  # classes far apart: shifted sums of squares would lose everything
    expected = np.stack([far[c == Y].var(axis=0) for c in range(3)])
    np.testing.assert_allclose(GaussianNB(var_smoothing=0.0).fit(far, Y).var_, expected, rtol=1e-6)


# -- missing labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "X"), CASES[:8], ids=lambda v: type(v).__name__)
def test_missing_labels_raise_the_objective_and_the_accuracy_of_few_labels(model, X):
    from sklearn.base import clone

    y = Y.astype(float)
    y[15:] = np.nan
    fit = clone(model).fit(X, y)
    assert np.all(np.diff(fit.result_.objective) >= -1e-9 * np.abs(fit.result_.objective[:-1]))
    assert fit.result_.inference == "em"
    assert fit.classes_.dtype.kind == "i"
    assert fit.class_count_.sum() == pytest.approx(90)


def test_missing_labels_by_em_equal_the_mixture_they_are():
    """Two classes far apart: EM recovers what all labels would have said."""
    x = np.concatenate([np.random.default_rng(0).normal(m, 1, 200) for m in (-6, 6)])[:, None]
    y = np.repeat([0, 1], 200)
    some = np.where(np.arange(400) % 50 < 2, y, -1)
    model = NaiveBayes(missing_label=-1).fit(x, some)
    np.testing.assert_allclose(model.predict_proba(x), NaiveBayes().fit(x, y).predict_proba(x), atol=1e-6)
    with pytest.raises(UnavailableError, match="kde"):
        NaiveBayes("kde", missing_label=-1).fit(x, some)
    with pytest.raises(DataError, match="no label"):
        GaussianNB().partial_fit(x, np.where(some < 0, np.nan, some), classes=[0, 1])


# -- uncertainty ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["gaussian", "categorical", "multinomial", "poisson", "student_t"])
def test_split_of_the_entropy_agrees_with_draws(kind):
    """E H(y | x, θ) by moments against 1,500 draws of θ weighted by p(x | θ): within 0.025 nats at 20 rows a class."""
    draws = np.random.default_rng(5)
    y = np.repeat([0, 1], 20)
    X = {"gaussian": draws.normal(y[:, None], 1.5, (40, 3)), "student_t": draws.normal(y[:, None], 1.5, (40, 1)),
         "categorical": draws.integers(0, 3, (40, 3)).astype(float), "multinomial": draws.poisson(2.0, (40, 5)),
         "poisson": draws.poisson(2.0 + y[:, None], (40, 2))}[kind]  # fmt: skip
    model = {"gaussian": GaussianNB(), "categorical": CategoricalNB(), "multinomial": MultinomialNB()}.get(
        kind, NaiveBayes(kind)
    )
    model.fit(X, y)
    cells = np.asarray(X[::7], dtype=float)
    evidence, entropy = [], []
    for _ in range(1500):
        joint = model._drawn_joint(cells, draws)
        evidence.append(logsumexp(joint, axis=1))
        entropy.append(entr(np.exp(joint - evidence[-1][:, None])).sum(axis=1))
    weight = np.exp(np.array(evidence) - np.max(evidence, axis=0))
    expected = (weight * np.array(entropy)).sum(axis=0) / weight.sum(axis=0)
    np.testing.assert_allclose(model.predict_distribution(X[::7]).aleatoric, expected, atol=0.025)


@pytest.mark.parametrize("kind", ["gaussian", "categorical", "poisson", "bernoulli", "multinomial"])
def test_the_epistemic_part_shrinks_as_one_over_n(kind):
    """The same rows repeated 16 times: the epistemic part is 16 times less (within 8 %, its second order)."""
    draws = np.random.default_rng(11)
    y = np.repeat([0, 1], 100)
    X = draws.poisson(1.0 + 0.5 * y[:, None], (200, 2)).astype(float)
    X = np.minimum(X, 1.0) if kind == "bernoulli" else X
    make = {"categorical": CategoricalNB, "multinomial": MultinomialNB, "gaussian": GaussianNB}.get(
        kind, lambda: NaiveBayes(kind)
    )
    few = make().fit(X, y).predict_distribution(X[:20]).epistemic
    many = make().fit(np.tile(X, (16, 1)), np.tile(y, 16)).predict_distribution(X[:20]).epistemic
    assert few.mean() / many.mean() == pytest.approx(16.0, rel=0.08)


def test_a_class_seen_twice_is_unsure():
    X = np.random.default_rng(0).normal(0, 1, (202, 2))
    y = np.repeat([0, 1], [200, 2])
    p = GaussianNB(priors=[0.5, 0.5]).fit(X, y).predict_distribution([[0.0, 0.0]])
    many = GaussianNB(priors=[0.5, 0.5]).fit(np.tile(X, (100, 1)), np.tile(y, 100)).predict_distribution([[0.0, 0.0]])
    assert p.epistemic[0] > 0.03
    assert p.epistemic[0] > 10.0 * many.epistemic[0]


@pytest.mark.parametrize("kind", ["gaussian", "categorical"])
def test_class_probabilities_are_calibrated_under_the_prior(kind):
    """Simulation-based: θ from the prior, data from θ; the rank of the true p(y=1 | x, θ) among 19 draws is uniform.

    A column is a run: the row that asks about it has no other cell. χ² with 19 degrees of freedom over 1,000 runs; the
    bound is its 1 − 1e-4 quantile, the false-alarm rate.
    """
    draws, runs = np.random.default_rng(2), 1000
    prior = NormalInverseGamma(0.0, 4.0, 3.0, 3.0)
    y = np.repeat([0, 1], 6)
    if kind == "gaussian":
        mean, variance = (v.reshape(2, runs) for v in prior.sample(2 * runs, draws))
        X, x = draws.normal(mean[y], np.sqrt(variance[y])), draws.normal(0, 2, runs)
        density = np.exp(-0.5 * (x - mean) ** 2 / variance) / np.sqrt(variance)
        model = GaussianNB(priors=[0.5, 0.5], prior=prior).fit(X, y)
    else:
        theta = draws.dirichlet(np.ones(3), (2, runs))
        X = (draws.random((12, runs, 1)) > np.cumsum(theta, axis=2)[y]).sum(axis=2).astype(float)
        x = draws.integers(3, size=runs).astype(float)
        density = theta[:, np.arange(runs), x.astype(int)]
        model = CategoricalNB(class_prior=[0.5, 0.5], min_categories=3).fit(X, y)
    truth = density[1] / density.sum(axis=0)
    rows = np.full((runs, runs), np.nan)
    np.fill_diagonal(rows, x)
    found = model.sample_probabilities(rows, 19, draws)[:, :, 1]
    ranks = np.bincount(np.sum(found < truth, axis=0), minlength=20)
    assert np.sum((ranks - runs / 20) ** 2 / (runs / 20)) < 51.0


# -- the generative side -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("families", ["auto", {"b": "student_t"}, {"b": "kde"}, {"n": "gaussian"}])
def test_draws_have_the_law_of_the_model(families):
    """Frequencies of 4,000 drawn rows against probabilities, within 5 standard errors (false alarms below 1e-5)."""
    model = NaiveBayes(families).fit(MIXED, Y)
    X, y = model.sample(4000, random_state=0)
    assert isinstance(X, pl.DataFrame)
    assert X.columns == MIXED.columns
    for c, p in enumerate(model.class_prior_):
        assert abs(np.mean(y == c) - p) < 5 * np.sqrt(p * (1 - p) / 4000)
    only, labels = model.sample(4000, label=1, random_state=1)
    assert set(labels) == {1}
    unseen = MIXED[:1].with_columns(b=pl.lit(None, pl.Float64), n=pl.lit(None, pl.Int64), t=pl.lit(None, pl.Boolean))
    for level in "xyz":
        p = np.exp(model.log_prob(unseen.with_columns(a=pl.lit(level)), 1)[0]) / model.class_prior_[1]
        assert abs((only["a"] == level).mean() - p) < 5 * np.sqrt(p * (1 - p) / 4000)


def test_log_prob_sums_over_classes_and_strange_rows_stand_out():
    model = GaussianNB().fit(REAL, Y)
    each = np.stack([model.log_prob(REAL, c) for c in model.classes_])
    np.testing.assert_allclose(logsumexp(each, axis=0), model.log_prob(REAL))
    assert model.anomaly_score(np.full((1, 4), 30.0))[0] > model.anomaly_score(REAL).max()
    X, y = MultinomialNB().fit(COUNTS, Y).sample(5, length=12, random_state=0)
    assert np.all(X.sum(axis=1) == 12)
    assert len(y) == 5


# -- tables --------------------------------------------------------------------------------------------------------


def test_families_follow_the_types_and_frames_agree():
    model = NaiveBayes().fit(MIXED, Y)
    assert model.families_[:2] == ("categorical", "gaussian")
    assert model.families_[3] == "bernoulli"
    assert model.families_[2] == "categorical"  # whole numbers of few values
    many = np.random.default_rng(0).poisson(30 + 5 * Y)
    wide = pl.DataFrame({"count": many, "ratio": np.exp(REAL[:, 0]), "tails": REAL[:, 1] ** 5})
    assert NaiveBayes().fit(wide, Y).families_ == ("poisson", "log_normal", "student_t")
    pandas = NaiveBayes().fit(MIXED.to_pandas(), Y)
    assert pandas.families_ == model.families_
    np.testing.assert_allclose(pandas.predict_proba(MIXED.to_pandas()), model.predict_proba(MIXED))
    holes = MIXED.to_pandas().astype({"a": "category"})
    holes.loc[::3, "a"], holes.loc[1::3, "b"] = None, np.nan
    again = NaiveBayes().fit(holes, Y)
    assert np.all(np.isfinite(again.predict_log_proba(holes)))
    with pytest.raises(ParameterError, match="by names"):
        NaiveBayes({"nobody": "kde"}).fit(MIXED, Y)
    with pytest.raises(DataError, match="text"):
        NaiveBayes({"a": "gaussian"}).fit(MIXED, Y)


def test_dates_are_days():
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01", "2020-01-03", "2021-06-01", "2021-06-04"])})
    model = NaiveBayes().fit(frame, [0, 0, 1, 1])
    assert model.predict(frame).tolist() == [0, 0, 1, 1]


# -- extremes ------------------------------------------------------------------------------------------------------


def test_a_class_of_one_row_and_columns_without_spread():
    X = np.array([[1.0, 5.0], [1.0, 5.0], [1.0, 6.0], [2.0, 5.0]])
    for model in (GaussianNB(), NaiveBayes("gaussian"), NaiveBayes("student_t"), NaiveBayes("kde")):
        p = model.fit(X, [0, 0, 0, 1]).predict_distribution(X)
        assert np.all(np.isfinite(p.probabilities))
        assert p.mode.tolist()[-1] in (0, 1)
    constant = GaussianNB().fit(np.ones((4, 2)), [0, 0, 0, 1])
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), [[0.75, 0.25]])


def test_ten_thousand_columns_do_not_underflow():
    wide = np.random.default_rng(0).normal(0, 1, (20, 10_000))
    y = np.repeat([0, 1], 10)
    wide[y == 1] += 0.1
    for model in (GaussianNB(), NaiveBayes("gaussian")):
        p = model.fit(wide, y).predict_proba(wide)
        assert np.all(np.isfinite(p))
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert BernoulliNB().fit(wide > 0, y).score(wide > 0, y) == 1.0


def test_ten_thousand_classes():
    y = np.arange(10_000)
    X = np.stack([y % 100, y // 100], axis=1).astype(float)
    assert GaussianNB().fit(X, y).predict(X[:50]).tolist() == y[:50].tolist()
    assert CategoricalNB().fit(X.astype(int), y).predict(X[:50].astype(int)).tolist() == y[:50].tolist()
    p = CategoricalNB().fit(X.astype(int), y).predict_distribution(X[:3].astype(int))
    assert np.all(p.epistemic >= 0.0)


def test_rows_that_no_class_allows_warn_and_have_the_classes_own_probabilities():
    model = CategoricalNB(alpha=0.0).fit([[0, 0], [1, 1], [1, 1]], [0, 1, 1])
    with pytest.warns(ModelWarning, match="row 0"):
        p = model.predict_proba([[0, 1]])
    np.testing.assert_allclose(p, [[1 / 3, 2 / 3]])
    with pytest.warns(ModelWarning):
        assert model.predict([[0, 1]]) == [1]


@pytest.mark.parametrize(
    ("model", "X"),
    [*CASES, (NaiveBayes(), MIXED), (NaiveBayes(prior_estimate={"a": [0.5, 0.3, 0.2]}), MIXED)],
    ids=lambda v: type(v).__name__,
)
def test_saved_and_loaded_it_predicts_the_same(model, X, tmp_path):
    from sklearn.base import clone

    fit = clone(model).fit(X, Y)
    cr.save(fit, tmp_path / "m.credo")
    again = cr.load(tmp_path / "m.credo")
    np.testing.assert_array_equal(
        again.predict_distribution(X).probabilities, fit.predict_distribution(X).probabilities
    )
    again.partial_fit(X, Y)


def test_bad_input_is_named():
    with pytest.raises(DataError, match="log-normal"):
        NaiveBayes("log_normal").fit([[1.0], [-1.0]], [0, 1])
    with pytest.raises(DataError, match="Poisson"):
        NaiveBayes("poisson").fit([[1.5], [1.0]], [0, 1])
    with pytest.raises(DataError, match="every label"):
        GaussianNB().fit([[1.0], [2.0]], [np.nan, np.nan])
    with pytest.raises(ValueError, match="NaN"):
        MultinomialNB().fit([[1.0, np.nan], [1.0, 2.0]], [0, 1])
    with pytest.raises(ParameterError, match="families"):
        NaiveBayes("normal").fit([[1.0], [2.0]], [0, 1])
    with pytest.raises(DataError, match="Bernoulli"):
        NaiveBayes("bernoulli").fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_frames_with_odd_cells():
    nullable = pd.DataFrame({"a": pd.array([1, None, 3, 4], dtype="Int64"), "b": ["u", None, "v", "u"]})
    assert np.all(np.isfinite(NaiveBayes().fit(nullable, [0, 0, 1, 1]).predict_proba(nullable)))
    assert NaiveBayes().fit(MIXED.lazy(), Y).families_ == NaiveBayes().fit(MIXED, Y).families_
    with pytest.raises(DataError, match="one name"):
        NaiveBayes().fit(pd.DataFrame(np.ones((4, 2)), columns=["a", "a"]), [0, 0, 1, 1])


@pytest.mark.parametrize("scale", [1e-150, 1e-10, 1e150])
def test_units_do_not_matter(scale):
    assert (
        GaussianNB().fit(REAL * scale, Y).predict(REAL * scale).tolist()
        == GaussianNB().fit(REAL, Y).predict(REAL).tolist()
    )


def test_a_column_of_counts_may_be_zero_in_all_rows_of_a_fit() -> None:
    """As in a fold of a table, where the one larger count is held out: it is a value not seen, not an error."""
    X = np.column_stack([np.zeros(50), np.arange(50) % 5]).astype(float)
    y = np.arange(50) % 2
    model = NaiveBayes(families=("count", "count")).fit(X, y)
    p = model.predict_proba(np.array([[0.0, 1.0], [2209.0, 1.0]]))
    assert np.allclose(p.sum(axis=1), 1.0)


@pytest.mark.parametrize("family", ["auto", "gaussian", "student_t", "kde"])
def test_sizes_of_cells_and_of_weights_do_not_matter(family):
    """Neither overflow nor underflow: cells of 1e±140 and less, rows that weigh 1e200 or next to nothing."""
    X = rng.normal(size=(40, 2)) + 3.0
    y = np.repeat([0, 1], 20)
    split = NaiveBayes(family).fit(X, y).predict_distribution(X).epistemic
    for scale in (1e-200 if family == "kde" else 1e-100, 1e140):
        scaled = NaiveBayes(family).fit(X * scale, y).predict_distribution(X * scale)
        np.testing.assert_allclose(scaled.epistemic, split, rtol=1e-5, atol=1e-9)
    for weight in (1e-200, 1e200):
        p = NaiveBayes(family).fit(X, y, sample_weight=np.full(40, weight)).predict_distribution(X)
        assert np.all(np.isfinite(p.epistemic))
        assert np.all(p.epistemic >= 0.0)


def test_huge_codes_are_names():
    codes = np.array([[0, 10**12], [1, 10**12], [0, 5], [1, 10**15]])
    for X in (codes, codes.astype(float)):
        model = CategoricalNB().fit(X, [0, 0, 1, 1])
        assert model.categories_[0] is None
        assert model.categories_[1].tolist() == [5, 10**12, 10**15]
        np.testing.assert_allclose(model.predict_joint_log_proba(X), CategoricalNB().fit(
            X.astype(int).astype(str), [0, 0, 1, 1]).predict_joint_log_proba(X.astype(int).astype(str)))  # fmt: skip


def test_batches_after_the_first_keep_its_families():
    X = np.r_[np.arange(5), rng.poisson(40, 195)][:, None]
    y = np.arange(200) % 2
    first = NaiveBayes().partial_fit(X[:5], y[:5], classes=[0, 1])
    chosen = first.families_
    assert first.partial_fit(X[5:], y[5:]).families_ == chosen
    whole = NaiveBayes(list(chosen)).fit(X, y)
    np.testing.assert_allclose(first.predict_proba(X), whole.predict_proba(X), rtol=1e-9)


def test_cells_that_no_class_can_have_are_told_and_say_nothing_of_the_class():
    """0 in a log-normal column, −1 or ½ where counts are: density 0, and classes by the other columns."""
    draws = np.random.default_rng(4)
    y = np.repeat([0, 1], 100)
    X = np.column_stack([np.exp(draws.normal(y)), draws.poisson(30 + 5 * y), draws.normal(y)])
    model = NaiveBayes(["log_normal", "poisson", "gaussian"]).fit(X, y)
    for j, cell in ((0, 0.0), (0, -1.0), (1, -1.0), (1, 30.5)):
        row, gap = X[:2].copy(), X[:2].copy()
        row[1, j], gap[1, j] = cell, np.nan
        with pytest.warns(ModelWarning, match=r"1 row\(s\), the first of them row 1, .* in x[01] \("):
            p = model.predict_proba(row)
        np.testing.assert_allclose(p, model.predict_proba(gap), rtol=1e-12)
        with pytest.warns(ModelWarning):
            density, joint = model.log_prob(row), model.log_prob(row, 1)
        assert np.isfinite(density[0])
        assert density[1] == joint[1] == -np.inf
        with pytest.raises(DataError):
            NaiveBayes(["log_normal", "poisson", "gaussian"]).fit(row, [0, 1])


def test_families_hold_the_cells_of_rows_without_a_label_too():
    draws = np.random.default_rng(5)
    y = np.arange(60) % 2
    X = np.exp(draws.normal(y[:, None], 1.0, (60, 3)))
    X[40:, 1], X[40:, 2] = -X[40:, 1], 0.0
    some = np.where(np.arange(60) < 30, y.astype(float), np.nan)
    model = NaiveBayes().fit(X, some)
    assert model.families_[0] == "log_normal"
    assert model.families_[1] in ("gaussian", "student_t")
    assert model.families_[2] == "hurdle"
    labelled = NaiveBayes().fit(X[:30], y[:30])
    assert labelled.families_ == ("log_normal",) * 3


def test_families_of_a_source_hold_the_cells_of_all_its_blocks():
    draws = np.random.default_rng(6)
    n = 300_000  # every other row or fewer is looked at
    y = np.arange(n) % 2
    X = np.exp(draws.normal(y[:, None], 1.0, (n, 1)))
    X[1] = 0.0
    model = NaiveBayes().fit(ArraySource(X, y), None)
    assert model.families_ == ("hurdle",)
