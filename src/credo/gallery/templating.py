"""Jinja, in one place: the page's own templates, and the user's."""

from __future__ import annotations

from typing import Any

from credo.errors import FileFormatError, MissingDependencyError, shown

__all__ = ["compiled", "filled", "own"]


def _jinja() -> Any:
    try:
        import jinja2
        import jinja2.sandbox
    except ImportError:
        raise MissingDependencyError("jinja2", "gallery", "The gallery") from None
    return jinja2


def own() -> Any:
    """The environment of the page's own templates. Everything is escaped; a name that is not given is an error."""
    jinja2 = _jinja()
    loader = jinja2.PackageLoader("credo.gallery", "templates")
    return jinja2.Environment(loader=loader, autoescape=True, undefined=jinja2.StrictUndefined)


def compiled(text: str, where: str) -> Any:
    """The user's template; sandboxed, since it may come with a stranger's SPACE.toml.

    Raises
    ------
    FileFormatError : it is none.
    """
    jinja2 = _jinja()
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(autoescape=True, undefined=jinja2.StrictUndefined)
    try:
        return environment.from_string(text)
    except jinja2.TemplateError as error:
        raise FileFormatError(f"{where} is no template: {shown(str(error), 300)}", value=where) from error


def filled(template: Any, where: str, values: dict[str, Any]) -> str:
    """The template's text with these values; `FileFormatError` where it fails."""
    try:
        return template.render(values)
    except (_jinja().TemplateError, TypeError, ValueError, ArithmeticError) as error:
        raise FileFormatError(f"{where} cannot be filled: {shown(str(error), 300)}", value=values) from error
