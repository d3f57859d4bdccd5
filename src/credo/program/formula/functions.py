"""The functions that a formula may call: all there are. Nothing in a formula is ever evaluated as code."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import expit, logit

from credo.program.formula.syntax import Call, Name, Node, Number, Sign, Text

__all__ = ["ALIASES", "ELEMENTWISE", "FUNCTIONS", "LATENT", "RESPONSE", "Function", "Misuse", "Parameter",
           "check_call", "options_of"]  # fmt: skip

#: numbers → numbers, cell by cell
ELEMENTWISE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.round,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "logit": logit,
    "expit": expit,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
}
_ABSENT = object()


class Misuse(Exception):
    """A call that breaks its function's signature; the parser, which knows the text, makes a `FormulaError` of it."""

    def __init__(self, message: str, node: Node, remedy: str | None = None) -> None:
        self.message, self.node, self.remedy = message, node, remedy
        super().__init__(message)


@dataclass(frozen=True)
class Parameter:
    """An argument after the first. kind : of a constant "integer", "number", "numbers", "flag", "contrast", "spline" or
    "text"; "expression" is arithmetic on columns, kept as a node."""

    name: str
    kind: str
    default: Any = _ABSENT
    least: float | None = None


@dataclass(frozen=True)
class Function:
    """kind : "elementwise", "moments" (one column to one), "basis" (to several), "identity", "category", "offset",
    "smooth", "monotone", "measured", "imputed" (effects with latent parts of their own), "response" (left of `~`)."""

    kind: str
    parameters: tuple[Parameter, ...] = ()


_CATEGORY = Function("category", (Parameter("contrast", "contrast", "treatment"), Parameter("ref", "text", None)))
_SPLINE = (Parameter("df", "integer", None, 1), Parameter("knots", "numbers", None))
_CURVE = (
    Parameter("k", "integer", None, 3),
    Parameter("by", "expression", None),
    Parameter("other", "expression", None),
)
FUNCTIONS: dict[str, Function] = {
    **{name: Function("elementwise") for name in ELEMENTWISE},
    "center": Function("moments"),
    "scale": Function("moments"),
    "poly": Function("basis", (Parameter("degree", "integer", least=1), Parameter("raw", "flag", False))),
    "bs": Function("basis", (*_SPLINE, Parameter("degree", "integer", 3, 1))),
    "ns": Function("basis", _SPLINE),
    "fourier": Function("basis", (Parameter("period", "number", least=0), Parameter("order", "integer", 3, 1))),
    "I": Function("identity"),
    "C": _CATEGORY,
    "offset": Function("offset"),
    "s": Function("smooth", (*_CURVE, Parameter("bs", "spline", "cr"), Parameter("period", "number", None))),
    "t2": Function("smooth", _CURVE),
    "mo": Function("monotone"),
    "me": Function("measured", (Parameter("sd", "expression"),)),
    "mi": Function("imputed", (Parameter("given", "expression", None),)),
    "trials": Function("response"),
    "prop": Function("response", (Parameter("trials", "expression"),)),
    "cbind": Function("response", (Parameter("failures", "expression"),)),
}
#: kinds of effects that have latent parts: terms of their own, never within a product
LATENT = ("smooth", "monotone", "measured", "imputed")
#: responses that are successes out of trials
RESPONSE = ("prop", "cbind")
#: names that other packages have for the same
ALIASES = {
    "standardize": "scale",
    "zscore": "scale",
    "proportion": "prop",
    "p": "prop",
    "factor": "C",
    "arcsinh": "asinh",
    "absolute": "abs",
    "cr": "ns",
}
_ELSEWHERE = {
    **dict.fromkeys(("te", "ti"), "A surface of columns of unlike units is t2(x, z)."),
    "hsgp": "s(x) is a smooth curve.",
    "gp": "s(x) is a smooth curve.",
    "lag": "Make the shifted column first.",
    "cs": "mo(x) or s(x), perhaps.",
    "ordered": "Declare the order (a pandas Categorical, a polars Enum), then mo(x).",
    "pow": "x squared is I(x ** 2).",
    "power": "x squared is I(x ** 2).",
    "ifelse": "A comparison is 0 or 1: I((x > 0) * z).",
    "binary": "A comparison is 0 or 1: I(x == 2).",
    "minmax": "scale(x) has mean 0 and sd 1.",
    "gr": "Write (1 | g).",
    "mvbind": "There is one response; for several, write a cr.Model.",
    **dict.fromkeys(("se", "cens", "trunc", "censored", "truncated"), "For such responses write a cr.Model."),
    "mm": "Groups of several memberships are not there.",
    "weights": "Weights of rows are not there: for counts out of n, k | trials(n).",
}
_CONTRASTS = ("treatment", "sum")
# In one dimension the thin-plate spline with these knots is the cubic one.
_SPLINES = ("cr", "tp", "cc")
_CONTRAST_CALLS = {"Treatment": "treatment", "Sum": "sum"}
_WORDS = {"TRUE": True, "True": True, "FALSE": False, "False": False}


def check_call(call: Call) -> None:
    """Raise `Misuse` for an unknown function, arguments it does not take, or that are out of range."""
    if call.function == "c" or call.function in _CONTRAST_CALLS:  # constants, looked at where they are used
        return
    function = FUNCTIONS.get(call.function)
    if function is None:
        raise Misuse(f"there is no function {call.function!r}", _head(call), _nearest(call.function))
    if not call.arguments:
        raise Misuse(f"{call.function} needs a column", call)
    options_of(call)


def _head(call: Call) -> Node:
    return Node(call.start, call.start + len(call.function))


