"""`GaussianProcessClassifier`: known answers, brute force on few rows, equivalences, awkward rows."""

import pickle

import numpy as np
import pytest
import scipy.special
from sklearn.datasets import load_breast_cancer, load_iris

import credo as cr
from credo.errors import DataError, ParameterError
from credo.models.convergence import FitConvergenceWarning
from credo.models.gaussian_process.classification import GaussianProcessClassifier

RNG = np.random.default_rng(3)
X = RNG.normal(size=(24, 2))
Y = (X[:, 0] + 0.5 * RNG.normal(size=24) > 0).astype(int)
THREE = np.digitize(X[:, 0] + 0.4 * RNG.normal(size=24), [-0.5, 0.6])
NEW = RNG.normal(size=(7, 2))
RBF = cr.kernels.RBF


def standardised_cancer():
    features, y = load_breast_cancer(return_X_y=True)
    return (features - features.mean(axis=0)) / features.std(axis=0), y


@pytest.mark.filterwarnings("ignore:.*certificate failed")
def test_breast_cancer():
    """MATHS §10 at 4·RBF(5); where scikit-learn 1.9.1 climbs to is −56.94071628 (409.3 at ℓ = 11.57)."""
    features, y = standardised_cancer()
    start = GaussianProcessClassifier(4.0 * RBF(5.0), inference="laplace", optimizer=None).fit(features, y)
    assert start.log_evidence_ == pytest.approx(-90.0233460254, abs=2e-10)
    model = GaussianProcessClassifier(4.0 * RBF(5.0), inference="laplace").fit(features, y)
    assert model.result_.status == "not_certified"
    assert model.log_evidence_ > -56.94071628 - 1e-3
    assert model.kernel_.variance == pytest.approx(409.3, rel=0.02)
    assert model.kernel_.kernel.lengthscale == pytest.approx(11.57, rel=0.01)
    # "auto" sees that Laplace's Gaussian is far from the posterior there, and ends at EP's optimum
    auto = GaussianProcessClassifier(4.0 * RBF(5.0)).fit(features, y)
    assert auto.result_.inference == "ep"
    assert "k̂" in auto.result_.message
    assert auto.result_.certificate["pareto_k"] < 0.7 < model.result_.certificate["pareto_k"]
    truth = auto.result_.certificate["log_evidence_weighted"]
    assert abs(auto.log_evidence_ - truth) < 0.5


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_two_rows_by_brute_force(link):
    """The evidence, and P at a third point, on a grid of two whitened latents: EP errs by 0.002."""
    rows, y, at = X[:2], np.array([0, 1]), NEW[:1]
    kernel = 6.0 * RBF(1.0)
    model = GaussianProcessClassifier(kernel, link=link, inference="ep", optimizer=None).fit(rows, y)
    z = np.linspace(-8.0, 8.0, 401)
    grid = np.stack([g.ravel() for g in np.meshgrid(z, z, indexing="ij")], axis=1)
    f = grid @ np.linalg.cholesky(kernel(rows)).T
    squash = scipy.special.expit if link == "logit" else scipy.special.ndtr
    mass = squash(-f[:, 0]) * squash(f[:, 1]) * np.exp(-0.5 * np.sum(grid**2, axis=1)) / (2 * np.pi)
    cell = (z[1] - z[0]) ** 2
    assert model.log_evidence_ == pytest.approx(np.log(mass.sum() * cell), abs=0.002)
    inverse, cross = np.linalg.inv(kernel(rows)), kernel(rows, at)[:, 0]
    m, v = f @ inverse @ cross, 6.0 - cross @ inverse @ cross
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    p = (squash(m[:, None] + np.sqrt(v) * nodes) * weights).sum(axis=1) / weights.sum()
    assert model.predict_proba(at)[0, 1] == pytest.approx(mass @ p / mass.sum(), abs=0.002)


