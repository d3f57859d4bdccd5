"""The harness on toy cases: a known ratio, a missing peer, a failing one, a slow one, a memory limit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import textwrap
import venv
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.case import Bar, Case, Contestant, Limit, Quality, load_case
from benchmarks.harness import run_case
from benchmarks.results import as_markdown, ok, update

HEADER = """
import sys, time
from pathlib import Path
from benchmarks.case import Bar, Case, Contestant, Limit, Quality
"""


def write_case(directory: Path, text: str, name: str = "toy") -> Path:
    path = directory / f"{name}.py"
    path.write_text(HEADER + textwrap.dedent(text), encoding="utf-8")
    return path


def by_name(report: dict) -> dict:
    return {row["name"]: row for row in report["contestants"]}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """Sleeps of 20 and 200 ms: a ratio of 10, checked within a factor of 3 for the machine's noise."""
    path = write_case(
        tmp_path_factory.mktemp("cases"),
        """
        def sleep(seconds, worth):
            def run(data):
                print("a library that talks")
                time.sleep(seconds)
                return data + worth
            return run

        def broken(data):
            raise RuntimeError("the optimiser went home")

        CASE = Case(
            question="Who sleeps longest?",
            contestants=(
                Contestant("credo", sleep(0.02, 0.0)),
                Contestant("slow", sleep(0.2, 0.0)),
                Contestant("worse", sleep(0.02, -1.0)),
                Contestant("broken", broken),
                Contestant("absent", sleep(0.0, 0.0), requires=("no-such-distribution",)),
            ),
            prepare=lambda directory: (directory / "data").write_text("40") and None,
            load=lambda directory: int((directory / "data").read_text()),
            quality=Quality("worth", lambda data, result: result, "higher", 1e-6),
            bars={"slow": Bar("≥", 2), "absent": Bar("≥", 2), "worse": Bar("≤", 0.1)},
            repeats=3,
        )
        """,
    )
    return run_case(path)


def test_a_known_ratio_is_found(report: dict) -> None:
    rows = by_name(report)
    assert rows["credo"]["ratio"] == {"median": 1.0, "low": 1.0, "high": 1.0}
    assert 0.02 <= rows["credo"]["seconds"]["low"] <= rows["credo"]["seconds"]["median"]
    assert 10 / 3 < rows["slow"]["ratio"]["median"] < 30
    assert rows["slow"]["bar_met"] is True
    assert rows["worse"]["bar_met"] is False


def test_quality_is_compared_with_the_best(report: dict) -> None:
    rows = by_name(report)
    assert rows["slow"]["quality"] == 40.0
    assert rows["slow"]["reached"] is True
    assert rows["worse"]["reached"] is False


def test_missing_and_failing_contestants_are_reported(report: dict) -> None:
    rows = by_name(report)
    assert rows["absent"]["status"] == "missing"
    assert "no-such-distribution" in rows["absent"]["error"]
    assert rows["absent"]["bar_met"] is None
    assert rows["broken"]["status"] == "failed"
    assert rows["broken"]["error"] == "RuntimeError: the optimiser went home"
    assert not ok(report)


def test_the_table_says_it_all_and_replaces_itself(report: dict, tmp_path: Path) -> None:
    report = {**report, "date": "2025-01-31", "command": "python -m benchmarks toy"}
    text = as_markdown(report)
    for part in (
        "missing: not installed", "the optimiser went home", "≥ 2 met", "**missed**", "(not reached)",
        "1 thread a library", "2025-01-31", "python -m benchmarks toy", "numpy ",
    ):  # fmt: skip
        assert part in text
    path = tmp_path / "RESULTS.md"
    update(path, {**report, "case": "b"})
    update(path, {**report, "case": "a", "question": "Old?"})
    first = path.read_text(encoding="utf-8")
    update(path, {**report, "case": "a"})
    second = path.read_text(encoding="utf-8")
    assert second == first.replace("Old?", report["question"])
    assert second.index("\n## a\n") < second.index("\n## b\n")
    assert second.count("\n## ") == 2


def test_a_failing_credo_leaves_the_peers_times_without_ratios(tmp_path: Path) -> None:
    path = write_case(
        tmp_path,
        """
        def leave(data):
            sys.exit(3)

        CASE = Case(
            question="?",
            contestants=(Contestant("credo", leave), Contestant("peer", lambda data: None)),
            bars={"peer": Bar("≥", 2)},
            repeats=1,
        )
        """,
    )
    report = run_case(path)
    rows = by_name(report)
    assert rows["credo"]["error"] == "ended with exit code 3"
    assert "ratio" not in rows["peer"]
    assert rows["peer"]["bar_met"] is None
    assert "failed" in as_markdown({**report, "date": "", "command": ""})


def test_a_call_that_takes_too_long_is_stopped(tmp_path: Path) -> None:
    path = write_case(
        tmp_path,
        """
        CASE = Case(
            question="?", repeats=1, timeout=1.0,
            contestants=(Contestant("credo", lambda data: time.sleep(60)),),
        )
        """,
    )
    assert "over 1 s" in by_name(run_case(path))["credo"]["error"]


def test_memory_is_measured_a_call_and_limited(tmp_path: Path) -> None:
    path = write_case(
        tmp_path,
        """
        def load(directory):
            bytearray(64 << 20)  # an earlier peak must not hide the calls'
            return None

        def hold(megabytes):
            return lambda data: len(bytes(bytearray(b"x") * (megabytes << 20)))

        CASE = Case(
            question="?", load=load, repeats=1, memory_limit=96 << 20,
            contestants=(Contestant("credo", hold(10)), Contestant("greedy", hold(200))),
        )
        """,
    )
    rows = by_name(run_case(path))
    assert 15 <= rows["credo"]["call_mb"] <= 30  # two copies of 10 MB
    assert rows["greedy"]["status"] == "failed"
    assert "MemoryError" in rows["greedy"]["error"]


