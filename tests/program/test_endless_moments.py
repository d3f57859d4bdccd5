"""Posterior means that do not exist are not printed; and where they do, nothing is said."""

import numpy as np
import pytest

import credo as cr


def one_row_of_unknown_sd():
    """mu given one row of half-Cauchy sd: p(mu) falls like log |mu|/mu²."""
    m = cr.Model()
    mu, s = m.latent("mu", cr.Normal(0, 1e9)), m.latent("s", cr.HalfCauchy(5))
    m.observed("y", cr.Normal(mu, s), [1.0])
    return m.fit(random_state=0)


def test_a_mean_that_does_not_exist_is_nan_with_a_note():
    table = one_row_of_unknown_sd().summary()
    assert np.isnan(table["mu"]["mean"])
    assert np.isnan(table["mu"]["sd"])
    assert np.isfinite([table["mu"][name] for name in ("q50", "lower", "upper", "rhat")]).all()
    assert any(note.startswith("mu may not have a mean or sd") for note in table.notes)
    assert str(table).splitlines()[-1].startswith("s may not have")


def test_moments_that_exist_are_printed():
    m = cr.Model()
    mu, s = m.latent("mu", cr.Normal(0, 10)), m.latent("s", cr.HalfCauchy(5))
    m.observed("y", cr.Normal(mu, s), np.arange(12.0))
    table = m.fit(random_state=0).summary()
    assert not table.notes
    assert np.isfinite(table.columns["sd"]).all()


def test_entries_are_counted():
    m = cr.Model()
    s = m.latent("s", cr.HalfCauchy(1.0), shape=3)
    m.observed("y", cr.Normal(0.0, s[0]), np.arange(9.0))
    notes = m.fit(random_state=0).summary().notes
    assert len(notes) == 1
    assert "in 2 of 3 entries" in notes[0]


@pytest.mark.parametrize("kind", ["LinAlgError", "NotIdentifiedError"])
def test_a_failure_of_the_arithmetic_is_no_fault_of_the_data(kind, monkeypatch):
    """SBC says which of the two it was."""
    from credo.program.check import simulations

    real, calls = simulations.fit_model, []

    def failing(model, *rest):
        calls.append(0)
        if len(calls) % 3 == 0:
            raise np.linalg.LinAlgError("singular") if kind == "LinAlgError" else cr.errors.NotIdentifiedError("flat")
        return real(model, *rest)

    monkeypatch.setattr(simulations, "fit_model", failing)
    m = cr.Model()
    m.observed("y", cr.Normal(m.latent("mu", cr.Normal(0, 1)), 1.0), [0.3, 0.4])
    said = [f for f in m.check(sbc=20, random_state=0).findings if "failed" in f.what]
    assert len(said) == 1
    assert ("not the data" in said[0].remedy) == (kind == "LinAlgError")


def test_a_singular_matrix_is_an_error_with_a_remedy(monkeypatch):
    from credo.program import fitting

    def broken(*_):
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(fitting, "_carried_out", broken)
    m = cr.Model()
    m.observed("y", cr.Normal(m.latent("mu", cr.Normal(0, 1)), 1.0), [0.3])
    with pytest.raises(cr.errors.NumericalError, match="could not be factored"):
        m.fit()
