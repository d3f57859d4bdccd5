"""The layers that import-linter enforces name every folder of the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = {path.parent.name for path in (ROOT / "src" / "credo").glob("*/__init__.py")} | {"errors"}
CONTRACTS = {
    contract["type"]: contract
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
}


@pytest.mark.parametrize("package", sorted(PACKAGES - {"testing"}))
def test_every_folder_has_its_layer_and_may_not_import_the_contract_suites(package):
    layers = [name for layer in CONTRACTS["layers"]["layers"] for name in re.findall(r"\w+", layer)]
    assert layers.count(package) == 1
    assert f"credo.{package}" in CONTRACTS["forbidden"]["source_modules"]
