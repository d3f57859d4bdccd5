"""Trust regions: Bayesian optimisation in many dimensions, within a box that follows the best point.

`region`   `Region`: how large the box is, and why; numbers only
`propose`  `propose_in_region`: the best point of the box
"""

from credo.design.trust.propose import TrustProposal, propose_in_region
from credo.design.trust.region import Region

__all__ = ["Region", "TrustProposal", "propose_in_region"]
