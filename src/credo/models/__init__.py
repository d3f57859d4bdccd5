"""Models: one folder each, `equations.py` (pure arrays) beside `estimator.py` (thin, scikit-learn's shape).

`linear`    regression with Normal noise, exactly
`glm`       logistic and multinomial regression
`baseline`  what can be said without any column
`featured`  a feature map followed by a regression
`tabular`   a model of a table: typed columns in, a predictive out
`columns`, `priors`  what their estimators share
"""
