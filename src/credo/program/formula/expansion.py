"""Nodes → terms: products, nesting and powers written out, what is taken away taken away."""

from __future__ import annotations

from collections.abc import Sequence

from credo.errors import ParameterError
from credo.program.formula.errors import FormulaError
from credo.program.formula.functions import ELEMENTWISE, FUNCTIONS, LATENT, RESPONSE, Function, options_of
from credo.program.formula.parser import parsed
from credo.program.formula.syntax import Call, Chain, Dot, Name, Node, Number, Paren, Sign, Text, names_in, walk
from credo.program.formula.terms import Factor, Formula, GroupTerm, Term

__all__ = ["parse"]

# Factors in all products written out: a*b*… of 12 columns has 24,576. Beyond, nobody reads the result.
MAX_PRODUCTS = 50_000

Terms = dict[frozenset[str], Term]


def parse(text: str, columns: Sequence[str] | None = None) -> Formula:
    """Read a formula.

    Parameters
    ----------
    text : `response ~ terms`; `~ terms` has no response. A name that is no word stands in backticks.

        =================  =======================================================================
        `a + b`, `a - b`   terms; `- 1` or `+ 0` leave the intercept out, which is there by itself
        `a:b`              the product of two terms (`a %in% b` the same)
        `a*b`              a + b + a:b
        `a/b`              a + a:b
        `(a + b)**2`       all terms and their products of two (`^` the same)
        `.`                every column not named left of `~`, by a group or an offset
        `log(x)`, `I(x/z)` a function; inside it operators are arithmetic
        `C(x)`             the numbers of x are names of categories; `C(x, ref="b")`, `C(x, sum)`
        `poly(x, 2)`       polynomials; `bs(x, 5)`, `ns(x, 4)` splines; `fourier(t, 7)` a season
        `s(x)`             a smooth curve; `s(x, k=20)`, `s(x, by=g)` one for each level of g; `s(x, bs="cc")` repeats
        `s(x, z)`          a smooth surface, of columns of one unit; `t2(x, z)` of unlike ones
        `mo(x)`            a monotone effect of ordered categories
        `me(x, se)`        x measured with an error of standard deviation se
        `mi(x)`            x with missing cells, which are imputed; `mi(x, z + w)` from z and w
        `offset(z)`        a column whose coefficient is 1
        `(x | g)`          an intercept and a slope for each level of g, correlated; `||`: independent
        `(1 | g/h)`        (1 | g) + (1 | g:h)
        `k | trials(n) ~`  k successes out of n; so are `prop(k, n)` and `cbind(k, n - k)`
        =================  =======================================================================

    columns : names of the table, which `.` needs.

    Raises
    ------
    FormulaError : with a caret below the place.

    Notes
    -----
    Cost: linear in the text, and in the products written out (at most 50,000 factors). Nothing is evaluated as code.

    Reference: Wilkinson and Rogers (1973), Symbolic description of factorial models; Bates et al. (2015), Fitting
    linear mixed-effects models using lme4, §2.

    Examples
    --------
    >>> formula = parse("reaction ~ days * dose - dose + (days | site/subject)")
    >>> print(formula)
    reaction ~ 1 + days + days:dose + (1 + days | site) + (1 + days | site:subject)
    >>> [term.label for term in formula.terms]
    ['Intercept', 'days', 'days:dose']
    """
    if not isinstance(text, str):
        raise ParameterError("parse", "text", "a text such as 'y ~ x'", text)
    left, right = parsed(text)
    return _Expansion(text, left, right, columns).formula()


