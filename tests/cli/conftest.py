"""Small tables and models that the commands work on, and a way to run a command in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from credo.cli.main import main


@dataclass(frozen=True)
class Done:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def credo(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Done]:
    """`credo("fit", path, ...)`: run a command line in this process."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")

    def run(*arguments: object) -> Done:
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        return Done(code, *capfd.readouterr())

    return run


def write_table(path: Path, columns: dict[str, Any]) -> Path:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join("" if cell is None else str(cell) for cell in row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`houses.csv` (price by size, rooms, town; 80 rows), `loans.csv` (repaid: no, yes; 150 rows), new rows of both."""
    folder = tmp_path_factory.mktemp("cli")
    rng = np.random.default_rng(7)
    n = 80
    size, rooms, town = rng.uniform(40, 200, n).round(1), rng.integers(1, 6, n), rng.choice(["Bonn", "Kiel"], n)
    price = (20 + 2.0 * size + 15 * (town == "Kiel") + rng.normal(0, 10, n)).round(2)
    holes: list[Any] = size.tolist()
    holes[3] = None
    write_table(folder / "houses.csv", {"size": holes, "rooms": rooms, "town": town, "price": price})
    new = {"id": ["007", "008", "009"], "town": ["Bonn", "Ulm", "Kiel"], "size": [100, 150, None], "rooms": [2, 3, 4]}
    write_table(folder / "new_houses.csv", new)
    income = rng.normal(size=150).round(4)
    repaid = np.where(rng.random(150) < 1 / (1 + np.exp(-1.5 * income)), "yes", "no")
    write_table(folder / "loans.csv", {"income": income, "age": rng.integers(20, 70, 150), "repaid": repaid})
    write_table(folder / "new_loans.csv", {"income": [-3.0, 0.0, 3.0], "age": [30, 40, 50]})
    write_table(folder / "costs.csv", {"action": ["lend", "refuse"], "yes": [-1, 0], "no": [5, 0]})
    return folder


@pytest.fixture(scope="session")
def houses(folder: Path) -> Path:
    """A model of prices."""
    path = folder / "houses.credo"
    assert main(["fit", str(folder / "houses.csv"), "--target", "price", "-o", str(path), "--quiet"]) == 0
    return path


@pytest.fixture(scope="session")
def loans(folder: Path) -> Path:
    """A model of repayment."""
    path = folder / "loans.credo"
    assert main(["fit", str(folder / "loans.csv"), "--target", "repaid", "-o", str(path), "--quiet"]) == 0
    return path
