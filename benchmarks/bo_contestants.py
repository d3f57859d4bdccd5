"""Who takes part in `bo_regret`: each asks for the next point and says which of those tried it would recommend.

All are told the same design first, and use their library as its manual has it, one evaluation at a time. Where some
parameters matter only for one choice (`tuning`): Credo, Optuna's TPE and SMAC know conditions and are given them;
BoTorch gets a mixed model and one search for each choice with the others' parameters held at ½; bayesian-optimization
and Optuna's GP see all parameters always.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import qmc

from benchmarks.bo_problems import Knob, Problem

__all__ = ["CONTESTANTS", "History", "design", "first"]


def first(d: int) -> int:
    return max(5, 2 * d)


def design(problem: Problem, seed: int) -> np.ndarray:
    """128 scrambled Sobol points; the first `first(d)` start every contestant."""
    return np.array([problem.snapped(u) for u in qmc.Sobol(problem.d, seed=seed).random(128)])  # pyright: ignore[reportCallIssue]


class History:
    """What was evaluated: X (n, d), y (n,), and the true values."""

    def __init__(self, problem: Problem, seed: int) -> None:
        self.problem, self.noise = problem, np.random.default_rng(1000 + seed)
        self.X, self.y, self.truth = np.empty((0, problem.d)), np.empty(0), np.empty(0)

    def evaluate(self, x: np.ndarray) -> float:
        truth = self.problem.f(x)
        value = truth + self.problem.noise * self.noise.standard_normal()
        self.X, self.y = np.vstack([self.X, x]), np.append(self.y, value)
        self.truth = np.append(self.truth, truth)
        return value


class Random:
    """Uniform points; the lowest value is recommended, as by all who do not say how to better it."""

    def __init__(self, history: History, seed: int) -> None:
        self.history, self.rng, self.told = history, np.random.default_rng(seed), 0
        self.problem = history.problem
        self.noisy = self.problem.noise > 0.0

    def ask(self) -> np.ndarray:
        return self.problem.snapped(self.rng.random(self.problem.d))

    def recommended(self) -> int:
        return int(np.argmin(self.history.y))

    def news(self) -> list[tuple[dict[str, Any], float]]:
        """Values not told yet, with the parameters that matter."""
        fresh = [(self.problem.values(x), y) for x, y in zip(self.history.X[self.told :], self.history.y[self.told :])]
        self.told = len(self.history.y)
        return fresh


class Sobol(Random):
    """The design of the first evaluations, gone on with."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        self.points = design(history.problem, seed)

    def ask(self) -> np.ndarray:
        return self.points[len(self.history.y)]


