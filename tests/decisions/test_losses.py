"""Closed forms against integration by SciPy; MATHS §6; ties, zero costs and infinite expectations."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln

from credo.decisions import decide, expected_loss, losses
from credo.distributions.bernoulli import Bernoulli
from credo.distributions.gamma import Gamma
from credo.distributions.laplace import Laplace
from credo.distributions.normal import Normal
from credo.distributions.poisson import Poisson
from credo.distributions.student_t import StudentT
from credo.errors import DataError, NumericalError, ParameterError
from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.mixture import MixturePredictive
from credo.prediction.normal import NormalPredictive
from credo.prediction.student_t import StudentTPredictive

REAL = [
    losses.Square(),
    losses.Absolute(),
    losses.Pinball(0.9),
    losses.Linear(over=1, under=9),
    losses.Linex(0.7),
    losses.Linex(-0.4),
]


def normal_pdf(y):
    return math.exp(-0.5 * ((y - 1.5) / 1.2) ** 2) / (1.2 * math.sqrt(2 * math.pi))


def t_pdf(y):
    """Student-t, 5 degrees of freedom, centre −.5, scale √2."""
    constant = math.gamma(3.0) / (math.gamma(2.5) * math.sqrt(5 * math.pi * 2))
    return constant * (1 + (y + 0.5) ** 2 / 10) ** -3


def predictive(name):
    normal = NormalPredictive(np.array([1.5]), np.array([1.0]), np.array([0.44]))
    t = StudentTPredictive(5.0, np.array([-0.5]), np.array([1.5]), np.array([0.5]))
    return {
        "normal": (normal, normal_pdf),
        "t": (t, t_pdf),
        "mixture": (
            MixturePredictive([0.3, 0.7], [normal, t]),
            lambda y: 0.3 * normal_pdf(y) + 0.7 * t_pdf(y),
        ),
        "gamma": (
            Gamma(shape=np.array([3.0]), rate=np.array([2.0])),
            lambda y: 4 * y * y * math.exp(-2 * y) if y > 0 else 0.0,
        ),
        "laplace": (Laplace(np.array([0.5]), np.array([0.6])), lambda y: math.exp(-abs(y - 0.5) / 0.6) / 1.2),
        "normal family": (Normal(np.array([1.5]), 1.2), normal_pdf),
        "t family": (StudentT(5.0, np.array([-0.5]), np.sqrt(2)), t_pdf),
    }[name]


def integral(loss, density, a):
    """E loss(a, Y) by adaptive quadrature, split where the loss or the density has a kink."""
    f = lambda y: float(loss(a, y)) * float(density(y))
    cuts = sorted({-60.0, -5.0, 0.0, 0.5, a, 6.0, 60.0})
    inner = sum(quad(f, lo, hi, epsabs=1e-13, epsrel=1e-12, limit=200)[0] for lo, hi in itertools.pairwise(cuts))
    if isinstance(loss, losses.Linex):
        return inner
    return inner + quad(f, 60, np.inf, epsabs=1e-12)[0] + quad(f, -np.inf, -60, epsabs=1e-12)[0]


@pytest.mark.parametrize("loss", REAL, ids=repr)
@pytest.mark.parametrize("name", ["normal", "t", "mixture", "gamma", "laplace", "normal family", "t family"])
def test_expected_loss_is_the_integral(name, loss):
    p, density = predictive(name)
    if isinstance(loss, losses.Linex) and name in ("t", "mixture", "t family"):
        with pytest.raises(NumericalError, match="infinite"):
            loss.act(p)
        return
    for a in (-1.0, 0.5, 2.5):
        # 1e-8: what quad reaches on the tails of the Student-t.
        assert loss.expected(p, a).item() == pytest.approx(integral(loss, density, a), rel=1e-8)


@pytest.mark.parametrize("loss", REAL, ids=repr)
@pytest.mark.parametrize("name", ["normal", "t", "mixture", "gamma", "laplace"])
def test_the_action_beats_its_neighbours(name, loss):
    p, _ = predictive(name)
    if isinstance(loss, losses.Linex) and name in ("t", "mixture"):
        return
    best = loss.act(p)
    nearby = best + np.linspace(-1, 1, 201)[:, None]
    table = loss.expected(p, nearby)
    assert table.shape == (201, 1)
    assert np.argmin(table) == 100


def test_closed_actions_of_maths_6():
    p = NormalPredictive(np.array([2.0]), np.array([3.0]), np.array([1.0]))  # N(2, 2²)
    assert decide(p, losses.Square()).item() == 2.0
    assert decide(p, losses.Absolute()).item() == pytest.approx(2.0, abs=1e-15)
    assert decide(p, losses.Pinball(0.975)).item() == pytest.approx(2 + 2 * 1.959963984540054, rel=1e-14)
    assert decide(p, losses.Linear(over=1, under=9)).item() == pytest.approx(2 + 2 * 1.2815515655446004, rel=1e-14)
    assert decide(p, losses.Linex(0.5)).item() == pytest.approx(2.0 - 0.5 * 4.0 / 2, rel=1e-14)
    # At the best action LINEX leaves a(μ − a*) = a²σ²/2.
    assert expected_loss(p, losses.Linex(0.5)).item() == pytest.approx(0.5, rel=1e-14)
    # Pinball at its quantile leaves σ φ(z).
    assert expected_loss(p, losses.Pinball(0.9)).item() == pytest.approx(2 * 0.17549833193248685, rel=1e-13)
    assert expected_loss(p, losses.Absolute()).item() == pytest.approx(2 * np.sqrt(2 / np.pi), rel=1e-14)


def test_linear_is_scaled_pinball():
    p, _ = predictive("t")
    a = np.array([[-2.0], [0.3]])
    np.testing.assert_allclose(
        losses.Linear(over=2, under=6).expected(p, a), 8 * losses.Pinball(0.75).expected(p, a), rtol=1e-13
    )


def test_linex_tends_to_square():
    p, _ = predictive("normal")
    tiny = losses.Linex(1e-7)
    assert tiny.expected(p, 2.5).item() == pytest.approx(0.5e-14 * losses.Square().expected(p, 2.5).item(), rel=1e-6)
    assert tiny(1.0, 0.0) == pytest.approx(5e-15, rel=1e-6)


def test_far_tails_keep_relative_accuracy():
    p, _ = predictive("normal")
    y = 1.5 + 1.2 * 12
    # E(Y − a)₊ ≈ σ φ(z)/z² (1 − 3/z²…) computed by mpmath: σ (φ(12) − 12 Q(12))
    import mpmath

    exact = 1.2 * (mpmath.npdf(12) - 12 * mpmath.ncdf(-12))
    assert losses.Linear(over=0, under=1).expected(p, y).item() == pytest.approx(float(exact), rel=1e-9)


# -- labels ------------------------------------------------------------------------------------------------------


def table():
    return ClassPredictive([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]], ["a", "b", "c"])


def test_zero_one_and_cost_matrix():
    p = table()
    assert decide(p, losses.ZeroOne()).tolist() == ["b", "a"]
    np.testing.assert_allclose(expected_loss(p, losses.ZeroOne()), [0.5, 0.6])
    costs = [[0, 2, 4], [1, 0, 3], [3, 3, 0], [1.2, 1.2, 1.2]]
    loss = losses.CostMatrix(costs, actions=["x", "y", "z", "pass"])
    expected = np.array(costs) @ p.probabilities.T
    np.testing.assert_allclose([loss.expected(p, a) for a in ("x", "y", "z", "pass")], expected)
    assert decide(p, loss).tolist() == [["x", "y", "z", "pass"][i] for i in expected.argmin(axis=0)]


def test_states_may_come_in_any_order_and_include_more():
    loss = losses.CostMatrix([[9, 1, 2, 3], [0, 4, 4, 4]], actions=["l", "r"], states=["other", "c", "a", "b"])
    np.testing.assert_allclose(loss.expected(table(), "l"), [0.2 * 2 + 0.5 * 3 + 0.3, 0.4 * 2 + 0.3 * 3 + 0.3])
    with pytest.raises(DataError, match="not one of the"):
        losses.CostMatrix([[0, 1]], states=["a", "b"]).act(table())


def test_actions_default_to_the_states_of_a_square_matrix_only():
    assert decide(table(), losses.CostMatrix(1 - np.eye(3))).tolist() == ["b", "a"]
    assert decide(table(), losses.CostMatrix([[1, 1, 1], [0, 3, 0]])).tolist() == [0, 1]
    with pytest.raises(ParameterError, match="3"):
        losses.CostMatrix([[0, 1], [1, 0]]).act(table())


def test_reject_is_chows_rule():
    p = ClassPredictive([[0.7, 0.3], [0.69, 0.31], [1.0, 0.0]], ["a", "b"])
    loss = losses.Reject(0.3)  # .7 against 1 − .3, which is not .7 in floating point
    assert decide(p, loss).tolist() == ["a", None, "a"]
    np.testing.assert_allclose(expected_loss(p, loss), [0.3, 0.3, 0.0])
    np.testing.assert_allclose(loss(["a", "b", None], ["a", "a", "a"]), [0, 1, 0.3])
    marked = losses.Reject(0.3, label="human")
    assert decide(p, marked).tolist() == ["a", "human", "a"]
    numeric = ClassPredictive([[0.6, 0.4]], [0, 1])
    assert decide(numeric, loss).tolist() == [None]
    assert decide(numeric, losses.Reject(0.5)).tolist() == [0]


def test_reject_equals_a_cost_matrix_with_one_more_row():
    p = ClassPredictive(np.random.default_rng(0).dirichlet(np.ones(3), 200), ["a", "b", "c"])
    rows = np.vstack([1 - np.eye(3), np.full(3, 0.4)])
    matrix = losses.CostMatrix(rows, actions=["a", "b", "c", "?"])
    assert decide(p, losses.Reject(0.4, label="?")).tolist() == decide(p, matrix).tolist()


def test_ties_go_to_the_first_action():
    even = ClassPredictive([[0.5, 0.5]], ["b", "a"])
    assert decide(even, losses.ZeroOne()).tolist() == ["b"]
    assert decide(even, losses.CostMatrix([[0.3, 0.1], [0.1, 0.3]], actions=["p", "q"])).tolist() == ["p"]
    assert decide(even, losses.CostMatrix(np.zeros((2, 2)))).tolist() == ["b"]
    # .1 + .2 against .3: a tie but for rounding
    thirds = ClassPredictive([[0.1, 0.2, 0.3, 0.4]], list("wxyz"))
    assert decide(thirds, losses.CostMatrix([[1, 1, 0, 0], [0, 0, 1, 0]], actions=["two", "one"])).tolist() == ["two"]
    assert decide(Normal(0.0, 1.0), losses.Square(), actions=[1.0, -1.0]).item() == 1.0


def test_zero_costs_follow_the_stated_rule():
    with pytest.raises(ParameterError, match=r"Linear\.over"):
        losses.Linear(over=0, under=0)
    with pytest.raises(NumericalError, match="1-quantile"):
        decide(Normal(0.0, 1.0), losses.Linear(over=0, under=1))
    draws = DrawsPredictive(np.array([[3.0], [1.0], [2.0]]))
    assert decide(draws, losses.Linear(over=0, under=1)).item() == 3.0
    assert decide(draws, losses.Linear(over=1, under=0)).item() == 1.0


# -- other outcomes ----------------------------------------------------------------------------------------------


def test_numeric_classes_may_be_read_as_numbers():
    stars = ClassPredictive([[0.5, 0.2, 0.3]], [5, 1, 2])
    assert decide(stars, losses.Square()).item() == pytest.approx(3.3)
    assert expected_loss(stars, losses.Square()).item() == pytest.approx(13.9 - 3.3**2)
    assert decide(stars, losses.Absolute()).item() == 2
    assert decide(stars, losses.Pinball(0.51)).item() == 5
    with pytest.raises(ParameterError, match="labels"):
        decide(table(), losses.Square())


def test_real_outcomes_have_no_labels():
    for loss in (losses.ZeroOne(), losses.Reject(0.1), losses.CostMatrix([[0, 1], [1, 0]])):
        with pytest.raises(ParameterError, match="over numbers"):
            decide(Normal(0.0, 1.0), loss)


def test_student_t_without_moments():
    cauchy = StudentT(1.0, 0.0, 1.0)
    for loss in (losses.Square(), losses.Absolute()):
        with pytest.raises(NumericalError):
            expected_loss(cauchy, loss, 0.0)
    with pytest.raises(NumericalError, match="row"):
        expected_loss(StudentT(2.0, 0.0, 1.0), losses.Square())
    assert decide(StudentT(1.5, 3.0, 1.0), losses.Absolute()).item() == 3.0


def test_draws_use_their_own_averages():
    y = np.random.default_rng(0).gamma(2.0, size=(101, 2))
    p = DrawsPredictive(y)
    for loss in REAL:
        a = loss.act(p)
        assert a.shape == (2,)
        np.testing.assert_allclose(loss.expected(p, a), loss(a, y).mean(axis=0), rtol=1e-12)
        assert np.all(loss.expected(p, a) <= loss.expected(p, y).min(axis=0) + 1e-12)


def test_callables_by_quadrature_draws_and_enumeration():
    p, density = predictive("mixture")
    smooth = losses.Callable(lambda a, y: np.log1p((a - y) ** 2))
    assert smooth.expected(p, 0.5).item() == pytest.approx(integral(smooth, density, 0.5), rel=1e-8)
    best = decide(p, smooth)
    near = smooth.expected(p, best + np.linspace(-0.5, 0.5, 101)[:, None])
    assert near.argmin() == 50
    square = decide(p, lambda a, y: (a - y) ** 2)
    assert square.item() == pytest.approx(p.mean.item(), abs=1e-7 * p.sd.item())
    draws = DrawsPredictive(np.arange(10.0)[:, None])
    assert expected_loss(draws, lambda a, y: (y > a).astype(float), 6.5).item() == pytest.approx(0.3)
    assert decide(table(), lambda a, y: 0.0 if a == y else (3.0 if y == "c" else 1.0)).tolist() == ["c", "c"]


def test_callable_failures_are_named():
    with pytest.raises(ParameterError, match=r"np\.where"):
        decide(Normal(np.zeros(2), 1.0), lambda a, y: 1.0 if a > y else 0.0)
    with pytest.raises(NumericalError, match="no minimum"):
        decide(Normal(0.0, 1.0), lambda a, y: np.exp(-a) + 0 * y)
    with pytest.raises(NumericalError, match="undefined"):
        decide(Normal(0.0, 1.0), lambda a, y: np.where(y > 0, np.nan, 0.0), actions=[0.0])
    with pytest.raises(ParameterError, match="loss"):
        decide(Normal(0.0, 1.0), "square")
    with pytest.raises(ParameterError, match="loss"):
        decide(Normal(0.0, 1.0), losses.Square)
    with pytest.raises(ParameterError, match="ClassPredictive"):
        decide(np.array([[0.5, 0.5]]), losses.ZeroOne())


@pytest.mark.parametrize(
    "make",
    [
        lambda: losses.Pinball(0.0),
        lambda: losses.Pinball(1.0),
        lambda: losses.Pinball(np.nan),
        lambda: losses.Linear(over=-1, under=1),
        lambda: losses.Linear(over=np.inf, under=1),
        lambda: losses.Linex(0.0),
        lambda: losses.Reject(1.5),
        lambda: losses.Reject(-0.1),
        lambda: losses.CostMatrix([[0, np.nan]]),
        lambda: losses.CostMatrix([1, 2]),
        lambda: losses.CostMatrix([[0, 1]], actions=["a", "b"]),
        lambda: losses.CostMatrix([[0, 1]], states=["a", "a"]),
        lambda: losses.Callable(3),
    ],
)
def test_bad_parameters_are_named(make):
    with pytest.raises(ParameterError):
        make()


def test_infinite_actions_are_refused_and_candidates_checked():
    with pytest.raises(DataError, match="infinity"):
        expected_loss(Normal(0.0, 1.0), losses.Square(), np.inf)
    with pytest.raises(ParameterError, match="actions"):
        decide(Normal(0.0, 1.0), losses.Square(), actions=[])
    with pytest.raises(ParameterError, match="numbers"):
        decide(Normal(0.0, 1.0), losses.Square(), actions=["low", "high"])


def test_misaligned_actions_are_named():
    three = NormalPredictive(np.zeros(3), np.ones(3), np.ones(3))
    classes = ClassPredictive([[0.2, 0.8]] * 3, ["a", "b"])
    for p, loss, actions in (
        (three, losses.Square(), [0.0, 1.0]),
        (three, losses.Absolute(), [0.0, 1.0]),
        (three, lambda a, y: a - y, [0.0, 1.0]),
        (classes, losses.ZeroOne(), ["a", "b"]),
        (classes, losses.Reject(0.2), ["a", None]),
        (classes, losses.CostMatrix([[0, 1], [1, 0]]), ["a", "b"]),
    ):
        with pytest.raises(ParameterError, match="broadcasts"):
            expected_loss(p, loss, actions)


def test_a_noise_free_row_is_a_point():
    p = NormalPredictive(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.zeros(2))
    np.testing.assert_allclose(expected_loss(p, losses.Absolute(), 0.25), [0.75, 0.8226893964471604], rtol=1e-14)


def test_counts_and_finite_families():
    bernoulli = Bernoulli(np.array([0.1, 0.6]))
    assert decide(bernoulli, losses.ZeroOne()).tolist() == [0, 1]
    assert decide(bernoulli, losses.CostMatrix([[0, 20], [1, 0]])).tolist() == [1, 1]
    assert decide(bernoulli, losses.Reject(0.2)).tolist() == [0, None]
    poisson = Poisson(np.array([0.5, 40.3]))
    k = np.arange(200)
    pmf = np.exp(k * np.log(40.3) - 40.3 - gammaln(k + 1))
    for loss in REAL:
        assert loss.expected(poisson, 38.5)[1] == pytest.approx(pmf @ loss(38.5, k), rel=1e-9)
    np.testing.assert_allclose(decide(poisson, lambda a, y: (a - y) ** 2), [0.5, 40.3], atol=1e-6)
    assert decide(poisson, losses.ZeroOne()).tolist() == [0, 40]
    assert losses.ZeroOne().expected(poisson, 40)[1] == pytest.approx(1 - pmf[40])
    draws = DrawsPredictive(np.array([[0.0], [2.0], [2.0]]), kind="count")
    assert decide(draws, losses.ZeroOne()).item() == 2
    known = DrawsPredictive.from_conditional(Poisson(np.full((20, 1), 4.0)), rng=0)
    assert decide(known, losses.ZeroOne()).item() in known.draws
    mixed = MixturePredictive([0.5, 0.5], [draws, DrawsPredictive(np.array([[4.0]]), kind="count")])
    assert expected_loss(mixed, losses.Absolute(), 2.0).item() == pytest.approx(1 / 3 + 1)


def test_the_rejection_label_must_not_be_a_class():
    with pytest.raises(ParameterError, match=r"Reject\.label"):
        decide(table(), losses.Reject(0.1, label="a"))


def test_several_targets_decide_elementwise():
    p = NormalPredictive(np.arange(6.0).reshape(3, 2), np.ones((3, 2)), np.ones((3, 2)))
    a = decide(p, losses.Linear(over=1, under=3))
    assert a.shape == (3, 2)
    assert expected_loss(p, losses.Absolute(), np.zeros((4, 1, 1))).shape == (4, 3, 2)
