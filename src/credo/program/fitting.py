"""`fit_model`: the plan carried out."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.errors import ConvergenceWarning, NotIdentifiedError, NumericalError, ParameterError, warn
from credo.inference.result import Result
from credo.inference.transforms import unconstrained
from credo.numerics.random import as_generator
from credo.numerics.threads import single_blas_thread
from credo.program.density import joint_target
from credo.program.evaluate import Program
from credo.program.explain import Step
from credo.program.faults import fault_of
from credo.program.forward import draw, law_at
from credo.program.model import Factor, Model
from credo.program.passes.centring import Centring, centred
from credo.program.plan import Plan, plan_of
from credo.program.posterior import ModelPosterior

if TYPE_CHECKING:
    from credo.distributions.base import Family
    from credo.inference.map import Mode
    from credo.inference.target import Target

__all__ = ["fit_model"]

# A scale as small as this is on its way to 0.
VANISHED = 1e-60


def fit_model(
    model: Model, inference: str, draws: int, random_state: Any, options: Mapping[str, Any]
) -> ModelPosterior | Mode:
    """See `Model.fit`."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 4:
        raise ParameterError("Model.fit", "draws", "an integer ≥ 4", draws)
    if not model.latents:
        raise ParameterError(
            "Model", "latent nodes", "at least one", [], "Declare what is unknown: m.latent(name, law)."
        )
    rng = as_generator(random_state)
    plan = plan_of(model, inference)
    _check_options(plan, options)
    try:
        # Thousands of small factorisations: threads of BLAS would wait for each other. What is not finite counts as
        # density 0, and is told of where it matters.
        with single_blas_thread(), np.errstate(all="ignore"):
            return _carried_out(model, plan, draws, rng, options)
    except NumericalError as error:
        fault = fault_of(model)
        if not fault:
            raise
        raise type(error)(f"{error} {fault}", value=error.value) from None
    except np.linalg.LinAlgError as error:
        raise NumericalError(
            f"Model: a matrix could not be factored ({error}). {fault_of(model)}".rstrip(),
            value=plan.explanation.rung,
            remedy='This is a limit of this way of fitting, not of the data: try another, such as inference="nuts".',
        ) from None


def _carried_out(
    model: Model, plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]
) -> ModelPosterior | Mode:
    started = time.perf_counter()
    if plan.method == "map":
        from credo.inference.map import maximise

        return _from_a_likelier_start(lambda target, more: maximise(target, rng=rng, **more), plan, options)
    return _finished(model, plan, _found(plan, int(draws), rng, options), rng, started)


def _found(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """By the plan's rung, or by its fall-back where that is not certified."""
    if plan.method == "gibbs":
        from credo.program.gibbs import fit_gibbs

        found = fit_gibbs(plan, draws, rng, options)
        if found.result.ok or found.result.status == "interrupted" or plan.fallback is None:
            return found
        said = Step("gibbs", tuple(found.values), f"given up: {found.result.message}")
        return by_fallback(plan, draws, rng, options, said)
    if plan.method == "mean_field":
        from credo.program.mean_field import fit_mean_field

        return fit_mean_field(plan, draws, rng, options)
    if plan.method not in ("exact", "quadrature", "importance") and plan.block is None and not plan.leaves:
        return sampled(plan, draws, rng, options)
    from credo.program.collapsed import fit_collapsed

    found = fit_collapsed(plan, draws, rng, options)
    if plan.leaves and found.plan is None:
        from credo.program.finite.settled import settled

        return settled(plan, found, rng)
    return found


def by_fallback(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any], why: Step) -> Found:
    """What the plan's fall-back finds, and why it took over."""
    other = plan.fallback
    assert other is not None
    found = _found(other, draws, rng, options)
    return dataclasses.replace(found, steps=[why, *found.steps], plan=found.plan or other)


# Options by method; those that sample fall back to NUTS, whose options are known to all that may.
_SAMPLER = ("chains", "warmup", "thin", "progress", "threads", "initial", "target_acceptance")
_OPTIONS = {
    "exact": (),
    "mean_field": (),
    "map": ("initial", "n_starts", "max_iter", "tol"),
    "laplace": ("initial", "n_starts"),
    "gibbs": ("chains", "warmup", "thin", "initial", "progress", "threads"),
}
# What other packages call them.
_ELSEWHERE = {
    **dict.fromkeys(("start", "starts", "init", "inits", "initvals", "initial_values"), "initial"),
    "tune": "warmup", "cores": "threads", "n_jobs": "threads", "seed": "random_state", "random_seed": "random_state",
    "target_accept": "target_acceptance", "adapt_delta": "target_acceptance",
}  # fmt: skip