def test_fresh_processes_are_timed_whole(tmp_path: Path) -> None:
    path = write_case(
        tmp_path,
        """
        python = sys.executable

        CASE = Case(
            question="?", mode="fresh", repeats=2, warmups=0,
            contestants=(
                Contestant("credo", command=(python, "-c", "pass")),
                Contestant("sleeper", command=(python, "-c", "import time; time.sleep(0.2)")),
                Contestant("function", run=lambda data: 7.0),
                Contestant("wrong", command=(python, "-c", "raise OSError('no disk')")),
                Contestant("reader", command=(python, "-c", "open(r'{directory}/data')")),
            ),
            prepare=lambda directory: (directory / "data").write_text("40") and None,
            quality=Quality("worth", lambda data, result: time.sleep(1.0) or result, "higher", 0.0),
            limits={
                "credo": Limit("process_mb", 1.0), "wrong": Limit("seconds", 1.0),
                "sleeper": Limit("seconds", 0.1, beyond="credo"), "function": Limit("seconds", 1.0),
            },
        )
        """,
    )
    report = run_case(path)
    rows = by_name(report)
    assert rows["reader"]["status"] == "ok"
    assert rows["function"]["seconds"]["low"] < 1.0  # judging is not timed
    assert [rows[name]["limit_met"] for name in ("credo", "sleeper", "function", "wrong")] == [False, False, True, None]
    assert not ok({"contestants": [rows["sleeper"]]})
    text = as_markdown({**report, "date": "", "command": ""})
    assert "≤ 1 MB **missed**" in text
    assert re.search(r"≤ 0.1 s beyond credo \(0\.\d+\) \*\*missed\*\*", text)
    assert "≤ 1 s met" in text
    assert rows["sleeper"]["seconds"]["low"] > 0.2
    assert rows["function"]["status"] == "ok"
    assert rows["function"]["process_mb"] > 5
    assert rows["wrong"]["error"] == "OSError: no disk"


def test_a_peer_may_live_in_another_interpreter(tmp_path: Path) -> None:
    """The other is a bare environment that has one distribution of its own."""
    venv.create(tmp_path / "peers", with_pip=False)
    python = tmp_path / "peers" / "bin" / "python"
    (site,) = (tmp_path / "peers" / "lib").glob("python*/site-packages")
    (site / "rival-2.5.dist-info").mkdir()
    (site / "rival-2.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: Rival\nVersion: 2.5\n")
    path = write_case(
        tmp_path,
        """
        CASE = Case(
            question="?", repeats=1, warmups=0,
            quality=Quality("where", lambda data, result: float("peers" in result), "higher", 1.0),
            contestants=(
                Contestant("credo", lambda data: sys.prefix, requires=("pytest",)),
                Contestant("rival", lambda data: sys.prefix, requires=("rival",)),
            ),
        )
        """,
    )
    report = run_case(path, peers=str(python))
    assert [row["quality"] for row in report["contestants"]] == [0.0, 1.0]
    assert report["versions"]["rival"] == "2.5"
    assert by_name(run_case(path))["rival"]["status"] == "missing"


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_case(tmp_path, "CASE = Case(question='?', contestants=(Contestant('credo', lambda data: 1),), repeats=5)")
    output = tmp_path / "RESULTS.md"
    arguments = ["toy", "--json", "--repeat", "2", "--date", "2025-01-31", "--output", str(output)]
    assert main([*arguments, "--cases", str(tmp_path)]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert report["repeats"] == 2
    assert report["threads"] == 1
    assert "2025-01-31" in output.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("wrong", "said"), [(["no_such_case"], "import_credo"), (["--repeat", "0"], "must be at least 1")]
)
def test_command_line_refuses(wrong: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit_:
        main(wrong)
    assert exit_.value.code == 2
    assert said in capsys.readouterr().err


def test_a_case_is_checked_where_it_is_declared() -> None:
    job = Contestant("credo", lambda data: None)
    cases: tuple[dict, ...] = (
        {"contestants": ()},
        {"contestants": (job, job)},
        {"contestants": (job,), "bars": {"nobody": Bar("≥", 2)}},
        {"contestants": (job,), "limits": {"nobody": Limit("seconds", 1.0)}},
        {"contestants": (job,), "limits": {"credo": Limit("seconds", 1.0, beyond="nobody")}},
        {"contestants": (Contestant("credo"),)},
        {"contestants": (Contestant("credo", command=("true",)),), "mode": "warm"},
    )
    for wrong in cases:
        with pytest.raises(ValueError):
            Case(question="?", **wrong)
    assert Quality("loss", lambda data, result: result, "lower", 0.1).reached(1.05, [1.0, 1.05])


def test_every_case_declares_credo_first_and_loads_no_contestant() -> None:
    cases = Path(__file__).parents[2] / "benchmarks" / "cases"
    files = [path for path in sorted(cases.glob("*.py")) if path.stem != "__init__"]
    assert files
    for path in files:
        assert load_case(path).contestants[0].name.startswith("credo"), path
    code = "import sys; from benchmarks.case import load_case; from pathlib import Path\n" + "".join(
        f"load_case(Path({str(path)!r}))\n" for path in files
    )
    code += "print({'numpy', 'sklearn', 'credo', 'statsmodels'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=cases.parents[1])
    assert out.stdout.strip() == "set()"
