"""Pictures of mixtures: what the ellipses hold, what the directions are, and the criterion."""

import numpy as np
import pytest

import credo as cr
from credo.errors import DataError
from credo.models.mixture import choose_components
from credo.plots import bound, criterion, draw, ellipses


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(0, 1, (300, 4)), rng.normal([0, 6, 0, 3], [1, 2, 1, 1], (200, 4))])


def test_ellipses_hold_their_mass(rows):
    """Shares of 300 and 200 rows within 4 standard errors: a false alarm in 10,000 runs."""
    model = cr.GaussianMixture(2, random_state=0).fit(rows[:, :2])
    figure = ellipses(model, rows[:, :2], ("a", "b"))
    assert (figure.x, figure.y) == ("a", "b")
    for k in range(2):
        mine = rows[:, :2][model.predict(rows[:, :2]) == k]
        deviation = mine - model.means_[k]
        inside = np.einsum("ni,ij,nj->n", deviation, model.precisions_[k], deviation) <= -2.0 * np.log(0.1)
        assert inside.mean() == pytest.approx(0.9, abs=4 * 0.3 / np.sqrt(len(mine)))
        on = figure.outlines[k] - model.means_[k]
        distance = np.einsum("ni,ij,nj->n", on, model.precisions_[k], on)
        np.testing.assert_allclose(distance, -2.0 * np.log(0.1), rtol=1e-8)


def test_the_plane_is_the_one_that_separates(rows):
    figure = ellipses(cr.GaussianMixture(2, random_state=0).fit(rows), rows, ("a", "b", "c", "d"))
    assert figure.x.startswith(("more", "less"))
    assert "b" in figure.x
    assert "d" in figure.x
    apart = np.abs(figure.centres[0] - figure.centres[1])
    assert apart[0] > 3.0
    assert apart[1] < 1e-6 * apart[0]  # two components differ in one direction


def test_missing_cells_and_one_column(rows):
    holed = rows.copy()
    holed[::7, 1] = np.nan
    model = cr.GaussianMixture(2, random_state=0).fit(holed)
    assert np.isfinite(ellipses(model, holed).rows).all()
    with pytest.raises(DataError, match="two or more"):
        ellipses(cr.GaussianMixture(2, random_state=0).fit(rows[:, :1]), rows[:, :1])


def test_everything_draws(rows):
    pytest.importorskip("matplotlib")
    found = choose_components(rows[:, 1:2], range(1, 4), covariance_types=("full", "tied"), random_state=0)
    figures = [
        criterion(found.record),
        bound(found.best),
        ellipses(cr.GaussianMixture(6, random_state=0).fit(rows), rows),
    ]
    assert figures[0].best[0] == found.record.best.n_components
    for figure in figures:
        assert draw(figure).get_title(loc="left") == figure.chart().title
