"""Every Python block of every page runs; every console block marked `<!-- run -->` prints what the page says.

The blocks of a page share their names and run in an empty folder that holds `examples/`; warnings are errors.
Blocks written as `>>>` sessions are compared with their output. Line numbers in a traceback are the page's.
"""

from __future__ import annotations

import doctest
import io
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from credo.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("README.md"), *(ROOT / "docs").rglob("*.md")])
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})\s*(?P<language>[\w-]*)[^`\n]*$")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int  # of its first line of text, from 1
    before: str  # the last line before the fence that is not empty


def blocks(page: str) -> Iterator[Block]:
    """The fenced blocks of a page, by its fences alone."""
    opened: re.Match[str] | None = None
    body: list[str] = []
    start, before = 0, ""
    for number, line in enumerate(page.splitlines(), 1):
        if opened is None:
            if opened := FENCE.match(line):
                body, start = [], number + 1
            elif line.strip():
                before = line.strip()
        elif line.strip() == opened["ticks"]:
            indent = len(opened["indent"])
            yield Block(opened["language"], "".join(f"{each[indent:]}\n" for each in body), start, before)
            opened, before = None, ""
        else:
            body.append(line)
    if opened is not None:
        raise ValueError(f"the block that opens before line {start} is not closed")


def run_python(block: Block, page: Path, names: dict) -> None:
    if block.text.lstrip().startswith(">>>"):
        report: list[str] = []
        test = doctest.DocTestParser().get_doctest(block.text, names, page.name, str(page), block.line - 1)
        test.globs = names  # so that what a session defines is there for the blocks below
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=report.append, clear_globs=False)
        assert not report, "".join(report)
    else:
        exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), names)


def run_console(block: Block, page: Path) -> None:
    """Each `$ credo ...` with the lines below it, which are its output; no lines, no comparison."""
    for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.text, re.MULTILINE):
        arguments = shlex.split(command, comments=True)
        assert arguments[0] == "credo", f"{page.name}:{block.line}: only `$ credo ...` can be run"
        code, printed = in_a_terminal(arguments[1:])
        assert code == 0, f"{page.name}:{block.line}: $ {command}\n{printed}"
        if expected.strip():
            same = doctest.OutputChecker().check_output(expected, printed, FLAGS)
            assert same, f"{page.name}:{block.line}: $ {command} printed\n{printed}"


def in_a_terminal(arguments: list[str]) -> tuple[int, str]:
    """The exit code of a command and all that it prints, as a terminal shows it.

    It runs in this process: what a process of its own would add, `tests/cli/test_process.py` tests.
    """
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
        patch.setenv("COLUMNS", "100")
        patch.setenv("NO_COLOR", "1")
        patch.setattr(sys, "stdin", io.StringIO())
        return main(arguments), printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "python":
            run_python(block, page, names)
        elif block.language == "console" and block.before == "<!-- run -->":
            run_console(block, page)


def test_blocks_are_found() -> None:
    page = "a\n\n```python title='x'\nx = 1\n```\n<!-- run -->\n\n"
    page += "  ````console\n  $ a\n  ```\n  ````\n```\nplain\n```\n"
    assert [*blocks(page)] == [
        Block("python", "x = 1\n", 4, "a"),
        Block("console", "$ a\n```\n", 9, "<!-- run -->"),
        Block("", "plain\n", 13, ""),
    ]
    with pytest.raises(ValueError, match="line 2"):
        list(blocks("```python\nx = 1\n"))


def test_wrong_blocks_fail() -> None:
    names: dict = {}
    page = Path("page.md")
    run_python(Block("python", "x = 2\n", 1, ""), page, names)
    run_python(Block("python", ">>> y = x + 1\n>>> y\n3\n", 1, ""), page, names)
    run_python(Block("python", "assert y == 3\n", 1, ""), page, names)
    with pytest.raises(AssertionError, match="Expected"):
        run_python(Block("python", ">>> y\n4\n", 1, ""), page, names)
    with pytest.raises(ZeroDivisionError) as failure:
        run_python(Block("python", "\n1 / 0\n", 10, ""), page, names)
    assert failure.traceback[-1].lineno == 10  # counted from 0: the page's line 11
    with pytest.raises(UserWarning):
        run_python(Block("python", "import warnings\nwarnings.warn('careful')\n", 1, ""), page, names)
