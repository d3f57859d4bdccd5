"""Reading formulas: what they mean, and where they go wrong."""

import contextlib
import random
import time

import pytest

from credo.program.formula import FormulaError, parse


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("y ~ 1", "y ~ 1"),
        ("y ~ 0 + x", "y ~ 0 + x"),
        ("y ~ x - 1", "y ~ 0 + x"),
        ("y ~ -1 + x + 1", "y ~ 1 + x"),
        ("y ~ (0 + x)", "y ~ 0 + x"),
        ("~ a*b", "~ 1 + a + b + a:b"),
        ("~ a*b*c", "~ 1 + a + b + c + a:b + a:c + b:c + a:b:c"),
        ("~ a*b - a", "~ 1 + b + a:b"),
        ("~ a*b - b:a", "~ 1 + a + b"),
        ("~ (a + b + c)^2", "~ 1 + a + b + c + a:b + a:c + b:c"),
        ("~ (a + b)**5", "~ 1 + a + b + a:b"),
        ("~ (a + b + c)**2 - a:b - 1", "~ 0 + a + b + c + a:c + b:c"),
        ("~ a/b", "~ 1 + a + a:b"),
        ("~ a/(b + c)", "~ 1 + a + a:b + a:c"),
        ("~ (a + b)/c", "~ 1 + a + b + a:b:c"),
        ("~ a/b/c", "~ 1 + a + a:b + a:b:c"),
        ("~ b %in% a", "~ 1 + b:a"),
        ("~ a:b + b:a + a:a + a", "~ 1 + a + a:b"),
        ("~ a:b + x + a", "~ 1 + x + a + a:b"),
        ("~ x - (x + z) + z", "~ 1 + z"),
        ("log(y) ~ I(x^2) + log( x+1 )", "log(y) ~ 1 + I(x ** 2) + log(x + 1)"),
        ("`a b` ~ `c``d` + `x`", "`a b` ~ 1 + `c``d` + x"),
        ("y ~ Sepal.Length + größe", "y ~ 1 + Sepal.Length + größe"),
        ("y ~ x + offset(log(t))", "y ~ 1 + x + offset(log(t))"),
        ("y ~ x + (1 | g)", "y ~ 1 + x + (1 | g)"),
        ("y ~ (x | g)", "y ~ 1 + (1 + x | g)"),
        ("y ~ (0 + x || g)", "y ~ 1 + (0 + x || g)"),
        ("y ~ (x*z || g)", "y ~ 1 + (1 + x + z + x:z || g)"),
        ("y ~ (1 | g/h)", "y ~ 1 + (1 | g) + (1 | g:h)"),
        ("y ~ (x | g:h) + (1 | g + h)", "y ~ 1 + (1 + x | g:h) + (1 | g) + (1 | h)"),
        ("y ~ 0 + (1 | g)", "y ~ 0 + (1 | g)"),
        ("y ~ poly(x, 2, raw=TRUE) + C(k, ref='b') + bs(x, knots=c(1, 2.5))",
         "y ~ 1 + poly(x, 2, raw=TRUE) + C(k, ref='b') + bs(x, knots=c(1, 2.5))"),
        ("y ~ I(-x^2 * 3 > 1)", "y ~ 1 + I(-x ** 2 * 3 > 1)"),
        ("y\n~ x\n+ z", "y ~ 1 + x + z"),
    ],
)  # fmt: skip
def test_meaning(text, meaning):
    assert str(parse(text)) == meaning
    assert str(parse(meaning)) == meaning  # what is printed reads as the same


def test_the_dot_is_every_column_not_named_elsewhere():
    columns = ["y", "a", "b c", "g", "t"]
    assert str(parse("log(y) ~ . + (1 | g) + offset(t)", columns)) == "log(y) ~ 1 + a + `b c` + (1 | g) + offset(t)"
    assert str(parse("y ~ .^2", columns[:3])) == "y ~ 1 + a + `b c` + a:`b c`"
    assert parse("y ~ . - t", columns).inputs == ["a", "b c", "g"]


def test_the_record():
    formula = parse("y ~ a:x + (x | g/h) + offset(t)")
    assert formula.intercept
    assert formula.inputs == ["a", "x", "g", "h", "t"]
    assert [term.label for term in formula.terms] == ["Intercept", "a:x"]
    assert [group.label for group in formula.groups] == ["g", "g:h"]
    assert formula.response.columns == ["y"]
    assert parse("~ x").response is None


