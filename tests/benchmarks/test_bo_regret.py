"""The problems of the regret comparison have the optima they are said to have, and its summary adds up."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.bo_problems import KNOBS, PROBLEMS, gallagher_f22, gallagher_instance, rastrigin_f15, rastrigin_instance
from benchmarks.bo_regret import COLUMNS, final_regrets, merge, ranks, read, summary

OPTIMA = {
    "branin": [(np.pi + 5) / 15, 2.275 / 15],
    "hartmann6": [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
    "ackley5": [0.5] * 5,
    "rosenbrock4": [0.4] * 4,
    "noisy_levy4": [0.55] * 4,
    "bbob_f15": (rastrigin_instance(5)[0] + 5) / 10,
    "bbob_f22": (gallagher_instance(5)[1][0] + 5) / 10,
}


@pytest.mark.parametrize("name", OPTIMA)
def test_the_least_value_is_where_it_is_said_to_be(name):
    problem, best = PROBLEMS[name], np.asarray(OPTIMA[name])
    assert problem.f(best) == pytest.approx(problem.least, abs=2e-9)
    rng = np.random.default_rng(0)
    near = np.clip(best + 0.01 * rng.standard_normal((200, problem.d)), 0, 1)
    assert min(problem.f(u) for u in [*near, *rng.random((200, problem.d))]) > problem.least


# From COCO's own code (cocoex 2.8.2), less f_opt.
COCO = [
    (rastrigin_f15, [0, 0, 0, 0, 0], 383.329773849239), (rastrigin_f15, [1, -2, 3, -4, 5], 2752.015268074353),
    (rastrigin_f15, [-4.5, 2.25, 0.5, -1, 3.75], 567.4226411764246),
    (gallagher_f22, [0, 0, 0, 0, 0], 80.57169866985828), (gallagher_f22, [1, -2, 3, -4, 5], 68.28773646605441),
    (gallagher_f22, [-4.5, 2.25, 0.5, -1, 3.75], 83.87293613402085),
]  # fmt: skip


@pytest.mark.parametrize(("f", "x", "value"), COCO)
def test_bbob_is_cocos(f, x, value):
    assert f((np.array(x, dtype=float) + 5) / 10) == pytest.approx(value, rel=1e-12)


def test_coordinates_of_tuning_come_back():
    problem = PROBLEMS["tuning"]
    for u in np.random.default_rng(0).random((200, problem.d)):
        snapped, values = problem.snapped(u), problem.values(u)
        np.testing.assert_allclose(problem.snapped(snapped), snapped, atol=1e-12)
        assert problem.values(snapped).keys() == values.keys()
        for knob in KNOBS:
            if knob.name in values and knob.integer:
                assert knob.low <= values[knob.name] <= knob.high


def rows_of(contestant, values, problem="branin"):
    return [
        dict(zip(COLUMNS, (contestant, problem, str(seed), "20", repr(value), "0.5")))
        for seed, value in enumerate(values)
    ]


def test_summary_of_a_toy_run(tmp_path):
    least = PROBLEMS["branin"].least
    rows = rows_of("credo", [least + 1e-3, least + 1e-1]) + rows_of("smac", [least + 1e-2, least + 1e-2])
    final = final_regrets(rows)
    assert final["branin", "credo"] == pytest.approx({0: -3.0, 1: -1.0})
    assert ranks(final, ["credo", "smac"]) == {"credo": 1.5, "smac": 1.5}
    plain, packed = tmp_path / "traces.csv", tmp_path / "traces.csv.gz"
    plain.write_text("\n".join([",".join(COLUMNS), *(",".join(row.values()) for row in rows)]) + "\n")
    merge([plain], packed, ["versions"])
    first = packed.read_bytes()
    merge([plain, plain], packed, ["versions"])
    assert packed.read_bytes() == first
    assert sorted(map(str, read(packed))) == sorted(map(str, rows))
    assert "credo − best peer" in summary(packed)
    assert "| credo | -2.00 |" in summary(packed, markdown=True)