def _nearest(name: str) -> str:
    plain = name.rpartition(".")[2]
    if plain in _ELSEWHERE:
        return _ELSEWHERE[plain]
    close = [plain] if plain in FUNCTIONS else difflib.get_close_matches(name[:40], FUNCTIONS, 1)
    return f"Did you mean {close[0]}?" if close else f"Known are {', '.join(sorted(FUNCTIONS))}."


def options_of(call: Call) -> dict[str, Any]:
    """The constants a call states after its first argument, by name, with defaults for the others."""
    parameters = FUNCTIONS[call.function].parameters
    known = {parameter.name: parameter for parameter in parameters}
    extra = call.arguments[1:]
    other = None
    if call.function in ("s", "t2") and extra and not isinstance(extra[0], Number):
        other, *extra = extra
        if extra and not isinstance(extra[0], Number):
            raise Misuse("a smooth surface is of two columns", extra[0], "k and by have names: s(x, by=g).")
    if len(extra) > len(parameters):
        shown = f"takes {1 + len(parameters)} arguments at most" if parameters else "takes one argument"
        raise Misuse(f"{call.function} {shown}", extra[len(parameters)])
    given: dict[str, Node] = {parameter.name: node for parameter, node in zip(parameters, extra)}
    if other is not None:
        given["other"] = other
    for name, node in call.keywords:
        if name not in known or name == "other":
            which = f"; it has {', '.join(name for name in known if name != 'other')}" if known else ""
            raise Misuse(f"{call.function} has no argument {name!r}{which}", node)
        if name in given:
            raise Misuse(f"{call.function} is given {name!r} twice", node)
        given[name] = node
    if call.function in ("bs", "ns") and ("df" in given) == ("knots" in given):
        raise Misuse(f"{call.function} needs df or knots, one of them", call, f"Write {call.function}(x, 5), say.")
    if call.function == "C" and isinstance(given.get("contrast"), Call):
        given |= _of_contrast_call(given["contrast"])
    found = {name: _constant(call.function, known[name], node) for name, node in given.items()}
    for parameter in parameters:
        if parameter.name not in found and parameter.default is _ABSENT:
            raise Misuse(f"{call.function} needs {parameter.name!r}", call)
    if call.function == "t2" and other is None:
        raise Misuse("t2 is a surface, of two columns", call, "A curve is s(x).")
    options = {parameter.name: found.get(parameter.name, parameter.default) for parameter in parameters}
    if call.function == "s":
        _check_spline(call, options)
    if call.function == "bs" and options["df"] is not None and options["df"] < options["degree"]:
        raise Misuse(f"bs of degree {options['degree']} has df ≥ {options['degree']}", call)
    return options


def _check_spline(call: Call, options: dict[str, Any]) -> None:
    cyclic = options["bs"] == "cc"
    if options["period"] is not None and not cyclic:
        raise Misuse("a period is that of a curve that repeats itself", call, 'Write s(x, bs="cc", period=12).')
    if options["other"] is not None and cyclic:
        raise Misuse("a curve that repeats itself is of one column", call)


def _of_contrast_call(node: Node) -> dict[str, Node]:
    """patsy's C(x, Treatment("b")) or C(x, Sum) as arguments of C."""
    assert isinstance(node, Call)
    if node.function not in _CONTRAST_CALLS:
        return {}
    given: dict[str, Node] = {"contrast": Name(node.start, node.end, _CONTRAST_CALLS[node.function])}
    levels = [*node.arguments, *(value for _, value in node.keywords)]
    return given | ({"ref": levels[0]} if levels and node.function == "Treatment" else {})


def _constant(function: str, parameter: Parameter, node: Node) -> Any:
    """The value of a constant argument, checked against its kind and range."""
    value, kind = _value(node), parameter.kind
    if kind == "expression":
        return node
    if kind == "contrast" and isinstance(node, Name) and node.name in _CONTRAST_CALLS:
        return _CONTRAST_CALLS[node.name]
    if kind == "text" and isinstance(value, (str, bool, float)):
        return _level(value)
    if kind == "contrast" and (value in _CONTRASTS or (isinstance(node, Name) and node.name in _CONTRASTS)):
        return node.name if isinstance(node, Name) else value
    if kind == "spline" and value in _SPLINES:
        return value
    if kind == "flag" and isinstance(value, bool):
        return value
    if kind in ("integer", "number") and isinstance(value, float):
        whole = kind == "number" or value == int(value)
        if whole and (parameter.least is None or value >= parameter.least) and (kind == "integer" or value > 0):
            return int(value) if kind == "integer" else value
    if kind == "numbers" and isinstance(value, (float, list)):
        numbers = value if isinstance(value, list) else [value]
        if numbers and all(a < b for a, b in pairwise(numbers)):
            return numbers
    wanted = {
        "integer": f"a whole number ≥ {parameter.least:g}" if parameter.least is not None else "a whole number",
        "number": "a number > 0",
        "numbers": "a number, or increasing ones as c(1, 2, 3)",
        "flag": "True or False",
        "contrast": "treatment or sum",
        "spline": "'cc' for a curve that repeats itself, or left out",
        "text": "a level in quotes",
    }
    raise Misuse(f"{function}'s {parameter.name} must be {wanted[kind]}", node)


def _level(value: str | bool | float) -> str:
    return str(int(value)) if isinstance(value, float) and value == int(value) else str(value)


def _value(node: Node) -> Any:
    """A constant's value, or None: float, bool, str, or a list of floats."""
    if isinstance(node, (Number, Text)):
        return node.value
    if isinstance(node, Name):
        return _WORDS.get(node.name)
    if isinstance(node, Sign) and isinstance(node.operand, Number):
        return -node.operand.value if node.operator == "-" else node.operand.value
    if isinstance(node, Call) and node.function == "c" and not node.keywords:
        values = [_value(argument) for argument in node.arguments]
        return values if all(type(value) is float for value in values) else None
    return None
