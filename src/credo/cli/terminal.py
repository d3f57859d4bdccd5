"""What is said, and where: text or one JSON document on standard output; progress and warnings on standard error."""

from __future__ import annotations

import contextlib
import json as json_module
import math
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

__all__ = ["Terminal", "plain"]

# A step that is over within a second needs no progress.
_PATIENCE = 1.0


class Terminal:
    """The voice of one command.

    json : standard output holds one JSON document and nothing else
    quiet : nothing but errors (and the document that was asked for)
    command : as typed, for provenance
    """

    def __init__(self, json: bool = False, quiet: bool = False, command: str | None = None) -> None:
        self.json, self.quiet, self.command = json, quiet, command
        self.warned: list[str] = []
        warnings.showwarning = self._warn

    def _warn(self, message: Any, *rest: Any, **options: Any) -> None:
        """Each warning once, in one line on standard error."""
        line = " ".join(str(message).split())
        if line not in self.warned:
            self.warned.append(line)
            if not self.quiet:
                print("warning:", line, file=sys.stderr)

    def say(self, *parts: Any) -> None:
        """Text, or anything that rich renders."""
        if self.json or self.quiet:
            return
        console = self._console()
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str), markup=False, highlight=False)

    def document(self, value: Any) -> None:
        """The JSON document, if it was asked for."""
        if self.json:
            print(json_module.dumps(plain(value), ensure_ascii=False, indent=2, allow_nan=False))

    @contextlib.contextmanager
    def step(self, doing: str) -> Iterator[None]:
        """Say what is being done, while it takes longer than a second and somebody is looking."""
        if self.quiet or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        status = Console(stderr=True).status(f"{doing} …")
        timer = threading.Timer(_PATIENCE, status.start)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            status.stop()

    def _console(self) -> Any:
        from rich.console import Console

        class Piped(Console):
            """Leaves a reader who went away to `main`, as plain prints do; rich would exit with 1."""

            def on_broken_pipe(self) -> None:
                raise BrokenPipeError

        # Whoever reads a pipe can scroll: 80 columns would cut tables in two.
        return Piped(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 120)


def plain(value: Any) -> Any:
    """As JSON data: NumPy's numbers as Python's, tuples as lists, NaN and infinities as null.

    >>> plain({"a": (1.0, float("nan"))})
    {'a': [1.0, None]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
