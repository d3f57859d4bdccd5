"""Learning networks of finite variables from rows: their structure, and their tables.

`fitting`       from a table: `learn_structure`, `learn_parameters`, `learn_network`, `edge_strengths`,
                `score_structure`
`encoding`, `rows`  the one place where cells become numbers of states; columns of these
`counts`, `count_kernels`  how often each state comes with each configuration of the parents
`scores`        BIC, AIC, BDeu, K2, log-likelihood: sums over families
`structure`, `acyclicity`  parents without a cycle; which arrows equivalent structures share; who reaches whom
`gains`, `moves`, `climbing`, `hill_climbing`  what each change of one edge gains, and a search by these
`independence`, `constraints`  tests of independence, and a structure from them (PC)
`trees`         Chow–Liu, and trees beside a class
`strengths`     how often an edge is found again in rows drawn again
`priors`, `parameters`  Dirichlet priors and posteriors of tables, from counts
`layout`, `parts`, `expectation`, `expectation_kernels`, `wide_rows`  expected counts of rows with missing cells
`estimation`    tables by EM
`augmentation`  draws of tables where cells are missing
`completing`, `structural_em`  searches where cells are missing: what rows may have been, and how probably
`options`, `refitting`  options by name; a network's tables from rows with other columns than its nodes
"""

from credo.models.network.learning.fitting import (
    LearnedNetwork,
    edge_strengths,
    independence_test,
    learn_network,
    learn_parameters,
    learn_structure,
    score_structure,
)
from credo.models.network.learning.independence import IndependenceTest
from credo.models.network.learning.parameters import DirichletTables
from credo.models.network.learning.strengths import EdgeStrengths
from credo.models.network.learning.structure import LearnedStructure, essential_graph

__all__ = [
    "learn_network",
    "learn_structure",
    "learn_parameters",
    "edge_strengths",
    "score_structure",
    "essential_graph",
    "independence_test",
    "IndependenceTest",
    "LearnedNetwork",
    "LearnedStructure",
    "DirichletTables",
    "EdgeStrengths",
]
