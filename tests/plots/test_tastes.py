"""Pictures of a taste: what they hold is what `design.tastes` says."""

import numpy as np
import pytest

import credo as cr
from credo.design.tastes import Best, believe_taste
from credo.errors import ParameterError
from credo.plots.tastes import liking_over_answers, taste_maps, taste_slices
from credo.reports.svg import svg


@pytest.fixture(scope="module")
def told():
    """A space of every kind of parameter, answers of a person who wants x = 0.3 and soft, and the belief."""
    space = cr.Space(x=cr.Real(0, 1), rate=cr.Real(1, 100, log=True), look=cr.Choice(["soft", "hard"]),
                     edge=cr.Real(0, 1, when={"look": "hard"}))  # fmt: skip
    rng = np.random.default_rng(0)
    answers = []
    for _ in range(6):
        shown = space.sample(4, rng)
        answers.append(Best(max(shown, key=lambda p: (p["look"] == "soft") - 4 * abs(p["x"] - 0.3)), shown))
    return space, answers, believe_taste(space, answers, rng=rng)


def test_the_best_so_far_is_the_largest_liking_until_then(told):
    _, answers, belief = told
    figure = liking_over_answers(belief, [(each.shown, each.chosen) for each in answers])
    expected = [belief.liking([p for each in answers[:n] for p in each.shown])[0].max() for n in range(1, 7)]
    np.testing.assert_allclose(figure.best, expected, rtol=1e-9)
    assert figure.chosen.sum() == 6
    assert figure.answer.tolist() == np.repeat(range(1, 7), 4).tolist()
    assert svg(figure.chart(), "t").startswith("<svg")
    assert liking_over_answers(belief, [(answers[0].shown, None)]).chosen.sum() == 0
    with pytest.raises(ParameterError, match="rounds"):
        liking_over_answers(belief, [])


def test_slices_are_of_what_matters_there_and_hold_the_point(told):
    _, _, belief = told
    at = {"x": 0.3, "rate": 10.0, "look": "soft"}
    figures = {figure.name: figure for figure in taste_slices(belief, at)}
    assert set(figures) == {"x", "rate", "look"}  # edge does not matter where it is soft
    swing = [np.ptp(figure.middle) for figure in taste_slices(belief, at)]
    assert swing == sorted(swing, reverse=True)
    look = figures["look"]
    assert look.levels is not None
    assert look.levels[int(look.at)] == "soft"
    assert figures["rate"].is_logarithmic
    np.testing.assert_allclose(look.middle[int(look.at)], belief.liking([at])[0][0], rtol=1e-9)
    for figure in figures.values():
        assert "liking" in figure.description.lower() or figure.name in figure.description
        assert svg(figure.chart(), "t").startswith("<svg")


def test_maps_have_the_first_parameter_to_the_right(told):
    _, answers, belief = told
    at = {"x": 0.3, "rate": 10.0, "look": "soft"}
    liking, doubt = taste_maps(belief, "x", "rate", at, answers[0].shown)
    for j, i in ((0, 3), (20, 7)):
        mean, sd = belief.liking([{**at, "x": liking.x[i], "rate": liking.y[j]}])
        np.testing.assert_allclose([liking.values[j, i], doubt.values[j, i]], [mean[0], sd[0]], rtol=1e-9)
    assert liking.log == (False, True)
    assert liking.rows is not None
    assert liking.rows[:, 1].max() <= 2.0
    assert all(svg(figure.chart(), "t").startswith("<svg") for figure in (liking, doubt))
    with pytest.raises(ParameterError, match="number"):
        taste_maps(belief, "x", "look", at)
