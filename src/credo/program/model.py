"""`Model`: latent and observed nodes, declared; what can be integrated out exactly is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from credo.distributions.base import Family
from credo.errors import DataError, ParameterError
from credo.program import declare
from credo.program.density import log_density
from credo.program.labels import checked_labels, codes_of
from credo.program.missing import with_holes
from credo.program.nodes import Dims, Node, parents_of_law
from credo.program.ranges import restricted, support_of
from credo.program.user.declared import expression
from credo.saving.registry import register

if TYPE_CHECKING:
    from collections.abc import Mapping

    from credo.program.check import ModelCheck
    from credo.program.explain import Explanation

__all__ = ["Factor", "Model"]


@dataclass(frozen=True, eq=False)
class Factor:
    """One term of the joint density: `node` is distributed as `law`; `observed` for data, with `missing` the places
    (C order) of cells that nobody saw; a potential has no law, its `node` is the log density itself."""

    name: str
    law: Family | None
    node: Node
    observed: bool
    missing: np.ndarray | None = None
    hidden: Node | None = None

    @property
    def parts(self) -> list[Node]:
        """The node, and the nodes among its law's parameters: all that the term is computed from."""
        return [self.node, *(parents_of_law(self.law) if self.law is not None else ())]

    @property
    def data(self) -> np.ndarray:
        """Of an observed node; what stands in missing cells is arbitrary."""
        base = self.node.parents[0].value if self.node.kind == "fill" else self.node.value
        assert base is not None
        return base

    @property
    def term(self) -> Node:
        """Its log density, a scalar node."""
        return self.node if self.law is None else log_density(self.law, self.node)


