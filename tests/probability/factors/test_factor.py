"""`Factor`: identities over random tables, against einsum; states by name; logarithms; named errors."""

from __future__ import annotations

import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.errors import NumericalError, ParameterError, UnavailableError, ZeroProbabilityError
from credo.probability.factors import Factor

SIZES = {"a": 2, "b": 3, "c": 2, "d": 4}


@st.composite
def factors(draw):
    names = draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    return Factor(names, rng.random([SIZES[name] for name in names]) + 0.1)


def einsum(a, b, out):
    return np.einsum(f"{''.join(a.names)},{''.join(b.names)}->{''.join(out)}", a.values, b.values)


@given(factors(), factors())
def test_products_and_quotients(a, b):
    product = a * b
    assert np.allclose(product.values, einsum(a, b, product.names), rtol=1e-14)
    assert np.allclose((b * a).reorder(product.names).values, product.values, rtol=1e-14)
    assert np.allclose((product / b).marginal(a.names).values * a.total / (product / b).total, a.values, rtol=1e-12)
    logs = Factor.from_log(a.names, a.log_values) * b
    assert logs.is_log
    assert np.allclose(logs.values, product.values, rtol=1e-12)


@given(factors(), factors(), st.data())
def test_sums_maxima_and_conditions(a, b, data):
    product = a * b
    gone = data.draw(st.lists(st.sampled_from(product.names), unique=True)) if product.names else []
    kept = tuple(name for name in product.names if name not in gone)
    summed, largest = product.marginalise(gone), product.maximise(gone)
    assert summed.names == largest.names == kept
    assert np.allclose(summed.values, einsum(a, b, kept), rtol=1e-13)
    axes = tuple(product.names.index(name) for name in gone)
    assert np.array_equal(largest.values, product.values.max(axis=axes))
    logs = Factor.from_log(product.names, product.log_values)
    assert np.allclose(logs.marginalise(gone).values, summed.values, rtol=1e-12)
    assert np.allclose(logs.maximise(gone).values, largest.values, rtol=1e-12)
    # Σ_x φ = Σ over its slices
    for name in product.names:
        parts = [product.condition({name: state}).total for state in range(SIZES[name])]
        assert np.isclose(sum(parts), product.total, rtol=1e-12)


@given(factors(), st.data())
def test_normalised(a, data):
    given_ = data.draw(st.lists(st.sampled_from(a.names), unique=True)) if a.names else []
    for factor in (a, Factor.from_log(a.names, a.log_values - 3000.0)):
        sums = factor.normalise(given=given_).marginalise([name for name in a.names if name not in given_])
        assert np.allclose(sums.values, 1.0, rtol=1e-12)


def test_states_line_up_by_name():
    a = Factor("x", [0.1, 0.9], {"x": ["no", "yes"]})
    b = Factor("x", [4.0, 2.0], {"x": ["yes", "no"]})
    assert (a * b).to_dict() == pytest.approx({"no": 0.2, "yes": 3.6})
    assert (b / a)["no"] == pytest.approx(20.0)
    with pytest.raises(ParameterError, match=r"states of 'x' must be \['no', 'yes'\]"):
        a * Factor("x", [1.0, 2.0], [["no", "maybe"]])


def test_fractions_stay_exact():
    F = Fraction
    prior = Factor("d", [F(1, 3), F(2, 3)])
    cpt = Factor(["d", "e"], [[F(1, 2), F(1, 2)], [F(1, 4), F(3, 4)]])
    assert (prior * cpt).condition({"e": 1}).normalise().to_dict() == {0: F(1, 4), 1: F(3, 4)}
    assert (prior * cpt).total == 1
    assert prior.is_exact
    assert not (prior * 0.5).is_exact
    assert (prior * 2).is_exact or (prior * 2).total == 2.0


def test_batches_go_table_by_table():
    rng = np.random.default_rng(0)
    batch, one = rng.random((5, 2, 3)), rng.random((3, 4))
    a, b = Factor(["x", "y"], batch), Factor(["y", "z"], one)
    for product in (a * b, (b * a).reorder(["x", "y", "z"])):
        assert product.batch == 5
        assert product.shape == (2, 3, 4)
        assert np.allclose(product.values, np.einsum("nxy,yz->nxyz", batch, one))
    assert a.marginalise(["x", "y"]).values.shape == (5,)
    assert np.allclose((a * b).normalise().total, 1.0)
    assert np.allclose(a[1, 2], batch[:, 1, 2])
    assert np.allclose((a * a).values, batch**2)
    with pytest.raises(UnavailableError, match="batch of 5"):
        a.to_dict()
    with pytest.raises(ParameterError, match="batch must be 5"):
        a * Factor("x", np.ones((4, 2)))