def test_probabilities_are_averages():
    """Far from all rows f is its prior, N(0, 4): P = ½ with an epistemic part, never the plug-in σ(0)'s certainty."""
    model = GaussianProcessClassifier(4.0 * RBF(1.0), optimizer=None, inference="laplace").fit(X, Y)
    p = model.predict_distribution([[50.0, 50.0], X[0]])
    mean, variance = model.latent([[50.0, 50.0]])
    np.testing.assert_allclose([mean[0], variance[0]], [0.0, 4.0], atol=1e-12)
    z, w = np.polynomial.hermite_e.hermegauss(80)
    share = scipy.special.expit(2.0 * z)
    entropy = (w @ (scipy.special.entr(share) + scipy.special.entr(1.0 - share))) / w.sum()
    assert p.aleatoric[0] == pytest.approx(entropy, abs=1e-6)
    np.testing.assert_allclose(p.entropy, p.aleatoric + p.epistemic)
    assert p.entropy[0] == pytest.approx(np.log(2.0))
    m, _ = model.latent(NEW)
    plug_in = scipy.special.expit(m)
    assert np.all(np.abs(model.predict_proba(NEW)[:, 1] - 0.5) < np.abs(plug_in - 0.5))


def test_shared_kernel_of_two_classes_is_the_binary_model():
    """f₁ − f₀ ~ GP(0, 2k): the softmax engine and the binary one give one evidence and one P."""
    from credo.models.gaussian_process.latent_softmax import SoftmaxFit

    kernel = 2.0 * RBF(1.2)
    softmax = SoftmaxFit.learn(kernel, X, Y, 2, optimize=False, rng=np.random.default_rng(0))
    binary = GaussianProcessClassifier(4.0 * RBF(1.2), inference="laplace", optimizer=None).fit(X, Y)
    assert softmax.log_evidence == pytest.approx(binary.log_evidence_, abs=1e-9)
    mean, joint = softmax.latent(NEW)
    m, v = binary.latent(NEW)
    np.testing.assert_allclose(mean[:, 1] - mean[:, 0], m, atol=1e-8)
    np.testing.assert_allclose(joint[:, 0, 0] + joint[:, 1, 1] - 2 * joint[:, 0, 1], v, rtol=1e-8)
    np.testing.assert_allclose(softmax.leave_one_out(), binary.leave_one_out(X, Y).pointwise, atol=1e-7)


@pytest.mark.filterwarnings("ignore:.*certificate failed")
@pytest.mark.parametrize(("y", "inference"), [(Y, "laplace"), (Y, "ep"), (THREE, "laplace"), (THREE, "ep")])
def test_leave_one_out_is_near_refits(y, inference):
    """At fixed hyperparameters, against a fit without each row: within 0.05 nats a row (EP 0.01, of three classes
    0.03)."""
    model = GaussianProcessClassifier(2.0 * RBF(1.0), inference=inference, optimizer=None).fit(X, y)
    loo = model.leave_one_out(X, y).pointwise
    some = np.arange(0, len(X), 3 if y is THREE and inference == "ep" else 1)
    refits = np.empty(len(X))
    for i in some:
        rest = np.delete(np.arange(len(X)), i)
        fresh = GaussianProcessClassifier(2.0 * RBF(1.0), inference=inference, optimizer=None).fit(X[rest], y[rest])
        refits[i] = fresh.predict_distribution(X[i : i + 1]).log_prob(y[i : i + 1])[0]
    bound = 0.05 if inference == "laplace" else 0.01 if y is Y else 0.03
    np.testing.assert_allclose(loo[some], refits[some], atol=bound)
    with pytest.raises(DataError, match="rows of fit"):
        model.leave_one_out(NEW, y[:7])


@pytest.mark.parametrize("y", [Y, THREE])
def test_weights_count_rows(y):
    counts = np.ones(24)
    counts[[2, 7]], counts[5] = (3.0, 2.0), 0.0
    rows = np.repeat(np.arange(24), counts.astype(int))
    options = {"inference": "laplace", "optimizer": None}
    a = GaussianProcessClassifier(2.0 * RBF(1.0), **options).fit(X, y, sample_weight=counts)
    b = GaussianProcessClassifier(2.0 * RBF(1.0), **options).fit(X[rows], y[rows])
    np.testing.assert_allclose(a.predict_proba(NEW), b.predict_proba(NEW), rtol=1e-7)
    assert a.log_evidence_ == pytest.approx(b.log_evidence_, rel=1e-9)


