"""Cards that need nothing from the server: a table of parameters, or the smoke that the page draws itself."""

from __future__ import annotations

import json
import zlib
from typing import Any

from credo.gallery.fold import Card
from credo.gallery.settings import Settings

__all__ = ["PlainRenderer"]


class PlainRenderer:
    """The kind is all the page needs."""

    def __init__(self, settings: Settings) -> None:
        self.kind, self._size = settings.renderer, (settings.width, settings.height)

    def described(self, card: Card) -> dict[str, Any]:
        """See `view.Picture`."""
        # The same point moves alike whenever it is shown.
        seed = zlib.crc32(json.dumps(dict(card.params), sort_keys=True).encode())
        return {"kind": self.kind, "width": self._size[0], "height": self._size[1], "seed": seed}

    def close(self) -> None:
        """Nothing to end."""
