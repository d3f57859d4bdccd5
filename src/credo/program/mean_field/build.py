"""The factors of q and the terms of E_q log p, from the declared laws; or why there are none.

q has one factor for each Gaussian block, one for each positive node (of all its entries, independent), one for each
Beta or Dirichlet node, and one for each auxiliary (`program.gibbs.augment`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from credo.distributions import Flat, MultivariateNormal, Normal
from credo.distributions.slopes import unchecked
from credo.inference.variational.exponential import Dirichlet, Tuple
from credo.inference.variational.mean_field import VariationalFactor
from credo.program.density import is_opaque
from credo.program.gibbs.augment import Auxiliary
from credo.program.mean_field.families import PolyaGammaWeights, Powers, RowsNormal, Utility
from credo.program.mean_field.pieces import Part, Pieces, refused
from credo.program.mean_field.terms import (
    LogitTerm,
    LogTerm,
    MonomialTerm,
    NormalTerm,
    PowerAt,
    ProbitTerm,
    ShareTerm,
)
from credo.program.model import Factor
from credo.program.nodes import Node, as_node, described
from credo.program.passes.affine import Affine, dependencies
from credo.program.passes.centring import substituted, typical
from credo.program.passes.kernels import kernel_of
from credo.program.passes.powers import gathered, placed_probability

__all__ = ["Approximation", "approximation"]

LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True, eq=False)
class Approximation:
    """parts : of q, in the order they are updated; terms and constant : E log p; is_proper : whether every prior is"""

    parts: tuple[Part, ...]
    terms: tuple[Any, ...]
    constant: float
    is_proper: bool

    def expected(self, M: Any) -> float:
        return self.constant + sum(term.value(M) for term in self.terms)

    @property
    def factors(self) -> list[VariationalFactor]:
        return [VariationalFactor(part.name, part.family, part.natural) for part in self.parts]

    @property
    def start(self) -> dict[str, Tuple]:
        return {part.name: part.start for part in self.parts if part.start is not None}


def approximation(factors: Sequence[Factor], latents: Sequence[Node]) -> Approximation:
    """Raises `UnavailableError` naming the node, or the law, that mean field has no factor for."""
    return _Builder(factors, latents).built()


class _Builder(Pieces):
    def __init__(self, factors: Sequence[Factor], latents: Sequence[Node]) -> None:
        super().__init__(factors, latents)
        self._name_parts()

    def _name_parts(self) -> None:
        columns, total = {}, 0
        for block in self.model.blocks:
            name = ", ".join(str(node.name) for node in block.nodes)
            part = Part(name, block.nodes, f"{name}: one Normal of {block.size} entries")
            for node in block.nodes:
                columns[node.number] = total
                total += node.size
            self._enter(part)
        self.columns, self.size = columns, total
        self.forms = Affine(columns, total, memo=self.memo) if total else None
        reasons = self.model.blocks[0].reasons if self.model.blocks else {}
        for node in self.model.latents:
            if node.number in columns:
                continue
            name, law = str(node.name), node.law
            if node.number in self.auxiliary:
                self._enter(Part(name, (node,), f"{name}: {self.auxiliary[node.number].pair}"))
            elif node.support.is_discrete:
                raise refused(f"{name} is {type(law).__name__}: states are summed out or sampled, not approximated")
            elif type(law).__name__ in ("Beta", "Dirichlet"):
                self._enter(Part(name, (node,), f"{name}: {type(law).__name__}"))
            elif node.support.kind == "real" and np.all(np.asarray(node.support.low) >= 0.0):
                self._enter(Part(name, (node,), f"{name}: positive, each entry by itself"))
            else:
                why = reasons.get(name) or f"its law {type(law).__name__} has no conjugate conditional"
                raise refused(f"{name} has no factor of a known family ({why})")

    # -- the laws --------------------------------------------------------------------------------------------------

    def built(self) -> Approximation:
        special = {each.of.name: each for each in self.model.auxiliaries if each.kind != "mixture"}
        for factor in self.model.factors:
            self._enter_law(factor, special.get(factor.name))
        for part in self.parts.values():
            self._finish(part)
        order = [*(p for p in self.parts.values() if p.start is None), *(p for p in self.parts.values()
                                                                        if p.start is not None)]  # fmt: skip
        return Approximation(tuple(order), tuple(self.terms), self.constant, self.is_proper)

    def _enter_law(self, factor: Factor, special: Auxiliary | None) -> None:
        law: Any = factor.law
        if law is None:
            if dependencies(factor.node, self.memo):
                raise refused(f"{factor.name} is a potential")
            self.constant += float(np.sum(self._number(factor.node)))
            return
        if isinstance(law, Flat):
            return
        touched = {number for part in factor.parts for number in dependencies(part, self.memo)}
        if not touched:
            self.constant += float(np.sum(self._at_ones(factor, law)))
        elif special is not None:
            self._logit(factor, special) if special.kind == "polya_gamma" else self._probit(factor, special)
        elif isinstance(law, (Normal, MultivariateNormal)) and touched & set(self.columns):
            self._normal(factor)
        elif type(law).__name__ in ("Beta", "Dirichlet") and factor.node.number in self.of:
            self._share_prior(factor)
        elif type(law).__name__ in ("Bernoulli", "Binomial", "Geometric", "Categorical", "Multinomial"):
            self._trials(factor)
        else:
            self._positive(factor)

    def _positive(self, factor: Factor) -> None:
        """A law of the table of powers, or a prior that becomes a base measure."""
        law, node = factor.law, factor.node
        kernel = kernel_of(factor)
        name = type(law).__name__
        is_own = node.number in self.of
        if is_own and (kernel is None or name in ("LogNormal", "Normal", "Laplace")):
            self._base(factor)
            return
        if kernel is None or dependencies(kernel.a, self.memo):
            raise refused(f"{factor.name} is {name}, which no factor of q is conjugate to")
        a = np.broadcast_to(self._number(kernel.a), node.shape)
        logs = [(as_node(law.parameters[kernel.parameter]), a)]  # type: ignore[union-attr]
        if is_own and name in ("Gamma", "InverseGamma"):
            logs.append((node, a - 1.0 if name == "Gamma" else -a - 1.0))
        for value, coefficient in logs:
            for at, exponent in self._powers(value, factor)[1]:
                self._add(LogTerm((coefficient * exponent).ravel(), self._at(at, 0, value, node.shape)))
        term = self._monomial(kernel.b, factor, node.shape)
        self._add(term)
        self.constant += float(np.sum(self._at_ones(factor, law))) + float(np.sum(term.constant))

    def _base(self, factor: Factor) -> None:
        law: Any = factor.law
        if is_opaque(law):
            fixed = law
        else:
            values = {k: v for k, v in law.parameters.items() if v is not None}
            if any(dependencies(as_node(v), self.memo) for v in values.values()):
                raise refused(
                    f"{factor.name} ~ {type(law).__name__} of latent parameters is not conjugate (a scale can be a "
                    f"factor instead: scale * {type(law).__name__}(1))"
                )
            fixed = unchecked(type(law), {k: self._number(as_node(v)) for k, v in values.items()})
        self.bases[factor.node.number] = fixed.log_prob

    def _normal(self, factor: Factor) -> None:
        law: Any = factor.law
        shape = factor.node.shape
        matrix, constant = self._residual(factor.node, law.mean, factor)
        if isinstance(law, MultivariateNormal):
            if dependencies(as_node(law.covariance), self.memo):
                raise refused(f"the covariance of {factor.name} is latent")
            lower = scipy.linalg.cholesky(self._number(as_node(law.covariance)), lower=True)
            d = len(lower)
            inverse = scipy.linalg.solve_triangular(lower, np.eye(d), lower=True)
            S = sp.csr_array(sp.kron(sp.eye(factor.node.size // d), inverse))
            matrix, constant = S @ matrix, S @ constant
            weight = MonomialTerm(np.ones(factor.node.size), ())
            self.constant -= float(np.log(np.diag(lower)).sum()) * (factor.node.size // d)
        else:
            sd = as_node(law.sd)
            scale, powers = self._powers(sd, factor)
            flat = np.broadcast_to(scale, shape).ravel()
            if not np.all(flat > 0.0):
                raise refused(f"the sd of {factor.name} is 0 where what is latent in it is 1")
            self.constant -= float(np.log(flat).sum())
            found = []
            for at, exponent in powers:
                log_at = self._at(at, 0, sd, shape)
                self._add(LogTerm(np.full(factor.node.size, -exponent), log_at))
                index = self._index(self._node(at), -2.0 * exponent)
                found.append(PowerAt(log_at.name, log_at.entries, index, log_at.shape))
            weight = MonomialTerm(flat**-2.0, tuple(found))
        self.constant -= 0.5 * LOG_2PI * factor.node.size
        predictor, pieces = self._predictor(matrix, constant)
        self._add(NormalTerm(weight, predictor), pieces)

    def _logit(self, factor: Factor, special: Auxiliary) -> None:
        """The pseudo-observation's law, which is that of the data up to its constant: see `gibbs.augment`."""
        counts, tilt = special.parts["shape"], special.parts["tilt"]
        if dependencies(counts, self.memo):
            raise refused(f"the shape of {factor.name} is latent, and Pólya–Gamma laws are not conjugate to it")
        b = np.broadcast_to(self._number(counts), factor.node.shape).ravel()
        y = np.broadcast_to(self._number(special.of.node), factor.node.shape).ravel()
        half = np.broadcast_to(self._number(special.parts["half"]), factor.node.shape).ravel()
        matrix, constant = self._residual(tilt, 0.0, factor)
        predictor, pieces = self._predictor(matrix, constant)
        term = LogitTerm(half, predictor, str(special.node.name))
        self._add(term, pieces)
        part = self.of[special.node.number]
        part.family, part.shapes = PolyaGammaWeights(b), ((b.size,),)
        part.start = (np.full(b.size, -0.5),)
        self.constant += self._binomial_constant(special.of, b, y) - float(b.sum()) * np.log(2.0)

    def _binomial_constant(self, factor: Factor, b: np.ndarray, y: np.ndarray) -> float:
        """Σ of what of the log probability is free of η, in the form y ψ − b log(1 + e^ψ)."""
        from scipy.special import gammaln

        if type(factor.law).__name__ == "NegativeBinomial":
            return float(np.sum(gammaln(b) - gammaln(b - y) - gammaln(y + 1.0)))
        return float(np.sum(gammaln(b + 1.0) - gammaln(y + 1.0) - gammaln(b - y + 1.0)))

    def _probit(self, factor: Factor, special: Auxiliary) -> None:
        matrix, constant = self._residual(special.parts["mean"], 0.0, factor)
        predictor, pieces = self._predictor(matrix, constant)
        self._add(ProbitTerm(predictor, str(special.node.name)), pieces)
        y = np.broadcast_to(self._number(special.of.node), factor.node.shape).ravel()
        part = self.of[special.node.number]
        part.family, part.shapes = Utility(np.where(y > 0.5, 1.0, -1.0)), ((y.size,),)
        part.start = (np.zeros(y.size),)
        self.constant -= 0.5 * LOG_2PI * y.size

    def _share_prior(self, factor: Factor) -> None:
        law: Any = factor.law
        parameters = [as_node(v) for v in law.parameters.values()]
        if any(dependencies(each, self.memo) for each in parameters):
            raise refused(f"the parameters of {factor.name} are latent, which {type(law).__name__} is not conjugate to")
        node, part = factor.node, self.of[factor.node.number]
        if type(law).__name__ == "Beta":
            a = np.stack([np.broadcast_to(self._number(each), node.shape) for each in parameters], axis=-1)
        else:
            a = np.broadcast_to(self._number(parameters[0]), node.shape)
        from scipy.special import gammaln

        self.constant += float(np.sum(gammaln(a.sum(axis=-1)) - gammaln(a).sum(axis=-1)))
        part.family, part.shapes, part.start = Dirichlet(), (a.shape,), (np.zeros(a.shape),)
        self._add(ShareTerm(a - 1.0, part.name))

    def _trials(self, factor: Factor) -> None:
        law: Any = factor.law
        name, x = type(law).__name__, factor.node
        p = as_node(law.p)
        inside = [self.of[number] for number in dependencies(p, self.memo)]
        others = [x, *([as_node(law.n)] if name in ("Binomial", "Multinomial") else [])]
        if len(inside) != 1 or any(dependencies(each, self.memo) for each in others):
            raise refused(f"{factor.name} is {name}, and {described(p)} is no probability with a factor of its own")
        node = inside[0].nodes[0]
        y = self._number(x)
        if type(node.law).__name__ == "Beta" and name in ("Bernoulli", "Binomial", "Geometric"):
            placed = placed_probability(p, node, self.memo)
            if placed is None:
                raise refused(f"{factor.name}: {described(p)} is not {node.name} or 1 − {node.name}")
            n = self._number(as_node(law.n)) if name == "Binomial" else np.ones(())
            hits = [np.ones(x.shape), y] if name == "Geometric" else [y, n - y]
            entries = np.broadcast_to(placed[0], x.shape)
            each = [gathered(h, entries, node.size).reshape(node.shape) for h in hits]
            counts = np.stack(each[::-1] if placed[1] else each, axis=-1)
        elif type(node.law).__name__ == "Dirichlet" and node.ndim <= 2:
            counts = self._category_counts(name, p, node, y)
            if counts is None:
                raise refused(f"{factor.name}: {described(p)} is not {node.name} or its rows by group codes")
        else:
            raise refused(f"{factor.name} is {name}, and {described(p)} is no probability with a factor of its own")
        self._add(ShareTerm(counts, inside[0].name))
        half = {
            node.number: as_node(np.full(node.shape, 0.5 if counts.shape != node.shape else 1.0 / counts.shape[-1]))
        }
        at_half = unchecked(
            type(law), {k: self._number(substituted(as_node(v), half)) for k, v in law.parameters.items()}
        )
        self.constant += float(np.sum(at_half.log_prob(y))) + float(counts.sum()) * float(np.log(counts.shape[-1]))

    def _category_counts(self, name: str, p: Node, node: Node, y: np.ndarray) -> np.ndarray | None:
        k = node.shape[-1]
        while p.kind == "identity":
            p = p.parents[0]
        if name == "Multinomial":
            return y.reshape(-1, k).sum(axis=0) if p.number == node.number and node.ndim == 1 else None
        counts = np.zeros(node.shape)
        if p.number == node.number and node.ndim == 1:
            np.add.at(counts, y.astype(np.intp).ravel(), 1.0)
            return counts
        if p.kind == "take" and p.parents[0].number == node.number and not dependencies(p.parents[1], self.memo):
            rows = np.broadcast_to(self._number(p.parents[1]), y.shape).astype(np.intp)
            flat = rows.ravel() * k + y.astype(np.intp).ravel()
            return np.bincount(flat, minlength=node.size).astype(np.float64).reshape(node.shape)
        return None

    def _finish(self, part: Part) -> None:
        if part.rows:
            whole = sp.csr_array(sp.vstack(part.rows))
            part.family, part.shapes = RowsNormal(whole, part.name), ((part.n_rows,),) * 2
            return
        if part.family is not None:
            return
        node = part.nodes[0]
        if node.number in self.columns:
            raise refused(f"no law says anything of {part.name}")
        gammas = self.gammas.get(node.number, [])
        if not gammas and not part.terms:
            raise refused(f"no law says anything of {part.name}")
        low, high = float(np.min(node.support.low)), float(np.max(node.support.high))
        part.family = Powers(gammas, self.bases.get(node.number), low, high)
        part.shapes = (node.shape,) * (1 + len(gammas))
        part.start = part.family.start(np.maximum(typical(node), 1e-3))