def _check_options(plan: Plan, options: Mapping[str, Any]) -> None:
    allowed = _SAMPLER if plan.fallback is not None else _OPTIONS.get(plan.method, _SAMPLER)
    for name in options:
        if name not in allowed:
            told = f"one of {', '.join(allowed)}" if allowed else "left out: nothing is sampled"
            here = _ELSEWHERE.get(name)
            remedy = f"Here it is called {here}." if here in (*allowed, "random_state") else None
            raise ParameterError("Model.fit", "options", told, name, remedy)
    initial, known = options.get("initial"), [str(node.name) for node in plan.latents]
    for name in initial if isinstance(initial, Mapping) else ():
        if name not in known:
            raise ParameterError("Model.fit", "initial", f"given by names of latent nodes ({', '.join(known)})", name)
    chains = options.get("chains", 4)
    if isinstance(chains, bool) or not isinstance(chains, (int, np.integer)) or chains < 1:
        raise ParameterError("Model.fit", "chains", "an integer ≥ 1", chains)


@dataclasses.dataclass
class Found:
    """What a rung found: latent node → (chains, draws, *shape), the report, and what else it knows; method : what the
    nodes were treated by that are not integrated out, None as planned; plan : the one carried out, where another took
    over."""

    values: dict[str, np.ndarray]
    result: Result
    sample_stats: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    log_evidence: float = float("nan")
    moments: dict[str, tuple[np.ndarray, np.ndarray]] = dataclasses.field(default_factory=dict)
    density: Any = None
    steps: list[Step] = dataclasses.field(default_factory=list)
    method: str | None = None
    plan: Plan | None = None


def full_target(plan: Plan) -> Target:
    """The posterior density of every latent node, nothing collapsed but what has no density."""
    if plan.leaves:
        from credo.program.collapsed import Collapsed

        return Collapsed(dataclasses.replace(plan, block=None)).target
    return joint_target([factor.term for factor in plan.factors], plan.latents)


def _from_a_likelier_start(
    search: Callable[[Target, Mapping[str, Any]], Any], plan: Plan, options: Mapping[str, Any]
) -> Any:
    """The search from random starts; where all of them are lost, as an exponential's are, from medians of priors."""
    target = full_target(plan)
    try:
        return search(target, options)
    except NumericalError:
        if "initial" in options:
            raise
    from credo.program.collapsed import Collapsed

    finite = tuple(leaf for leaf in plan.leaves if leaf.nodes[0].support.is_discrete)
    start = Collapsed(dataclasses.replace(plan, block=None, leaves=finite)).start
    try:
        return search(target, {**options, "initial": start})
    except NumericalError as error:
        _refuse_if_endless(target, error)
        raise


def _refuse_if_endless(target: Target, error: NumericalError) -> None:
    """A centred hierarchy has no joint mode: its density grows without bound as a scale goes to 0."""
    z = np.asarray(error.value, dtype=np.float64)
    for name, value in target.split(unconstrained(target)[1].forward(z)).items():
        if np.all(target.supports[name].low == 0.0) and np.min(value) < VANISHED:
            raise NotIdentifiedError(
                f"Model: the joint density has no mode: it grows without bound as {name} goes to 0.",
                value=name,
                remedy=f'Use inference="auto"; or declare effects non-centred, {name} * z with z ~ Normal(0, 1).',
            ) from None


