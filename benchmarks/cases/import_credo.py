"""What a fresh process pays before the first useful line."""

from __future__ import annotations

import sys

from benchmarks.case import Bar, Case, Contestant

CASE = Case(
    question="How long does a fresh process take to `import credo`, and to say `credo --help`, beside `import numpy`?",
    mode="fresh",
    contestants=(
        Contestant("credo", command=(sys.executable, "-c", "import credo")),
        Contestant(
            "credo --help",
            command=(
                sys.executable,
                "-c",
                "import sys; sys.argv = ['credo', '--help']; from credo.cli.main import run; run()",
            ),
        ),
        Contestant("import numpy", command=(sys.executable, "-c", "import numpy")),
        Contestant(
            "import scikit-learn",
            command=(sys.executable, "-c", "import sklearn.linear_model"),
            requires=("scikit-learn",),
        ),
    ),
    # Importing Credo may not cost more than importing NumPy.
    bars={"import numpy": Bar("≥", 1)},
    repeats=9,
)
