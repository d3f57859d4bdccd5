"""Numbers in bulk are `float` of each word, bit for bit."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from credo.models.network.files.numbers import NotANumber, parse_number, parse_numbers


def words(seed, n):
    rng = random.Random(seed)
    for _ in range(n):
        x, k = rng.random() * 10 ** rng.randint(-12, 12), rng.randint(0, 24)
        yield rng.choice(
            [f"{x:.{k}f}", repr(x), f"{x:.{k}e}", f"{x:.{k}g}", f".{rng.randrange(10**k)}", f"{rng.randrange(10**k)}."]
        )


def test_bit_for_bit():
    chosen = [
        *words(0, 50_000),
        "0",
        "1",
        "-1",
        "+.5",
        "1E3",
        "0" * 30,
        "9007199254740993",
        "0." + "0" * 22 + "1",
        "5e-324",
    ]
    values, starts = parse_numbers(" ".join(chosen).encode())
    np.testing.assert_array_equal(values, np.array([float(word) for word in chosen]))
    ends = np.cumsum([len(word) + 1 for word in chosen])
    np.testing.assert_array_equal(starts, [0, *ends[:-1]])


def test_digits_up_to_22_and_midpoints_between_floats():
    rng = random.Random(1)
    chosen = []
    for _ in range(20_000):
        digits, k = rng.randint(1, 22), rng.randint(0, 22)
        chosen.append(str(rng.randrange(10**digits)).rjust(k, "0"))
        # Just above, at and just below the midpoint of two floats, with the point moved for good measure.
        middle = (2 * rng.randrange(2**52, 2**53) + 1) << rng.randint(0, 10)
        chosen.append(str(middle + rng.choice((-1, 0, 1))))
        chosen.append(str(middle * 5**4 + rng.choice((-1, 0, 1))).rjust(5, "0"))
        chosen[-3], chosen[-1] = _pointed(chosen[-3], k), _pointed(chosen[-1], 4)
    values, _ = parse_numbers(" ".join(chosen).encode())
    np.testing.assert_array_equal(values, np.array([float(word) for word in chosen]))


def _pointed(digits, k):
    return f"{digits[: len(digits) - k]}.{digits[len(digits) - k :]}" if k else digits


@given(st.lists(st.floats(min_value=0, allow_infinity=False)), st.sampled_from([" ", ", ", ";\n", ")(", "\t| "]))
def test_separators(values, separator):
    found, _ = parse_numbers(separator.join(map(repr, values)).encode())
    np.testing.assert_array_equal(found, values)


@pytest.mark.parametrize("word", ["nan", "inf", "1_0", "1.2.3", ".", "-", "e5", "0x1", "1e", "--1", "½", "1d5"])
def test_what_is_no_number(word):
    with pytest.raises(NotANumber) as caught:
        parse_numbers(f"0.5, 1 {word} 2".encode())
    assert caught.value.offset == 7
    with pytest.raises(NotANumber):
        parse_number(word.encode())
