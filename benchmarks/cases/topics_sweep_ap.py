"""Fifty steps of PLSA of the AP corpus against fifty sweeps of tomotopy's collapsed Gibbs sampler, 100 topics."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.case import Bar, Case, Contestant
from benchmarks.cases.topics_ap import load as load_ap

TOPICS, STEPS = 100, 50


def load(directory: Path) -> Any:
    import numpy as np

    counts, _ = load_ap(directory)
    return counts, np.random.default_rng(0).dirichlet(np.ones(counts.shape[1]), TOPICS)


def credo(data: Any) -> Any:
    import warnings

    import credo as cr

    counts, words = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cr.PLSA(TOPICS, init=words, max_iter=STEPS, tol=0.0).fit(counts).lower_bound_


def tomotopy(data: Any) -> Any:
    import numpy as np
    import tomotopy as tp

    counts, _ = data
    model = tp.LDAModel(k=TOPICS, seed=1)
    for row in counts:
        model.add_doc(np.repeat(row.indices, row.data.astype(int)).astype(str).tolist())
    model.train(STEPS, workers=1)
    return model.ll_per_word


CASE = Case(
    question="Fifty steps of PLSA with 100 topics of the AP corpus against fifty sweeps of tomotopy's LDA (435,838 "
    "tokens), each with its own reading of the counts.",
    load=load,
    contestants=(Contestant("credo PLSA", credo), Contestant("tomotopy LDAModel", tomotopy, requires=("tomotopy",))),
    bars={"tomotopy LDAModel": Bar("≥", 2)},
    repeats=3,
)
