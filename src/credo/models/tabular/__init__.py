"""A table and a model as one: what was read, how it was encoded, what is believed, in the user's own terms.

`task`     `TableTask`: the table with its target, features and rows settled, before any model
`settling` the task that a target asks for
`views`    what a model is shown: features, or the cells themselves
`rows`     `RowSample`: rows encoded in memory, and one pass over the table
`bounds`   outcomes a model thinks possible and the rows do not
`model`    `TableModel`: the fitted record that is saved; predicts from any table
`beliefs`  coefficients, noise and certificates of an estimator as plain records
"""

from credo.models.coefficients import Coefficient
from credo.models.tabular.model import Provenance, TableModel
from credo.models.tabular.rows import RowSample
from credo.models.tabular.settling import TASKS
from credo.models.tabular.task import TableTask
from credo.models.tabular.views import BOTH, CELLS, FEATURES, families_of

__all__ = [
    "TableTask",
    "RowSample",
    "TableModel",
    "Provenance",
    "Coefficient",
    "TASKS",
    "FEATURES",
    "CELLS",
    "BOTH",
    "families_of",
]
