"""Makes the site's navigation and its API pages (an mkdocs hook): no list of pages or names is kept by hand.

A page in `docs/concepts`, `docs/howto` or `docs/decisions` appears by existing. The API has a page for each
folder of `src/credo`: its docstring, then every name of its `__all__`.
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

#: the order in which a newcomer reads; pages not named here follow in alphabetical order
CONCEPTS = (
    "tables", "features", "linear-regression", "logistic-regression", "prediction", "comparison", "decisions",
    "calibration", "distributions", "conjugate", "saving",
)  # fmt: skip


def on_config(config: Any) -> Any:
    docs = Path(config["docs_dir"])
    nav: list[Any] = ["index.md"]
    for folder, title in (("howto", "How to"), ("concepts", "Concepts")):
        if pages := _pages(docs, folder):
            nav.append({title: pages})
    nav.append({"API": [{name: f"reference/{name}.md"} for name in _packages()]})
    nav.append({"Project": ["roadmap.md", *_pages(docs, "decisions")]})
    config["nav"] = nav
    return config


def on_files(files: Files, config: Any) -> Files:
    for name in _packages():
        files.append(File.generated(config, f"reference/{name}.md", content=_reference(name)))
    return files


def _pages(docs: Path, folder: str) -> list[str]:
    """The folder's pages, template apart, in reading order."""
    names = [path.stem for path in (docs / folder).glob("*.md") if not path.stem.startswith("0000")]
    rank = {name: place for place, name in enumerate(CONCEPTS)}
    return [f"{folder}/{name}.md" for name in sorted(names, key=lambda name: (rank.get(name, len(rank)), name))]


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
        if isinstance(value, ModuleType) or not home or not home.startswith("credo."):
            continue  # submodules have a page of their own; constants are in the folder's docstring
        parts.append(f"::: {home}.{value.__qualname__}\n    options:\n      heading: {public}")
    return "\n\n".join(parts) + "\n"


def _as_markdown(docstring: str) -> str:
    """A docstring as it stands: aligned lists keep their columns as a block of text."""
    paragraphs = re.split(r"\n\s*\n", docstring.strip())
    return "\n\n".join(
        f"```text\n{paragraph}\n```" if re.search(r"^`[^`]+` {2,}\S", paragraph, re.MULTILINE) else paragraph
        for paragraph in paragraphs
    )