def sampled(plan: Plan, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """NUTS, or the method asked for, on the whole density."""
    if plan.method == "laplace":
        return _from_a_likelier_start(lambda t, more: numerical(t, "laplace", draws, rng, more), plan, options)
    if plan.method in ("metropolis", "slice"):
        return numerical(full_target(plan), plan.method, draws, rng, options)
    chosen = centred(plan.factors, plan.latents)
    target = joint_target([factor.term for factor in chosen.factors], chosen.latents)
    from credo.program.starts import by_nuts

    found = by_nuts(target, chosen.latents, draws, rng, options)
    flat = {z.number: v.reshape(-1, *v.shape[2:]) for z in chosen.latents for v in [found.values[str(z.name)]]}
    for node, expression in chosen.restore:
        x = Program([expression], list(chosen.latents)).values(flat, lead=True)[0]
        found.values[str(node.name)] = x.reshape(found.values[str(node.name)].shape)
    found.steps += _centring_step(chosen)
    return found


def _centring_step(chosen: Centring) -> list[Step]:
    if not chosen.informed:
        return []
    moved = {str(node.name) for node, _ in chosen.restore}
    said = [
        f"{name} {'non-centred' if name in moved else 'as it is'} (the data hold {share:.0%} of its precision)"
        for name, share in chosen.informed.items()
    ]
    return [Step("centring", tuple(chosen.informed), "; ".join(said))]


def numerical(target: Target, method: str, draws: int, rng: np.random.Generator, options: Mapping[str, Any]) -> Found:
    """Draws of a target by name of the method."""
    if method == "laplace":
        from credo.inference.laplace import laplace

        found = laplace(target, draws=draws, rng=rng, **options)
        values = in_chains({name: found[name] for name in target.shapes})
        return Found(values, found.result, log_evidence=found.log_evidence, density=found.density)
    from credo.inference import mcmc

    kernels: dict[str, Any] = {"nuts": mcmc.NUTS, "metropolis": mcmc.RandomWalk, "slice": mcmc.Slice}
    chains = int(options.get("chains", 4))
    settings = {k: v for k, v in options.items() if k in ("warmup", "thin", "progress", "threads", "initial")}
    tuned = {"target_acceptance": options["target_acceptance"]} if "target_acceptance" in options else {}
    kernel = kernels[method](**(tuned if method == "nuts" else {}))
    found = mcmc.sample(target, kernel, chains=chains, draws=max(1, draws // chains), rng=rng,
                        **{"progress": False, **settings})  # fmt: skip
    return Found(dict(found.values), found.result, dict(found.sample_stats), density=found.density)


def in_chains(values: Mapping[str, np.ndarray], chains: int = 4) -> dict[str, np.ndarray]:
    """Independent draws laid out as chains, so that summaries treat all alike."""
    n = len(next(iter(values.values()))) // chains
    return {name: v[: n * chains].reshape(chains, n, *v.shape[1:]) for name, v in values.items()}


def _hidden_cells(factor: Factor, law: Family, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws (n, cells) of the cells that nobody saw: of a vector's given those seen in its row."""
    assert factor.missing is not None
    if type(law).__name__ == "MultivariateNormal":
        from credo.program.holes import drawn_given_seen

        return drawn_given_seen(law, factor.data, factor.missing, n, rng)
    return draw(law, factor.node.shape, n, rng).reshape(n, -1)[:, factor.missing]


def _finished(model: Model, plan: Plan, found: Found, rng: np.random.Generator, started: float) -> ModelPosterior:
    """With deterministic nodes and cells that nobody saw."""
    plan = found.plan or plan
    values = dict(found.values)
    chains, draws = next(iter(values.values())).shape[:2]
    flat = {name: value.reshape(-1, *value.shape[2:]) for name, value in values.items()}
    inputs = {node.number: flat[str(node.name)] for node in plan.latents}
    nodes = {node.number: node for node in plan.latents}
    for node in model.nodes.values():
        if node.kind == "identity":
            program = Program([node], list(plan.latents))
            value = program.values(inputs, lead=True)[0]
            value = value if program.varies(node) else np.broadcast_to(value, (chains * draws, *node.shape))
            values[str(node.name)] = value.reshape(chains, draws, *node.shape)
    for factor in model.factors:
        hidden = f"{factor.name}_missing"
        if factor.missing is None or hidden in values:
            continue
        law = law_at(factor.law, inputs, nodes, chains * draws, factor.node.ndim)  # type: ignore[arg-type]
        cells = _hidden_cells(factor, law, chains * draws, rng)
        values[hidden] = np.asarray(cells, dtype=np.float64).reshape(chains, draws, -1)
    explanation = plan.explanation.after(plan.method, found.method or plan.method, found.steps)
    took = (time.perf_counter() - started,)
    result = dataclasses.replace(found.result, seconds=took, inference=explanation.rung)
    if not result.ok:
        warn(result.message, ConvergenceWarning)
    dims = {str(node.name): node.axes for node in model.nodes.values()}
    return ModelPosterior(
        values, result, found.sample_stats, {k: v for k, v in dims.items() if k in values}, found.density,
        explanation=explanation, log_evidence=found.log_evidence, exact_moments=found.moments, model=model,
    )  # fmt: skip
