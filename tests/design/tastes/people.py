"""A person with a known taste, for the tests of this folder."""

import numpy as np

import credo as cr
from credo.design.spaces import Space
from credo.design.tastes import Best

__all__ = ["cube", "mixed", "pages", "utility"]


def cube(d=3):
    return Space({f"x{j}": cr.Real(0.0, 1.0) for j in range(d)})


def mixed():
    """Every kind of parameter, a condition and a constraint."""
    return Space(
        rate=cr.Real(1e-3, 1.0, log=True), count=cr.Integer(1, 9), look=cr.Choice(["soft", "hard", "none"]),
        level=cr.Ordinal([1, 2, 5]), glow=cr.Boolean(), fixed=cr.Constant(3.0),
        edge=cr.Real(0.0, 1.0, when={"look": "hard"}), constraints="rate * count <= 4",
    )  # fmt: skip


def utility(point, at=0.3, scale=12.0):
    return -scale * sum((value - at) ** 2 for value in point.values())


def pages(space, n, rng, k=4, noise=1.0, at=0.3):
    """Answers to n random pages."""
    said = []
    for _ in range(n):
        shown = space.sample(k, rng)
        felt = [utility(point, at) + noise * rng.standard_normal() for point in shown]
        said.append(Best(shown[int(np.argmax(felt))], shown))
    return said
