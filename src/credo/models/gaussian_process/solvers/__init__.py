"""Ways of solving with K_y = K(X, X) + diag(v).

`base`                `Solver`, `Factored`: what a Gaussian process asks of them
`exact`               `Exact`, dense Cholesky
`state_space`         `StateSpace`, exact in one column, O(n)
`vecchia`             `Vecchia`, each row given its nearest among those before it
`inducing`            `Inducing`, a few places through which the function is seen
`conjugate_gradient`  `ConjugateGradient`, K_y by its products only
`choose`              `choose`, what `solver="auto"` takes
"""

from credo._lazy import lazily
from credo.models.gaussian_process.solvers.base import Factored, Solver
from credo.models.gaussian_process.solvers.exact import Exact

__all__ = ["ConjugateGradient", "Exact", "Factored", "Inducing", "Solver", "StateSpace", "Vecchia"]

# Imported when first used: what they compile is for more rows than most tables have.
_LAZY = {
    "ConjugateGradient": "conjugate_gradient",
    "Inducing": "inducing",
    "StateSpace": "state_space",
    "Vecchia": "vecchia",
}


__getattr__ = lazily(__name__, _LAZY)