class _Expansion:
    def __init__(self, text: str, left: Node | None, right: Node, columns: Sequence[str] | None) -> None:
        self.text, self.left, self.right, self.columns = text, left, right, columns
        self.groups: list[GroupTerm] = []
        self.effects: set[tuple[frozenset[str], frozenset[str]]] = set()
        self.offsets: dict[str, Factor] = {}
        self.others: tuple[str, ...] = ()
        self.trials: Factor | None = None
        self.products = 0

    def fail(self, message: str, node: Node, remedy: str | None = None) -> FormulaError:
        return FormulaError(message, self.text, node.start, node.end, remedy)

    def formula(self) -> Formula:
        response = None
        if self.left is not None:
            response = self.response(self.left)
        terms: Terms = {frozenset(): Term()}
        self.add(self.right, terms, grouped=False)
        if not terms and not self.groups and not self.offsets:
            raise self.fail("nothing is right of '~'", self.right, "Write ~ 1 for an intercept alone.")
        ordered = tuple(sorted(terms.values(), key=lambda term: len(term.factors)))
        for factor in (f for terms in (ordered, *(g.terms for g in self.groups)) for t in terms for f in t.factors):
            if response is not None and factor.text == response.text:
                raise self.fail(f"{factor.text} is the response, and cannot explain itself", factor.node)
        self.check_latent(ordered)
        return Formula(
            self.text, response, ordered, tuple(self.groups), tuple(self.offsets.values()), self.others, self.trials
        )

    def check_latent(self, terms: tuple[Term, ...]) -> None:
        """Effects with latent parts are terms of their own, of different columns."""
        everywhere = [*terms, *(t for g in self.groups for t in (*g.terms, g.group))]
        for term in everywhere:
            for factor in term.factors:
                if factor.kind in LATENT and (term not in terms or len(term.factors) > 1):
                    remedy = "A curve for each level of g is s(x, by=g)." if factor.kind == "smooth" else None
                    raise self.fail(f"{factor.text} is a term by itself, not part of another", factor.node, remedy)
        seen: set[str] = set()
        for factor in (f for term in terms for f in term.factors if f.kind in ("measured", "imputed")):
            if factor.columns[0] in seen:
                raise self.fail(f"{factor.columns[0]} is latent in two terms", factor.node)
            seen.add(factor.columns[0])

    def response(self, node: Node) -> Factor:
        if isinstance(node, Chain) and node.operator == "|":
            return self.out_of(node)
        if isinstance(node, Call) and node.function in RESPONSE:
            first, second = node.arguments[0], next(iter(options_of(node).values()))
            if node.function == "prop":
                return self.successes(first, second)
            if isinstance(second, Chain) and second.rest == (("-", first),):  # failures n − k are out of n
                return self.successes(first, second.first)
            return self.successes(first, Chain(first.start, second.end, first, (("+", second),)))
        for found in walk(node):
            if isinstance(found, Call) and found.function not in ("I", *ELEMENTWISE):
                raise self.fail(f"{found.function} cannot be in the response", found)
        self.check_arithmetic(node, "the response")
        return Factor(str(node), node)

    def out_of(self, node: Chain) -> Factor:
        """`k | trials(n)`."""
        addition = node.rest[0][1]
        twice = isinstance(node.first, Chain) and node.first.operator == "|"
        if twice or not (isinstance(addition, Call) and addition.function == "trials"):
            raise self.fail("'|' in the response takes trials(n), once", addition, "Write k | trials(n) ~ x.")
        return self.successes(node.first, addition.arguments[0])

    def successes(self, node: Node, trials: Node) -> Factor:
        for part in (node, trials):
            if part is node or not isinstance(part, Number):
                self.check_arithmetic(part, "the response")
        self.trials = Factor(str(trials), trials)
        return Factor(str(node), node)

    # sums -------------------------------------------------------------------------------------------------------

    def add(self, node: Node, terms: Terms, grouped: bool) -> None:
        """Add what a node says to the terms of a sum that has an intercept; `grouped`: left of `|`."""
        if isinstance(node, Paren) and not _is_bar(node.inner):
            self.add(node.inner, terms, grouped)
        elif isinstance(node, Chain) and node.operator in ("+", "-"):
            self.add(node.first, terms, grouped)
            for operator, operand in node.rest:
                (self.add if operator == "+" else self.remove)(operand, terms, grouped)
        elif isinstance(node, Sign):
            (self.add if node.operator == "+" else self.remove)(node.operand, terms, grouped)
        elif isinstance(node, Number):
            if self.switch(node):
                terms.setdefault(frozenset(), Term())
            else:
                terms.pop(frozenset(), None)
        elif isinstance(node, Paren):
            if grouped:
                raise self.fail("a group term within another", node)
            self.group(node)
        elif isinstance(node, Call) and node.function == "offset" and not grouped:
            self.check_arithmetic(node.arguments[0], node.function)
            self.offsets[str(node)] = Factor(str(node), node)
        else:
            terms |= {key: term for key, term in self.expand(node).items() if key not in terms}

    def remove(self, node: Node, terms: Terms, grouped: bool) -> None:
        if isinstance(node, Number):
            self.add(Number(node.start, node.end, float(not self.switch(node))), terms, grouped)
            return
        inner = node.inner if isinstance(node, Paren) and not _is_bar(node.inner) else node
        gone: Terms = {}
        for part in _summands(inner):
            if isinstance(part, Number):
                if self.switch(part):
                    gone[frozenset()] = Term()
            else:
                gone |= self.expand(part)
        if not any(key in terms for key in gone):
            raise self.fail("there is no such term to take out", node)
        for key in gone:
            terms.pop(key, None)

    def switch(self, node: Number) -> bool:
        if node.value not in (0.0, 1.0):
            raise self.fail(
                "a number among terms can be 0 or 1, for the intercept", node, "Write I(2 * x) for twice x."
            )
        return node.value == 1.0

    # products ---------------------------------------------------------------------------------------------------

    def expand(self, node: Node) -> Terms:
        """The terms of a product, or of a bracket within one."""
        if isinstance(node, Paren) and not _is_bar(node.inner):
            return self.expand(node.inner)
        if isinstance(node, (Name, Call)):
            return self.single(node)
        if isinstance(node, Dot):
            return self.dot(node)
        if isinstance(node, Chain) and not _is_bar(node):
            if node.operator == "**":
                return self.power(node)
            found = dict(self.expand(node.first))
            for operator, operand in node.rest:
                if operator == "-":
                    raise self.fail("'-' within a product", operand, "Take terms out of the whole sum.")
                found = self.combined(operator, found, self.expand(operand), operand)
            return found
        if isinstance(node, Number):
            raise self.fail("0 and 1 switch the intercept of a whole sum; they cannot be part of a product", node)
        if isinstance(node, Text):
            raise self.fail("a text is no term", node, "Names with blanks go into backticks.")
        if isinstance(node, Sign):
            raise self.fail(f"{node.operator!r} has no meaning within a product", node)
        if isinstance(node, Paren):
            raise self.fail("a group term cannot be part of a product, nor be taken out", node)
        raise self.fail("'|' needs brackets around it", node, "Write (1 | g).")

    def single(self, node: Name | Call) -> Terms:
        if isinstance(node, Call):
            if node.function == "offset":
                raise self.fail("an offset cannot be part of a product, nor be taken out", node)
            if node.function == "c":
                raise self.fail("c(...) is a list of numbers, no term", node)
            if node.function not in FUNCTIONS or FUNCTIONS[node.function].kind == "response":
                raise self.fail(f"{node.function} is no term", node)
            self.check_arithmetic(node.arguments[0], node.function)
            if FUNCTIONS[node.function].kind in LATENT:
                self.check_latent_call(node)
        factor = Factor(str(node), node)
        return {frozenset((factor.text,)): Term((factor,))}

    def check_latent_call(self, node: Call) -> None:
        """The further arguments of s, me and mi are columns, and a column to impute is one by itself."""
        for name, value in options_of(node).items():
            if name == "by" and value is not None and not isinstance(value, Name):
                raise self.fail("by is a column of categories", value)
            if isinstance(value, Node) and not isinstance(value, Number):
                self.check_arithmetic(value, node.function)
        kind = FUNCTIONS[node.function].kind
        if kind in ("imputed", "monotone") and not isinstance(node.arguments[0], Name):
            raise self.fail(f"{node.function} is of a column, not a function of one", node.arguments[0])

    def check_arithmetic(self, node: Node, where: str) -> None:
        """What stands inside a function, or as a response, is arithmetic on columns, whose calls give one column."""
        if not names_in(node):
            raise self.fail(f"{where} is of no column", node)
        for found in walk(node):
            if isinstance(found, Call) and (
                found.function not in FUNCTIONS or FUNCTIONS[found.function].kind in _OUTERMOST
            ):
                raise self.fail(f"{found.function}(...) cannot stand inside {where}", found)
            if isinstance(found, (Text, Dot)):
                raise self.fail(f"{found} has no meaning inside {where}", found)

    def dot(self, node: Dot) -> Terms:
        if self.columns is None:
            raise self.fail("'.' needs to know the table's columns", node, "Give parse(text, columns).")
        used = set() if self.left is None else set(names_in(self.left))
        for found in walk(self.right):
            if isinstance(found, Chain) and _is_bar(found):
                used |= {name for _, operand in found.rest for name in names_in(operand)}
            elif isinstance(found, Call) and (
                found.function == "offset" or FUNCTIONS.get(found.function, _NONE).kind in LATENT
            ):
                used |= set(names_in(found))
        self.others = tuple(name for name in self.columns if name not in used)
        if not self.others:
            raise self.fail("'.' stands for no column: all are named", node)
        found = [Name(node.start, node.end, name) for name in self.others]
        return {frozenset((str(name),)): Term((Factor(str(name), name),)) for name in found}

    def combined(self, operator: str, left: Terms, right: Terms, node: Node) -> Terms:
        if operator == "+":
            return left | {key: term for key, term in right.items() if key not in left}
        if operator in (":", "%in%"):
            return self.product(left, right, node)
        if operator == "*":
            both = left | {key: term for key, term in right.items() if key not in left}
        else:  # a/b: b within the levels of all that is left of it
            both = dict(left)
            self.spend(sum(len(term.factors) for term in left.values()), node)
            whole = Term(tuple(dict.fromkeys(f for term in left.values() for f in term.factors)))
            left = {whole.key: whole}
        return both | {key: term for key, term in self.product(left, right, node).items() if key not in both}

    def product(self, left: Terms, right: Terms, node: Node) -> Terms:
        found: Terms = {}
        for a in left.values():
            for b in right.values():
                self.spend(len(a.factors) + len(b.factors), node)
                term = a.times(b)
                found.setdefault(term.key, term)
        return found

    def spend(self, factors: int, node: Node) -> None:
        self.products += factors
        if self.products > MAX_PRODUCTS:
            raise self.fail("the products written out are too many to be meant", node)

    def power(self, node: Chain) -> Terms:
        base = self.expand(node.first)
        exponent = node.rest[0][1]
        if not isinstance(exponent, Number) or exponent.value < 1 or exponent.value != int(exponent.value):
            raise self.fail("the power of a sum of terms must be a whole number ≥ 1", exponent)
        if len(base) == 1 and exponent.value > 1:
            inner = f"{node.first} ** {exponent}"
            raise self.fail(
                "a power crosses the terms of a sum, and here is one term alone",
                node,
                f"The number's power is I({inner}).",
            )
        found = dict(base)
        for _ in range(int(min(exponent.value, len(base))) - 1):
            found |= {key: term for key, term in self.product(found, base, node).items() if key not in found}
        return found

    # groups -----------------------------------------------------------------------------------------------------

    def group(self, node: Paren) -> None:
        bar = node.inner
        assert isinstance(bar, Chain)
        (operator, right), *more = bar.rest
        if more:
            raise self.fail("a second '|' in one group term", more[0][1])
        terms: Terms = {frozenset(): Term()}
        self.add(bar.first, terms, grouped=True)
        if not terms:
            raise self.fail("no effect is left of '|'", bar.first, "Write (1 | g) for an intercept.")
        ordered = tuple(sorted(terms.values(), key=lambda term: len(term.factors)))
        for grouping in self.expand(right).values():
            for factor in grouping.factors:
                if isinstance(factor.node, Call) and FUNCTIONS[factor.node.function].kind != "category":
                    raise self.fail("a group is a column, not a function of one", factor.node, "C(x) is allowed.")
            self.check_unlike(ordered, grouping, node)
            self.groups.append(GroupTerm(ordered, grouping, operator == "|"))

    def check_unlike(self, terms: tuple[Term, ...], grouping: Term, node: Node) -> None:
        for term in terms:
            if (grouping.key, term.key) in self.effects:
                raise self.fail(f"two group terms hold the effect {term} of {grouping}", node, "Leave one of them out.")
            self.effects.add((grouping.key, term.key))


_OUTERMOST = ("basis", "category", "offset", "response", *LATENT)
_NONE = Function("")


def _is_bar(node: Node) -> bool:
    return isinstance(node, Chain) and node.operator in ("|", "||")


def _summands(node: Node) -> list[Node]:
    """The parts of a sum; a part that is taken away within it is refused by `expand`."""
    if isinstance(node, Chain) and all(operator == "+" for operator, _ in node.rest):
        return list(node.children)
    return [node]
