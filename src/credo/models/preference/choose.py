"""Which link and which engine: asked for, or chosen by evidence and by size."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from credo.errors import ParameterError
from credo.kernels import Kernel
from credo.models.preference.laplace import Gaussian
from credo.models.preference.learning import Learner
from credo.models.preference.outcomes import Outcomes
from credo.models.preference.scales import ScalesSpace

__all__ = ["Request"]

# Half a nat of evidence, some twice what Laplace's method errs by between the links, does not tell them apart: then
# the probit one is kept, for its closed forms.
MARGIN = 0.5
# "auto" takes EP while a climb of some forty evaluations, twenty sweeps each, stays within seconds: rows of outcomes,
# and (U + 1) m³.
EP_ROWS = 20_000
EP_CUBES = 3e6


@dataclass(frozen=True)
class Request:
    """What the user stated of link, engine, noise σ, deviation ρ (None: learned), and the search for θ."""

    link: str
    inference: str
    noise: float
    user_deviation: float | None
    climb: bool
    n_restarts: int

    def learner(self, link: str, method: str, outcomes: Outcomes, rows: np.ndarray, kernel: Kernel) -> Learner:
        """That of one link and one engine."""
        return Learner(kernel, rows, outcomes, ScalesSpace(link, self.noise, outcomes), self.user_deviation, method)

    def method(self, link: str, outcomes: Outcomes) -> str:
        """The engine that learns the hyperparameters under this link."""
        if self.inference == "ep" and link == "logit" and outcomes.best.size > 0:
            remedy = 'Luce\'s rule ties all that was shown: use inference="laplace", or link="probit".'
            raise ParameterError("PreferenceGP", "inference", '"laplace" for choices under link="logit"', "ep", remedy)
        if self.inference in ("laplace", "ep"):
            return self.inference
        rows = outcomes.kind.size + int(np.sum(outcomes.others >= 0))
        cubes = outcomes.n_blocks * float(outcomes.items.size) ** 3
        return "ep" if link == "probit" and rows <= EP_ROWS and cubes <= EP_CUBES else "laplace"

    def learn(
        self, outcomes: Outcomes, rows: np.ndarray, kernel: Kernel, rng: np.random.Generator
    ) -> tuple[Learner, np.ndarray, Gaussian]:
        """The learner of the link and engine taken, its θ and the Gaussian there.

        Links are compared by Laplace's evidence, which both have; EP then starts from the better one's θ.
        """
        links = (self.link,)
        if self.link == "auto":
            links = ("probit", "logit") if self.inference in ("auto", "laplace") else ("probit",)
        if self.inference == "ep":
            chosen = self.learner(links[0], self.method(links[0], outcomes), outcomes, rows, kernel)
            return chosen, *chosen.learn(self.climb, self.n_restarts, rng)
        trials = [self.learner(link, "laplace", outcomes, rows, kernel) for link in links]
        learnt: list[tuple[np.ndarray, Gaussian]] = []
        for trial in trials:  # the second link starts where the first ended: θ has the same meaning in both
            learnt.append(trial.learn(self.climb, self.n_restarts, rng, learnt[0][0] if learnt else None))
        at = int(len(learnt) == 2 and learnt[1][1].log_evidence - learnt[0][1].log_evidence > MARGIN)
        theta, found = learnt[at]
        if self.method(links[at], outcomes) == "laplace":
            return trials[at], theta, found
        chosen = self.learner(links[at], "ep", outcomes, rows, kernel)
        settled = chosen.learn_quietly(self.climb, rng, theta)
        if settled is not None:
            return chosen, *settled
        advice = (*found.result.advice, "Expectation propagation did not settle: this is Laplace's method.")
        return trials[at], theta, replace(found, result=replace(found.result, advice=advice))
