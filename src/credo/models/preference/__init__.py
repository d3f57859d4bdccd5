"""Preference learning: one latent utility per item, from duels, ties, choices, rankings, grades, ratings and clicks.

`history`       `Preferences`: the immutable record of what was chosen; `undo`
`outcomes`      the record counted
`items`         items by features, by similarity or by number; `similarity`: the kernel of the latter
`scales`        what links utilities to outcomes: noise, threshold of ties, cut-points, the scale of ratings
`terms`         log-likelihood of duels, ties, grades and ratings; `choices`: of the best of several
`design`        gathers and scatters between outcomes and utilities
`arrow`         the Gaussian algebra of one shared utility and each user's own
`laplace`       the Gaussian at the mode; `propagation`: that of matched moments; `gibbs`: draws of the exact posterior
`augmented`     choices as rows, for the last two
`learning`      hyperparameters by evidence; `choose`: which link and which engine
`belief`        utilities of any items; `drawn`: as a predictive, after sampling
`duels`         a choice between two; `leave_out`: each outcome given the others
`questions`     what to ask next
`estimator`     `PreferenceGP`
"""

from credo.models.preference.duels import DuelBelief
from credo.models.preference.estimator import PreferenceGP, Ranking
from credo.models.preference.history import Preferences
from credo.models.preference.questions import duel_information, most_informative_duel, most_uncertain_item
from credo.models.preference.similarity import Similarity

__all__ = [
    "DuelBelief",
    "PreferenceGP",
    "Preferences",
    "Ranking",
    "Similarity",
    "duel_information",
    "most_informative_duel",
    "most_uncertain_item",
]
