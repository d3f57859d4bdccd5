"""`SiteLaw`: log p(y | η, ψ) of observed cells, with its derivatives in η and ψ.

Notation: ℓ = log p(y | η, ψ), ′ for ∂/∂η. η is the one number of a cell that a block of latents sets; ψ, on its natural
scale, is whatever else the law needs, and belongs to the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from credo.distributions.likelihoods.base import Likelihood

__all__ = ["ExponentialForm", "SiteLaw", "slopes_in_logs"]


class ExponentialForm(NamedTuple):
    """ℓ = constant + linear·x − weight·g(x), x = sign·η + shift, with g(x) = eˣ (kind 0) or log(1 + eˣ) (kind 1).

    Compiled loops go from one η to the next by multiplying eˣ. shift : a number or (n,); the others (n,).
    """

    kind: int
    sign: float
    shift: Any
    linear: np.ndarray
    weight: np.ndarray
    constant: np.ndarray

    def take(self, rows: np.ndarray) -> ExponentialForm:
        """Of some rows."""
        shift = self.shift[rows] if np.ndim(self.shift) else self.shift
        return ExponentialForm(self.kind, self.sign, shift, self.linear[rows], self.weight[rows], self.constant[rows])


class SiteLaw:
    """A law of one observed cell given η and ψ. A subclass names its ψ in `psi_names` and has

        likelihood(psi)                       the `Likelihood` that states ℓ, ψ known to it
        psi_slopes(y, eta, psi)               for each ψ: (∂ψ ℓ, ∂ψ ℓ′, ∂ψ ℓ″), each (n,)

    y and η are (n,); each ψ is one number or (n,). Cut-points are (K − 1,), and their slopes (n, K − 1).
    """

    #: how many numbers of a cell a block sets: with more than one, η and derivatives have axes for them (`several`)
    predictors: int = 1
    #: names of ψ, in order
    psi_names: ClassVar[tuple[str, ...]] = ()
    #: whether ℓ is concave in η whatever y: then its mode given Normal latents is the only one
    log_concave: ClassVar[bool] = True

    def likelihood(self, psi: Sequence[Any] = ()) -> Likelihood:
        raise NotImplementedError

    def psi_slopes(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> list[tuple[Any, Any, Any]]:
        """None without ψ."""
        return []

    def check(self, y: Any) -> np.ndarray:
        """y as float64 (n,). Raises `DataError` that names the rows which are not outcomes of the law."""
        return self.likelihood(tuple(np.array(1.0) for _ in self.psi_names)).check(y)

    def take(self, rows: np.ndarray) -> SiteLaw:
        """The law of some rows."""
        return self

    def psi_widths(self, n: int) -> list[int]:
        """How many numbers each ψ has where it is the same for all rows."""
        return [1] * len(self.psi_names)

    def is_valid(self, psi: Sequence[Any]) -> bool:
        """Whether ψ is in its domain: finite and > 0."""
        return all(bool(np.all(np.isfinite(each) & (np.asarray(each) > 0.0))) for each in psi)

    def initial_eta(self, y: np.ndarray) -> np.ndarray:
        """(n,) where a cell by itself would have η, or near: a start for Newton."""
        return self.likelihood(tuple(np.array(1.0) for _ in self.psi_names)).initial_eta(y)

    def derivatives(
        self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = (), order: int = 2
    ) -> tuple[np.ndarray, ...]:
        """(ℓ, ℓ′, …) up to the `order`-th derivative, order ≤ 3, each (n,). ℓ may be −∞ where η is out of reach."""
        return self.likelihood(psi).value_and_derivatives(y, eta, order)

    def exponential_form(self, y: np.ndarray, psi: Sequence[Any] = ()) -> ExponentialForm | None:
        """For the laws that have one."""
        return None

    def safe_curvature(self, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any] = ()) -> np.ndarray:
        """(n,) ≥ 0, to step by where −ℓ″ leaves nothing positive: max(−ℓ″, 0) here."""
        return np.clip(np.nan_to_num(-self.derivatives(y, eta, psi, 2)[2], posinf=1e300), 0.0, 1e300)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def slopes_in_logs(likelihood: Likelihood, y: np.ndarray, eta: np.ndarray, psi: Sequence[Any]) -> np.ndarray:
    """∂ℓ/∂ log ψ of each ψ that the likelihood learns, (a, n)."""
    if all(np.ndim(each) == 0 for each in psi):
        logs = np.log(np.array(psi, dtype=np.float64))
        return likelihood.joint_derivatives(y, eta, logs, order=1)[1][:, 1:].T
    # ψ has rows of its own: each cell is a leading axis.
    logs = np.log(np.stack([np.broadcast_to(each, len(y)) for each in psi], axis=-1))
    return likelihood.joint_derivatives(y[:, None], eta[:, None], logs, order=1)[1][:, 0, 1:].T
