"""Random linear-Gaussian models, their expressions random graphs: the collapsed density is a dense Normal's.

Every expression is a function that runs on nodes and on arrays alike. On arrays it is probed at unit vectors, which
gives the joint Normal law of latents and data by NumPy alone; on nodes it declares the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from scipy.stats import halfnorm, multivariate_normal

import credo as cr
from credo.program import math as cm
from credo.program.collapsed import Collapsed
from credo.program.nodes import Node
from credo.program.plan import plan_of

Env = dict[str, Any]  # name → node or array


@dataclass(frozen=True)
class Expression:
    """What runs on an environment, the shape it gives, and the latents it uses."""

    run: Callable[[Env], Any]
    shape: tuple[int, ...]
    uses: frozenset[str]


@dataclass
class Recipe:
    """A model before it is either: hyperparameters' values, latents (mean, sd, covariance), data (mean, sd, y)."""

    theta: dict[str, float]
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    latents: dict[str, tuple[Expression, Any]] = field(default_factory=dict)
    observed: list[tuple[Expression, Any, np.ndarray]] = field(default_factory=list)


def concat(a, b):
    return cm.concat(a, b) if isinstance(a, Node) or isinstance(b, Node) else np.concatenate([a, b])


def constant(c):
    return Expression(lambda env: c, (), frozenset())


def spread_out(e, shape):
    one = np.ones(shape)
    return Expression(lambda env: e.run(env) * one, shape, e.uses)


def scale_of(recipe, rng, shape):
    """A positive expression of hyperparameters, or a constant, of this shape or a scalar."""
    c = float(rng.uniform(0.4, 2.0))
    if not recipe.theta or rng.random() < 0.4:
        value = rng.uniform(0.4, 2.0, size=shape) if rng.random() < 0.5 else c
        return lambda env: value
    t = str(rng.choice(list(recipe.theta)))
    kind = rng.choice(4, p=[0.4, 0.25, 0.1, 0.25])
    if kind == 0:
        return lambda env: env[t]
    if kind == 1:
        return lambda env: c * env[t] + 0.1
    if kind == 2 and shape:
        x = rng.normal(size=shape)
        return lambda env: cm.exp(0.3 * env[t] * x)
    return lambda env: cm.sqrt(1.0 + env[t] ** 2)


