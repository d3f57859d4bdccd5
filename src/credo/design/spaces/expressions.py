"""Expressions in the parameters, `"lr * depth <= 3 and kernel == 'rbf'"`: read by a whitelist, nothing is executed."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from credo.errors import ParameterError

__all__ = ["Expression"]

# A stranger's file should not be able to nest until the parser's stack ends.
LONGEST = 2000

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: lambda a, b: math.pow(a, b),  # of floats: 9**9**9 overflows instead of filling the memory
}
_UNARY: dict[type, Callable[[Any], Any]] = {ast.USub: operator.neg, ast.UAdd: operator.pos}
_COMPARE: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs, "min": min, "max": max, "log": math.log, "exp": math.exp, "sqrt": math.sqrt,
}  # fmt: skip


class Expression:
    """A condition or constraint as text: comparisons, `and`, `or`, `not`, `in`, arithmetic, abs min max log exp sqrt.

    Examples
    --------
    >>> e = Expression("x + 2 * y <= 3")
    >>> e.names, e.holds({"x": 1, "y": 1}), e.holds({"x": 1, "y": 1.5})
    (('x', 'y'), True, False)

    Raises
    ------
    ParameterError : the text is no such expression, or has no value at these parameters (a text plus a number)
    """

    def __init__(self, text: str) -> None:
        self.text = text
        if len(text) > LONGEST:
            raise self._error(f"at most {LONGEST} characters", len(text))
        try:
            self._tree = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._error("an expression such as 'x + 2 * y <= 3'", text) from None
        names = {node.id for node in ast.walk(self._tree) if isinstance(node, ast.Name)}
        self.names = tuple(sorted(names - set(_FUNCTIONS)))
        try:
            self._check(self._tree)
            self._function = _compiled(self._tree)
        except RecursionError:
            raise self._error("less deeply nested", text) from None

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Expression) and other.text == self.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Any, ...]:
        return Expression, (self.text,)

    def holds(self, params: Mapping[str, Any]) -> bool:
        """Whether it is true of these parameters, all of `names` being there."""
        try:
            return bool(self._function(params))
        except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
            raise self._error(f"computable at every point ({error})", dict(params)) from None

    def _error(self, constraint: str, value: Any) -> ParameterError:
        return ParameterError("Space", f"expression {self.text[:80]!r}", constraint, value)

    def _check(self, node: ast.AST) -> None:
        """Refuse what is not on the lists, before anything is computed."""
        allowed = (ast.BoolOp, ast.Compare, ast.Name, ast.Tuple, ast.List, ast.Load, ast.And, ast.Or, ast.Not)
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in _FUNCTIONS or node.keywords:
                raise self._error(f"without calls but {', '.join(_FUNCTIONS)}", ast.unparse(node))
        elif isinstance(node, ast.Constant):
            if not isinstance(node.value, (int, float, str, bool, type(None))):
                raise self._error("of numbers, text and names", node.value)
        elif isinstance(node, (ast.BinOp, ast.UnaryOp)):
            if type(node.op) not in _BINARY and type(node.op) not in _UNARY and not isinstance(node.op, ast.Not):
                raise self._error("of + - * / // % **, comparisons, and, or, not", ast.unparse(node))
        elif type(node) not in {*_BINARY, *_UNARY, *_COMPARE} and not isinstance(node, allowed):
            raise self._error("of comparisons and arithmetic", ast.unparse(node))
        for child in ast.iter_child_nodes(node):
            self._check(child)


def _compiled(node: Any) -> Callable[[Mapping[str, Any]], Any]:
    """A checked tree as a function of the parameters: closures, several times as fast as walking the tree."""
    match node:
        case ast.Constant():
            value = node.value
            return lambda p: value
        case ast.Name():
            name = node.id
            return lambda p: p[name]
        case ast.BoolOp():
            parts = [_compiled(part) for part in node.values]
            test = all if isinstance(node.op, ast.And) else any
            return lambda p: test(part(p) for part in parts)
        case ast.UnaryOp():
            operand = _compiled(node.operand)
            if isinstance(node.op, ast.Not):
                return lambda p: not operand(p)
            unary = _UNARY[type(node.op)]
            return lambda p: unary(_number(operand(p)))
        case ast.BinOp():
            left, right, binary = _compiled(node.left), _compiled(node.right), _BINARY[type(node.op)]
            return lambda p: binary(_number(left(p)), _number(right(p)))
        case ast.Compare():
            return _comparison(node)
        case ast.Call():
            function, parts = _FUNCTIONS[ast.unparse(node.func)], [_compiled(part) for part in node.args]
            return lambda p: function(*(_number(part(p)) for part in parts))
        case _:  # a tuple or a list
            parts = [_compiled(part) for part in node.elts]
            return lambda p: [part(p) for part in parts]


def _comparison(node: ast.Compare) -> Callable[[Mapping[str, Any]], bool]:
    """a < b <= c: each operand once, up to the first that is false."""
    first = _compiled(node.left)
    rest = [(_COMPARE[type(op)], _compiled(part)) for op, part in zip(node.ops, node.comparators)]

    def holds(p: Mapping[str, Any]) -> bool:
        left = first(p)
        for compare, part in rest:
            right = part(p)
            if not compare(left, right):
                return False
            left = right
        return True

    return holds


def _number(value: Any) -> Any:
    if isinstance(value, str) or value is None:
        raise TypeError(f"{value!r} is not a number")
    return value
