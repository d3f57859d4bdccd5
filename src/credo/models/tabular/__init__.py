"""A table and a model as one: what was read, how it was encoded, what is believed, in the user's own terms.

`task`     `TableTask`: the table with its target, features and rows settled, before any model
`model`    `TableModel`: the fitted record that is saved; predicts from any table
`beliefs`  coefficients, noise and certificates of an estimator as plain records
"""

from credo.models.coefficients import Coefficient
from credo.models.tabular.model import Provenance, TableModel
from credo.models.tabular.task import TASKS, RowSample, TableTask

__all__ = ["TableTask", "RowSample", "TableModel", "Provenance", "Coefficient", "TASKS"]
