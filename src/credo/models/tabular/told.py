"""A fitted estimator's noise in words, and what a Gaussian process learned."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.models.listing import Listing
from credo.models.tabular.beliefs import inner, log_evidence, noise_scale
from credo.numerics.readable import number

__all__ = ["NoiseLaw", "noise_law", "process_told"]

# Draws of the posterior from which a learned df is read.
DRAWS = 1000


@dataclass(frozen=True)
class NoiseLaw:
    """How outcomes scatter: `family` ("normal", "student_t", "laplace"), `scale`, `df` where there is one.

    The scale of a Normal law is its sd; of the others it is not, and a Student-t with df ≤ 2 has none.
    """

    family: str
    scale: float
    df: float | None = None

    def __str__(self) -> str:
        """After "outcomes scatter about the prediction"."""
        if self.family == "student_t":
            return f"by a Student-t law with scale {number(self.scale)} and {number(self.df, 3)} degrees of freedom"
        if self.family == "laplace":
            return f"by a Laplace law with scale {number(self.scale)}"
        return f"with sd {number(self.scale)}"


def noise_law(estimator: Any) -> NoiseLaw | None:
    """The law of the noise, None where there is no one scale.

    >>> import numpy as np, credo as cr
    >>> x = np.linspace(0, 1, 30)[:, None]
    >>> model = cr.LinearRegression(noise=cr.noise.StudentT(df=4, scale=0.5)).fit(x, x[:, 0] + np.cos(99 * x[:, 0]))
    >>> str(noise_law(model))
    'by a Student-t law with scale 0.5 and 4 degrees of freedom'
    """
    from credo.distributions import noise as records

    scale = noise_scale(estimator)
    if scale is None:
        return None
    model = inner(estimator)
    stated = getattr(model, "noise", None)
    if isinstance(stated, records.Laplace):
        return NoiseLaw("laplace", scale)
    if isinstance(stated, records.StudentT):
        return NoiseLaw("student_t", scale, _df(model, stated))
    return NoiseLaw("normal", scale)


def _df(model: Any, stated: Any) -> float:
    if stated.df is not None:
        return float(stated.df)
    latent = getattr(model, "latent_", None)
    if latent is not None:
        return float(latent.likelihood.auxiliary_values(latent.psi)["df"])
    # The median: the mean of a df with a long tail is anywhere.
    return float(np.median(model.posterior_.sample_all(DRAWS, rng=0)["df"]))


def process_told(estimator: Any, features: tuple[str, ...] = ()) -> list[str | Listing]:
    """Kernel, hyperparameters, evidence and solver of a Gaussian process, in lines and a table; [] of other models.

    features : names of the columns that the estimator was fitted to
    """
    from credo.kernels import Kernel

    model = inner(estimator)
    kernel = getattr(model, "kernel_", None)
    if not isinstance(kernel, Kernel) or not hasattr(model, "log_evidence_"):
        return []
    rows = [
        (
            f"{hyper.name.replace('kernel.', '')}{_of(hyper, i, features)}",
            number(float(value)) + (", held" if hyper.fixed else ""),
        )
        for hyper in kernel.hyperparameters
        for i, value in enumerate(hyper.value)
    ]
    lines: list[str | Listing] = [f"A Gaussian process with kernel {_expression(kernel)}:"]
    if rows:
        lines.append(Listing(("hyperparameter", "value"), tuple(rows)))
    value = log_evidence(estimator)
    if value is not None:
        lines.append(f"Log evidence: {number(value, 6)}.")
    solver = model.result_.certificate.get("solver_reason")
    if solver:
        lines.append(f"Solver: {solver}" if str(solver).endswith(".") else f"Solver: {solver}.")
    return lines


def _of(hyper: Any, i: int, features: tuple[str, ...]) -> str:
    """Which column a lengthscale is of, where each has its own."""
    if hyper.value.size == 1:
        return ""
    return f" of {features[i]}" if hyper.value.size == len(features) else f"[{i}]"


def _expression(kernel: Any) -> str:
    """variance × Matern(nu=2.5) + …, without values."""
    from credo.kernels import Product, Scaled, Sum

    if isinstance(kernel, Sum):
        return " + ".join(map(_expression, kernel.parts))
    if isinstance(kernel, Product):
        return " × ".join(f"({_expression(p)})" if isinstance(p, Sum) else _expression(p) for p in kernel.parts)
    if isinstance(kernel, Scaled):
        part = _expression(kernel.kernel)
        return f"variance × ({part})" if isinstance(kernel.kernel, Sum) else f"variance × {part}"
    smoothness = getattr(kernel, "nu", None)
    return type(kernel).__name__ + ("" if smoothness is None else f"(nu={smoothness:g})")