def grown(recipe, rng, pool):
    """One operation on expressions of the pool."""
    a = pool[rng.integers(len(pool))]
    n = a.shape[0] if a.shape else 1
    kind = rng.integers(12)
    run, uses = a.run, a.uses
    if kind == 0:
        same = [b for b in pool if b.shape == a.shape or not b.shape]
        b = same[rng.integers(len(same))]
        sign = rng.choice([-1.0, 1.0])
        return Expression(lambda env: run(env) + sign * b.run(env), a.shape, uses | b.uses)
    if kind == 1:
        c = rng.normal(size=a.shape)
        return Expression(lambda env: c * run(env) - c / 2.0, a.shape, uses)
    if kind == 2:
        s = scale_of(recipe, rng, a.shape)
        return Expression(lambda env: run(env) * s(env), a.shape, uses)
    if kind == 3:
        s = scale_of(recipe, rng, a.shape)
        return Expression(lambda env: 0.5 - run(env) / s(env), a.shape, uses)
    if kind == 4 and a.shape:
        A = rng.normal(size=(int(rng.integers(1, 5)), n)) / np.sqrt(n)
        return Expression(lambda env: A @ run(env), (len(A), *a.shape[1:]), uses)
    if kind == 5 and a.shape:
        A = rng.normal(size=(a.shape[-1], int(rng.integers(1, 4)))) / np.sqrt(n)
        return Expression(lambda env: run(env) @ A, (*a.shape[:-1], A.shape[1]), uses)
    if kind == 6 and a.shape:
        codes = rng.integers(n, size=int(rng.integers(1, 7)))
        return Expression(lambda env: run(env)[codes], (len(codes), *a.shape[1:]), uses)
    if kind == 7 and a.shape:
        key = (slice(None, None, -1), slice(0, max(1, n - 1)), slice(n // 2, None))[rng.integers(3)]
        return Expression(lambda env: run(env)[key], np.empty(a.shape)[key].shape, uses)
    if kind == 8 and a.shape:
        axis, mean = int(rng.integers(len(a.shape))), rng.random() < 0.5
        shape = a.shape[:axis] + a.shape[axis + 1 :]
        reduced = lambda x: x.mean(axis) if mean else x.sum(axis)
        return Expression(lambda env: reduced(run(env)), shape, uses)
    if kind == 9 and len(a.shape) == 2:
        return Expression(lambda env: run(env).T, a.shape[::-1], uses)
    if kind == 10 and a.shape:
        return Expression(lambda env: run(env).reshape(int(np.prod(a.shape))), (int(np.prod(a.shape)),), uses)
    flat = [b for b in pool if len(b.shape) == 1]
    if flat and len(a.shape) == 1:
        b = flat[rng.integers(len(flat))]
        return Expression(lambda env: concat(run(env), b.run(env)), (a.shape[0] + b.shape[0],), uses | b.uses)
    return Expression(lambda env: -run(env), a.shape, uses)


def make_recipe(seed):
    rng = np.random.default_rng(seed)
    recipe = Recipe({f"t{i}": float(rng.uniform(0.5, 1.5)) for i in range(rng.integers(0, 4))})
    pool: list[Expression] = []
    for i in range(rng.integers(1, 5)):
        name = f"z{i}"
        shape = [(), (3,), (5,), (2, 3)][rng.integers(4)]
        mean = constant(rng.normal())
        fitting = [e for e in pool if e.shape == shape or not e.shape]
        if fitting and rng.random() < 0.6:
            mean = fitting[rng.integers(len(fitting))]
        if len(shape) == 1 and rng.random() < 0.3:
            B = rng.normal(size=(*shape, *shape))
            spread: Any = B @ B.T + np.eye(*shape)
            mean = spread_out(mean, shape)
        else:
            spread = scale_of(recipe, rng, shape)
        recipe.shapes[name], recipe.latents[name] = shape, (mean, spread)
        pool.append(Expression(lambda env, name=name: env[name], shape, frozenset([name])))
        for _ in range(rng.integers(2, 7)):
            pool.append(grown(recipe, rng, pool))
    reached: set[str] = set()
    for e in [*pool[-int(rng.integers(1, 4)) :], *(p for p in pool if len(p.uses) == 1)]:
        if e.uses - reached or rng.random() < 0.3:
            y = rng.normal(size=e.shape) * 2.0
            if y.size > 1 and rng.random() < 0.3:
                y.flat[rng.integers(y.size)] = np.nan
            recipe.observed.append((e, scale_of(recipe, rng, e.shape), y))
            pending = set(e.uses)
            while pending:
                name = pending.pop()
                if name not in reached:
                    reached.add(name)
                    pending |= recipe.latents[name][0].uses
    if recipe.theta:  # every hyperparameter must matter to some data
        e, spread, y = recipe.observed.pop()
        recipe.observed.append((e, lambda env: spread(env) + sum(env[t] for t in recipe.theta), y))
    return recipe


def declared(recipe, theta_as_numbers=False):
    m = cr.Model()
    env: Env = {}
    for name, value in recipe.theta.items():
        env[name] = value if theta_as_numbers else m.latent(name, cr.HalfNormal(1.0))
    for name, (mean, spread) in recipe.latents.items():
        shape = recipe.shapes[name]
        if callable(spread):
            env[name] = m.latent(name, cr.Normal(mean.run(env), spread(env)), shape=shape)
        else:
            env[name] = m.latent(name, cr.MultivariateNormal(mean.run(env), spread))
    for i, (mean, spread, y) in enumerate(recipe.observed):
        m.observed(f"y{i}", cr.Normal(mean.run(env), spread(env)), y)
    return m


def dense(recipe, theta, sizes):
    """log p(y | θ), and mean and sd of the stacked latents given y, by probing at unit vectors."""
    starts = np.cumsum([0, *(int(np.prod(s)) for s in sizes.values())])
    p = int(starts[-1])

    def forward(e):
        env: Env = dict(theta)
        for (name, (mean, spread)), at in zip(recipe.latents.items(), starts):
            shape = sizes[name]
            noise = e[at : at + int(np.prod(shape))].reshape(shape)
            drawn = spread(env) * noise if callable(spread) else np.linalg.cholesky(spread) @ noise
            env[name] = np.asarray(mean.run(env) + drawn)
        z = np.concatenate([np.ravel(env[name]) for name in recipe.latents])
        parts = [np.broadcast_to(mean.run(env), y.shape).ravel() for mean, _, y in recipe.observed]
        return z, np.concatenate(parts), env

    z0, m0, env = forward(np.zeros(p))
    probes = [forward(e) for e in np.eye(p)]
    Z, M = np.stack([z - z0 for z, _, _ in probes], axis=1), np.stack([m - m0 for _, m, _ in probes], axis=1)
    y = np.concatenate([y.ravel() for _, _, y in recipe.observed])
    sd = np.concatenate([np.broadcast_to(spread(env), y.shape).ravel() for _, spread, y in recipe.observed])
    seen = np.isfinite(y)
    y, M, m0, sd = y[seen], M[seen], m0[seen], sd[seen]
    K = M @ M.T + np.diag(sd**2)
    gain = np.linalg.solve(K, M @ Z.T).T
    mean = z0 + gain @ (y - m0)
    cov = Z @ Z.T - gain @ M @ Z.T
    return multivariate_normal(m0, K).logpdf(y), mean, np.sqrt(np.diag(cov))


def check(seed):
    recipe = make_recipe(seed)
    sizes = recipe.shapes
    m = declared(recipe)
    assert {k: v for k, v in m.explain().treatment.items() if k in recipe.latents} == dict.fromkeys(sizes, "exact")
    collapsed = Collapsed(plan_of(m))
    x = np.array(list(recipe.theta.values()))
    expected, mean, sd = dense(recipe, recipe.theta, sizes)
    belief = collapsed.belief(x)
    np.testing.assert_allclose(belief.mean, mean, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(belief.sd, sd, rtol=1e-8, atol=1e-9)
    found = declared(recipe, theta_as_numbers=True).fit(draws=4, random_state=0)
    assert found.log_evidence == pytest.approx(expected, rel=1e-9, abs=1e-9)
    if not recipe.theta:
        return
    prior = halfnorm.logpdf(x).sum()
    value, gradient = collapsed.target.value_and_gradient(x)
    assert value == pytest.approx(expected + prior, rel=1e-9, abs=1e-9)
    rows = collapsed.log_densities(np.stack([x, 1.1 * x])) if collapsed.has_batch else [value]
    assert rows[0] == pytest.approx(value, rel=1e-11, abs=1e-11)
    for k, name in enumerate(recipe.theta):  # a five-point difference: error h⁴
        h, total = 1e-3, 0.0
        for step, weight in ((-2, 1.0), (-1, -8.0), (1, 8.0), (2, -1.0)):
            moved = {**recipe.theta, name: recipe.theta[name] + step * h}
            total += weight * (dense(recipe, moved, sizes)[0] + halfnorm.logpdf(list(moved.values())).sum())
        assert gradient[k] == pytest.approx(total / (12.0 * h), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("start", range(0, 24, 6))
def test_random_graphs(start):
    """Evidence to 1e-9, moments of the block to 1e-8, gradients to 1e-6."""
    for seed in range(start, start + 6):
        check(seed)


@pytest.mark.slow
def test_many_random_graphs(replicates):
    for seed in range(1000, 1000 + replicates(300, 3000)):
        check(seed)
