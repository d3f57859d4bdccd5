"""The user's HTML, SVG or canvas: a Jinja template of one point, shown in a frame that can reach nothing."""

from __future__ import annotations

from typing import Any

from credo.errors import FileFormatError, MissingFileError, StorageError
from credo.gallery.fold import Card
from credo.gallery.settings import Settings
from credo.gallery.templating import compiled, filled

__all__ = ["HEAD", "POLICY", "TemplateRenderer"]

#: The frame may run its own script and draw; it has no origin, no cookies, no network, and only this page may show it.
POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:; media-src data: blob:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'"
)
_LARGEST = 1 << 20
#: What a template that is no whole document begins with: a drawing fills its frame instead of running out of it.
HEAD = (
    '<!doctype html><meta charset="utf-8"><style>html, body { margin: 0; height: 100% }'
    "body > svg:not([width], [height]) { display: block; width: 100%; height: 100% }</style>"
)


class TemplateRenderer:
    """Fills the template anew for every card; the file is read again when it has changed, so that it can be written
    while the page is open.

    In the template every active parameter has its own name (``{{ radius }}``, escaped), and ``params`` holds all:
    ``const p = {{ params | tojson }};`` in a script. A parameter that does not matter is not there.

    Raises
    ------
    MissingFileError, FileFormatError : there is no such file, it is too large or no template.
    """

    kind = "template"

    def __init__(self, settings: Settings) -> None:
        assert settings.template is not None
        self._path, self._size = settings.template, (settings.width, settings.height)
        self._compiled: tuple[tuple[int, int], Any] | None = None
        self._template()

    def described(self, card: Card) -> dict[str, Any]:
        """See `view.Picture`."""
        return {"kind": self.kind, "url": f"/render/{card.id}", "width": self._size[0], "height": self._size[1]}

    def page(self, card: Card) -> str:
        """The document of a card."""
        params = dict(card.params)
        text = filled(self._template(), str(self._path), {**params, "params": params})
        whole = text.lstrip()[:9].lower().startswith(("<!doctype", "<html"))
        return text if whole else HEAD + text

    def _template(self) -> Any:
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if self._compiled is None or self._compiled[0] != stamp:
                if stat.st_size > _LARGEST:
                    raise FileFormatError(f"{self._path} is larger than 1 MiB.", value=stat.st_size)
                self._compiled = stamp, compiled(self._path.read_text(encoding="utf-8"), str(self._path))
            return self._compiled[1]
        except FileNotFoundError:
            raise MissingFileError(f"There is no file {self._path}.", value=str(self._path)) from None
        except OSError as error:
            raise StorageError(f"{self._path} cannot be read: {error.strerror}.", value=str(self._path)) from error
        except UnicodeDecodeError as error:
            raise FileFormatError(f"{self._path} is not UTF-8: {error}", value=str(self._path)) from error

    def close(self) -> None:
        """Nothing to end."""
