"""`check_model`: does a model make sense before data, is its inference right, and do its replicates look like the data?

`records`     `ModelCheck` and what it is made of
`statistics`  what data and replicates are compared by
`prior`       data drawn before any were seen
`posterior`   data drawn after, and each cell predicted from the others
`simulations` simulation-based calibration of the fit
"""

from credo.program.check.checking import check_model
from credo.program.check.records import Finding, ModelCheck, PosteriorCheck, PriorCheck, Simulations
from credo.program.check.statistics import Statistic

__all__ = ["Finding", "ModelCheck", "PosteriorCheck", "PriorCheck", "Simulations", "Statistic", "check_model"]
