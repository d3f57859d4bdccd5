"""The driver: reproducible whatever the threads, resumable to the bit, interruptible, and never silent."""

from __future__ import annotations

import itertools
import os
import pickle
import signal
import threading
import warnings

import numpy as np
import pytest

from credo.distributions.support import BOOLEAN, POSITIVE, SIMPLEX
from credo.errors import ConvergenceWarning, NumericalError, ParameterError
from credo.inference.mcmc import (
    HMC,
    NUTS,
    Cycle,
    EllipticalSlice,
    Gibbs,
    Independence,
    MetropolisHastings,
    Mixture,
    RandomWalk,
    Slice,
    sample,
)
from credo.inference.target import Target

PRECISION = np.array([[2.0, 0.9], [0.9, 1.0]])


def log_density(x):
    return float(-0.5 * x @ PRECISION @ x)


def gradient(x):
    return -PRECISION @ x


NORMAL = Target(log_density, {"a": (), "b": ()}, gradient=gradient)
KERNELS = {
    "nuts": NUTS(),
    "hmc": HMC(),
    "random_walk": RandomWalk(),
    "slice": Slice(),
    "elliptical": EllipticalSlice(np.zeros(2), np.eye(2)),
    "cycle": Cycle((RandomWalk(), NUTS())),
    "mixture": Mixture((Slice(), HMC()), weights=(0.5, 0.5)),
    "gibbs": Gibbs(NORMAL, {"a": Slice(), "b": lambda rng, v: rng.normal(-0.9 * v["a"], 1.0)}),
}


def quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return sample(*args, **kwargs)


def flat(draws):
    return np.stack([draws.values["a"], draws.values["b"]], axis=-1)


@pytest.mark.parametrize("name", KERNELS)
def test_same_seed_same_draws_whatever_the_threads(name):
    runs = [
        quietly(NORMAL, KERNELS[name], draws=40, warmup=60, rng=7, threads=threads, chains=3) for threads in (1, 1, 3)
    ]
    for other in runs[1:]:
        np.testing.assert_array_equal(flat(runs[0]), flat(other))
    assert not np.array_equal(flat(runs[0])[0], flat(runs[0])[1])


def test_a_chain_does_not_depend_on_the_others():
    one, four = (quietly(NORMAL, NUTS(), draws=30, warmup=30, rng=7, chains=n) for n in (1, 4))
    np.testing.assert_array_equal(flat(one)[0], flat(four)[0])


class Interrupts:
    """The target, with one KeyboardInterrupt at the n-th evaluation."""

    def __init__(self, at):
        self.at, self.count = at, 0

    def __call__(self, x):
        self.count += 1
        if self.count == self.at:
            raise KeyboardInterrupt
        return log_density(x)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("vectorised", [False, True])
def test_resumed_draws_are_those_of_an_uninterrupted_run(name, vectorised):
    def build(density):
        if not vectorised:
            return Target(density, NORMAL.shapes, gradient=gradient)
        rows = lambda x: np.array([density(row) for row in x])
        return Target(rows, NORMAL.shapes, gradient=lambda x: -x @ PRECISION, vectorised=True)

    kernel = KERNELS[name]
    if name == "gibbs":
        kernel = Gibbs(NORMAL, {"a": Slice(), "b": lambda rng, v: rng.normal(-0.9 * v["a"], 1.0)})
    counter = Interrupts(-1)
    whole = quietly(build(counter), kernel, draws=60, warmup=40, thin=2, rng=3, chains=2)
    cut = quietly(build(Interrupts(int(0.7 * counter.count))), kernel, draws=60, warmup=40, thin=2, rng=3, chains=2)
    assert cut.result.status == "interrupted"
    assert 0 < cut.n_draws < 60
    np.testing.assert_array_equal(flat(cut), flat(whole)[:, : cut.n_draws])
    checkpoint = cut.checkpoint if name == "gibbs" else pickle.loads(pickle.dumps(cut.checkpoint))
    for _ in range(2):  # a checkpoint can be resumed more than once
        resumed = quietly(build(log_density), kernel, draws=60, resume=checkpoint)
        assert resumed.result.status != "interrupted"
        np.testing.assert_array_equal(flat(resumed), flat(whole))


def test_a_complete_run_can_be_extended():
    short = quietly(NORMAL, NUTS(), draws=20, warmup=30, rng=1)
    np.testing.assert_array_equal(
        flat(quietly(NORMAL, NUTS(), draws=50, resume=short)), flat(quietly(NORMAL, NUTS(), draws=50, warmup=30, rng=1))
    )


