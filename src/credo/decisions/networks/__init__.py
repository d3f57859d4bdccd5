"""Decision networks (influence diagrams): chance, decisions and utilities in one graph, solved exactly.

`network`    `DecisionNetwork`: what a user states, and what can be asked
`diagram`    the parts checked: tables, options, information arcs, the order of decisions
`utilities`  utilities as tables over their parents
`names`      what a user names, checked
`requisite`  which of the things known can matter to a decision
`solving`    the best rule of one decision after another, the last first
`limited`    decisions that forget: when that is exact, and what is gone through where it is not
`documents`  networks as JSON
`policy`     `Policy`, `DecisionRule`: what to do, by what was seen
"""

from credo.decisions.networks.network import DecisionNetwork
from credo.decisions.networks.policy import DecisionRule, Policy

__all__ = ["DecisionNetwork", "DecisionRule", "Policy"]
