"""Time to first result of `cr.regress` on 1,000 × 5, each family and link in a fresh process.

    python -m benchmarks.formula_fresh                 # all, as a Markdown table
    python -m benchmarks.formula_fresh beta:cloglog    # one

A process imports scikit-learn, then counts: importing `credo.program.formula`, fitting, and a summary. Times are of the
process (`time.process_time`), which other work on the machine does not change much; of `--repeat` processes the best.
`me` is a gaussian line with a column measured with error, `sigma` one whose sigma follows two columns.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np

N, P = 1000, 5
BINARY = ("logit", "probit", "cloglog")
CASES = [
    "gaussian", "student_t", *(f"{family}:{link}" for family in ("bernoulli", "binomial") for link in BINARY),
    "poisson",
    "negative_binomial", "zero_inflated_poisson", "gamma", "exponential", "lognormal",
    *(f"{family}:{link}" for family in ("beta", "ordinal") for link in BINARY), "categorical", "me", "sigma",
]  # fmt: skip


def table_of(family: str, link: str | None) -> dict[str, np.ndarray]:
    """A table with a response of the family, and five predictors."""
    from scipy.special import expit, ndtr

    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, P))
    eta = 0.3 + x @ np.array([0.5, -0.3, 0.2, 0.0, 0.1])
    inverse = {"probit": ndtr, "cloglog": lambda e: -np.expm1(-np.exp(e))}.get(link or "", expit)
    p, mean, noise = inverse(eta), np.exp(eta), rng.normal(size=N)
    made = {
        "gaussian": lambda: eta + noise,
        "me": lambda: eta + noise,
        "sigma": lambda: eta + np.exp(0.3 * x[:, 0]) * noise,
        "student_t": lambda: eta + rng.standard_t(4, size=N),
        "bernoulli": lambda: (rng.random(N) < p).astype(float),
        "binomial": lambda: rng.binomial(12, p).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
        "negative_binomial": lambda: rng.poisson(mean * rng.gamma(2.0, 0.5, size=N)).astype(float),
        "zero_inflated_poisson": lambda: np.where(rng.random(N) < 0.3, 0, rng.poisson(mean)).astype(float),
        "gamma": lambda: rng.gamma(3.0, mean / 3.0),
        "exponential": lambda: rng.exponential(mean),
        "lognormal": lambda: np.exp(eta + 0.5 * noise),
        "beta": lambda: np.clip(rng.beta(8 * p, 8 * (1 - p)), 1e-9, 1 - 1e-9),
        "ordinal": lambda: np.searchsorted([-1.0, 0.0, 1.5], eta + rng.logistic(size=N)).astype(float),
        "categorical": lambda: np.argmax(np.outer(eta, [0.0, 1.0, -1.0]) + rng.gumbel(size=(N, 3)), axis=1),
    }[family]()
    return {f"x{i}": x[:, i] for i in range(P)} | {"y": made}


def formula_of(family: str) -> str | list[str]:
    names = [f"x{i}" for i in range(P)]
    if family == "me":
        names[0] = "me(x0, 0.3)"
    said = f"{'y | trials(12)' if family == 'binomial' else 'y'} ~ {' + '.join(names)}"
    return [said, "sigma ~ x0 + x1"] if family == "sigma" else said


def measure(case: str) -> tuple[float, float, str]:
    """(seconds to the summary, of these importing, how it was fitted), in this process."""
    import sklearn.linear_model

    assert sklearn.linear_model
    family, _, link = case.partition(":")
    table = table_of(family, link or None)
    start = time.process_time()
    from credo.program.formula import regress

    imported = time.process_time()
    known = "gaussian" if family in ("me", "sigma") else family
    fit = regress(formula_of(family), table, known, link=link or None, random_state=0)  # type: ignore[arg-type]
    fit.summary()
    assert "jax" not in sys.modules
    return time.process_time() - start, imported - start, fit.posterior.inference


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    options.add_argument("case", nargs="?", choices=CASES)
    options.add_argument("--repeat", type=int, default=3)
    given = options.parse_args()
    if given.case:
        print("{:.2f} {:.2f} {}".format(*measure(given.case)))
        return
    from benchmarks.harness import compile_as_pip_does  # not before: a measured process imports only what it measures

    compile_as_pip_does()
    print("| family, link | seconds | of these importing | rung |\n|---|---|---|---|")
    for case in CASES:
        command = [sys.executable, "-m", "benchmarks.formula_fresh", case]
        runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(given.repeat)]
        seconds, imports, rung = min((run.split() for run in runs), key=lambda run: float(run[0]))
        print(f"| {case.replace(':', ', ')} | {seconds} | {imports} | {rung} |", flush=True)


if __name__ == "__main__":
    main()
