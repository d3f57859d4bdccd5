"""Predictives: what is believed about new outcomes, with uncertainty split in aleatoric and epistemic.

`predictive`  the record every model returns
`normal`      known noise
`student_t`   noise variance integrated out
`mixture`     averages over hyperparameters or models
`classes`     class probabilities, entropy split
`draws`       posterior predictive draws
`integrated`  a law averaged over points of the posterior
`rounded`     numbers read as whole numbers
`law_draws`   the laws themselves, point by point
"""

from credo.prediction.classes import ClassPredictive
from credo.prediction.draws import DrawsPredictive
from credo.prediction.integrated import IntegratedPredictive
from credo.prediction.law_draws import LawDraws
from credo.prediction.mixture import MixturePredictive, mix
from credo.prediction.normal import NormalPredictive
from credo.prediction.predictive import Predictive
from credo.prediction.rounded import RoundedPredictive
from credo.prediction.student_t import StudentTPredictive

__all__ = [
    "Predictive",
    "NormalPredictive",
    "StudentTPredictive",
    "MixturePredictive",
    "ClassPredictive",
    "DrawsPredictive",
    "IntegratedPredictive",
    "RoundedPredictive",
    "LawDraws",
    "mix",
]
