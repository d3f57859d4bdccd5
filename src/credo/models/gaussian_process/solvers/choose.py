"""`choose`: the solver that `solver="auto"` takes, by what each would cost and hold, and a sentence that says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from credo.errors import NumericalError, ParameterError
from credo.kernels import RBF, Kernel, Matern, Periodic, RationalQuadratic
from credo.models.gaussian_process.solvers.base import Solver
from credo.models.gaussian_process.solvers.exact import Exact
from credo.models.gaussian_process.solvers.inducing import Inducing
from credo.models.gaussian_process.solvers.memory import available
from credo.models.gaussian_process.solvers.state_space import StateSpace
from credo.models.gaussian_process.solvers.vecchia import Vecchia
from credo.models.gaussian_process.solvers.white import leaves_of

__all__ = ["choose"]

# Up to here an exact evidence and gradient take half a minute at most on one core, and nothing is approximated.
EXACT_ROWS = 10_000
# Compiled passes take seconds to load or compile in a new process: below this a Cholesky factor is as fast.
WORTH = 1.0
# Functions this smooth in so few columns have few degrees of freedom, which hundreds of places hold; in more columns,
# or with kinks, neighbours say more.
SMOOTH_COLUMNS = 2
# Half of what is free: the data, the caller's arrays and other processes need the rest.
SHARE = 0.5


def choose(kernel: Kernel, n: int, d: int, *, memory: float | None = None) -> tuple[Solver, str]:
    """The first solver that fits, of those that are exact, then of the approximations; and why, with figures.

    In order: `StateSpace` where the kernel has a finite state and it is cheaper than `Exact` by more than a second;
    `Exact` to 10,000 rows; `Inducing` for smooth kernels of one or two columns; `Vecchia`. Each must fit in memory.

    kernel : at the hyperparameters that a search starts from; n rows of d columns
    memory : bytes; None is half of what is free now

    Raises
    ------
    NumericalError : nothing fits.

    >>> from credo.kernels import RBF
    >>> solver, reason = choose(RBF(1.0), 1000, 3, memory=1e9)
    >>> solver, reason[:29]
    (Exact(), 'exact: 1,000 rows take about ')
    """
    if n < 1 or d < 0:
        raise ParameterError("choose", "n", "≥ 1 rows, and d ≥ 0 columns", (n, d))
    budget = SHARE * available() if memory is None else float(memory)
    tried = []
    for name, solver, why in _candidates(kernel, n, d):
        seconds, held = solver.cost(kernel, n, d)
        figures = f"about {_figure(seconds)} s an evaluation and {_gigabytes(held)}"
        if held <= budget:
            return solver, f"{name}: {n:,} rows take {figures}{why}."
        tried.append(f"{name} {_gigabytes(held)}")
    raise NumericalError(
        f"No solver of a Gaussian process of {n:,} rows fits in {_gigabytes(budget)}: {', '.join(tried)}.",
        value=n,
        remedy="Fit on fewer rows, state solver=Inducing(n_inducing=…) or Vecchia(n_neighbors=…) with fewer, "
        "or free memory.",
    )


def _candidates(kernel: Kernel, n: int, d: int) -> Iterator[tuple[str, Any, str]]:
    """Name, solver and the reason it is preferred to the ones after it, best first."""
    exact = Exact().cost(kernel, n, d)[0]
    beside = f"; exact would take {_figure(exact)} s"
    try:
        states = StateSpace()
        filtered = states.cost(kernel, n, d)[0]
    except (ParameterError, NumericalError):  # no finite state, or one too large
        filtered = float("inf")
    if filtered + WORTH < exact:
        yield "state space", StateSpace(), f", without approximation{beside}"
    if n <= EXACT_ROWS:
        yield "exact", Exact(), ""
    if filtered < float("inf"):
        yield "state space", StateSpace(), ", without approximation"
    if d <= SMOOTH_COLUMNS and _is_smooth(kernel):
        yield "inducing points", Inducing(), f" with 512 places of a smooth function{beside}"
    yield "Vecchia", Vecchia(n_neighbors=30), f" with 30 neighbours a row{beside}"


def _is_smooth(kernel: Kernel) -> bool:
    """Whether a part varies, and all that vary have derivatives of every order (or two: Matern 5/2)."""
    rough = [leaf for leaf in leaves_of(kernel) if isinstance(leaf, Matern) and leaf.nu < 2.5]
    known = [leaf for leaf in leaves_of(kernel) if isinstance(leaf, RBF | RationalQuadratic | Periodic | Matern)]
    return bool(known) and not rough


def _gigabytes(value: float) -> str:
    return f"{_figure(value / 1e9)} GB"


def _figure(value: float) -> str:
    """Two digits, never in powers of ten."""
    return f"{value:.2g}" if value < 100.0 else f"{value:,.0f}"
