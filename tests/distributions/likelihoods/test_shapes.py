"""Every method of every likelihood gives one row, many rows and a table of rows the same numbers."""

import inspect

import numpy as np
import pytest

import credo.distributions.likelihoods as likelihoods
from credo.distributions.likelihoods import Likelihood

M = np.array([-1.3, -0.2, 0.0, 0.4, 1.1, 2.0])
V = np.array([0.3, 1e-6, 0.7, 0.0, 2.0, 0.01])
#: outcomes of two kinds of row, and what the constructor is given
CASES = {
    "NormalIdentity": ((), [-0.7, 2.5]),
    "LaplaceIdentity": ((), [-0.7, 2.5]),
    "StudentTIdentity": ((), [-0.7, 2.5]),
    "PoissonLog": ((), [0.0, 3.0]),
    "NegativeBinomialLog": ((), [0.0, 3.0]),
    "GammaLog": ((), [0.2, 3.0]),
    "BernoulliLogit": ((), [0.0, 1.0]),
    "BernoulliProbit": ((), [0.0, 1.0]),
    "BernoulliCloglog": ((), [0.0, 1.0]),
    "BinomialLogit": ((4,), [0.0, 3.0]),
    "OrdinalLogit": ((3,), [0.0, 2.0]),
    "OrdinalProbit": ((3,), [0.0, 2.0]),
}
OF_ETA = ("mean", "variance", "probabilities")
OF_OUTCOMES = ("log_prob", "value_and_derivatives", "joint_derivatives")
OF_BELIEF = ("predictive_mean", "predictive_probabilities", "aleatoric", "epistemic", "expected_entropy")
every = pytest.mark.parametrize("name", CASES)


def case(name):
    arguments, outcomes = CASES[name]
    record = getattr(likelihoods, name)(*arguments)
    y = np.resize(outcomes, M.shape)
    # log-degrees of freedom of 1.1: a Student-t of 3, whose variance is finite
    psi = np.full(len(record.auxiliary), 1.1) if record.auxiliary else None
    return record, y, psi


def test_no_likelihood_is_left_out():
    public = {n for n in likelihoods.__all__ if n not in ("Likelihood", "CategoricalLogit")}
    assert public == set(CASES)


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def agree(method, *rows):
    """method(*rows) row by row, all at once, and as a table of 2 × 3, equal to some roundings."""
    whole = parts(method(*rows))
    table = parts(method(*(a.reshape(2, 3) for a in rows)))
    single = [parts(method(*(a[i] for a in rows))) for i in range(len(M))]
    for k, value in enumerate(whole):
        tail = np.shape(value)[1:]
        assert np.shape(value)[0] == len(M)
        assert np.shape(table[k]) == (2, 3, *tail)
        np.testing.assert_allclose(np.reshape(table[k], np.shape(value)), value, rtol=1e-12, atol=1e-14)
        for i, one in enumerate(single):
            assert np.shape(one[k]) == tail
            np.testing.assert_allclose(one[k], value[i], rtol=1e-12, atol=1e-14)


@every
def test_functions_of_the_predictor(name):
    record, _, psi = case(name)
    for method in filter(lambda method: hasattr(record, method), OF_ETA):
        agree(lambda eta, method=method: getattr(record, method)(eta, psi), M)


@every
def test_functions_of_outcome_and_predictor(name):
    record, y, psi = case(name)
    for method in OF_OUTCOMES:
        agree(lambda y, eta, method=method: getattr(record, method)(y, eta, psi=psi), y, M)


@every
def test_integrals_over_the_predictor(name):
    record, y, psi = case(name)
    for method in filter(lambda method: hasattr(record, method), OF_BELIEF):
        agree(lambda m, v, method=method: getattr(record, method)(m, v, psi), M, V)
    agree(lambda y, m, v: record.predictive_log_prob(y, m, v, psi), y, M, V)


@every
def test_tilted_moments_of_one_row_and_of_many(name):
    """EP's one need takes rows, never a table."""
    record, y, psi = case(name)
    v = V + 0.1
    whole = record.tilted_moments(y, M, v, psi)
    for i in range(len(M)):
        rows = slice(i, i + 1)
        for one, value in zip(record.tilted_moments(y[rows], M[rows], v[rows], psi), whole, strict=True):
            np.testing.assert_allclose(one, value[rows], rtol=1e-12, atol=1e-14)


def test_every_public_method_is_looked_at():
    """A method added to a record needs a line here."""
    elsewhere = {"check", "initial_eta", "initial_auxiliary", "auxiliary_values", "auxiliary_log_prior", "natural"}
    elsewhere |= {"link", "law", "cutpoints"}  # of means and of ψ; `law`'s families have a contract of their own
    looked_at = {*OF_ETA, *OF_OUTCOMES, *OF_BELIEF, "predictive_log_prob", "tilted_moments", *elsewhere}
    for name in CASES:
        record = case(name)[0]
        methods = {n for n, _ in inspect.getmembers(type(record), inspect.isfunction) if not n.startswith("_")}
        inherited = {"state", "from_state", "tree_flatten", "tree_unflatten"}
        assert methods - looked_at - inherited == set(), name
    assert issubclass(likelihoods.CategoricalLogit, Likelihood)


def test_softmax_of_one_row_and_of_many():
    record = likelihoods.CategoricalLogit(3)
    rng = np.random.default_rng(0)
    m, v, y = rng.normal(size=(6, 3)), np.broadcast_to(0.5 * np.eye(3), (6, 3, 3)), np.resize([0, 2], 6)
    for method in ("mean", "variance"):
        whole = getattr(record, method)(m)
        for i in range(6):
            np.testing.assert_allclose(getattr(record, method)(m[i]), whole[i], rtol=1e-12, atol=1e-14)
    for method in ("predictive_probabilities", "predictive_mean", "aleatoric", "epistemic", "expected_entropy"):
        whole = getattr(record, method)(m, v)
        for i in range(6):
            np.testing.assert_allclose(getattr(record, method)(m[i : i + 1], v[:1]), whole[i : i + 1], rtol=1e-12)
    whole = record.predictive_log_prob(y, m, v)
    for i in range(6):
        one = record.predictive_log_prob(y[i : i + 1], m[i : i + 1], v[:1])
        np.testing.assert_allclose(one, whole[i : i + 1], rtol=1e-12)
