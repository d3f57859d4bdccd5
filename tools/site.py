"""Makes the site's navigation and its API pages (an mkdocs hook): no list of pages or names is kept by hand.

A page appears by existing: in `docs` itself, or in one of the folders of `SECTIONS`. The decisions get an index, and
the API a page for each folder of `src/credo`: its docstring, then every name of its `__all__`.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

#: folder → title, in the order of the menu
SECTIONS = {"guide": "How to", "concepts": "Concepts", "worked": "Worked pages", "migrating": "Migrating"}

#: the order in which a newcomer reads; pages not named here follow in alphabetical order
ORDER = (
    "show", "fit", "compare", "predict",
    "tables", "features", "linear-regression", "logistic-regression", "posterior", "prediction", "model-comparison",
    "decisions", "calibration", "plots", "reports", "inference", "mcmc", "direct-sampling", "dimension", "variational",
    "distributions", "conjugate", "streaming",
    "randomness", "saving",
    "curve-fitting", "ridge", "map", "two-parts", "misspecified", "actions", "averaging", "mauna-loa",
    "scikit-learn", "statsmodels", "pymc",
    "mathematics", "errors", "design", "roadmap",
)  # fmt: skip
#: pages of `docs` itself that open the menu; the others close it
FIRST = ("index.md", "start.md")


def on_config(config: Any) -> Any:
    docs = Path(config["docs_dir"])
    nav: list[Any] = list(FIRST)
    for folder, title in SECTIONS.items():
        if pages := _pages(docs, folder):
            nav.append({title: pages})
    nav.append({"API": [{name: f"reference/{name}.md"} for name in _packages()]})
    rest = [page for page in _pages(docs, "") if page not in FIRST]
    nav.append({"About": [*rest, {"Decisions": ["decisions/index.md", *_pages(docs, "decisions")]}]})
    config["nav"] = nav
    return config


def on_files(files: Files, config: Any) -> Files:
    for name in _packages():
        files.append(File.generated(config, f"reference/{name}.md", content=_reference(name)))
    files.append(File.generated(config, "decisions/index.md", content=_decisions(Path(config["docs_dir"]))))
    return files


def _decisions(docs: Path) -> str:
    """The index of the decision records: each title, linked."""
    lines = ["# Decisions", "", "Why things are as they are: a record a choice, with what was measured.", ""]
    for page in _pages(docs, "decisions"):
        path = docs / page
        title = path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ").strip()
        number, words = re.match(r"0*(\d+)\W+(.*)", title).groups()  # type: ignore[union-attr]
        lines.append(f"- {number} · [{words}]({path.name})")
    return "\n".join(lines) + "\n"


def _pages(docs: Path, folder: str) -> list[str]:
    """The folder's pages, template apart, in reading order."""
    names = [path.stem for path in (docs / folder).glob("*.md") if not path.stem.startswith("0000")]
    rank = {name: place for place, name in enumerate(ORDER)}
    ordered = sorted(names, key=lambda name: (rank.get(name, len(rank)), name))
    return [f"{folder}/{name}.md".lstrip("/") for name in ordered]


def _packages() -> list[str]:
    """Every folder of the package that states public names, and `errors`; dotted names without `credo.`."""
    source = ROOT / "src" / "credo"
    folders = (path.parent.relative_to(source) for path in source.rglob("__init__.py"))
    names = sorted(".".join(folder.parts) for folder in folders if folder.parts)
    return [name for name in [*names, "errors"] if getattr(_module(name), "__all__", None)]


def _module(name: str) -> ModuleType:
    return importlib.import_module(f"credo.{name}")


def _reference(name: str) -> str:
    module = _module(name)
    parts = [f"# credo.{name}", _as_markdown(module.__doc__ or "")]
    for public in module.__all__:
        value = getattr(module, public)
        home = getattr(value, "__module__", None)
        if isinstance(value, ModuleType) or not home or not f"{home}.".startswith(f"credo.{name}."):
            continue  # submodules and what other folders define have pages there; constants are in the docstring
        parts.append(f"::: {home}.{value.__qualname__}\n    options:\n      heading: {public}")
    return "\n\n".join(parts) + "\n"


def _as_markdown(docstring: str) -> str:
    """A docstring as it stands: aligned lists keep their columns as a block of text."""
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(
        f"```text\n{paragraph}\n```" if re.search(r"^`[^`]+` {2,}\S", paragraph, re.MULTILINE) else paragraph
        for paragraph in paragraphs
    )