class Credo(Random):
    """`Study` with its automatic sampler, told whether evaluations are noisy (as Optuna's GP is)."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        import credo as cr

        def parameter(knob: Knob) -> Any:
            when = None if knob.when is None else {self.problem.knobs[0].name: knob.when}
            if knob.choices:
                return cr.Choice(list(knob.choices), when=when)
            kind = cr.Integer if knob.integer else cr.Real
            return kind(knob.low, knob.high, log=knob.log, when=when)

        knobs = self.problem.knobs or tuple(Knob(f"x{j}") for j in range(self.problem.d))
        space = cr.Space({knob.name: parameter(knob) for knob in knobs})
        self.study = cr.Study(space, random_state=seed, noisy=self.noisy)
        self.trial: Any = None

    def tell(self) -> None:
        for values, y in self.news():
            if self.trial is None:
                self.study.record(values, y)
            else:
                self.study.tell(self.trial, y)
                self.trial = None

    def ask(self) -> np.ndarray:
        self.tell()
        self.trial = self.study.ask()
        return self.problem.unit(self.trial.params)

    def recommended(self) -> int:
        if not self.noisy:
            return super().recommended()
        self.tell()
        return self.study.best.id  # trials are numbered in the order of the history


class Optuna(Random):
    """A sampler of Optuna, told of the design."""

    def __init__(self, history: History, seed: int, sampler: str) -> None:
        super().__init__(history, seed)
        import optuna

        optuna.logging.set_verbosity(optuna.logging.WARNING)
        start = first(self.problem.d)
        mixed = bool(self.problem.knobs)
        if sampler == "tpe":
            chosen: Any = optuna.samplers.TPESampler(seed=seed, n_startup_trials=start, multivariate=True, group=mixed)
        else:
            exact = not self.noisy
            chosen = optuna.samplers.GPSampler(seed=seed, n_startup_trials=start, deterministic_objective=exact)
        self.conditional = mixed and sampler == "tpe"
        self.optuna, self.study = optuna, optuna.create_study(sampler=chosen)
        knobs = self.problem.knobs or tuple(Knob(f"x{j}") for j in range(self.problem.d))
        self.space = {knob.name: self.distribution(knob) for knob in knobs}
        self.trial: Any = None

    def distribution(self, knob: Knob) -> Any:
        kinds = self.optuna.distributions
        if knob.choices:
            return kinds.CategoricalDistribution(knob.choices)
        if knob.integer:
            return kinds.IntDistribution(int(knob.low), int(knob.high), log=knob.log)
        return kinds.FloatDistribution(knob.low, knob.high, log=knob.log)

    def told_params(self, x: np.ndarray) -> dict[str, Any]:
        if self.conditional or not self.problem.knobs:
            return self.problem.values(x)
        return {knob.name: knob.value(u) for knob, u in zip(self.problem.knobs, x.tolist())}

    def ask(self) -> np.ndarray:
        for x, y in zip(self.history.X[self.told :], self.history.y[self.told :]):
            if self.trial is not None:
                self.study.tell(self.trial, y)
                self.trial = None
                continue
            params = self.told_params(x)
            own = {name: self.space[name] for name in params}
            self.study.add_trial(self.optuna.trial.create_trial(params=params, distributions=own, value=float(y)))
        self.told = len(self.history.y)
        if not self.conditional:
            self.trial = self.study.ask(self.space)
            return self.problem.unit(self.trial.params)
        self.trial = self.study.ask()
        chosen = self.suggest(self.problem.knobs[0])
        for knob in self.problem.knobs[1:]:
            if knob.when in (None, chosen):
                self.suggest(knob)
        return self.problem.unit(self.trial.params)

    def suggest(self, knob: Knob) -> Any:
        if knob.choices:
            return self.trial.suggest_categorical(knob.name, knob.choices)
        kind = self.trial.suggest_int if knob.integer else self.trial.suggest_float
        return kind(knob.name, int(knob.low) if knob.integer else knob.low, int(knob.high) if knob.integer else
                    knob.high, log=knob.log)  # fmt: skip


class BoTorch(Random):
    """`SingleTaskGP` with its default priors and log (noisy) expected improvement, as its tutorial has them."""

    def model(self) -> Any:
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import MixedSingleTaskGP, SingleTaskGP
        from botorch.models.transforms import Standardize
        from gpytorch.mlls import ExactMarginalLogLikelihood

        torch.set_num_threads(1)
        X = torch.tensor(self.history.X, dtype=torch.double)
        y = torch.tensor(-self.history.y[:, None], dtype=torch.double)
        if self.problem.knobs:
            model: Any = MixedSingleTaskGP(X, y, cat_dims=[0], outcome_transform=Standardize(m=1))
        else:
            model = SingleTaskGP(X, y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, X, y

    def held(self) -> list[dict[int, float]]:
        """For each choice, the coordinates that are then fixed."""
        choices = self.problem.knobs[0]
        return [
            {0: choices.unit(choice)}
            | {j: 0.5 for j, knob in enumerate(self.problem.knobs[1:], 1) if knob.when not in (None, choice)}
            for choice in choices.choices
        ]

    def ask(self) -> np.ndarray:
        import torch
        from botorch.acquisition import LogExpectedImprovement, qLogNoisyExpectedImprovement
        from botorch.optim import optimize_acqf, optimize_acqf_mixed

        torch.manual_seed(int(self.rng.integers(2**31)))
        self.fitted = self.model()
        model, X, y = self.fitted
        if self.noisy:
            acquisition: Any = qLogNoisyExpectedImprovement(model, X)
        else:
            acquisition = LogExpectedImprovement(model, best_f=y.max())
        d = self.problem.d
        bounds = torch.stack([torch.zeros(d, dtype=torch.double), torch.ones(d, dtype=torch.double)])
        effort: Any = {"q": 1, "num_restarts": 10, "raw_samples": 512}
        if self.problem.knobs:
            found, _ = optimize_acqf_mixed(acquisition, bounds, fixed_features_list=self.held(), **effort)
        else:
            found, _ = optimize_acqf(acquisition, bounds, **effort)
        return self.problem.snapped(found[0].numpy())

    def recommended(self) -> int:
        if not self.noisy:
            return super().recommended()
        model, X, _ = self.fitted if len(self.history.y) < 10 * self.problem.d else self.model()
        return int(model.posterior(X).mean.argmax())


class BayesianOptimization(Random):
    """The package bayesian-optimization with its default UCB; where evaluations are noisy, its GP's alpha is .01."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        from bayes_opt import BayesianOptimization as Theirs

        knobs = self.problem.knobs or tuple(Knob(f"x{j}") for j in range(self.problem.d))
        # Its parameters have no logarithmic scale, so numbers are given by their place in the unit interval.
        bounds = {
            knob.name: knob.choices or ((int(knob.low), int(knob.high), int) if knob.integer else (0.0, 1.0))
            for knob in knobs
        }
        self.theirs = Theirs(None, bounds, random_state=seed, verbose=0, allow_duplicate_points=True)
        if self.noisy:
            self.theirs.set_gp_params(alpha=1e-2)
        self.knobs = knobs

    def ask(self) -> np.ndarray:
        for x, y in zip(self.history.X[self.told :], self.history.y[self.told :]):
            params = {k.name: k.value(u) if k.choices or k.integer else u for k, u in zip(self.knobs, x.tolist())}
            self.theirs.register(params, -float(y))
        self.told = len(self.history.y)
        asked = self.theirs.suggest()
        u = [k.unit(asked[k.name]) if k.choices or k.integer else float(asked[k.name]) for k in self.knobs]
        return self.problem.snapped(np.array(u))


