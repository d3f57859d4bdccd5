"""How many components: the record of the comparison, its criteria, and `n_components="auto"`."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import credo.saving
from credo.blocks import ArraySource
from credo.errors import ParameterError
from credo.models.mixture import GaussianMixture, choose_components


def three(n=60):
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(c, 1, (n, 2)) for c in ([0, 0], [9, 0], [0, 9])])


@pytest.mark.parametrize("criterion", ["bic", "icl", "cv"])
def test_every_criterion_finds_three_far_apart(criterion):
    found = choose_components(three(), range(1, 6), criterion=criterion, random_state=0)
    record = found.record
    assert record.best.n_components == len(found.best.weights_) == 3
    assert [score.n_components for score in record.scores] == [1, 2, 3, 4, 5]
    assert (record.best.log_score is not None) == (criterion == "cv")
    assert record.best.bic == pytest.approx(found.best.bic(three()))
    assert record.best.icl >= record.best.bic


def test_covariance_types_are_compared_too():
    found = choose_components(three(), range(2, 5), covariance_types=("full", "spherical"), random_state=0)
    assert found.best.covariance_type == found.record.best.covariance_type == "spherical"
    assert len(found.record.scores) == 6


def test_auto_stops_three_sizes_after_the_best_and_is_saved(tmp_path):
    X = three()
    model = GaussianMixture("auto", random_state=0).fit(X)
    assert len(model.weights_) == 3
    assert len(model.choice_.scores) == 6
    assert model.n_components == "auto"
    credo.saving.save(model, tmp_path / "m.credo")
    assert credo.saving.load(tmp_path / "m.credo").choice_.best.n_components == 3


def test_names_of_columns_are_kept():
    frame = pl.DataFrame(three(), schema=["a", "b"])
    model = GaussianMixture("auto", random_state=0).fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert model.condition("a", [[0.0]]).shape == (1, 1)


def test_weights_count_rows():
    X = three()
    weights = np.tile([1, 2, 0], len(X) // 3)
    weighed = GaussianMixture(2, random_state=0).fit(X, sample_weight=weights)
    assert weighed.icl(X, weights) == pytest.approx(weighed.icl(np.repeat(X, weights, axis=0)))


def test_refusals():
    with pytest.raises(ParameterError, match="criterion"):
        choose_components(three(), criterion="dic")
    with pytest.raises(ParameterError, match="in memory"):
        choose_components(ArraySource(three()))
    with pytest.raises(ParameterError, match="at least one size"):
        choose_components(three(), [])
    with pytest.raises(ParameterError, match="cv"):
        choose_components(three(), criterion="cv", cv=1)