@pytest.fixture
def interruptible():
    """Ctrl-C as a terminal has it: a process started in the background of a shell inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_control_c_returns_what_there_is():
    calls, sent = [], []

    def slow(x):
        calls.append(1)
        if len(calls) >= 400 and not sent:  # evaluations of a busy machine run in threads, which may count past 400
            sent.append(1)
            os.kill(os.getpid(), signal.SIGINT)
        return log_density(x)

    draws = quietly(Target(slow, NORMAL.shapes), RandomWalk(), draws=10_000, warmup=20, rng=0)
    assert draws.result.status == "interrupted"
    assert 50 < draws.n_draws < 200
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_before_any_draw_is_an_interrupt():
    with pytest.raises(KeyboardInterrupt):
        sample(Target(Interrupts(10), NORMAL.shapes), RandomWalk(), warmup=1000, rng=0)


def test_interrupt_within_an_exact_draw():
    count = iter(range(10_000))

    def draw(rng, v):
        if next(count) == 300:
            raise KeyboardInterrupt
        return rng.normal()

    target = Target(None, {"x": ()})
    draws = quietly(target, Gibbs(target, {"x": draw}), draws=1000, warmup=10, rng=0)
    assert draws.result.status == "interrupted"


def test_progress_reports():
    seen = []

    def slow(x):
        threading.Event().wait(0.0005)
        return log_density(x)

    quietly(
        Target(slow, NORMAL.shapes),
        RandomWalk(),
        draws=250,
        warmup=50,
        rng=0,
        chains=2,
        progress=seen.append,
        threads=1,
    )
    assert len(seen) >= 2
    assert seen[-1].done == seen[-1].total == 600
    assert seen[-1].draws_per_second > 0
    assert seen[0].warming_up or seen[0].done >= 100
    assert not seen[-1].warming_up
    assert 0.9 < seen[-1].rhat < 2
    assert all(a.done <= b.done for a, b in itertools.pairwise(seen))


def test_thinning_keeps_every_nth():
    every = quietly(NORMAL, Slice(), draws=60, warmup=30, rng=1)
    third = quietly(NORMAL, Slice(), draws=20, warmup=30, thin=3, rng=1)
    np.testing.assert_array_equal(flat(every)[:, 2::3], flat(third))


def test_statistics_are_reported():
    draws = quietly(NORMAL, NUTS(), draws=30, warmup=30, rng=1, chains=2)
    assert set(draws.sample_stats) == {
        "acceptance_rate", "energy", "tree_depth", "n_steps", "divergent", "reached_max_depth", "step_size",
        "log_density",
    }  # fmt: skip
    assert all(value.shape == (2, 30) for value in draws.sample_stats.values())
    np.testing.assert_allclose(draws.sample_stats["log_density"], draws.log_prob(flat(draws)))
    composed = quietly(NORMAL, KERNELS["mixture"], draws=30, warmup=30, rng=1, chains=2)
    assert composed.sample_stats["acceptance_rate"].shape == (2, 30, 2)


def test_log_density_is_on_the_support():
    target = Target(lambda x: -x[0], {"x": ()}, gradient=lambda x: -np.ones(1), supports={"x": POSITIVE})
    draws = quietly(target, NUTS(), draws=30, warmup=60, rng=1)
    np.testing.assert_allclose(draws.sample_stats["log_density"], -draws.values["x"], rtol=1e-12)


def test_warm_up_tunes_and_then_stops():
    target = Target(lambda x: -0.5 * x @ x * 1e-6, {"x": (2,)})
    draws = quietly(target, RandomWalk(), draws=3000, warmup=1500, rng=0)
    kernel = draws.checkpoint.chains[0].kernel
    assert 300 < np.sqrt(kernel.covariance[0, 0]) < 3000
    assert abs(draws.sample_stats["acceptance_rate"].mean() - 0.337) < 0.08
    fixed = quietly(target, RandomWalk(adapt=None, scale=2.0), draws=20, warmup=100, rng=0)
    assert fixed.checkpoint.chains[0].kernel.scale == 2.0
    sliced = quietly(target, Slice(), draws=20, warmup=100, rng=0)
    assert np.all(sliced.checkpoint.chains[0].kernel.width > 300)


def test_no_warm_up_is_allowed():
    assert quietly(NORMAL, NUTS(), draws=10, warmup=0, rng=0).n_draws == 10


# -- failures are named
# --------------------------------------------------------------------------------------------------


def test_nan_density_at_the_start():
    target = Target(lambda x: np.nan, {"w": (2,), "s": ()})
    with pytest.raises(NumericalError, match=r"chain 0: the density is NaN at the start \(w\[0\] = 0.5"):
        sample(target, RandomWalk(), rng=0, initial=[0.5, 1.0, 2.0])
    with pytest.raises(NumericalError, match=r"chain 0, the last of 100 random starts: the density is NaN"):
        sample(target, RandomWalk(), rng=0)


def test_infinite_density_at_the_start_and_later():
    with pytest.raises(NumericalError, match="infinite at the start"):
        sample(Target(lambda x: np.inf, {"x": ()}), RandomWalk(), rng=0, initial=[0.0])
    spike = Target(lambda x: np.inf if abs(x[0]) < 0.2 else -0.5 * x @ x, {"x": ()})
    with pytest.raises(NumericalError, match=r"chain \d: the density is infinite at x = "):
        sample(spike, RandomWalk(), rng=0, initial=[1.0])


def test_zero_density_start_names_the_variable():
    target = Target(lambda x: -x[1], {"w": (), "rate": ()}, supports={"rate": POSITIVE})
    with pytest.raises(NumericalError, match=r"chain 1: the start rate = -2 is outside its support"):
        sample(target, RandomWalk(), chains=2, rng=0, initial=[[0.0, 1.0], [0.0, -2.0]])
    nowhere = Target(lambda x: -np.inf, {"x": ()})
    with pytest.raises(NumericalError, match="density is zero at the start"):
        sample(nowhere, RandomWalk(), rng=0, initial=[1.0])


@pytest.mark.parametrize("supports", [{}, {"x": POSITIVE}])
def test_wrong_shaped_gradient(supports):
    target = Target(lambda x: 0.0, {"x": (3,)}, gradient=lambda x: np.zeros(2), supports=supports)
    with pytest.raises(ParameterError, match=r"Target.gradient must be of shape \(3,\)"):
        sample(target, NUTS(), rng=0, initial=[1.0, 1.0, 1.0])


def test_nan_gradient_names_the_entry():
    target = Target(lambda x: 0.0, {"x": (3,)}, gradient=lambda x: np.array([0.0, np.nan, 0.0]))
    with pytest.raises(NumericalError, match=r"chain 0: the gradient with respect to x\[1\] is nan"):
        sample(target, HMC(), rng=0, initial=[1.0, 1.0, 1.0])


def test_nan_at_proposals_is_a_warning_with_the_place():
    target = Target(lambda x: np.nan if x[0] > 1 else log_density(x), NORMAL.shapes)
    with pytest.warns(
        ConvergenceWarning, match=r"chain 0: the density or its gradient was NaN at \d+ proposals.*a = 1\."
    ):
        draws = sample(target, RandomWalk(), draws=300, warmup=50, rng=0, initial=[0.0, 0.0])
    assert draws["a"].max() <= 1


def test_nan_gradient_later_is_a_warning():
    target = Target(log_density, NORMAL.shapes, gradient=lambda x: gradient(x) if x[0] < 1 else np.full(2, np.nan))
    with pytest.warns(ConvergenceWarning, match="NaN at"):
        sample(target, NUTS(), draws=200, warmup=50, rng=0, initial=[0.0, 0.0])


def test_total_rejection_names_chain_and_value():
    target = Target(lambda x: 0.0 if x[0] == 0.25 else -np.inf, {"x": ()})
    with pytest.warns(ConvergenceWarning, match=r"chain 0 never moved: every proposal was rejected at x = 0.25"):
        sample(target, RandomWalk(), draws=50, warmup=50, rng=0, initial=[0.25])


def test_a_variable_that_never_moves_is_named():
    target = Target(None, {"x": (), "y": (2,)})
    kernel = Gibbs(target, {"x": lambda rng, v: rng.normal(), "y": lambda rng, v: v["y"]})
    with pytest.warns(ConvergenceWarning, match=r"chain 0: y\[0\] stayed at 3 in every draw \(and 1 more\)"):
        sample(target, kernel, draws=50, warmup=0, rng=0, initial=[0.0, 3.0, 4.0])


def test_depth_limit_is_said():
    with pytest.warns(ConvergenceWarning, match="cut short by max_depth"):
        sample(NORMAL, NUTS(max_depth=1, step_size=0.01, adapt_metric=None), draws=60, warmup=0, rng=0)


def test_singular_matrices_on_the_way_are_rejections():
    def log_density(x):
        np.linalg.inv(np.diag([1.0, max(x[0], 0.0)]))
        return -x[0]

    with pytest.warns(ConvergenceWarning, match="NaN at"):
        draws = sample(Target(log_density, {"x": ()}), RandomWalk(), draws=200, warmup=50, rng=0, initial=[1.0])
    assert draws["x"].min() > 0


def test_errors_of_the_density_itself_pass_through():
    def broken(x):
        raise KeyError("oops")

    with pytest.raises(KeyError, match="oops"):
        sample(Target(broken, {"x": ()}), RandomWalk(), rng=0)


@pytest.mark.parametrize(
    "settings", [{"chains": 0}, {"draws": 0}, {"warmup": -1}, {"thin": 0}, {"threads": 0}, {"draws": 1.5}]
)
def test_bad_settings(settings):
    with pytest.raises(ParameterError, match="sample"):
        sample(NORMAL, RandomWalk(), rng=0, **settings)


def test_bad_starts():
    with pytest.raises(ParameterError, match="initial"):
        sample(NORMAL, RandomWalk(), rng=0, initial=[1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="must be given a value"):
        sample(NORMAL, RandomWalk(), rng=0, initial={"a": 1.0})
    with pytest.raises(ParameterError, match="discrete"):
        sample(
            Target(lambda x: 0.0, {"k": ()}, supports={"k": BOOLEAN}), MetropolisHastings(lambda rng, x: 1 - x), rng=0
        )


def test_unsuitable_kernels_are_named():
    with pytest.raises(ParameterError, match="support of k must be continuous"):
        sample(Target(lambda x: 0.0, {"k": ()}, supports={"k": BOOLEAN}), NUTS(), rng=0, initial=[1.0])
    with pytest.raises(ParameterError, match=r"Target.gradient must be given"):
        sample(Target(log_density, NORMAL.shapes), NUTS(), rng=0)
    with pytest.raises(ParameterError, match="b is updated by none"):
        Gibbs(NORMAL, {"a": Slice()})
    with pytest.raises(ParameterError, match="blocks"):
        Gibbs(NORMAL, {"a": Slice(), "c": Slice()})
    with pytest.raises(ParameterError, match="resume"):
        sample(NORMAL, NUTS(), resume=quietly(NORMAL, NUTS(), draws=5, warmup=0, rng=0).__class__(
            {"a": np.zeros((1, 5))}, quietly(NORMAL, NUTS(), draws=5, warmup=0, rng=0).result))  # fmt: skip


def test_densities_and_starts_of_the_wrong_form_are_named():
    with pytest.raises(ParameterError, match="one number per position"):
        sample(Target(lambda x: -0.5 * x**2, {"x": (2,)}), RandomWalk(), rng=0)
    with pytest.raises(ParameterError, match="one number per position"):
        sample(Target(lambda x: -0.5 * x**2, {"x": ()}, vectorised=True), RandomWalk(), rng=0)
    with pytest.raises(ParameterError, match="empty axis"):
        Target(log_density, {"x": (0,)})
    with pytest.raises(ParameterError, match=r"such as NUTS\(\)"):
        sample(NORMAL, NUTS, rng=0)
    simplex = Target(lambda x: 0.0, {"p": (2,)}, gradient=lambda x: 0 * x, supports={"p": SIMPLEX})
    with pytest.raises(NumericalError, match="on the edge of its support"):
        sample(simplex, NUTS(), rng=0, initial=[0.0, 1.0])
    with pytest.raises(NumericalError, match=r"p\[0\] = 0.7 is outside"):
        sample(simplex, NUTS(), rng=0, initial=[0.7, 0.7])


def test_a_gradient_of_the_wrong_shape_later_names_chain_and_place():
    def at_first(x):
        return gradient(x) if abs(x[0]) < 1.0 else gradient(x)[:1]

    target = Target(log_density, NORMAL.shapes, gradient=at_first)
    with pytest.raises(ParameterError, match=r"gradient must be of shape \(2,\).*got \(1,\). Met in chain \d at a = "):
        sample(target, NUTS(), rng=0, initial=[0.0, 0.0])
    rows = Target(lambda x: -np.sum(x**2, 1), NORMAL.shapes, gradient=lambda x: x.T, vectorised=True)
    with pytest.raises(ParameterError, match=r"gradient must be of shape \(2,\)"):
        sample(rows, NUTS(), rng=0, initial=[0.0, 0.0], chains=3)


@pytest.mark.parametrize("value", ["a", None, 1j, np.complex128(1.0), [1.0, 2.0]])
def test_a_density_that_is_no_number_is_named(value):
    for vectorised in (False, True):
        with pytest.raises(ParameterError, match=r"log_density must be one number per position"):
            sample(Target(lambda x: value, NORMAL.shapes, vectorised=vectorised), RandomWalk(), rng=0)


def test_a_vectorised_density_must_answer_every_row():
    for wrong in (lambda x: -np.sum(x**2), lambda x: -np.sum(x**2, 1, keepdims=True), lambda x: -x[:1, 0]):
        with pytest.raises(ParameterError, match=r"\(n,\) for \(n, dim\) if vectorised"):
            sample(Target(wrong, NORMAL.shapes, vectorised=True), RandomWalk(), rng=0, initial=[0.5, 0.5])


def test_what_kernels_complain_of_names_chain_and_place():
    target = Target(None, {"s": (), "m": ()})
    draw = {"m": lambda rng, v: rng.normal(), "s": lambda rng, v: rng.normal() if v["m"] < 2.0 else np.nan}
    with pytest.raises(NumericalError, match=r"^chain \d, at s = .*, m = .*: Gibbs: the conditional of s drew nan\.$"):
        sample(target, Gibbs(target, draw), rng=0)
    noise = np.random.default_rng(0)
    noisy = Target(lambda x: -0.5 * x @ x + 50 * noise.normal(), NORMAL.shapes)
    with pytest.raises(NumericalError, match=r"chain \d, at a = .*: Slice: coordinate \d .* no randomness"):
        sample(noisy, Slice(), rng=0)
    with pytest.raises(ParameterError, match=r"chain 0, at a = .*: MetropolisHastings.propose must be a function to"):
        sample(NORMAL, MetropolisHastings(lambda rng, x: x[:1]), rng=0)


def test_total_divergence_names_chain_and_place():
    """A step a thousand times too long: no draw moves, and the warning says so, with the place."""
    steep = Target(lambda x: -1e8 * x @ x, {"x": ()}, gradient=lambda x: -2e8 * x)
    kernel = NUTS(step_size=1.0, adapt_metric=None)
    with pytest.warns(
        ConvergenceWarning, match=r"chain 0 never moved.* at x = 0\.5.*chain 0: 20 divergent trajectories"
    ):
        sample(steep, kernel, draws=20, warmup=0, rng=0, initial=[0.5])


def test_extreme_scales():
    for scale in (1e-6, 1e15):
        target = Target(lambda x, s=scale: -0.5 * x @ x / s**2, {"x": ()}, gradient=lambda x, s=scale: -x / s**2)
        draws = sample(target, NUTS(), draws=500, warmup=300, rng=0)
        assert draws.sd == pytest.approx(scale, rel=0.15)


def test_conditionals_are_checked():
    target = Target(None, {"x": (2,)})
    for wrong, error, text in (
        (lambda rng, v: 1.0, ParameterError, r"conditional of x must be a draw of shape \(2,\)"),
        (lambda rng, v: np.array([1.0, np.nan]), NumericalError, "conditional of x drew"),
    ):
        with pytest.raises(error, match=text):
            sample(target, Gibbs(target, {"x": wrong}), rng=0, draws=5, warmup=0)


def test_discrete_variables_by_metropolis():
    """A Boolean with odds 3 to 1, and its companion."""
    target = Target(
        lambda x: float(np.log(0.75 if x[0] else 0.25) - 0.5 * (x[1] - x[0]) ** 2),
        {"k": (), "x": ()},
        supports={"k": BOOLEAN},
    )
    flip = MetropolisHastings(lambda rng, x: np.array([1 - x[0]]))
    kernel = Gibbs(target, {"k": flip, "x": lambda rng, v: rng.normal(v["k"])})
    draws = sample(target, kernel, draws=3000, warmup=50, rng=0, initial=[1.0, 0.0])
    from credo.diagnostics.mcmc import mcse

    assert abs(draws.mean["k"] - 0.75) < 4.5 * mcse(draws.values["k"])
    assert set(np.unique(draws["k"])) == {0.0, 1.0}


def test_independence_by_a_family():
    from credo.distributions.normal import Normal

    draws = sample(NORMAL, Independence(Normal(np.zeros(2), 2.5)), draws=3000, warmup=0, rng=0, initial=[0.0, 0.0])
    covariance = np.linalg.inv(PRECISION)
    from credo.diagnostics.mcmc import mcse

    assert abs(draws["a"].std() - np.sqrt(covariance[0, 0])) < 4.5 * mcse(draws.values["a"], "sd")
