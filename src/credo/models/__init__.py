"""Models: one folder each, `equations.py` (pure arrays) beside `estimator.py` (thin, scikit-learn's shape).

`linear`  regression with Normal noise, exactly
"""
