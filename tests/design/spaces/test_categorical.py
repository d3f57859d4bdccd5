"""One name, two meanings: `Categorical([…])` is a distribution of probabilities, and in a `Space` a list of choices."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from credo.design.spaces import Choice, Space
from credo.distributions import Categorical
from credo.errors import ParameterError, UnavailableError

choices = pytest.importorskip("credo.distributions.choices")


@pytest.mark.parametrize(
    "listed", [["a", "b"], ("a",), [16, 32, 64], [True, False], [None, "x", 0.5], [1, 2], [0, 1, 2], [-1, 2]]
)
def test_lists_that_cannot_be_probabilities_are_choices(listed: Any) -> None:
    space = Space(c=Categorical(listed))
    assert space.parameters["c"] == Choice(tuple(listed))
    with pytest.raises(UnavailableError, match="not probabilities"):
        Categorical(listed).log_prob(0)


def test_a_space_takes_probability_vectors_as_lists_too() -> None:
    assert Space(c=Categorical([0, 1])).parameters["c"] == Choice([0, 1])
    assert Space(c=Categorical([0.25, 0.75])).parameters["c"] == Choice([0.25, 0.75])


def test_conditions_go_along() -> None:
    space = Space(a=Categorical(["u", "v"]), b=Categorical(["x", "y"], when={"a": "u"}))
    assert space.contains({"a": "v"})
    assert space.contains({"a": "u", "b": "x"})


def test_the_family_is_as_it_was() -> None:
    law = Categorical([0.25, 0.75])
    assert law.prob([0, 1]).tolist() == [0.25, 0.75]
    assert pickle.loads(pickle.dumps(law)) == copy.deepcopy(law) == Categorical(np.array([0.25, 0.75])) == law
    for wrong in ([0.2, 0.3], [-0.5, 1.5], np.array([16, 32]), []):
        with pytest.raises((ParameterError, ValueError)):
            Categorical(wrong)


@pytest.mark.parametrize("p", [[], ()])
def test_an_empty_list_is_named_for_what_it_is(p: Any) -> None:
    with pytest.raises(ParameterError, match="must be not empty: probabilities, or choices of a Space"):
        Categorical(p)
