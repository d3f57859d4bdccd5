"""Kernel ridge regression with an exact posterior: a Gaussian process in dual form.

`equations`  the eigendecomposition in which every ratio of prior to noise is elementwise
`kernels`    from scikit-learn's names ("rbf", gamma, degree, coef0) to covariance records
`estimator`  `KernelRidge`
"""

from credo.models.kernel_ridge.estimator import KernelRidge

__all__ = ["KernelRidge"]
