"""`ModelPosterior`: what is believed about every node of a `Model`, and what it predicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from credo.errors import ParameterError, UnavailableError
from credo.inference.draws import Draws, Summary
from credo.inference.result import Result
from credo.program.explain import Explanation
from credo.program.nodes import Node
from credo.saving.registry import register

if TYPE_CHECKING:
    from credo.diagnostics.sensitivity import Sensitivity
    from credo.prediction.law_draws import LawDraws
    from credo.prediction.predictive import Predictive
    from credo.program.check import ModelCheck
    from credo.program.model import Model
    from credo.program.sensitivity import HyperPriorSensitivity

__all__ = ["ModelPosterior"]


@register
@dataclass(frozen=True, eq=False)
class ModelPosterior(Draws):
    """Draws of the latent and deterministic nodes: `posterior["w"]` is (draws, *shape); moments are dicts by node.

    explanation : what was done; log_evidence : log p(data), NaN where the rung does not give it
    exact_moments : node → (mean, sd) where these are known better than by the draws
    model : as declared; None after loading, where it holds a user's function
    """

    explanation: Explanation | None = None
    log_evidence: float = float("nan")
    exact_moments: Mapping[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    model: Model | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name}{list(value.shape[2:]) or ''}" for name, value in self.values.items())
        return f"ModelPosterior({len(self)} draws of {shapes}; {self.inference}, {self.result.status})"

    def __getitem__(self, name: str | Node) -> np.ndarray:
        return super().__getitem__(str(name.name) if isinstance(name, Node) else name)

    @property
    def mean(self) -> dict[str, Any]:
        """Posterior means by node."""
        return {name: self._moment(name, 0, lambda x: x.mean(axis=0)) for name in self.values}

    @property
    def sd(self) -> dict[str, Any]:
        """Posterior standard deviations by node."""
        return {name: self._moment(name, 1, lambda x: x.std(axis=0, ddof=1)) for name in self.values}

    def _moment(self, name: str, which: int, otherwise: Any) -> Any:
        known = self.exact_moments.get(name)
        return otherwise(self[name]) if known is None else np.asarray(known[which])[()]  # a number for a scalar

    def _each(self, statistic: Any) -> dict[str, Any]:
        return {name: statistic(self[name]) for name in self.values}

    def summary(self, mass: float = 0.9) -> Summary:
        """As of `Draws`; draws that were resampled by weights count as no more than what the weights are worth.

        Where draws fall off like a power so slowly that a mean (k̂ ≥ 1) or an sd (k̂ ≥ 0.7) is nothing they can tell,
        it is NaN, and a note says so.
        """
        from credo.program.tails import without_endless_moments

        return without_endless_moments(self._capped(super().summary(mass)), self)

    def _capped(self, table: Summary) -> Summary:
        worth = self.result.certificate.get("effective")
        if worth is None or worth >= len(self):
            return table
        known, sd = table.columns, table.columns["sd"]
        capped = {name: np.minimum(known[name], worth) for name in ("ess_bulk", "ess_tail")}
        errors = {
            "mcse_mean": np.maximum(known["mcse_mean"], sd / np.sqrt(worth)),
            "mcse_sd": np.maximum(known["mcse_sd"], sd / np.sqrt(2.0 * worth)),
        }
        return Summary(table.rows, {**known, **capped, **errors})

    def state(self) -> dict[str, Any]:
        """What a file keeps: the draws, the report, and the model's structure, so that a loaded one predicts; where
        it holds a user's function the draws alone."""
        known = {name: list(pair) for name, pair in self.exact_moments.items()}
        model = None if self.model is None or self.model.has_code else self.model
        explained = None if self.explanation is None else self.explanation.to_json()
        return {**super().state(), "explanation": explained, "log_evidence": self.log_evidence, "exact_moments": known,
                "model": model}  # fmt: skip

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Self:
        """The inverse of `state`."""
        explained = state["explanation"]
        known = {name: (np.asarray(a), np.asarray(b)) for name, (a, b) in state["exact_moments"].items()}
        return cls(**{
            **state, "result": Result(**state["result"]), "exact_moments": known,
            "explanation": None if explained is None else Explanation.from_json(explained),
        })  # fmt: skip

    def explain(self) -> Explanation:
        """What was integrated out exactly, what was done numerically, and why."""
        if self.explanation is None:
            raise ParameterError("ModelPosterior", "explanation", "known", None)
        return self.explanation

    def predict(
        self, node: str | Node | None = None, *, new_levels: str = "sample", random_state: Any = 0, **new_data: Any
    ) -> Predictive:
        """The predictive distribution of an observed node at new values of data nodes, never needing a response.

        node : which; not needed where only one is observed
        new_levels : of group labels that were not in the data: "sample" draws their effects from the belief about
            groups, "mean" takes the mean of that, "error" refuses
        new_data : name of a data node → its values; those not given stay

        The split is Var E[y | draw] (epistemic) + E Var[y | draw] (aleatoric). It is the mixture of the node's laws
        over the draws (`ModelPredictive`), with `draws` of outcomes, one for each posterior draw; of a categorical node
        a `ClassPredictive`; of vectors a `DrawsPredictive`.
        """
        from credo.program.predict import predict

        return predict(self, node, new_levels, random_state, new_data)

    def law_draws(
        self, node: str | Node | None = None, *, new_levels: str = "sample", random_state: Any = 0,
        draws: int | None = None, **new_data: Any,
    ) -> LawDraws:  # fmt: skip
        """The law of an observed node given each draw, at new values of data nodes: what effects, R² and choices of the
        next question are read from. Arguments as of `predict`; at most `draws` of them."""
        from credo.program.predict import law_draws

        return law_draws(self, node, new_levels, random_state, new_data, draws)

    def check(
        self, *, sbc: int = 0, random_state: Any = 0, by: Mapping[str, Any] | None = None, n_jobs: int = 1
    ) -> ModelCheck:
        """`Model.check` of the model behind this posterior, which is what its replicates are drawn from.

        sbc : so many data sets drawn from the prior are fitted by the default inference; 0 is none
        by : name → labels of the cells: whether the groups' means spread as in replicates
        """
        from credo.program.check import check_model

        if self.model is None:
            raise UnavailableError("This posterior came without its model, so it cannot be checked.")
        return check_model(self.model, self, sbc=sbc, random_state=random_state, by=by, n_jobs=n_jobs)

    def hyper_prior_sensitivity(self, factors: tuple[float, ...] = (10.0, 0.1)) -> HyperPriorSensitivity:
        """How far every posterior mean moves, in its sds, when the scale of one latent node's prior (HalfNormal,
        HalfCauchy, Exponential, Gamma, InverseGamma, LogNormal with plain numbers) is multiplied by each factor.

        By reweighting the draws where that is reliable (k̂ < 0.7), else by another fit.
        """
        from credo.program.sensitivity import hyper_prior_sensitivity

        return hyper_prior_sensitivity(self, factors)

    def power_scaling(self) -> dict[str, Sensitivity]:
        """Sensitivity of every entry to the priors that are plain numbers and to the likelihood, per doubling of their
        power (Kallioinen et al. 2024)."""
        from credo.program.sensitivity import power_scaling

        return power_scaling(self)

    def probabilities(self, name: str | Node) -> np.ndarray:
        """Posterior probabilities (*shape, K) of the states of a finite latent node: exact given each draw of the other
        nodes, and averaged over these."""
        from credo.program.finite.posterior import state_probabilities

        return state_probabilities(self, name)

    def log_likelihood(self, node: str | Node | None = None) -> np.ndarray:
        """Pointwise log p(y_i | draw), (draws, *shape) of an observed node: for LOO, WAIC and stacking."""
        from credo.program.predict import pointwise

        return pointwise(self, node)
