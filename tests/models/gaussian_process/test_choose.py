"""Which solver "auto" takes, and that it says why with figures."""

from __future__ import annotations

import re

import pytest

from credo.errors import NumericalError, ParameterError
from credo.kernels import RBF, Kernel, Linear, Matern, Periodic, White
from credo.models.gaussian_process.solvers.choose import choose
from credo.models.gaussian_process.solvers.exact import Exact
from credo.models.gaussian_process.solvers.inducing import Inducing
from credo.models.gaussian_process.solvers.state_space import StateSpace
from credo.models.gaussian_process.solvers.vecchia import Vecchia

LARGE = 64e9
CASES = [
    (RBF(1.0), 500, 3, Exact),
    (Matern(1.0), 500, 1, Exact),  # too few rows for compiled passes to pay
    (RBF(1.0), 10_000, 8, Exact),
    (1.0 * Matern(1.0, nu=1.5) + White(0.1), 8_000, 1, StateSpace),
    (Matern(1.0), 1_000_000, 1, StateSpace),
    (Matern(1.0, active_dims=(3,)) * Linear(1.0, active_dims=(3,)), 50_000, 8, StateSpace),
    (RBF(1.0), 50_000, 1, Inducing),
    (RBF(1.0) + White(0.1), 50_000, 2, Inducing),
    (Matern(1.0, nu=0.5), 50_000, 2, Vecchia),
    (Linear(1.0), 50_000, 2, Vecchia),
    (RBF(1.0), 100_000, 8, Vecchia),
    (Periodic(0.001), 50_000, 1, Inducing),  # more harmonics than a state holds
]


@pytest.mark.parametrize(("kernel", "n", "d", "solver"), CASES)
def test_choice(kernel: Kernel, n: int, d: int, solver: type) -> None:
    chosen, reason = choose(kernel, n, d, memory=LARGE)
    assert type(chosen) is solver
    assert f"{n:,} rows" in reason
    assert re.search(r"about [\d.,]+ s an evaluation and [\d.,e-]+ GB", reason)
    assert reason.endswith(".")


def test_exact_that_does_not_fit_gives_way() -> None:
    assert type(choose(RBF(1.0), 9_000, 8, memory=1e9)[0]) is Vecchia
    assert type(choose(RBF(1.0), 9_000, 2, memory=1e9)[0]) is Inducing
    assert type(choose(Matern(1.0), 500, 1, memory=1e6)[0]) is StateSpace


def test_nothing_fits() -> None:
    with pytest.raises(NumericalError, match=r"No solver .* 1,000,000 rows fits in 0.001 GB: .*fewer rows") as caught:
        choose(RBF(1.0), 1_000_000, 8, memory=1e6)
    assert caught.value.value == 1_000_000


def test_memory_of_this_machine_is_read() -> None:
    assert type(choose(RBF(1.0), 10, 1)[0]) is Exact


def test_no_rows() -> None:
    with pytest.raises(ParameterError, match="≥ 1 rows"):
        choose(RBF(1.0), 0, 1)
