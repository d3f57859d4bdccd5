"""What is learned from and what is scored."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import DataError, ParameterError
from credo.selection import make_splits


def rng():
    return np.random.default_rng(0)


@given(st.integers(2, 60), st.integers(2, 9))
def test_folds_partition_the_rows(n, k):
    splits = make_splits(n, k, rng())
    scored = np.concatenate([test for _, test in splits])
    assert sorted(scored) == list(range(n))
    assert all(sorted([*train, *test]) == list(range(n)) for train, test in splits)
    sizes = np.bincount(splits.blocks)
    assert sizes.max() - sizes.min() <= 1


@given(st.lists(st.sampled_from("abc"), min_size=6, max_size=60))
def test_classes_are_spread_evenly(labels):
    splits = make_splits(len(labels), 3, rng(), classes=labels)
    for label in set(labels):
        counts = np.bincount(splits.blocks[np.array(labels) == label], minlength=3)
        assert counts.max() - counts.min() <= 1


@given(st.lists(st.integers(0, 8), min_size=4, max_size=60).filter(lambda g: len(set(g)) > 1), st.integers(2, 6))
def test_groups_stay_together(groups, k):
    groups = np.array(groups)
    splits = make_splits(groups.size, k, rng(), groups=groups)
    assert all(not set(groups[train]) & set(groups[test]) for train, test in splits)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(groups.size))


def test_groups_are_balanced():
    groups = np.repeat(np.arange(10), [40, 1, 1, 1, 1, 1, 1, 1, 1, 32])
    sizes = np.bincount(make_splits(80, 2, rng(), groups=groups).blocks)
    assert sizes.tolist() in ([40, 40],)


@given(st.lists(st.integers(0, 20), min_size=6, max_size=80), st.integers(2, 6))
def test_the_future_teaches_nothing(time, k):
    time = np.array(time)
    if np.unique(time).size < 3:
        return
    try:
        splits = make_splits(time.size, k, rng(), time=time)
    except DataError:  # nearly all rows of one moment
        return
    for train, test in splits:
        assert time[train].max() < time[test].min()


def test_blocks_in_time_are_even_and_dates_work():
    days = np.datetime64("2024-01-01") + np.random.default_rng(0).permutation(60)
    splits = make_splits(60, 5, rng(), time=days)
    assert np.bincount(splits.blocks).tolist() == [10] * 6
    assert len(splits.rounds) == 5
    assert np.array_equal(splits.units, splits.blocks)


def test_errors():
    with pytest.raises(ParameterError, match="groups"):
        make_splits(4, 2, rng(), groups=[0, 0, 1, 1], time=[1, 2, 3, 4])
    with pytest.raises(DataError, match="two groups"):
        make_splits(4, 2, rng(), groups=[1, 1, 1, 1])
    with pytest.raises(DataError, match="three different moments"):
        make_splits(4, 2, rng(), time=[1, 1, 2, 2])
    with pytest.raises(DataError, match="missing"):
        make_splits(3, 2, rng(), time=[1.0, np.nan, 2.0])
    with pytest.raises(DataError, match="one entry per row"):
        make_splits(4, 2, rng(), groups=[1, 2])
    for k in (1, 2.0, True):
        with pytest.raises(ParameterError, match="cv"):
            make_splits(4, k, rng())