@pytest.mark.parametrize("y", [Y, THREE])
def test_labels_units_and_saving(y, tmp_path):
    """Labels of any kind and columns of any size give the same probabilities; files and pickles too."""
    model = GaussianProcessClassifier(inference="laplace").fit(X, y)
    expected = model.predict_proba(NEW)
    names = np.array(["a", "b", "c"])
    named = GaussianProcessClassifier(inference="laplace").fit(X, names[y])
    np.testing.assert_array_equal(named.predict_proba(NEW), expected)
    assert set(named.predict(NEW)) <= set(names)
    for size in (1e150, 1e-150):
        scaled = GaussianProcessClassifier(inference="laplace").fit(size * X, y)
        np.testing.assert_allclose(scaled.predict_proba(size * NEW), expected, atol=1e-6)
    cr.save(model, tmp_path / "model.credo")
    for other in (cr.load(tmp_path / "model.credo"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(other.predict_proba(NEW), expected, rtol=1e-9)
        np.testing.assert_allclose(other.leave_one_out(X, y).pointwise, model.leave_one_out(X, y).pointwise, rtol=1e-7)


@pytest.mark.parametrize("y", [Y, THREE])
def test_paths_agree_with_marginals(y):
    """1,000 joint draws: means of a probability within four standard errors; the mean of `law_draws` is P."""
    model = GaussianProcessClassifier(2.0 * RBF(1.0), inference="laplace", optimizer=None).fit(X, y)
    draws = model.law_draws(NEW).means()
    p = model.predict_proba(NEW)
    assert np.all(np.abs(draws.mean(axis=0) - p) < 4.0 * draws.std(axis=0) / np.sqrt(1000) + 1e-4)
    with pytest.raises(DataError, match="jointly"):
        model.law_draws(np.zeros((6000, 2)))


def test_learned_mean_finds_the_base_rate():
    """With nothing to learn from constant columns, "constant" puts P far away near the share of each class."""
    y = np.repeat([0, 1], [45, 5])
    model = GaussianProcessClassifier(0.1 * RBF(1.0), mean="constant", optimizer="auto", inference="laplace")
    p = model.fit(np.zeros((50, 1)), y).predict_proba([[100.0]])
    assert p[0, 1] == pytest.approx(0.1, abs=0.02)
    y = np.repeat([0, 1, 2], [40, 8, 2])
    p = model.fit(np.zeros((50, 1)), y).predict_proba([[100.0]])
    np.testing.assert_allclose(p[0], [0.8, 0.16, 0.04], atol=0.03)


def test_iris_three_classes():
    """Softmax hyperparameters are at a stationary point of the evidence, above the start, and it predicts."""
    features, y = load_iris(return_X_y=True)
    start = GaussianProcessClassifier(RBF(1.0), optimizer=None, inference="laplace").fit(features, y)
    model = GaussianProcessClassifier(1.0 * RBF(1.0, limits={"lengthscale": (0.1, 10.0)}), inference="laplace")
    with pytest.warns(FitConvergenceWarning):
        model.fit(features, y)
    assert model.log_evidence_ > start.log_evidence_
    assert model.result_.certificate["largest_slope"] < 0.1
    assert model.score(features, y) > 0.96
    assert model.evidence_.maximised
    assert model.evidence_.measure == "mass"


def test_ep_takes_over_where_laplace_fails_in_three_classes(tmp_path):
    """Iris with wide functions: importance weights fail Laplace's Gaussian and pass EP's; leaving out and saving go by
    EP's sites."""
    features, y = load_iris(return_X_y=True)
    features, y = features[::3], y[::3]
    kernel = 100.0 * RBF(3.0)
    with pytest.warns(FitConvergenceWarning):
        laplace = GaussianProcessClassifier(kernel, optimizer=None, inference="laplace").fit(features, y)
    auto = GaussianProcessClassifier(kernel, optimizer=None).fit(features, y)
    assert auto.result_.inference == "ep"
    assert "EP took over" in auto.result_.message
    assert auto.result_.certificate["pareto_k"] < 0.7 < laplace.result_.certificate["pareto_k"]
    assert auto.log_evidence_ == auto.result_.certificate["log_evidence_weighted"]
    cr.save(auto, tmp_path / "ep.credo")
    other = cr.load(tmp_path / "ep.credo")
    np.testing.assert_allclose(other.predict_proba(features), auto.predict_proba(features), atol=1e-7)
    loo = auto.leave_one_out(features, y).pointwise
    np.testing.assert_allclose(other.leave_one_out(features, y).pointwise, loo, atol=1e-6)


def test_evidence_compares_kernels():
    wiggly = GaussianProcessClassifier(4.0 * RBF(0.01), optimizer=None, inference="laplace").fit(X, Y)
    right = GaussianProcessClassifier(4.0 * RBF(1.5), optimizer=None, inference="laplace").fit(X, Y)
    table = cr.compare({"wiggly": wiggly, "right": right}, X, Y)
    assert table.best == "right"


def test_refusals():
    with pytest.raises(DataError, match="one class"):
        GaussianProcessClassifier().fit(X, np.zeros(24))
    with pytest.raises(DataError, match="one class"):
        GaussianProcessClassifier().fit(X, Y, sample_weight=Y == 0)
    for name, value in [
        ("kernel", "rbf"), ("inference", "nuts"), ("link", "cauchit"), ("mean", "linear"), ("mean", np.nan),
        ("optimizer", "adam"), ("n_restarts_optimizer", -1), ("n_restarts_optimizer", 1.5),
    ]:  # fmt: skip
        with pytest.raises(ParameterError, match=name):
            GaussianProcessClassifier(**{name: value}).fit(X, Y)
    with pytest.raises(ParameterError, match="more than two classes"):
        GaussianProcessClassifier(link="probit").fit(X, THREE)
    with pytest.raises(ParameterError, match="sample_weight"):
        GaussianProcessClassifier(inference="ep").fit(X, THREE, sample_weight=np.full(24, 0.5))


@pytest.mark.parametrize("inference", ["laplace", "ep", "auto"])
@pytest.mark.parametrize("lengthscale", [1e-5, 1e5])
@pytest.mark.parametrize("variance", [1e-5, 1e5])
@pytest.mark.filterwarnings("ignore:.*certificate failed")
def test_extreme_hyperparameters(inference, lengthscale, variance):
    """ℓ → 0 is independent rows, ℓ → ∞ one constant: finite, ordered, and no bare error."""
    kernel = variance * RBF(lengthscale)
    rows = np.vstack([X, X[:3], X[:3]])  # with duplicates
    y = np.append(Y, [0, 1, 0, 1, 1, 0])
    model = GaussianProcessClassifier(kernel, inference=inference, optimizer=None).fit(rows, y)
    p = model.predict_proba(NEW)
    assert np.all(np.isfinite(p))
    assert np.isfinite(model.log_evidence_)
    if lengthscale < 1.0 or variance < 1.0:
        np.testing.assert_allclose(p[:, 1], 0.5, atol=1e-3)


def test_ep_that_its_weights_do_not_certify_says_so():
    """Rows too far apart to share anything, wide functions: each f_i is half a Normal, of whose product no Normal is
    near, though EP's evidence, n log ½, is right. And three classes without a pattern."""
    rows, y = np.arange(150.0)[:, None], np.arange(150) % 2
    with pytest.warns(FitConvergenceWarning, match="do not certify"):
        model = GaussianProcessClassifier(1e4 * RBF(0.01), inference="ep", optimizer=None).fit(rows, y)
    assert model.result_.status == "not_certified"
    assert model.result_.certificate["pareto_k"] >= 0.7
    assert model.log_evidence_ == pytest.approx(150 * np.log(0.5), abs=1e-6)
    rng = np.random.default_rng(0)
    with pytest.warns(FitConvergenceWarning, match="do not certify"):
        three = GaussianProcessClassifier(1e4 * RBF(0.3), optimizer=None).fit(
            rng.uniform(-2, 2, (30, 1)), rng.integers(0, 3, 30)
        )
    assert (three.result_.status, three.result_.inference) == ("not_certified", "ep")
