"""The README: its links lead somewhere, its figures are the measured ones, its first words are the two commands."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_two_commands_open_it() -> None:
    opening = TEXT[: TEXT.index("**")]
    assert opening.index("make demo") < opening.index("make test")


def test_links_lead_somewhere() -> None:
    links = re.findall(r'\]\(([^)#\s]+)[^)]*\)|(?:src|srcset)="([^"]+)"', TEXT)
    local = [link for pair in links for link in pair if link and "://" not in link]
    assert len(local) > 10
    assert [link for link in local if not (ROOT / link).exists()] == []


def test_figures_are_the_measured_ones() -> None:
    measured = _tool("measured")
    assert measured.main(["--check"]) == 0, "README is older than RESULTS.md: run python tools/measured.py"


def test_measured_copies_peers_alone() -> None:
    measured = _tool("measured")
    case = next(iter(measured.CASES))
    results = f"## {case}\n\n| contestant | seconds | ratio |\n|---|---|---|\n| credo | 1 | 1 (1 – 1) |\n"
    results += "| peer | 2 | 2 (1 – 3) |\n| gone | not installed: x | | |\n\n## other\n\n| odd | 1 | 9 (9 – 9) |\n"
    rows = measured.table(results).splitlines()[2:]
    assert rows == [f"| {measured.CASES[case]} | peer | 2 (1 – 3) | `python -m benchmarks {case}` |"]
    with pytest.raises(SystemExit):
        measured.renewed("no marks", results)


def _tool(name: str):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
