"""Baselines: what is believed of y before any column is looked at. Any model worth its columns scores higher.

`regressor`   `InterceptOnlyRegressor`: a Normal of unknown mean and sd
`classifier`  `InterceptOnlyClassifier`: unknown class probabilities
"""

from credo.models.baseline.classifier import InterceptOnlyClassifier
from credo.models.baseline.regressor import InterceptOnlyRegressor

__all__ = ["InterceptOnlyRegressor", "InterceptOnlyClassifier"]
