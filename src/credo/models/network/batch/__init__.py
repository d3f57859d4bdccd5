"""Answers for many rows, any of whose cells may be missing.

`cells`     frames to numbers of states, and back
`layout`    an elimination order as arrays
`rows`      rows cut into parts, equal parts once, hard rows by the graph
`parts_kernel`, `kernel`  the compiled loops: over rows to cut, over parts to sum (imported when first run)
`answers`   `predict`, `predict_proba`, `log_likelihood`, `impute`
"""

from credo.models.network.batch.answers import impute, log_likelihood, predict, predict_proba

__all__ = ["predict", "predict_proba", "log_likelihood", "impute"]
