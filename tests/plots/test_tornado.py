"""The tornado diagram of a network's sensitivity, and its page."""

import numpy as np
import pytest

import credo as cr
from credo import plots, reports
from credo.errors import DataError, ParameterError
from credo.plots.chart import Bars, Segments


def _network():
    return cr.BayesianNetwork(
        [("rain", "wet")],
        {"rain": {"no": 0.8, "yes": 0.2}, "wet": {"no": {"dry": 0.9, "wet": 0.1}, "yes": {"dry": 0.2, "wet": 0.8}}},
        name="<lawn>",
    )


def test_bars_are_the_answers_of_networks_with_that_number_changed():
    network = _network()
    figure = plots.tornado(network.sensitivity("rain", "yes", {"wet": "wet"}, share=0.2))
    assert figure.question == "P(rain=yes | wet=wet)"
    assert figure.answer == pytest.approx(0.16 / 0.24)
    for name, at in (("rain=yes", figure.low), ("wet=wet | rain=no", figure.high)):
        k = figure.names.index(name)
        rain = 0.16 if name == "rain=yes" else 0.2
        false = 0.12 if name != "rain=yes" else 0.1
        assert at[k] == pytest.approx(rain * 0.8 / (rain * 0.8 + (1 - rain) * false))
    widths = np.abs(figure.high - figure.low)
    assert np.all(np.diff(widths) <= 1e-12)
    bars = [mark for mark in figure.chart().marks if isinstance(mark, Bars)]
    base = next(mark for mark in figure.chart().marks if isinstance(mark, Segments))
    assert base.x0[0] == figure.answer
    for bar in bars:
        assert np.all((bar.x0 == figure.answer) | (bar.x1 == figure.answer))


def test_most_and_what_is_left_out():
    found = _network().sensitivity("rain", "yes", {"wet": "wet"})
    figure = plots.tornado(found, most=2)
    assert len(figure.names) == 2
    assert f"{figure.left_out} numbers that move it less" in figure.chart().description
    for most in (0, 1.5, True):
        with pytest.raises(ParameterError, match="most"):
            plots.tornado(found, most=most)
    with pytest.raises(ParameterError, match="sensitivity returns"):
        plots.tornado(list(found))
    with pytest.raises(DataError, match="No number"):
        plots.tornado(_network().sensitivity("rain", "yes", nodes=["wet"]))


def test_the_page_escapes_and_holds_everything():
    network = _network()
    found = network.sensitivity("rain", "yes", {"wet": "wet"})
    page = reports.sensitivity_html(found, network.name, network.picture({"wet": "wet"}).svg())
    assert page.count("<svg") == 2
    assert "&lt;lawn&gt;" in page
    assert "<lawn>" not in page.replace("&lt;lawn&gt;", "")
    assert "<script" not in page
    assert "wet=wet | rain=no" in page


def test_an_answer_keeps_its_question_printed():
    found = _network().sensitivity("rain", "yes")
    assert repr(found).splitlines()[1].startswith("P(rain=no) ")
    assert found.answer == pytest.approx(0.2)
