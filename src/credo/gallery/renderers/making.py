"""Settings → renderer."""

from __future__ import annotations

from credo.gallery.renderers.command import CommandRenderer
from credo.gallery.renderers.plain import PlainRenderer
from credo.gallery.renderers.template import TemplateRenderer
from credo.gallery.settings import Settings

__all__ = ["Renderer", "renderer_of"]

Renderer = PlainRenderer | TemplateRenderer | CommandRenderer


def renderer_of(settings: Settings) -> Renderer:
    """How the settings' cards look.

    Raises
    ------
    ParameterError, MissingFileError, FileFormatError : a command or template that is none.
    """
    kinds = {"template": TemplateRenderer, "command": CommandRenderer}
    return kinds.get(settings.renderer, PlainRenderer)(settings)
