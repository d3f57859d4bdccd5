"""The report of a study: what it says first, and pages that are whole whatever happened."""

from __future__ import annotations

import functools
import io
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from rich.console import Console

import credo as cr
from credo.errors import ParameterError
from credo.plots.trials import objective_belief
from credo.reports.study import StudyReport, study_report
from credo.reports.study_left import Left, _by_noisy_trial, left_to_gain
from credo.reports.study_page import study_html, write_study_html
from credo.reports.study_terminal import study_lines
from tests.plots import study_samples as samples


@functools.cache
def reported(name: str) -> StudyReport:
    return study_report(samples.STUDIES[name]())


class Tags(HTMLParser):
    VOID = ("meta", "rect", "path", "br")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.names: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.names += [value or "" for name, value in attrs if name == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.mark.parametrize("name", samples.STUDIES)
def test_pages_are_well_formed_and_alone(name: str) -> None:
    page = study_html(reported(name))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert len(set(tags.names)) == len(tags.names)
    assert "script" not in tags.seen
    assert "http" not in page
    text = re.sub(r"<[^>]+>", " ", page)
    assert not re.search(r"\bnan\b|\bNone\b(?!.*=)|e\+0", text.replace("noisy=None", ""))


@pytest.mark.parametrize("name", samples.STUDIES)
def test_they_are_data_and_lines_too(name: str) -> None:
    report = reported(name)
    assert json.loads(json.dumps(report.to_json()))["lead"] == report.lead
    out = Console(file=io.StringIO(), width=100)
    for line in study_lines(report):
        out.print(line, markup=False)
    assert report.lead[:40] in out.file.getvalue()  # type: ignore[attr-defined]


def test_the_first_sentence_says_what_to_do() -> None:
    best = samples.line().best
    assert reported("line").lead.startswith(f"Take x = {best['x']:.4g}: value {best.value:.4g} (trial {best.id}). ")
    assert "hardly worth going on" in reported("line").lead
    noisy = reported("noisy")
    assert re.search(r"value -?\d\.\d+ ± 0\.\d+ \(trial \d+\)", noisy.lead)
    assert dict(noisy.facts)["noise (sd)"].startswith("0.")
    assert reported("two").lead.startswith("Choose among")
    assert reported("failed").lead == (
        "No trial has a value yet (6 failed). Mend this first: no such file: <train.csv> (6 times)."
    )
    assert "cannot be told" in reported("once").lead
    assert reported("unasked").lead.startswith("Nothing was asked yet")


def test_what_happened_is_told() -> None:
    report = reported("mixed")
    page = study_html(report)
    assert "<network>" not in page
    assert "a &lt;network&gt;: what was found" in page
    assert "no &lt;memory&gt;: 40 layers" in page
    assert "After 45 trials layers was narrowed to 1 to 30." in page
    assert "Note: 30 layers &amp; no more" in page
    states = {state: n for state, _, n, _ in report.failures}
    assert states == {
        "failed": len([t for t in samples.mixed().records if t.state == "failed"]),
        "pruned": states["pruned"],
    }
    assert report.best is not None
    assert report.table[0].id == report.best["trial"] == samples.mixed().best.id
    values = [row.values[0] for row in report.table]
    assert values == sorted(values)
    assert {row.id for row in report.table} | {row.id for row in report.others} == set(range(60))


def test_only_trials_that_meet_the_constraints_are_recommended() -> None:
    report = reported("limited")
    assert report.best is not None
    assert report.best["params"]["x"] >= 0.5
    assert all(row.params["x"] >= 0.5 for row in report.table)
    assert report.left is not None
    assert report.left.everything < report.best["value"] - 0.4  # below ½ of x nothing counts


def test_what_is_not_known_is_said() -> None:
    page = study_html(reported("once"))
    assert "1 trial with a value; fewer than 8 say nothing." in page
    assert reported("once").left is None
    assert reported("failed").absent == {}


def test_two_objectives_may_be_named() -> None:
    space = cr.Space(x=cr.Real(0, 1), z=cr.Real(0, 1))
    few = samples.studied(space, lambda p: (p["x"], p["z"] - p["x"]), 6, direction=("minimize", "maximize"))
    report = study_report(few, outcome=("time", "quality"))
    page = study_html(report)
    assert "time, lower is better" in page
    assert "quality, higher is better" in page
    assert "objective 1" not in page
    with pytest.raises(ParameterError, match="2 objectives"):
        study_report(samples.two(), outcome="time")


def test_many_trials_and_parameters() -> None:
    report = study_report(samples.many())
    page = study_html(report)
    assert len(page) < 900_000
    assert len(report.slices) == 12
    assert "of 13 parameters the 12 that matter most" in page.replace("Of", "of")
    assert report.n_trials == 210


def test_the_code_makes_the_same_study() -> None:
    for name in ("mixed", "noisy", "two", "line"):
        code, names = reported(name).code.rsplit("\n", 1)[0], {}
        exec(code, names)
        again, first = names["study"], samples.STUDIES[name]()
        assert again.events()[0].data == first.events()[0].data


def test_the_page_is_written_whole(tmp_path) -> None:
    write_study_html(reported("line"), tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == study_html(reported("line"))


def test_functions_of_a_space_are_named() -> None:
    def fits(p):
        return p["x"] < 3

    study = cr.Study(cr.Space(x=cr.Real(0, 4), constraints=fits), random_state=0)
    assert "constraints=[test_functions_of_a_space_are_named.<locals>.fits]" in study_report(study).code


# -- what is left to gain ------------------------------------------------------------------------------------------


def test_far_values_among_noisy_ones_promise_nothing_absurd() -> None:
    """With a warp of negative power, draws of the belief once promised gains of 10¹² in a study of values within 60."""
    study, rng = (
        cr.Study(cr.Space(x=cr.Real(0, 1), y=cr.Real(0, 1)), noisy=True, random_state=0),
        np.random.default_rng(3),
    )
    for x, y in rng.random((24, 2)):
        near = np.hypot(x - 0.3, y - 0.6)
        study.record({"x": x, "y": y}, 60.0 * near**6 / 0.3 + 2.0 * near**2 + 0.05 * rng.normal())
    belief = objective_belief(study)
    assert belief.surrogate.outcomes.power < 0.0
    left = left_to_gain(belief, study.best.params)
    values = study.trials["value"].to_numpy()
    assert left.next <= left.everything < np.ptp(values)
    assert left.verdict != "go on"
    _, low, high = belief.interval(belief.space.design(64, rng), 0.9)
    assert np.all(high - low < 6.0 * np.ptp(values))


@pytest.mark.parametrize(("again", "scale"), [(3.0, 1.0), (0.5, 1.0), (1e-4, 1.0), (0.0, 1.0)])
def test_the_share_told_agrees_with_the_number(again: float, scale: float) -> None:
    said = Left(again, again, scale, 10).sentence
    assert ("more than what separates" in said) == (again > scale)
    assert ("50 % of what" in said.replace("\u202f", " ").replace("\xa0", " ")) == (again == 0.5)


def test_little_is_left_where_the_objective_is_known_and_much_where_it_is_not() -> None:
    known = left_to_gain(samples.believed("line"), samples.line().best.params)
    assert known.verdict == "stop"
    assert known.scale == pytest.approx(1.0, rel=0.1)  # (x − 2)² at the middle of its values over [0, 4]: 1

    study = cr.Study(cr.Space(x=cr.Real(0, 4)), random_state=0)
    for x in (0.0, 0.3, 0.6, 0.9, 1.2):
        study.record({"x": x}, -(x**1.5))
    open_ended = left_to_gain(objective_belief(study), study.best.params)
    assert open_ended.verdict == "go on"
    assert 0 < open_ended.next <= open_ended.everything
    assert open_ended.next > 0.2


def test_a_point_that_was_not_the_best_leaves_the_difference() -> None:
    belief = samples.believed("line")
    left = left_to_gain(belief, {"x": 3.5})
    np.testing.assert_allclose([left.next, left.everything], 2.25, rtol=0.02)


def test_a_noisy_trial_brings_less() -> None:
    """Against simulation: draw f at both points, a noisy value at one, and act on the posterior means.

    Two uncorrelated points, N(0, 1) and N(0.3, 1), noise of sd 0.8; 4·10⁵ draws leave a standard error of 0.001.
    """
    rng = np.random.default_rng(0)
    here, there = rng.standard_normal(400_000), 0.3 + rng.standard_normal(400_000)
    told = there + 0.8 * rng.standard_normal(there.size)
    mean = 0.3 + (told - 0.3) / (1 + 0.8**2)
    simulated = float(np.mean(here - np.where(mean < 0.0, there, here)))

    class Belief:
        noise_sd = 0.8

    found = _by_noisy_trial(Belief(), np.vstack([here, there]))  # type: ignore[arg-type]
    np.testing.assert_allclose(found, simulated, atol=0.004)
