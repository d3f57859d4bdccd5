"""What is believed of a person's taste, and which candidates to show next: pure functions of answers and a generator.

`answers`    what a person said of the points shown: best, order, duel, tie, none, rating, skip
`record`     answers of one or several people as `Preferences` about the distinct points
`prior`      taste as a Gaussian process on the encoded space; the page's own scales
`projected`  inference over a bounded number of points, so that a long session stays quick
`learning`   hyperparameters, learned again rarely
`belief`     `TasteBelief`; `believe`: from answers to it
`pool`       points that are worth considering
`propose`    the next round: what is liked and what is not yet known
`parts`      a part of the space that is shown, and points that are asked about
`slices`     belief along one parameter, or two
"""

from credo.design.tastes.answers import Best, Duel, NoneOfThem, Order, Rating, Skip, Tie, answer_from_state
from credo.design.tastes.belief import TasteBelief
from credo.design.tastes.believe import believe_taste
from credo.design.tastes.propose import Card, propose_round
from credo.design.tastes.slices import Map, Slice, map2, slice

__all__ = [
    "Best",
    "Order",
    "Duel",
    "Tie",
    "NoneOfThem",
    "Rating",
    "Skip",
    "answer_from_state",
    "TasteBelief",
    "believe_taste",
    "Card",
    "propose_round",
    "Slice",
    "slice",
    "Map",
    "map2",
]
