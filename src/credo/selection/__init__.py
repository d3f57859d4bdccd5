"""Choosing among models, or believing several.

`registry`, `builtin`   which models are worth trying on a table: `candidates`
`choosing`    from a table to the model that is kept: `compare_candidates`
`compare`, `comparison` held-out scores with paired standard errors; the record
`scoring`     fits and pointwise scores of several models
`splits`      folds, whole groups, blocks in time
`held_out`    predictions from fits to the other rows, through mergeable statistics where there are some
`leave_one_out`  one row left out, from one fit
`outcomes`    what outcomes look like, by which a candidate says whether it fits
`paired`      means with standard errors
`predictions` what any estimator believes of new rows
`evidence`    evidences, and when they may be compared
`stacking`    optimal weights of a mixture, with a certificate
`average`     `ModelAverage`
`hypotheses`  finitely many hypotheses, datum by datum
`independence` signs that rows are not independent
"""

from credo.models.evidence import Evidence, Outcomes
from credo.selection.average import ModelAverage, average
from credo.selection.choosing import ComparedTask, compare_candidates
from credo.selection.compare import compare
from credo.selection.comparison import Comparison, ComparisonRow
from credo.selection.hypotheses import Hypotheses
from credo.selection.independence import Dependence, find_dependence
from credo.selection.leave_one_out import leave_one_out
from credo.selection.outcomes import OutcomeShape
from credo.selection.registry import Candidate, Candidates, candidates, register_candidate
from credo.selection.splits import Splits, make_splits
from credo.selection.stacking import StackingWeights, stacking_weights

__all__ = [
    "compare",
    "Comparison",
    "ComparisonRow",
    "average",
    "ModelAverage",
    "Hypotheses",
    "compare_candidates",
    "ComparedTask",
    "candidates",
    "Candidates",
    "Candidate",
    "register_candidate",
    "OutcomeShape",
    "Evidence",
    "Outcomes",
    "leave_one_out",
    "make_splits",
    "Splits",
    "stacking_weights",
    "StackingWeights",
    "find_dependence",
    "Dependence",
]