@pytest.mark.parametrize(
    ("text", "marked", "says"),
    [
        ("y ~ a +", "", "the formula ends"),
        ("x + z", "", "no '~'"),
        ("", "", "no '~'"),
        ("y ~ x ~ z", "~", "second '~'"),
        ("y ~ foo(x)", "foo", "no function 'foo'"),
        ("y ~ np.lag(x)", "np.lag", "Make the shifted column first"),
        ("y ~ __import__('os')", "__import__", "no function"),
        ("y ~ x.__class__()", "x.__class__", "no function"),
        ("y ~ (a + b", "(", "never closed"),
        ("y ~ a) + b", ")", "expected an operator"),
        ("y ~ a b", "b", "expected an operator"),
        ("y ~ log(x", "(", "never closed"),
        ("y ~ log()", "log()", "needs a column"),
        ("y ~ log(2)", "2", "of no column"),
        ("y ~ log(x, 2)", "2", "one argument"),
        ("y ~ poly(x)", "poly(x)", "needs 'degree'"),
        ("y ~ poly(x, 2.5)", "2.5", "whole number ≥ 1"),
        ("y ~ poly(x, 0)", "0", "whole number ≥ 1"),
        ("y ~ poly(x, z)", "z", "whole number"),
        ("y ~ poly(x, 2, 3, 4)", "4", "at most"),
        ("y ~ poly(x, degree=2, degree=3)", "3", "twice"),
        ("y ~ poly(x, deg=2)", "2", "no argument 'deg'"),
        ("y ~ poly(degree=2, x)", "x", "come last"),
        ("y ~ bs(x)", "bs(x)", "df or knots"),
        ("y ~ bs(x, 2)", "bs(x, 2)", "df ≥ 3"),
        ("y ~ ns(x, 3, knots=c(1, 2))", "ns(x, 3, knots=c(1, 2))", "one of them"),
        ("y ~ bs(x, knots=c(2, 1))", "c(2, 1)", "increasing"),
        ("y ~ fourier(x, 0)", "0", "> 0"),
        ("y ~ log(poly(x, 2))", "poly(x, 2)", "cannot stand inside"),
        ("y ~ I('a')", "I('a')", "no column"),
        ("y ~ I(x + 'a')", "'a'", "no meaning"),
        ("y ~ 'x'", "'x'", "text is no term"),
        ("y ~ x**2", "x**2", "I(x ** 2)"),
        ("y ~ (a + b)**x", "x", "whole number"),
        ("y ~ 2*x", "2", "switch the intercept"),
        ("y ~ x + 3", "3", "0 or 1"),
        ("y ~ 1:a", "1", "switch the intercept"),
        ("y ~ a - b", "b", "no such term"),
        ("y ~ a:(b - c)", "c", "whole sum"),
        ("y ~ x > 1", ">", "I(x > 0)"),
        ("y ~ log(a:b)", ":", "inside a function"),
        ("y ~ .", ".", "table's columns"),
        (". ~ x", ".", "no column"),
        ("1 ~ x", "1", "no column"),
        ("poly(y, 2) ~ x", "poly(y, 2)", "in the response"),
        ("c(y) ~ x", "c(y)", "in the response"),
        ("y ~ x | g", "x | g", "needs brackets"),
        ("y ~ (x | g | h)", "h", "second '|'"),
        ("y ~ (1 | 1)", "1", "switch the intercept"),
        ("y ~ (0 | g)", "0", "no effect"),
        ("y ~ (1 | log(g))", "log(g)", "not a function"),
        ("y ~ (1 | g):x", "(1 | g)", "product"),
        ("y ~ x - (1 | g)", "(1 | g)", "product"),
        ("y ~ ((1 | h) | g)", "(1 | h)", "within another"),
        ("y ~ (1 | g) + (x | g)", "(x | g)", "two group terms hold the effect 1"),
        ("y ~ x:offset(z)", "offset(z)", "offset"),
        ("y ~ offset('a')", "'a'", "no column"),
        ("y ~ x + `z", "`", "never closed"),
        ("y ~ C(x, 'a", "'", "never closed"),
        ("y ~ x + @z", "@", "no meaning"),
        ("y ~ x \x00", "\x00", "no meaning"),
        ("y ~ 1e999", "1e999", "too large"),
        ("y ~ 0", "0", "nothing is right"),
        ("y ~", "", "the formula ends"),
    ],
)
def test_errors_show_the_place(text, marked, says):
    with pytest.raises(FormulaError) as caught:
        parse(text)
    error = caught.value
    message, line, carets = str(error).rsplit("\n", 2)
    start, end = error.position
    assert says in message
    if says not in ("no column",):
        assert text[start:end] == marked
    assert carets.index("^") - 2 == start
    assert carets.count("^") == max(1, end - start)
    assert line[2:] == "".join(c if c.isprintable() else " " for c in text)
    assert error.value == text


def test_a_long_formula_is_shown_around_the_place():
    text = "y ~ " + " + ".join(f"x{i}" for i in range(200)) + " + foo(x) + " + " + ".join(f"z{i}" for i in range(200))
    with pytest.raises(FormulaError) as caught:
        parse(text)
    _, line, carets = str(caught.value).rsplit("\n", 2)
    assert len(line) < 130
    assert line[carets.index("^") : carets.rindex("^") + 1] == "foo"


