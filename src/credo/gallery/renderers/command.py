"""A picture or video made by a program: small first, in full when asked for."""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

from credo.errors import ParameterError, StorageError
from credo.gallery.fold import Card
from credo.gallery.renderers.queue import Made, RenderQueue
from credo.gallery.settings import TYPES, Settings
from credo.studies.commands.template import CommandTemplate

__all__ = ["MEDIA", "POLICY", "CommandRenderer"]

#: what a file is sent as
MEDIA = {
    "png": "image/png", "jpeg": "image/jpeg", "webp": "image/webp", "gif": "image/gif", "avif": "image/avif",
    "svg": "image/svg+xml", "webm": "video/webm", "mp4": "video/mp4",
}  # fmt: skip
#: of a picture opened by itself: an SVG may hold a script
POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
#: places in the words beside the parameters: where the file goes, its size, "low" or "high"
PLACES = ("out", "width", "height", "quality")
QUALITIES = ("low", "high")


class CommandRenderer:
    """Runs the words of `settings.command` with a point's values in their places: never through a shell.

    A point's picture at one size is made once: files are named by a digest of program, values and size.

    Raises
    ------
    ParameterError : a place that is none, no {out}, a parameter of the name of a place.
    """

    def __init__(self, settings: Settings) -> None:
        space = settings.space
        for name in PLACES:
            if name in space.parameters:
                raise ParameterError("", "--render-command", "for a space without a parameter of that name", name)
        conditional = [name for name, parameter in space.parameters.items() if parameter.when is not None]
        try:
            self._template = CommandTemplate(settings.command or (), [*space.names, *PLACES], conditional, ("params",))
        except ParameterError as error:
            raise ParameterError("", "--render-command", error.constraint, error.value, error.remedy) from None
        if "out" in self._template.unused:
            remedy = "As in: --render-command './draw --radius {radius} --to {out}'"
            raise ParameterError("", "--render-command", "with {out}, the file to write", settings.command, remedy)
        self.kind, self._suffix = TYPES[settings.type], settings.type
        self._size = {
            "high": (settings.width, settings.height),
            "low": (max(1, round(settings.width * settings.low)), max(1, round(settings.height * settings.low))),
        }
        self._temporary = tempfile.TemporaryDirectory(prefix="credo-gallery-")
        folder = Path(self._temporary.name) / "made" if settings.cache is None else settings.cache
        try:
            self._queue = RenderQueue(folder, settings.jobs, settings.timeout)
        except OSError as error:
            self._temporary.cleanup()
            raise StorageError(f"{folder} cannot be made: {error.strerror}.", value=str(folder)) from error

    @property
    def media(self) -> str:
        """The type of what is made."""
        return MEDIA[self._suffix]

    def described(self, card: Card) -> dict[str, Any]:
        """See `view.Picture`."""
        width, height = self._size["high"]
        return {"kind": self.kind, "url": f"/render/{card.id}", "width": width, "height": height}

    def made(self, card: Card, quality: Any, again: bool = False) -> Made:
        """The picture, or how long it will be; "low" goes before "high", and the card seen last before others."""
        if quality not in QUALITIES:
            raise ParameterError("gallery", "quality", '"low" or "high"', quality)
        key, size = self._named(card, quality)
        out = Path(self._temporary.name) / f"{key}.{self._suffix}"
        params = dict(card.params)
        words = self._template.fill(params, {**size, "out": str(out), "params": json.dumps(params)})
        return self._queue.made(key, self._suffix, QUALITIES.index(quality), words, out, again)

    def kept(self, card: Card) -> Path | None:
        """The picture as large as it is made already; nothing is begun."""
        found = (self._queue.kept(self._named(card, quality)[0], self._suffix) for quality in reversed(QUALITIES))
        return next((path for path in found if path is not None), None)

    def _named(self, card: Card, quality: str) -> tuple[str, dict[str, Any]]:
        """The digest that a picture's file is called by, and its size."""
        width, height = self._size[quality]
        size = {"width": width, "height": height, "quality": quality}
        named = json.dumps([self._template.written, dict(card.params), size], sort_keys=True)
        return hashlib.sha256(named.encode()).hexdigest(), size

    def close(self) -> None:
        """End what runs, and forget files that have no folder of their own."""
        self._queue.close()
        with contextlib.suppress(OSError):
            self._temporary.cleanup()
