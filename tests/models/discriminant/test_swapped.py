"""scikit-learn's own tests of discriminants, from the installed package, with Credo's classes in their place."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import sklearn.discriminant_analysis

from credo.models.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis

SWAPPED = {
    "LinearDiscriminantAnalysis": LinearDiscriminantAnalysis,
    "QuadraticDiscriminantAnalysis": QuadraticDiscriminantAnalysis,
}

#: what scikit-learn tests of its own insides, or does on purpose otherwise
EXPECTED = {
    "test_qda_regularization": "expects covariances without an inverse refused; here they get a prior and a warning"
}


def _swapped_module(monkey: pytest.MonkeyPatch) -> Any:
    path = Path(sklearn.__file__).parent / "tests" / "test_discriminant_analysis.py"
    for name, cls in SWAPPED.items():
        monkey.setattr(sklearn.discriminant_analysis, name, cls)
    spec = importlib.util.spec_from_file_location("swapped_discriminant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _collected(test: Any) -> Any:
    """The test with its parameters in lists (pytest no longer takes generators), what is expected to fail marked."""
    expected = pytest.mark.xfail(reason=EXPECTED.get(test.__name__, ""), strict=True)
    marks, done = [], test.__name__ not in EXPECTED
    for mark in getattr(test, "pytestmark", []):
        if mark.name == "parametrize":
            values = list(mark.args[1])
            # `is`: values may be arrays
            ours = [not done and any(value is cls for cls in SWAPPED.values()) for value in values]
            done = done or any(ours)
            values = [pytest.param(v, marks=expected) if own else v for v, own in zip(values, ours, strict=True)]
            mark = pytest.mark.parametrize(mark.args[0], values, **mark.kwargs)
        marks.append(mark)
    if not done:
        marks.append(expected)
    test.pytestmark = [getattr(mark, "mark", mark) for mark in marks]
    return pytest.mark.filterwarnings("default")(test)


with pytest.MonkeyPatch.context() as _monkey:
    _module = _swapped_module(_monkey)

for _name, _test in vars(_module).items():
    if _name.startswith("test_"):
        _test = _collected(_test)
        globals()[_name] = _test


@pytest.fixture
def global_random_seed() -> int:
    return 42


@pytest.fixture
def global_dtype() -> type:
    import numpy as np

    return np.float64