def test_logarithms_beyond_floating_point():
    a = Factor.from_log("x", [1000.0, 998.0, -np.inf])
    assert a.log_total == pytest.approx(1000.0 + np.log1p(np.exp(-2.0)))
    assert a.normalise().values == pytest.approx(np.array([1.0, np.exp(-2.0), 0.0]) / (1.0 + np.exp(-2.0)))
    with pytest.raises(NumericalError, match="exceeds floating point"):
        a.values  # noqa: B018
    assert ((a * a) / a).log_values.tolist() == a.log_values.tolist()
    assert a.argmax() == {"x": 0}
    assert (a * 0.0).log_total == -np.inf


def test_nothing_over_zero():
    with pytest.raises(ZeroProbabilityError, match="divisor"):
        Factor("x", [1.0, 2.0]) / Factor("x", [0.0, 1.0])
    assert (Factor("x", [0.0, 2.0]) / Factor("x", [0.0, 1.0])).values.tolist() == [0.0, 2.0]
    with pytest.raises(ZeroProbabilityError, match=r"given \{'x': 1\}"):
        Factor(["x", "y"], [[1.0, 1.0], [0.0, 0.0]]).normalise(given="x")
    with pytest.raises(ZeroProbabilityError):
        Factor("x", [0.0, 0.0]).normalise()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Factor("x", [0.5, -0.5]), r"values\[1\] must be finite and ≥ 0, got .*-0.5"),
        (lambda: Factor("x", [Fraction(1, 2), Fraction(-1, 2)]), r"values\[1\]"),
        (lambda: Factor(["x", "y"], [[1.0, np.nan]]), r"values\[0, 1\]"),
        (lambda: Factor("x", [np.inf, 1.0]), r"values\[0\]"),
        (lambda: Factor("x", ["a", "b"]), "an array of numbers"),
        (lambda: Factor("x", [[[1.0]]]), "an array of 1 axes, or one more"),
        (lambda: Factor("x", []), "at least one entry"),
        (lambda: Factor(["x", "x"], [[1.0]]), "distinct"),
        (lambda: Factor(3.5, [1.0]), "sequence of hashable names"),
        (lambda: Factor("x", [1.0, 2.0], {"y": [0, 1]}), "of the axes"),
        (lambda: Factor("x", [1.0, 2.0], {"x": "aa"}), "2 distinct names"),
        (lambda: Factor("x", [1.0, 2.0], [["a"], ["b"]]), "a sequence for each"),
        (lambda: Factor.from_log("x", [0.0, np.inf]), r"log_values\[1\]"),
        (lambda: Factor("x", [1.0, 2.0]).condition({"x": 7}), r"state of 'x' must be one of \[0, 1\], got 7"),
        (lambda: Factor("x", [1.0, 2.0]).marginalise("z"), "among the axes"),
        (lambda: Factor("x", [1.0, 2.0]).reorder(["z"]), "in some order"),
        (lambda: Factor(["x", "y"], [[1.0]])[(0,)], "a state for each"),
    ],
)
def test_named_errors(build, message):
    with pytest.raises(ParameterError, match=message):
        build()


def test_never_changes_and_travels():
    a = Factor(["x", "y"], np.ones((2, 3)))
    with pytest.raises(UnavailableError):
        a.names = ("z",)
    with pytest.raises(ValueError, match="read-only"):
        a.values[0, 0] = 2.0
    back = pickle.loads(pickle.dumps(a))
    assert back.names == a.names
    assert np.array_equal(back.values, a.values)
    assert repr(a).splitlines() == ["Factor(x: 2, y: 3)", "x  y=0  y=1  y=2", "0    1    1    1", "1    1    1    1"]
    assert repr(Factor("x", [0.25, 0.75])) == "Factor(x: 0 0.25, 1 0.75)"
    assert float(Factor((), 0.5)) == 0.5
    assert Factor(3, [0.25, 0.75])[1] == Factor(3, [0.25, 0.75])[(1,)] == 0.75
    assert Factor("x", [0.25, 0.75], [[(0, 0), (0, 1)]])[(0, 1)] == 0.75


def test_printed_with_the_names_of_states():
    battery = Factor("battery", [0.03, 0.97], [["flat", "ok"]])
    assert repr(battery) == "Factor(battery: flat 0.03, ok 0.97)"
    assert "<td>0.03</td>" in battery._repr_html_()
    assert "&lt;x&gt;" in Factor("<x>", [1.0])._repr_html_()
    assert repr(Factor.from_log("x", [-2000.0, -np.inf])) == "Factor(x: 0 -2000, 1 -inf, log)"
    assert repr(Factor("x", [Fraction(1, 3), Fraction(2, 3)])) == "Factor(x: 0 1/3, 1 2/3, exact)"
    assert repr(Factor("x", np.ones(13))) == "Factor(x: 13)"
    assert repr(Factor("x", np.ones((4, 2)))) == "Factor(x: 2, batch=4)"
    assert repr(Factor(["x", "y", "z"], np.ones((2, 2, 2)))) == "Factor(x: 2, y: 2, z: 2)"
    assert repr(Factor((), 0.5)) == "Factor(0.5)"
