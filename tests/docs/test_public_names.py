"""Nothing public is without a page: the names of `credo`, the commands and their options."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import credo

ROOT = Path(__file__).resolve().parents[2]


def written() -> str:
    """All pages written by hand (the API pages make themselves, so they prove nothing)."""
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages if page.exists())


def absent(names: list[str], text: str) -> list[str]:
    """Those that stand nowhere in the text as a word of their own."""
    return [name for name in names if not re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text)]


def commands(command: Any, path: tuple[str, ...] = ("credo",)) -> Iterator[tuple[str, list[str]]]:
    """(`credo fit`, its long options) for every command below a click command, groups included."""
    options = [name for parameter in command.params for name in parameter.opts if name.startswith("--")]
    yield (
        " ".join(path),
        [name for name in options if name not in ("--help", "--install-completion", "--show-completion")],
    )
    for name, below in getattr(command, "commands", {}).items():
        yield from commands(below, (*path, name))


def test_every_public_name_is_on_a_page() -> None:
    """As code, `cr.NAME` or `NAME` between backticks: "errors" in a sentence is not the module's page."""
    text = written()
    names = [name for name in credo.__all__ if not name.startswith("_")]
    assert [name for name in names if not re.search(rf"(?:\bcr\.|`){name}\b", text)] == []


def test_every_error_is_on_the_page_of_errors() -> None:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    assert [name for name in credo.errors.__all__ if f"`{name}`" not in text and f".{name}(" not in text] == []


def test_every_command_and_option_is_on_a_page() -> None:
    if importlib.util.find_spec("credo.cli.main") is None:
        return  # no commands, so none is missing
    import typer

    (app,) = [
        value for value in vars(importlib.import_module("credo.cli.main")).values() if isinstance(value, typer.Typer)
    ]
    text = written()
    for command, options in commands(typer.main.get_command(app)):
        assert absent([command, *options], text) == [], command


def test_absent_looks_for_whole_words() -> None:
    assert absent(["Normal", "fit", "--seed"], "MultiNormal `fit` --seeds") == ["Normal", "--seed"]
