"""From a table to a structure, its tables, and the network: what `BayesianNetwork.fit` stands on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from credo.errors import ParameterError
from credo.inference.result import Result
from credo.models.network.definition import NetworkDefinition
from credo.models.network.learning.constraints import pc
from credo.models.network.learning.counts import Counter
from credo.models.network.learning.encoding import CodedTable, code_table
from credo.models.network.learning.estimation import fit_tables
from credo.models.network.learning.hill_climbing import described, hill_climb
from credo.models.network.learning.independence import IndependenceTest, places_of
from credo.models.network.learning.independence import test_independence as tested
from credo.models.network.learning.options import TABLE_OPTIONS, check_names, missing_rule, routed
from credo.models.network.learning.parameters import DirichletTables
from credo.models.network.learning.priors import checked_prior
from credo.models.network.learning.rows import CodedRows
from credo.models.network.learning.scores import checked_score
from credo.models.network.learning.scores import score_structure as scores_of
from credo.models.network.learning.strengths import EdgeStrengths
from credo.models.network.learning.strengths import edge_strengths as strengths_of
from credo.models.network.learning.structural_em import structural_em
from credo.models.network.learning.structure import LearnedStructure, checked_parents
from credo.models.network.learning.trees import chow_liu, tree_augmented
from credo.models.network.naming import as_name

__all__ = [
    "METHODS",
    "LearnedNetwork",
    "learn_structure",
    "learn_parameters",
    "learn_network",
    "edge_strengths",
    "score_structure",
    "independence_test",
]

METHODS = ("hill_climb", "pc", "chow_liu", "tan", "naive_bayes")


@dataclass(frozen=True, eq=False)
class LearnedNetwork:
    """A network that was learned from rows.

    definition : states, parents and the tables' point estimate
    posterior : a Dirichlet for each row of each table: how sure the tables are
    structure : what the search found; None where the structure was given
    log_likelihood : of the rows, in nats; result : "exact", or how EM went
    """

    definition: NetworkDefinition
    posterior: DirichletTables
    structure: LearnedStructure | None
    log_likelihood: float
    result: Result


def learn_structure(
    table: Any,
    method: str = "hill_climb",
    *,
    class_node: str | None = None,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    **options: Any,
) -> LearnedStructure:
    """Learn which columns of a table are parents of which.

    Parameters
    ----------
    table : a pandas, polars or Arrow table, a mapping from names to cells, or an array: one column a node
    method : "hill_climb", a search by score; "pc", by tests of independence; "chow_liu", the best tree; "tan", a class
        beside the best tree of the others; "naive_bayes", the class as their only parent
    class_node : the class, of the last two
    states : of some columns, in order, as of `code_table`
    sample_weight (n,) : how often a row counts, or the name of a column
    options : as of `hill_climb` (score, max_parents, required, forbidden…), as of `pc` (significance, max_given), or
        ``root`` of the trees; and of hill_climb
        `missing`: "em" (the default), or "drop", which leaves incomplete rows out, with a warning

    Returns
    -------
    LearnedStructure

    Raises
    ------
    ParameterError, DataError : bad arguments; cells that are no states.

    Missing cells: hill_climb runs as structural EM (`structural_em` says more, and so does the answer's
    ``result.inference``); trees compare two columns on the rows that have both.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> rain = rng.random(500) < 0.3
    >>> table = {"rain": rain, "wet": rain ^ (rng.random(500) < 0.1), "coin": rng.random(500) < 0.5}
    >>> learn_structure(table).edges
    (('rain', 'wet'),)
    """
    coded = code_table("learn_structure", table, states, sample_weight)
    return _structure(coded.rows, method, class_node, options)


def learn_parameters(
    table: Any,
    parents: Any,
    *,
    prior: str = "bdeu",
    equivalent_sample_size: float | None = None,
    prior_estimate: Mapping[str, Any] | None = None,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    **options: Any,
) -> LearnedNetwork:
    """Learn the tables of a given structure, from rows in which any cells may be missing.

        P(i in state k | parents in configuration j) = (n_jk + a_k)/(n_j + Σa)

    Parameters
    ----------
    table : as of `learn_structure`; every column is a node
    parents : {node: parents}, edges (parent, child), or a `LearnedStructure`
    prior : "bdeu", `equivalent_sample_size` rows (None: 1) spread over each whole table; "k2", one row a cell;
        "m_estimate", `equivalent_sample_size` rows for each row of a table, spread as `prior_estimate` {node:
        probabilities} says, evenly by default; "none", maximum likelihood
    states : of some columns, in order; a node that is no column is hidden, and must have them
    sample_weight (n,) : how often a row counts, or the name of a column
    options : of EM, as of `fit_tables`: n_init, tol, max_iter, acceleration, random_state, threads; and `start`, tables
        {node: (\\*parents, states)} at which hidden nodes begin

    Returns
    -------
    LearnedNetwork

    Raises
    ------
    ParameterError, DataError : bad arguments; a cycle; an unknown node; cells that are no states.

    Examples
    --------
    >>> table = {"rain": ["no", "no", "yes", None], "wet": ["no", "yes", "yes", "yes"]}
    >>> found = learn_parameters(table, {"wet": ["rain"]}, prior="k2")
    >>> found.definition.tables["rain"].round(3).tolist()
    [0.588, 0.412]
    """
    check_names("learn_parameters", options, (*TABLE_OPTIONS, "start"))
    coded = code_table("learn_parameters", table, states, sample_weight, hidden=True)
    return _network("learn_parameters", coded, parents, None, prior, equivalent_sample_size, prior_estimate, options)


def learn_network(
    table: Any,
    method: str = "hill_climb",
    *,
    class_node: str | None = None,
    prior: str = "bdeu",
    equivalent_sample_size: float | None = None,
    prior_estimate: Mapping[str, Any] | None = None,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    search: Mapping[str, Any] | None = None,
    **options: Any,
) -> LearnedNetwork:
    """Learn a structure as `learn_structure` does, and its tables from all rows as `learn_parameters` does.

    options : of `learn_structure` (score, max_parents, required, root…) and of `learn_parameters`, told apart by name;
        `random_state` is for both, `max_iter` for EM
    search : options of `learn_structure` alone, where a name would be taken for another
    prior, equivalent_sample_size : of the tables; with score="bdeu" and prior="bdeu" the size is the score's too

    Raises
    ------
    ParameterError : an option of neither, with the names that are like it; else as of the two.
    """
    searching = _search_names(method) if isinstance(method, str) and method in METHODS else {}
    own, options = routed("learn_network", method, searching, search, options)
    if own.get("score") == prior == "bdeu" and equivalent_sample_size is not None:
        own.setdefault("equivalent_sample_size", equivalent_sample_size)
    coded = code_table("learn_network", table, states, sample_weight)
    found = _structure(coded.rows, method, class_node, own)
    return _network("learn_network", coded, found, found, prior, equivalent_sample_size, prior_estimate, options)


def edge_strengths(
    table: Any,
    n_bootstrap: int = 100,
    *,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
    random_state: Any = None,
    **options: Any,
) -> EdgeStrengths:
    """How often structures learned from rows drawn again have each edge.

    As `credo.models.network.learning.strengths.edge_strengths`, of a table, which says more.

    options : as of `learn_structure` with method="hill_climb"
    """
    check_names("edge_strengths", options, [n for n in _search_names("hill_climb") if n != "random_state"])
    coded = code_table("edge_strengths", table, states, sample_weight)
    return strengths_of(coded.rows, n_bootstrap, random_state=random_state, **options)


def score_structure(
    table: Any,
    parents: Any,
    score: str = "bic",
    *,
    equivalent_sample_size: float = 1.0,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
) -> dict[str, float]:
    """The score of each node's family; their sum is the structure's, in nats, higher is better.

    parents : {node: parents}, edges (parent, child), or a `LearnedStructure`; the rest as of `learn_structure`

    Raises
    ------
    ParameterError, DataError : an unknown score or node; a cycle; no complete row.

    >>> table = {"rain": [0, 0, 1, 1], "wet": [0, 0, 1, 0]}
    >>> {node: round(value, 4) for node, value in score_structure(table, {"wet": ["rain"]}, "k2").items()}
    {'rain': -3.4012, 'wet': -2.8904}
    """
    coded = code_table("score_structure", table, states, sample_weight)
    given = parents.parents if isinstance(parents, LearnedStructure) else parents
    return scores_of(coded.rows, given, score, equivalent_sample_size)


def independence_test(
    table: Any,
    a: str,
    b: str,
    given: str | Sequence[str] = (),
    *,
    states: Mapping[str, Sequence[Any]] | None = None,
    sample_weight: Any = None,
) -> IndependenceTest:
    """Whether columns a and b say anything of each other once others are known: a G test, and I(a; b | given) in nats.

        G = 2 n I(a; b | given),  p = P(χ²(df) ≥ G)

    Of the rows that have all these cells; states that do not occur in a configuration do not count in its df.

    Raises
    ------
    ParameterError : unknown or repeated columns.

    >>> table = {"rain": [0, 0, 0, 1, 1, 1] * 20, "wet": [0, 0, 1, 1, 1, 1] * 20, "coin": [0, 1] * 60}
    >>> found = independence_test(table, "rain", "wet")
    >>> found.df, found.p_value < 1e-6, round(found.mutual_information, 4)
    (1, True, 0.3183)
    """
    rows = code_table("independence_test", table, states, sample_weight).rows
    first, second, others = places_of("independence_test", rows.names, a, b, given)
    return tested(Counter(rows), first, second, others)


def _structure(rows: CodedRows, method: str, class_node: str | None, options: Mapping[str, Any]) -> LearnedStructure:
    if not isinstance(method, str) or method not in METHODS:
        raise ParameterError("learn_structure", "method", f"one of {', '.join(METHODS)}", method)
    needs = method in ("tan", "naive_bayes")
    if needs == (class_node is None):
        must = "a column, the class" if needs else f"None beside method={method!r}"
        raise ParameterError("learn_structure", "class_node", must, class_node)
    check_names("learn_structure", options, _search_names(method), f", of method={method!r}")
    class_node = as_name(class_node, rows.names)
    if "root" in options:
        options = {**options, "root": as_name(options["root"], rows.names)}
    if method == "hill_climb":
        search, em = missing_rule("learn_structure", options)
        return structural_em(rows, search) if em and rows.missing.any() else hill_climb(rows, **search)
    if method == "pc":
        return pc(rows, **options)
    if method == "chow_liu":
        return chow_liu(rows, **options)
    assert class_node is not None
    return tree_augmented(rows, class_node, **options) if method == "tan" else _star(rows, class_node)


def _search_names(method: str) -> list[str]:
    known: dict[str, Any] = {"hill_climb": {**(hill_climb.__kwdefaults__ or {}), "missing": "em"}, "naive_bayes": {}}
    known["pc"] = pc.__kwdefaults__
    return list(known.get(method, {"root": None}))


def _star(rows: CodedRows, class_node: str) -> LearnedStructure:
    """Every other column with the class as its only parent."""
    if class_node not in rows.names:
        raise ParameterError("learn_structure", "class_node", f"one of {', '.join(rows.names[:12])}", class_node)
    rows = rows.by_name()
    at = rows.names.index(class_node)
    families = [() if j == at else (at,) for j in range(len(rows.names))]
    score = checked_score("learn_structure", "log_likelihood", 1.0, rows.total)
    return described(rows, families, score, result=Result("exact", "naive_bayes"))


def _network(
    owner: str,
    coded: CodedTable,
    parents: Any,
    structure: LearnedStructure | None,
    prior: str,
    equivalent_sample_size: float | None,
    prior_estimate: Mapping[str, Any] | None,
    options: Mapping[str, Any],
) -> LearnedNetwork:
    rows = coded.rows
    given = parents.parents if isinstance(parents, LearnedStructure) else parents
    families = checked_parents(owner, "parents", given, rows.names)
    nodes = {rows.names[j] for child, family in enumerate(families) if family for j in (child, *family)}
    nodes.update(as_name(node, rows.names) for node in (given if isinstance(given, Mapping) else ()))
    lone = [name for name in coded.hidden if name not in nodes]
    if lone:
        raise ParameterError(owner, "states", "about columns, or nodes of the structure", lone[0])
    sizes = dict(zip(rows.names, rows.sizes))
    belief = checked_prior(owner, prior, equivalent_sample_size, prior_estimate, sizes)
    fit = fit_tables(rows, families, belief, **options)
    named = {name: tuple(rows.names[p] for p in family) for name, family in zip(rows.names, families)}
    definition = NetworkDefinition(coded.states, named, fit.tables)
    return LearnedNetwork(definition, fit.posterior, structure, fit.log_likelihood, fit.result)