@register
class Model:
    """A joint distribution of latent and observed arrays, declared node by node.

    Declare data, latent nodes with their priors, and observed nodes; parameters of a distribution may be expressions of
    nodes (+ − × ÷ @ ** sum, indexing by group codes, `cr.math`). `explain` says what will be done exactly and what
    numerically, `fit` does it.

    Examples
    --------
    >>> import credo as cr
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 2))
    >>> m = cr.Model()
    >>> x = m.data("X", X, dims=("obs", "feature"))
    >>> w = m.latent("w", cr.Normal(0, 10), dims="feature")
    >>> sigma = m.latent("sigma", cr.HalfNormal(1))
    >>> y = m.observed("y", cr.Normal(x @ w, sigma), X @ [1.0, -2.0] + rng.normal(size=40), dims="obs")
    >>> m
    Model
      w[feature:2] ~ Normal(0, 10)
      sigma ~ HalfNormal(1)
      y[obs:40] ~ Normal(X @ w, sigma)   observed
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.factors: list[Factor] = []
        self.sizes: dict[str, int] = {}
        self.labels: dict[str, np.ndarray] = {}
        self.stated: list[str] = []  # dims declared by the user, not found from data

    # -- declarations --------------------------------------------------------------------------------------------

    def dim(self, name: str, size: Any) -> str:
        """Declare a dim by its size, or by the labels along it; returns its name."""
        declare.checked_dims("Model", (name,))
        labels = None
        if np.ndim(size) == 1 or hasattr(size, "to_numpy"):
            labels = checked_labels(f"dim {name!r}", size)
            size = len(labels)
            if len(np.unique(labels)) < size:
                raise DataError(f"The dim {name!r} has a label twice.", value=labels)
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise ParameterError("Model", f"size of dim {name!r}", "an integer ≥ 1, or the labels along it", size)
        if self.sizes.setdefault(name, int(size)) != size:
            raise DataError(f"The dim {name!r} has size {self.sizes[name]}, not {size}.", value=size)
        if labels is not None:
            self.labels[name] = labels
        if name not in self.stated:
            self.stated.append(name)
        return name

    def data(self, name: str, value: Any, dims: Any = None, *, levels: str | None = None) -> Node:
        """Known numbers; `predict` may replace them.

        levels : the values are group labels (text, numbers) of this dim: they become codes 0, 1, … of the labels in
            sorted order, and the dim gets their number as its size, unless it was declared with labels before.
        """
        declare.checked_name(name, list(self.nodes))
        static: dict[str, Any] = {}
        if levels is not None:
            array, static["levels"] = self._coded(name, value, levels), levels
        else:
            array = declare.checked_values(name, value, missing=False)
        axes = self._axes(name, array.shape, declare.checked_dims(name, dims))
        node = Node("data", shape=array.shape, dims=axes, name=name, value=array, static=static, model=self)
        return self._register(node)

    def latent(
        self, name: str, law: Family, dims: Any = None, *, shape: Any = None, low: float | None = None,
        high: float | None = None, ordered: bool = False,
    ) -> Node:  # fmt: skip
        """An unknown array, a priori distributed as `law`, independently along dims that the law does not have.

        dims : names of its axes; a dim not known yet is declared with the size the law has along it
        shape : sizes instead of names, or besides them where a dim is new
        low, high : the law is restricted to values between them
        ordered : x_1 < x_2 < … along the last axis: the law is restricted to that (one labelling of exchangeable
            labels, cut-points)
        """
        declare.checked_name(name, list(self.nodes))
        low, high = declare.checked_bound(name, "low", low), declare.checked_bound(name, "high", high)
        law = declare.checked_law(name, restricted(law, low, high))
        declare.owned(name, parents_of_law(law), self)
        support = support_of(name, law, low, high)
        wanted = declare.checked_dims(name, dims)
        size, axes = self._plate(name, law, wanted, shape)
        constant = None
        if ordered:
            from credo.program.finite.ordered import declared_order

            support, constant = declared_order(name, law, support, size)
        node = Node("latent", parents_of_law(law), shape=size, dims=axes, name=name, law=law,
                    static={"support": support}, model=self)  # fmt: skip
        self.factors.append(Factor(name, law, node, False))
        if constant is not None:
            self.factors.append(Factor(f"{name}_order", None, constant, False))
        return self._register(node)

    def chain(
        self, name: str, initial: Any, transition: Any, dims: Any = None, *, shape: Any = None, lengths: Any = None
    ) -> Node:
        """Hidden states z_1 … z_T of a Markov chain: P(z_1 = k) = initial_k, P(z_t+1 = j | z_t = i) = transition_ij.

        initial (K,), transition (K, K), or (T − 1, K, K) where it changes: probabilities or nodes
        dims, shape : the last axis is time; the ones before it are sequences of their own
        lengths : of sequences that follow each other along the last axis
        """
        from credo.program.finite.chain import declared_chain

        return declared_chain(self, name, initial, transition, dims, shape, lengths)

    def observed(self, name: str, law: Family, value: Any, dims: Any = None) -> Node:
        """Data that the law generated; NaN cells were not seen, and are latent.

        Raises `DataError` if the law has more cells than the data: broadcasting never enlarges what was observed.
        """
        declare.checked_name(name, list(self.nodes))
        law = declare.checked_law(name, law)
        declare.owned(name, parents_of_law(law), self)
        array = declare.checked_values(name, value, missing=True)
        axes = self._axes(name, array.shape, declare.checked_dims(name, dims))
        known = np.isfinite(array) if array.dtype.kind == "f" else np.ones(array.shape, dtype=bool)
        self._check_observed(name, law, array, axes, known)
        if not known.any():
            raise DataError(f"{name}: every cell is missing.", value=array)
        if known.all():
            node = Node("observed", parents_of_law(law), shape=array.shape, dims=axes, name=name, value=array, law=law,
                        model=self)  # fmt: skip
            self.factors.append(Factor(name, law, node, True))
            return self._register(node)
        at = np.flatnonzero(~known.ravel())
        node, hidden = with_holes(name, law, array, axes, at, self)
        self.factors.append(Factor(name, law, node, True, at, hidden))
        return self._register(node)

    def deterministic(
        self, name: str, value: Any, *nodes: Any, dims: Any = None, low: float | None = None, high: float | None = None,
        gradient: str = "jax",
    ) -> Node:  # fmt: skip
        """A name for an expression: its posterior is reported.

        value : a node; or a function of yours of the arrays that follow, as for `cr.math.call`, which also says what
            dims, low, high and gradient are
        """
        declare.checked_name(name, list(self.nodes))
        source = expression(self, name, value, nodes, dims=dims, low=low, high=high, gradient=gradient)
        node = Node("identity", [source], shape=source.shape, dims=source.dims, name=name, model=self)
        return self._register(node)

    def potential(self, name: str, value: Any, *nodes: Any, gradient: str = "jax") -> Node:
        """Add an expression, summed over its cells, to the log density.

        value : a node; or a function of yours of the arrays that follow, as for `cr.math.call`
        """
        declare.checked_name(name, list(self.nodes))
        total = expression(self, name, value, nodes, gradient=gradient).sum()
        total.name, total.model = name, self
        self.factors.append(Factor(name, None, total, False))
        return self._register(total)

    # -- answers -------------------------------------------------------------------------------------------------

    def explain(self, inference: str = "auto") -> Explanation:
        """What is integrated out exactly, what is left, how it is done, and why; nothing is fitted."""
        from credo.program.plan import plan_of

        return plan_of(self, inference).explanation

    def fit(self, inference: str = "auto", *, draws: int = 4000, random_state: Any = None, **options: Any) -> Any:
        """The posterior of every latent node: a `ModelPosterior`, or a `Mode` for "map".

        inference : "auto" takes the cheapest rung that is certified; "exact", "collapsed",
            "nested_laplace", "laplace", "map", "nuts", "gibbs", "mean_field", "metropolis", "slice" force one
        draws : how many draws to keep
        """
        from credo.program.fitting import fit_model

        return fit_model(self, inference, draws, random_state, options)

    def with_data(self, **new: Any) -> Model:
        """The same declarations on other data: another model, to be fitted anew.

        new : name of a data or observed node → its values, of any sizes that fit together; those not given stay.
            Levels of groups are found from the new labels, unless they were declared by `dim`.

        Raises `DataError` where what is not given has the old size along a dim that changes.
        """
        from credo.program.with_data import model_with_data

        return model_with_data(self, new)

    def sample_prior(self, n: int = 1000, random_state: Any = None) -> dict[str, np.ndarray]:
        """Draws of every latent, deterministic and observed node before any data: name → (n, *shape)."""
        from credo.program.forward import sample_forward

        return sample_forward(self, n, random_state)

    def predict_prior(
        self, node: str | Node | None = None, *, draws: int = 1000, random_state: Any = 0, **new_data: Any
    ) -> Any:
        """The predictive of an observed node before any data: `ModelPosterior.predict` from draws of the priors."""
        from credo.program.predict import predict_prior

        return predict_prior(self, node, draws, random_state, new_data)

    def check(
        self, posterior: Any = None, *, sbc: int = 0, inference: str = "auto", draws: int = 1000, random_state: Any = 0,
        by: Mapping[str, Any] | None = None, n_jobs: int = 1, **options: Any,
    ) -> ModelCheck:  # fmt: skip
        """Does the model make sense before data, and fit them after? A `ModelCheck` that says what was found.

        posterior : what `fit` returned; None fits (inference, draws, options go to `fit`), False looks at the prior
        sbc : so many simulations from the prior are fitted, whether `inference` is right on average; 0 is none
        by : name → labels of the cells; whether the groups' means spread as the model says
        n_jobs : threads that fit the simulations; the answer does not depend on it
        """
        from credo.program.check import check_model

        return check_model(self, posterior, sbc=sbc, inference=inference, draws=draws, random_state=random_state, by=by,
                           n_jobs=n_jobs, options=options)  # fmt: skip

    def graph(self) -> str:
        """The plate diagram as SVG: circles are latent, filled ones observed, boxes data, plates the named dims."""
        from credo.program.picture import plate_diagram

        return plate_diagram(self)

    def __repr__(self) -> str:
        from credo.program.writing import written

        return written(self)

    def state(self) -> dict[str, Any]:
        """What a file keeps: the declarations and the data."""
        from credo.program.archive import model_state

        return model_state(self)

    @classmethod
    def from_state(cls, state: dict[str, Any], version: int) -> Model:
        """The inverse of `state`."""
        from credo.program.archive import model_from_state

        return model_from_state(state)

    # -- parts ---------------------------------------------------------------------------------------------------

    @property
    def latents(self) -> list[Node]:
        """Latent nodes in the order declared."""
        return [node for node in self.nodes.values() if node.kind == "latent"]

    @property
    def has_code(self) -> bool:
        """Whether a function of the user's own is part of it, which no file keeps."""
        from credo.program.archive import everything

        return any("function" in node.static for node in everything(self))

    def _register(self, node: Node) -> Node:
        assert node.name is not None
        self.nodes[node.name] = node
        return node

    def _axes(self, name: str, shape: tuple[int, ...], dims: Dims | None) -> Dims:
        """The dims of an array of this shape; unknown ones are declared."""
        if dims is None:
            return (None,) * len(shape)
        if len(dims) != len(shape):
            raise DataError(f"{name} has shape {shape} and {len(dims)} dims {dims}.", value=shape)
        for dim, size in zip(dims, shape):
            if dim is not None and self.sizes.setdefault(dim, size) != size:
                raise DataError(
                    f"{name} has {size} along {dim!r}, which has size {self.sizes[dim]}.", value=(dim, size)
                )
        return dims

    def _plate(self, name: str, law: Family, dims: Dims | None, shape: Any) -> tuple[tuple[int, ...], Dims]:
        """Shape and dims of a latent node from its law and what was stated."""
        of_law, law_dims = declare.law_axes(name, law)
        if dims is None:
            given = declare.checked_shape(name, shape)
            if len(given) < len(of_law):
                return tuple(of_law), law_dims
            dims, sizes = (None,) * len(given), list(given)
            dims = tuple(law_dims[i - len(given)] if len(given) - i <= len(of_law) else None for i in range(len(given)))
        elif shape is not None:
            sizes = list(declare.checked_shape(name, shape))
            if len(sizes) != len(dims):
                raise DataError(f"{name} has {len(dims)} dims {dims} and shape {tuple(sizes)}.", value=shape)
            self._axes(name, tuple(sizes), dims)
        else:
            sizes = []
            for i, dim in enumerate(dims):
                back = i - len(dims)
                along = of_law[back] if -back <= len(of_law) else 1
                size = self.sizes.get(dim, along if along != 1 or -back <= len(of_law) else None) if dim else along
                if size is None:
                    raise DataError(
                        f"{name}: the dim {dim!r} has no size yet.", value=dim,
                        remedy=f"Declare data with it first, or m.dim({dim!r}, size).",
                    )  # fmt: skip
                sizes.append(size)
        plate = Node("constant", shape=tuple(sizes), dims=dims, name=name)
        whole, _ = declare.joined(
            f"law of {name}", [plate, Node("constant", shape=of_law, dims=law_dims, name=type(law).__name__)]
        )
        if whole != tuple(sizes):
            raise DataError(f"{name}: its law has shape {of_law}, more than {dict(zip(dims, sizes))}.", value=of_law)
        return tuple(sizes), self._axes(name, tuple(sizes), dims)

    def _coded(self, name: str, value: Any, levels: str) -> np.ndarray:
        raw = checked_labels(name, value)
        if levels not in self.labels:
            labels = np.unique(raw)
            if levels in self.sizes:  # declared by size: the values are codes already
                if raw.dtype.kind not in "iu" or raw.min() < 0 or raw.max() >= self.sizes[levels]:
                    raise DataError(f"{name}: codes of {levels!r} must be integers from 0 to {self.sizes[levels] - 1}.",
                                    value=raw)  # fmt: skip
                return raw.astype(np.int64)
            if len(labels) == 1:
                raise DataError(
                    f"{name} holds a single level of {levels!r}, {labels.tolist()[0]!r}: it tells nothing apart.",
                    value=labels.tolist(),
                    remedy=f"Leave it out; or declare the levels there are: m.dim({levels!r}, labels).",
                )
            self.dim(levels, labels)
            self.stated.remove(levels)
        return codes_of(name, raw, self.labels[levels])

    def _check_observed(self, name: str, law: Family, array: np.ndarray, axes: Dims, known: np.ndarray) -> None:
        shape, dims = declare.law_axes(name, law)
        data = Node("constant", shape=array.shape, dims=axes, name=name)
        of_law = Node("constant", shape=shape, dims=dims, name=f"law {type(law).__name__}")
        whole, _ = declare.joined(name, [data, of_law])
        if whole != array.shape:
            raise DataError(
                f"{name} has shape {array.shape} and its law {type(law).__name__} {whole}: broadcasting would enlarge "
                "what was observed.", value=whole, remedy="Reshape the data, or sum over the extra axis.",
            )  # fmt: skip
        declare.checked_support(name, law, array, known)
