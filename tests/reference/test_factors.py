"""The UAI 2014 instances: totals and marginals as published and as computed independently, maxima at least as good."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from credo.probability.factors import read_uai, read_uai_evidence

UAI = Path(os.environ["CREDO_REFERENCE_DATA"], "uai")


@pytest.mark.parametrize("path", sorted((UAI / "PR_MAR").glob("*.uai")), ids=lambda path: path.stem)
def test_totals_and_marginals(path, record_property):
    graph, evidence = read_uai(path), read_uai_evidence(f"{path}.evid")
    log10 = graph.log_partition(evidence) / np.log(10.0)
    published = float(Path(f"{path}.PR").read_text().split()[1])
    assert abs(log10 - published) <= 1e-5 * abs(published)
    words, at = Path(f"{path}.MAR").read_text().split()[1:], 1
    laws, worst = graph.marginals(evidence), 0.0
    for v in range(int(words[0])):
        n = int(words[at])
        worst = max(worst, float(np.abs(laws[v].values - np.array(words[at + 1 : at + 1 + n], dtype=float)).max()))
        at += 1 + n
    assert worst <= 1e-5
    computed = json.loads(path.with_suffix(".reference.json").read_text()).get("computed", {})
    if computed.get("log10_partition") is not None:
        assert abs(log10 - computed["log10_partition"]) <= 1e-9 * abs(log10)
    for v, wanted in enumerate(computed.get("marginals") or []):
        if wanted is not None:
            assert np.allclose(laws[v].values, wanted, atol=1e-10)
    record_property("largest difference from published marginals", f"{worst:.1e}")


@pytest.mark.parametrize("path", sorted((UAI / "MAP").glob("*.uai")), ids=lambda path: path.stem)
def test_maxima(path):
    graph, evidence = read_uai(path), read_uai_evidence(f"{path}.evid")
    states, log_value = graph.most_probable(evidence)
    everything = {**states, **evidence}
    value = sum(np.log(f[tuple(everything[v] for v in f.names)]) for f in graph.factors)
    best = json.loads(path.with_suffix(".reference.json").read_text())["computed"]["map_log_value_natural"]
    assert value == pytest.approx(log_value, abs=1e-9)
    assert value >= best - 1e-9
