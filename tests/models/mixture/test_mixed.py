"""`MixedMixture` against densities written out, and a table's clusters."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

import credo as cr
from credo.blocks.array import ArraySource
from credo.errors import DataError, DataWarning, ParameterError
from credo.models.mixture import MixedMixture, choose_components
from credo.models.mixture.columns import MixtureColumns, resolution
from credo.models.mixture.table import fit_clusters
from credo.tables import Encoder, open_table
from tests.models.mixture.samples import TYPES, matrices


def mixed(n=400, seed=0, holes=0.0):
    """Three clusters over two numbers and a category, with a category that says nothing; and their labels."""
    rng = np.random.default_rng(seed)
    z = rng.integers(3, size=n)
    numbers = rng.normal(size=(n, 2)) + np.array([[0, 0], [4, 0], [0, 4]])[z]
    told = np.where(rng.random(n) < 0.8, z, rng.integers(3, size=n))
    X = np.column_stack([numbers, told, rng.integers(2, size=n)]).astype(float)
    return np.where(rng.random(X.shape) < holes, np.nan, X), z


def by_hand(model, X):
    total = []
    for x in X:
        seen = ~np.isnan(x[:2])
        each = []
        for k, (w, m, S) in enumerate(
            zip(model.weights_, model.numbers_.means_, matrices(model.numbers_), strict=True)
        ):
            p = w * (stats.multivariate_normal(m[seen], S[np.ix_(seen, seen)]).pdf(x[:2][seen]) if seen.any() else 1.0)
            for j, theta in enumerate(model.probabilities_):
                p *= 1.0 if np.isnan(x[2 + j]) else theta[k, int(x[2 + j])]
            each.append(p)
        total.append(np.log(sum(each)))
    return np.array(total)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("holes", [0.0, 0.2])
def test_densities_are_those_of_the_formula(kind, holes):
    X, _ = mixed(holes=holes)
    model = MixedMixture(3, categories=[2, 3], covariance_type=kind, random_state=0).fit(X)
    np.testing.assert_allclose(model.score_samples(X[:60]), by_hand(model, X[:60]), rtol=1e-9)
    assert np.all(np.diff(model.lower_bounds_) > -1e-6)
    assert model.converged_


def test_memberships_use_both_kinds_of_columns():
    X, z = mixed()
    both = MixedMixture(3, categories=[2, 3], random_state=0).fit(X)
    found = both.predict(X)
    agreement = sum(np.bincount(z[found == k]).max() for k in range(3)) / len(z)
    assert agreement > 0.95
    np.testing.assert_allclose(both.predict_proba(X).sum(axis=1), 1.0)


def test_weights_are_repeated_rows_and_partitions_do_not_matter():
    X, _ = mixed(120)
    weights = np.random.default_rng(1).integers(1, 4, len(X))
    how = {"n_components": 2, "categories": [2, 3], "n_init": 1, "random_state": 0, "tol": 1e-9, "max_iter": 500}
    source = [
        MixedMixture(**how).fit(ArraySource(X, sample_weight=weights, block_rows=rows)).lower_bound_
        for rows in (7, 120)
    ]
    assert source[0] == pytest.approx(source[1], rel=1e-9)
    start = MixedMixture(**how).fit(X)
    weighted, repeated = MixedMixture(**how, warm_start=True), MixedMixture(**how, warm_start=True)
    for model in (weighted, repeated):
        vars(model).update({name: value for name, value in vars(start).items() if name.endswith("_")})
    weighted.fit(X, sample_weight=weights)
    repeated.fit(np.repeat(X, weights, axis=0))
    assert weighted.lower_bound_ == pytest.approx(repeated.lower_bound_, rel=1e-9)


def test_bic_finds_three_and_not_the_levels_of_a_category():
    X, _ = mixed()
    found = choose_components(X, range(1, 5), estimator=MixedMixture(categories=[2, 3], random_state=0))
    assert found.record.best.n_components == 3


def test_a_category_never_seen_says_nothing(tmp_path):
    X, _ = mixed()
    model = MixedMixture(3, categories=[2, 3], random_state=0).fit(X)
    new, unknown = X[:5].copy(), X[:5].copy()
    new[:, 3], unknown[:, 3] = 9.0, np.nan
    np.testing.assert_array_equal(model.predict_proba(new), model.predict_proba(unknown))
    cr.save(model, tmp_path / "m.credo")
    np.testing.assert_array_equal(cr.load(tmp_path / "m.credo").predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(
    ("categories", "X", "error", "match"),
    [
        ([], None, ParameterError, "GaussianMixture"),
        ([0, 1, 2, 3], None, ParameterError, "CategoricalMixture"),
        ([4], None, ParameterError, "0 to 3"),
        ([2, 2], None, ParameterError, "different"),
        ([0], None, DataError, "code of a category"),
        ([2], "hole", DataError, "x3"),
    ],
)
def test_refusals(categories, X, error, match):
    rows, _ = mixed(50)
    if X == "hole":
        rows[:, 3] = np.nan
    with pytest.raises(error, match=match):
        MixedMixture(2, categories=categories).fit(rows)


# -- tables ------------------------------------------------------------------------------------------------------


def people(n=240, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(2, size=n)
    return pl.DataFrame(
        {
            "age": (rng.normal(0, 4, n) + np.array([25, 60])[z]).round(),
            "home": np.where(rng.random(n) < 0.9, np.array(["flat", "house"])[z], "farm").tolist(),
            "member": (rng.random(n) < 0.5).tolist(),
            "income": [
                None if rng.random() < 0.1 else v for v in (rng.normal(0, 5, n) + np.array([30, 60])[z]).round(1)
            ],
        }
    ), z


def test_a_table_s_clusters():
    frame, z = people()
    model = fit_clusters(open_table(frame), covariance="diag").model
    assert len(model) == 2
    labels = np.concatenate([part["cluster"].to_numpy() for part in model.assign(frame)])
    assert max(np.mean(labels - 1 == z), np.mean(2 - labels == z)) > 0.97
    first = model.cards[0]
    assert first.rows == np.sum(labels == 1) >= len(frame) / 2
    told = {trait.column: trait for trait in first.traits}
    ages = frame["age"].to_numpy()
    assert told["age"].value == pytest.approx(ages[labels == 1].mean(), abs=0.5)
    assert told["age"].overall == pytest.approx(ages.mean(), abs=0.1)
    assert told["home"].level in ("flat", "house")
    assert abs(told["member"].effect) < 0.2
    assert any("10" not in said and "missing" in said for said in model.decisions)


def test_columns_are_numbers_and_codes():
    frame, _ = people(30)
    encoder = Encoder(open_table(frame).schema, full=True).fit(open_table(frame))
    columns = MixtureColumns.of(encoder)
    assert [c.name for c in columns.numbers] == ["age", "income"]
    assert [c.name for c in columns.categories] == ["home", "member"]
    matrix = columns.matrix(encoder.transform(frame))
    home = np.array(columns.categories[0].levels)[matrix[:, 2].astype(int)]
    assert home.tolist() == frame["home"].to_list()
    assert matrix[:, 3].tolist() == [float(v) for v in frame["member"]]
    assert np.isnan(matrix[:, 1]).sum() == frame["income"].null_count()


def test_rounded_numbers_do_not_make_a_cluster_of_every_value():
    """Five values, each some 60 times: without a least width every value would be a cluster."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"rooms": rng.integers(1, 6, 300).astype(float), "size": rng.normal(80, 20, 300).round(1)})
    assert len(fit_clusters(open_table(frame), covariance="diag").model) <= 2
    with pytest.warns(DataWarning, match="collapsed"):
        free = choose_components(frame.to_numpy(), covariance_types=("diag",), random_state=0).record.best
    assert free.n_components >= 5
    assert resolution(frame["rooms"].to_numpy()) == 1.0
