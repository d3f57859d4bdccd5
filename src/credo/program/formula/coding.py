"""How categories are coded in each term so that no column follows from others: in full, or against the reference.

A term of categories a, b in full spans the constant, a, b and a:b. Of these a term takes what no earlier term with the
same numbers has. The parts it takes are joined again where one is another's margin: a factor is in full where its
margin was taken too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from credo.errors import DataError
from credo.program.formula.terms import Factor, Term

__all__ = ["Coding", "coded"]

#: factors of a term in order, and whether each is coded in full (of a number it means nothing)
Coding = tuple[tuple[Factor, bool], ...]

# A term of ten categories has more than a thousand columns.
_MOST_CATEGORIES = 10


def coded(terms: Iterable[Term], categorical: Mapping[str, bool]) -> list[tuple[Term, tuple[Coding, ...]]]:
    """Each term's codings, one a block of columns; most terms have one, terms without their margins may have more.

    Where the model holds all margins of its terms, or none, it is R's coding; where it holds some (`a:b` beside an
    intercept), R's columns depend on each other and these do not.

    categorical : whether a factor (by text) is a category.

    >>> from credo.program.formula import parse
    >>> for term, blocks in coded(parse("~ x + a:b + a:x").terms, {"a": True, "b": True, "x": False}):
    ...     print(term, *[":".join(f.text + "-+"[full] for f, full in block) for block in blocks])
    1
    x x-
    a:b b- a-:b+
    a:x a-:x-
    """
    taken: dict[frozenset[str], set[frozenset[str]]] = {}
    found = []
    for term in terms:
        categories = [factor.text for factor in term.factors if categorical[factor.text]]
        if len(categories) > _MOST_CATEGORIES:
            raise DataError(
                f"{term} is a product of {len(categories)} categories; {_MOST_CATEGORIES} are the most.",
                value=str(term),
            )
        numbers = term.key - frozenset(categories)
        known = taken.setdefault(numbers, set())
        parts = [frozenset(part) for k in range(len(categories) + 1) for part in combinations(categories, k)]
        blocks = _joined([dict.fromkeys(part, False) for part in parts if part not in known])
        known |= set(parts)
        found.append((term, tuple(_coding(term, numbers, block) for block in blocks)))
    return found


def _coding(term: Term, numbers: frozenset[str], block: dict[str, bool]) -> Coding:
    return tuple((f, block.get(f.text, False)) for f in term.factors if f.text in numbers or f.text in block)


def _joined(parts: list[dict[str, bool]]) -> list[dict[str, bool]]:
    """Join parts while one has just one factor more than another, against its reference: together it is in full."""
    joined = True
    while joined:
        joined = False
        for short, long in ((s, g) for s in parts for g in parts if len(g) == len(s) + 1):
            extra = [text for text in long if text not in short]
            if len(extra) == 1 and not long[extra[0]] and all(long[text] == full for text, full in short.items()):
                long[extra[0]] = True
                parts.remove(short)
                joined = True
                break
    return parts