class SMAC(Random):
    """SMAC3: its black-box facade (a GP) for numbers, its facade for hyperparameters (a random forest) for `tuning`."""

    def __init__(self, history: History, seed: int) -> None:
        super().__init__(history, seed)
        import logging
        import tempfile

        from smac import BlackBoxFacade, HyperparameterOptimizationFacade, Scenario

        self.place = tempfile.TemporaryDirectory()
        space = self.configuration_space(seed)
        scenario = Scenario(space, deterministic=not self.noisy, n_trials=10 * self.problem.d, seed=seed,
                            output_directory=self.place.name)  # fmt: skip
        facade: Any = HyperparameterOptimizationFacade if self.problem.knobs else BlackBoxFacade
        from ConfigSpace import Configuration

        points = [Configuration(space, values=self.problem.values(x)) for x in history.X]
        self.theirs = facade(
            scenario,
            lambda config, seed=0: 0.0,
            initial_design=facade.get_initial_design(scenario, n_configs=0, additional_configs=points),
            config_selector=facade.get_config_selector(scenario, retrain_after=1),
            overwrite=True,
            logging_level=logging.ERROR,
        )
        self.where = {tuple(sorted(dict(point).items())): i for i, point in enumerate(points)}
        self.info: Any = None

    def configuration_space(self, seed: int) -> Any:
        from ConfigSpace import Categorical, ConfigurationSpace, EqualsCondition, Float, Integer

        def of(knob: Knob) -> Any:
            if knob.choices:
                return Categorical(knob.name, knob.choices)
            if knob.integer:
                return Integer(knob.name, (int(knob.low), int(knob.high)), log=knob.log)
            return Float(knob.name, (knob.low, knob.high), log=knob.log)

        space = ConfigurationSpace(seed=seed)
        knobs = self.problem.knobs or tuple(Knob(f"x{j}") for j in range(self.problem.d))
        made = [of(knob) for knob in knobs]
        space.add(*made)
        conditions = [EqualsCondition(p, made[0], k.when) for p, k in zip(made, knobs) if k.when is not None]
        if conditions:
            space.add(*conditions)
        return space

    def ask(self) -> np.ndarray:
        from smac.runhistory.dataclasses import TrialValue

        if self.info is not None:
            self.theirs.tell(self.info, TrialValue(cost=float(self.history.y[-1])))
        while True:
            self.info = self.theirs.ask()
            values = dict(self.info.config)
            key = tuple(sorted(values.items()))
            known = self.where.pop(key, None)
            if known is None:
                self.asked = {**getattr(self, "asked", {}), key: len(self.history.y)}
                return self.problem.unit(values)
            self.asked = {**getattr(self, "asked", {}), key: known}
            self.theirs.tell(self.info, TrialValue(cost=float(self.history.y[known])))

    def recommended(self) -> int:
        if not self.noisy:
            return super().recommended()
        from smac.runhistory.dataclasses import TrialValue

        self.theirs.tell(self.info, TrialValue(cost=float(self.history.y[-1])))
        self.info = None
        incumbents = self.theirs.intensifier.get_incumbents(sort_by="cost")
        if not incumbents:
            return super().recommended()
        return self.asked[tuple(sorted(dict(incumbents[0]).items()))]


CONTESTANTS: dict[str, Callable[[History, int], Any]] = {
    "random": Random,
    "sobol": Sobol,
    "credo": Credo,
    "optuna-tpe": lambda history, seed: Optuna(history, seed, "tpe"),
    "optuna-gp": lambda history, seed: Optuna(history, seed, "gp"),
    "botorch": BoTorch,
    "bayesian-optimization": BayesianOptimization,
    "smac": SMAC,
}