def test_names_that_are_no_text():
    from credo.errors import ParameterError

    with pytest.raises(ParameterError, match="text"):
        parse(3)


PIECES = [
    *["y", "x", "a", "g", "`m n`", "~", "~", " ", "+", "-", "*", ":", "/", "^", "**", "|", "||", "(", ")", "0", "1"],
    *["1e400", ".", ",", "=", "log", "poly", "bs", "C", "I", "offset", "c", "'b'", '"', "`", "<", "%in%", "%", "TRUE"],
    *["\n", "é", "²", "\x00", "\ud800", "@", "y ~ ", "(1 | g)", "log(x)", "poly(x, 2)", "c(1,2)", "raw=", "x + ", "\\"],
]  # fmt: skip


def attempted(text):
    try:
        return parse(text, ["y", "x", "a"])
    except FormulaError as error:
        return error


def test_any_text_is_a_formula_or_an_error_with_a_place():
    rng = random.Random(5)
    valid = "y ~ a + b*c + C(g) + poly(x, 2, raw=TRUE) + bs(x, df=5) - 1 + I(x^2) + (x || g/h) + offset(z)"
    read = 0
    for trial in range(3000):
        if trial % 2:
            text = "".join(rng.choice(PIECES) for _ in range(rng.randint(0, 20)))
        else:
            start, end = sorted(rng.choices(range(len(valid)), k=2))
            text = valid[:start] + rng.choice(PIECES) + valid[min(end, start + 3) :]
        formula = attempted(text)
        if isinstance(formula, FormulaError):
            start, end = formula.position
            assert 0 <= start <= end <= len(text)
            continue
        read += 1
        again = parse(str(formula))
        assert [t.key for t in again.terms] == [t.key for t in formula.terms]
        assert [str(g) for g in again.groups] == [str(g) for g in formula.groups]
    assert read > 100


@pytest.mark.parametrize(
    "make",
    [
        lambda n: "y ~ " + " + ".join(f"x{i}" for i in range(n)),
        lambda n: "y ~ I(" + " + ".join(f"x{i}" for i in range(n)) + ")",
        lambda n: "y ~ " + "(" * n,
        lambda n: "y ~ " + "-" * n + "x",
        lambda n: "y ~ " + ":".join(f"x{i}" for i in range(n)),
        lambda n: "y ~ " + "*".join(f"x{i}" for i in range(n)),
        lambda n: "y ~ " + "/".join(f"x{i}" for i in range(n)),
        lambda n: "y ~ (" + " + ".join(f"x{i}" for i in range(n)) + ")**3",
        lambda n: "y ~ " + " + ".join("(a*b*c*d)" for i in range(n)),
        lambda n: "y ~ x" + "^2" * n,
        lambda n: "y ~ " + "`" * n,
        lambda n: "y ~ " + " + ".join(f"(1 | g{i})" for i in range(n)),
        lambda n: "y ~ x" + " - x + x" * n,
    ],
)
def test_time_is_linear_in_the_text(make):
    """No text of 1,000 parts takes a second; exponential ones would take for ever."""
    start = time.process_time()
    with contextlib.suppress(FormulaError):
        parse(make(1000))
    assert time.process_time() - start < 1.5


@pytest.mark.parametrize(
    ("written", "same"),
    [
        ("y ~ np.log(x)", "y ~ log(x)"),
        ("y ~ numpy.sqrt(x) + math.exp(z)", "y ~ sqrt(x) + exp(z)"),
        ("y ~ {x**2}", "y ~ I(x ** 2)"),
        ("y ~ as.factor(g) + factor(h)", "y ~ C(g) + C(h)"),
        ("y ~ standardize(x) + cr(z, 4)", "y ~ scale(x) + ns(z, 4)"),
        ("prop(k, n) ~ x", "k | trials(n) ~ x"),
        ("p(k, n) ~ x", "k | trials(n) ~ x"),
        ("cbind(k, n - k) ~ x", "k | trials(n) ~ x"),
    ],
)
def test_what_other_packages_write(written, same):
    assert str(parse(written)) == str(parse(same))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("k | trials(n) | trials(m) ~ x", "once"),
        ("k | foo(n) ~ x", "no function"),
        ("k | log(n) ~ x", "takes trials"),
        ("y ~ trials(n)", "no term"),
        ("y ~ x + prop(k, n)", "no term"),
        ("y ~ Treatment(x)", "no term"),
        ("y ~ {x", "never closed"),
        ("y ~ x | g", "needs brackets"),
        ("y ~ pow(x, 2)", "I\\(x \\*\\* 2\\)"),
        ("y | cens(d) ~ x", "cr.Model"),
    ],
)
def test_what_is_refused_with_a_remedy(text, says):
    with pytest.raises(FormulaError, match=says):
        parse(text)
