"""Functions of nodes, and of numbers: `cr.math.exp(node)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from credo.errors import DataError, ParameterError
from credo.program.nodes import Node, apply, as_node, axis_of, holds_states
from credo.program.ops import OPS

__all__ = [
    "abs", "arccos", "arcsin", "arctan", "arctan2", "call", "clip", "concat", "cos", "cosh", "cumsum", "digamma", "dot",
    "erf", "erfc", "exp", "expit", "expm1", "gammaln", "inv_cloglog", "log", "log1mexp", "log1p", "log_expit",
    "log_ndtr", "log_softmax", "logaddexp", "logit", "logsumexp", "maximum", "minimum", "ndtr", "ndtri", "odeint",
    "outer", "sin", "sinh", "softmax", "softplus", "sqrt", "square", "stack", "tan", "tanh", "where",
]  # fmt: skip


def _numbers(name: str, x: Any) -> np.ndarray:
    try:
        return np.asarray(x, dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError("math", name, "given a node or numbers", x) from None


def _has_node(x: Any) -> bool:
    return isinstance(x, Node) or (isinstance(x, (list, tuple)) and any(isinstance(each, Node) for each in x))


def _of(name: str, *arguments: Any, **static: Any) -> Any:
    """The operation on numbers."""
    numbers = [_numbers(name, x) for x in arguments]
    with np.errstate(all="ignore"):
        return np.asarray(OPS[name].forward(numbers, [False] * len(numbers), static))[()]


def _function(name: str, formula: str) -> Any:
    def function(x: Any) -> Any:
        return apply(name, x) if _has_node(x) else _of(name, x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, elementwise, of a node or of numbers."
    return function


def _function_of_two(name: str, formula: str) -> Any:
    def function(x: Any, y: Any) -> Any:
        return apply(name, x, y) if _has_node(x) or _has_node(y) else _of(name, x, y)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula}, elementwise, of nodes or of numbers."
    return function


exp = _function("exp", "eˣ")
log = _function("log", "log x")
sqrt = _function("sqrt", "√x")
square = _function("square", "x²")
abs = _function("abs", "|x|")
log1p = _function("log1p", "log(1 + x)")
expm1 = _function("expm1", "eˣ − 1")
log1mexp = _function("log1mexp", "log(1 − eˣ), x ≤ 0")
expit = _function("expit", "1/(1 + e⁻ˣ), the inverse of the logit link")
log_expit = _function("log_expit", "−log(1 + e⁻ˣ)")
logit = _function("logit", "log(x/(1 − x))")
softplus = _function("softplus", "log(1 + eˣ)")
ndtr = _function("ndtr", "Φ(x), the inverse of the probit link")
log_ndtr = _function("log_ndtr", "log Φ(x)")
ndtri = _function("ndtri", "Φ⁻¹(x), the probit")
inv_cloglog = _function("inv_cloglog", "1 − exp(−eˣ), the inverse of the complementary log-log link")
erf = _function("erf", "2/√π ∫₀ˣ exp(−t²) dt")
erfc = _function("erfc", "1 − erf x")
sin = _function("sin", "sin x")
cos = _function("cos", "cos x")
tan = _function("tan", "tan x")
arcsin = _function("arcsin", "arcsin x")
arccos = _function("arccos", "arccos x")
arctan = _function("arctan", "arctan x")
sinh = _function("sinh", "sinh x")
cosh = _function("cosh", "cosh x")
tanh = _function("tanh", "tanh x")
gammaln = _function("gammaln", "log |Γ(x)|")
digamma = _function("digamma", "d/dx log Γ(x)")
arctan2 = _function_of_two("arctan2", "The angle of the point that lies x upwards and y to the right")
logaddexp = _function_of_two("logaddexp", "log(eˣ + eʸ)")
maximum = _function_of_two("maximum", "The larger of x and y")
minimum = _function_of_two("minimum", "The smaller of x and y")


def clip(x: Any, low: Any = None, high: Any = None) -> Any:
    """x held between `low` and `high`, elementwise; None leaves a side open. Beyond them the slope is 0."""
    if low is None and high is None:
        raise ParameterError("math", "clip", "given low, high or both", (low, high))
    x = x if low is None else maximum(x, low)
    return x if high is None else minimum(x, high)


def where(condition: Any, a: Any, b: Any) -> Any:
    """a in cells where the condition holds, b elsewhere; the condition is numbers, a data node or a discrete
    latent node, 0 for no.

    Both are computed everywhere: keep them finite, as in `where(x > 0, log(maximum(x, 1e-300)), 0)`.
    """
    if any(isinstance(x, Node) for x in (condition, a, b)):
        chosen = as_node(condition)
        if chosen.kind not in ("constant", "data") and not holds_states(chosen):
            raise ParameterError("math", "condition", "numbers, a data node or a discrete latent node", repr(chosen))
        return apply("where", chosen, a, b)
    return _of("where", condition, a, b)


# -- along an axis ---------------------------------------------------------------------------------------------------


def _along(name: str, formula: str, reduces: bool) -> Any:
    def function(x: Any, axis: int | str = -1) -> Any:
        if _has_node(x):
            x = as_node(x)
        else:
            array = _numbers(name, x)
            at = axis_of(as_node(array), axis)
            return _of(name, array, axis=at - array.ndim)
        at = axis_of(x, axis)
        rest = [i for i in range(x.ndim) if not (reduces and i == at)]
        shape, dims = tuple(x.shape[i] for i in rest), tuple(x.dims[i] for i in rest)
        return Node(name, [x], shape=shape, dims=dims, static={"axis": at - x.ndim})

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{formula} along an axis, by number or by the name of its dim; of a node or of numbers."
    return function


softmax = _along("softmax", "exp x/Σ exp x", False)
log_softmax = _along("log_softmax", "x − log Σ exp x", False)
logsumexp = _along("logsumexp", "log Σ exp x", True)
cumsum = _along("cumsum", "Running sums", False)


# -- products and parts ----------------------------------------------------------------------------------------------


def dot(a: Any, b: Any) -> Any:
    """a @ b: the product of vectors and matrices."""
    return (
        apply("matmul", a, b) if isinstance(a, Node) or isinstance(b, Node) else _numbers("dot", a) @ _numbers("dot", b)
    )


def outer(a: Any, b: Any) -> Any:
    """aᵢ bⱼ of two vectors, a matrix."""
    if not isinstance(a, Node) and not isinstance(b, Node):
        return np.outer(_numbers("outer", a), _numbers("outer", b))
    one, two = as_node(a), as_node(b)
    if one.ndim != 1 or two.ndim != 1:
        raise DataError(f"outer multiplies two vectors, not {one!r} and {two!r}.", value=(one.shape, two.shape))
    return Node("outer", [one, two], shape=one.shape + two.shape, dims=one.dims + two.dims)


def concat(*parts: Any) -> Node:
    """Arrays one after another along their first axis, which then has no name; numbers count as length 1."""
    if not parts:
        raise ParameterError("math", "concat", "given at least one array", parts)
    nodes = [as_node(part) for part in parts]
    nodes = [node if node.ndim else node.reshape(1) for node in nodes]
    shape = (sum(node.shape[0] for node in nodes), *nodes[0].shape[1:])
    if any(node.shape[1:] != nodes[0].shape[1:] for node in nodes):
        raise DataError(f"concat: shapes beyond the first axis differ: {nodes}.", value=[n.shape for n in nodes])
    return Node("concat", nodes, shape=shape, dims=(None, *nodes[0].dims[1:]))


def stack(*parts: Any) -> Node:
    """Arrays of one shape beside each other along a new first axis."""
    if not parts:
        raise ParameterError("math", "stack", "given at least one array", parts)
    return concat(*(as_node(part)[None] for part in parts))


# -- functions of the user's own -------------------------------------------------------------------------------------


def call(
    function: Callable[..., Any], *nodes: Any, dims: Any = None, low: float | None = None, high: float | None = None,
    gradient: str = "jax",
) -> Node:  # fmt: skip
    """The node function(*nodes) of a function of yours, written in `jax.numpy`.

    function : arrays of the nodes' shapes → an array; compiled once per shape, with all nodes as arguments
    dims : names of the axes of its value; None leaves them without names
    low, high : what is known of its values, for laws that need it (a rate is ≥ 0): it is not checked
    gradient : "jax"; or "differences" for a function of NumPy arrays, whose slopes are then central differences at two
        calls for each number that it is differentiated by, good to some 9 digits

    Raises
    ------
    MissingDependencyError : JAX is not installed (`pip install 'credo[programs]'`)
    ParameterError : the function fails on arrays of these shapes; the message tells how

    Examples
    --------
    >>> import credo as cr
    >>> m = cr.Model()
    >>> a = m.latent("a", cr.Normal(0, 1))
    >>> cr.math.call(lambda x, a: np.exp(a * x), np.array([0.0, 1.0]), a, gradient="differences", low=0)
    <lambda>(array(2,), a)[2]
    """
    from credo.program.user.declared import called

    return called(function, [as_node(node) for node in nodes], dims, low, high, gradient)


def odeint(
    slope: Callable[..., Any], initial: Any, times: Any, *parameters: Any, steps: int = 8, dims: Any = None,
    low: float | None = None, high: float | None = None,
) -> Node:  # fmt: skip
    """y(t) at the given times, where dy/dt = slope(y, t, *parameters) in `jax.numpy`, and y(times[0]) = initial.

    By the classical Runge–Kutta method of order 4 with `steps` steps from each time to the next: the error falls
    sixteenfold when they are doubled. For stiff equations it would need too many.

    initial : (k,) or a number; times : (n,), rising; parameters : nodes or numbers
    dims : names of the axes of the (n, k) values, or (n,) for a number
    low, high : what is known of the solution, as for `call`

    Errors, and what is compiled when, as for `call`; each evaluation costs 4 · steps · (n − 1) slopes.
    """
    from credo.program.user.ode import solution

    return solution(slope, initial, times, parameters, steps, dims, low, high)
