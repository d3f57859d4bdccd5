"""Bradley–Terry by `PreferenceGP` against maximum likelihood, MAP and quasi-Monte-Carlo: `make reference DATA=...`.

NAME.reference.json holds, for abilities ~ N(0, 1) and logit P(i beats j) = ability_i − ability_j, the mode,
Laplace's sds and evidence, and the posterior's means, sds and log evidence by 4 × 32,768 lattice points. Noise of a
choice is an sd here, π/√6 of the Gumbel's unit scale; the kernel is the identity, kept as it is.
"""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest

import credo as cr

DATA = Path(os.environ["CREDO_REFERENCE_DATA"]) / "preference"
UNIT = float(np.pi / np.sqrt(6.0))

#: file → winner's and loser's columns; column of counts → whether the first of the two won, None for a tie (half each)
COUNTS = {
    "baseball_1987": ("home.team", "away.team", {"home.wins": True, "away.wins": False}),
    "journal_citations": ("player1", "player2", {"win1": True, "win2": False}),
    "pudding_ties": ("i", "j", {"w_ij": True, "w_ji": False, "t_ij": None}),
    "springall_flavour": ("row", "col", {"win.adj": True, "loss.adj": False}),
    "tone_mapping_pairwise": ("condition_A", "condition_B", {"is_A_selected": True}),
}


def history_of(name):
    with (DATA / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    first, second, columns = COUNTS[name]
    items = sorted({row[side] for row in rows for side in (first, second)})
    history = cr.Preferences(items)
    for row in rows:
        a, b = row[first], row[second]
        for column, won in columns.items():
            count = float(row[column])
            if name == "tone_mapping_pairwise":  # one outcome a row
                history = history.with_duel(*((a, b) if count else (b, a)))
            elif won is None:
                history = history.with_duels([a, b], [b, a], counts=[count / 2, count / 2])
            else:
                history = history.with_duel(*((a, b) if won else (b, a)), count=count)
    return history, json.loads((DATA / f"{name}.reference.json").read_text())


def model(inference):
    return cr.PreferenceGP(noise=UNIT, link="logit", inference=inference, optimizer=None)


def fitted(name, inference):
    history, reference = history_of(name)
    # the default kernel starts at the noise's variance; the reference's abilities have variance 1
    similarity = np.eye(len(history.items)) / UNIT**2
    estimator = model(inference).set_params(kernel="precomputed")
    return estimator.fit(history, similarity), reference


@pytest.mark.parametrize("name", COUNTS)
def test_laplace_is_the_mode_and_its_curvature(name):
    fit, reference = fitted(name, "laplace")
    stated = reference["map_normal_prior_sd_1"]
    p = fit.predict_distribution()
    for i, item in enumerate(fit.history_.items):
        assert p.mean[i] == pytest.approx(stated["map"][item], abs=1e-6)
        assert p.sd[i] == pytest.approx(stated["laplace_sd"][item], abs=1e-6)
    assert fit.log_evidence_ == pytest.approx(stated["laplace_log_evidence"], abs=1e-6)


@pytest.mark.parametrize("name", COUNTS)
def test_expectation_propagation_is_the_posterior(name, record_property):
    fit, reference = fitted(name, "ep")
    stated = reference["posterior_normal_prior_sd_1"]
    p = fit.predict_distribution()
    mean = np.array([stated["mean"][item] for item in fit.history_.items])
    sd = np.array([stated["sd"][item] for item in fit.history_.items])
    worst = float(np.max(np.abs(p.mean - mean) / sd))
    record_property("worst mean, sds", worst)
    record_property("worst sd, relative", float(np.max(np.abs(p.sd / sd - 1.0))))
    record_property("log evidence", fit.log_evidence_ - stated["log_evidence"])
    # EP's own error on some hundred to thousands of logistic terms: a hundredth of an sd, of an sd's size, of a nat;
    # the reference's are below 6e-4.
    assert worst < 0.01
    np.testing.assert_allclose(p.sd, sd, rtol=0.01)
    assert fit.log_evidence_ == pytest.approx(stated["log_evidence"], abs=0.01)


@pytest.mark.parametrize("name", COUNTS)
def test_a_vague_prior_is_maximum_likelihood(name):
    history, reference = history_of(name)
    stated = reference["maximum_likelihood"]
    vague = 1e6 * np.eye(len(history.items)) / UNIT**2
    fit = model("laplace").set_params(kernel="precomputed").fit(history, vague)
    base = fit.predict(stated["reference_item"])
    others = list(stated["estimates"])
    duel = fit.duel(others, [stated["reference_item"]] * len(others))
    np.testing.assert_allclose(fit.predict(others) - base, list(stated["estimates"].values()), atol=1e-4)
    np.testing.assert_allclose(np.sqrt(duel.variance), list(stated["std_errors"].values()), rtol=1e-3)
