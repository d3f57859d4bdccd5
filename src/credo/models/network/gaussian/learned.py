"""`LearnsFromRows`: arrows and equations of a linear-Gaussian network from a table."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from credo.errors import ParameterError
from credo.models.network.gaussian.columns import columns_of, numbers_of

__all__ = ["LearnsFromRows"]

OWNER = "LinearGaussianNetwork"


class LearnsFromRows:
    """`learn` and `fit` of `LinearGaussianNetwork`."""

    nodes: tuple[str, ...]
    equations_: dict[str, Any]
    posterior_: dict[str, Any]
    result_: Any
    structure_: Any
    _parents: dict[str, tuple[str, ...]]

    @classmethod
    def learn(cls, frame: Any, *, method: str | None = None, sample_weight: Any = None, **options: Any) -> Self:
        """Arrows by a search, then equations by `fit`, from a table every column of which is a node.

        Parameters
        ----------
        frame : as of `predict`; an array's columns are called x0, x1, …
        method, sample_weight : as of `fit`; None is "bayes", and "mle" by EM where cells are missing. The weight may
            be the name of a column
        options : of the search, as of `hill_climb`: max_parents, required, forbidden, start, tabu, n_restarts,
            max_iter, random_state; and
        score : "bic" (the default); "bge", the evidence, with `equivalent_sample_size` rows' worth of prior (1), in
            which units do not matter; "aic"; "log_likelihood"

        The structure that was found is `structure_`: arrows whose direction no rows can tell are turned by names
        (`essential_graph` tells which).

        Raises
        ------
        DataError : cells that are no numbers; constant columns; no complete row (rows with a missing cell are left out
            of the search, with a warning). NotIdentifiedError : a column that is a linear function of others.

        Notes
        -----
        Without a prior a node has at most a quarter as many parents as there are rows, for with as many as rows
        anything is fitted. Cost: n d² once, then microseconds a family.

        References
        ----------
        Geiger and Heckerman (1994), Learning Gaussian networks; Kuipers, Moffa and Heckerman (2014), Addendum on the
        scoring of Gaussian directed acyclic graphical models, Annals of Statistics 42.

        Examples
        --------
        >>> import numpy as np
        >>> from credo.models.network.gaussian import LinearGaussianNetwork
        >>> rng = np.random.default_rng(0)
        >>> rain = rng.normal(20.0, 8.0, 400)
        >>> dam = rng.normal(1.0, 0.3, 400)
        >>> level = 0.5 + 0.05 * rain + dam + rng.normal(0.0, 0.2, 400)
        >>> LinearGaussianNetwork.learn({"rain": rain, "dam": dam, "level": level}).edges
        (('dam', 'level'), ('rain', 'level'))
        """
        from credo.models.network.gaussian.search import search_structure
        from credo.models.network.learning.encoding import table_columns
        from credo.models.network.learning.options import check_names

        owner = f"{OWNER}.learn"
        check_names(owner, options, [n for n in search_structure.__kwdefaults__ or {} if n != "sample_weight"])
        columns = table_columns(owner, frame)
        if isinstance(sample_weight, str):
            if sample_weight not in columns:
                raise ParameterError(owner, "sample_weight", f"a column among {', '.join(columns)}", sample_weight)
            sample_weight = columns.pop(sample_weight).to_numpy()
        n = len(next(iter(columns.values()))) if columns else 0
        found = search_structure(owner, columns, n, sample_weight=sample_weight, **options)
        edges = [(p, node) for node in columns for p in found.parents[node]]
        made: Any = cls(edges, nodes=columns)  # type: ignore[call-arg]
        if method is None:
            method = "mle" if np.isnan(numbers_of(owner, columns, n, tuple(columns))).any() else "bayes"
        made.fit(columns, method=method, sample_weight=sample_weight)
        made.structure_ = found
        return made

    def fit(
        self,
        frame: Any,
        *,
        method: str = "bayes",
        sample_weight: Any = None,
        tol: float = 1e-10,
        max_iter: int = 1000,
    ) -> Self:
        """Learn the equations from rows, one regression a node.

        Parameters
        ----------
        frame : as of `predict`, with a column for each node
        method : "bayes": posterior means of `cr.LinearRegression` with its default prior (of a node without parents:
            the flat one), kept in `posterior_`; sd is 1/√E[1/sd²]. "mle": least squares; where cells are missing, EM
        sample_weight (n,) : how often a row counts; of complete rows
        tol, max_iter : of EM: a relative rise of the log-likelihood

        Raises
        ------
        DataError : missing cells under "bayes"; no column for a node. NotIdentifiedError : rows that do not determine
            the coefficients.
        """
        from credo.models.network.gaussian.learning import fit_equations

        owner = f"{OWNER}.fit"
        columns, n = columns_of(owner, frame, self.nodes)
        x = numbers_of(owner, columns, n, self.nodes)
        fitted = fit_equations(owner, x, self._parents, method, sample_weight, tol, max_iter)
        self.equations_, self.posterior_, self.result_ = fitted
        self.__dict__.pop("_system", None)
        return self
