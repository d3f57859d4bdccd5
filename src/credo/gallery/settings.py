"""What is asked for: SPACE.toml with its [gallery] section, and the options of `credo gallery`."""

from __future__ import annotations

import dataclasses
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from credo.design.spaces import Space
from credo.errors import FileFormatError, MissingFileError, ParameterError, StorageError

__all__ = ["DEMOS", "RENDERERS", "Settings", "demo", "from_toml"]

DEMOS = ("smoke",)
RENDERERS = ("table", "smoke", "template", "command")
#: what a command may leave → what the page shows it as
TYPES = {
    "png": "image", "jpeg": "image", "webp": "image", "gif": "image", "avif": "image", "svg": "image",
    "webm": "video", "mp4": "video",
}  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """A space, and how its points look.

    title : of the page; cards : a round; renderer : one of `RENDERERS`
    template : the file of the user's HTML or SVG; command : program and arguments that write a picture; type : of that
    width, height : of a picture in full, in CSS points; low : the share of both at which it is shown first
    timeout : seconds for a command; jobs : commands at once; cache : a folder for pictures; None: gone with the server
    """

    space: Space
    title: str
    cards: int = 4
    renderer: str = "table"
    template: Path | None = None
    command: tuple[str, ...] | None = None
    type: str = "png"
    width: int = 640
    height: int = 480
    low: float = 0.25
    timeout: float = 60.0
    jobs: int = 2
    cache: Path | None = None

    def checked(self) -> Settings:
        """Itself.

        Raises
        ------
        ParameterError : a value out of its range, a renderer without what it needs.
        """
        _require(self.renderer in RENDERERS, "renderer", f"one of {', '.join(RENDERERS)}", self.renderer)
        _require(isinstance(self.title, str) and 1 <= len(self.title) <= 80, "title", "1 to 80 letters", self.title)
        _require(_whole(self.cards, 2, 9), "cards", "an integer 2 to 9", self.cards)
        _require(isinstance(self.type, str) and self.type in TYPES, "type", f"one of {', '.join(TYPES)}", self.type)
        for name in ("width", "height"):
            _require(_whole(getattr(self, name), 16, 4096), name, "an integer 16 to 4096", getattr(self, name))
        _require(_between(self.low, 0.05, 1.0), "low", "a number 0.05 to 1", self.low)
        _require(_between(self.timeout, 0.1, 3600.0), "timeout", "seconds, 0.1 to 3600", self.timeout)
        _require(_whole(self.jobs, 1, 64), "jobs", "an integer 1 to 64", self.jobs)
        _require(self.renderer != "template" or self.template is not None, "template", "given", None)
        _require(self.renderer != "command" or bool(self.command), "command", "given (--render-command)", None)
        return self


def _require(holds: bool, name: str, constraint: str, value: Any) -> None:
    if not holds:
        raise ParameterError("gallery", name, constraint, value)


def _whole(value: Any, low: int, high: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and low <= value <= high


def _between(value: Any, low: float, high: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and low <= value <= high


def from_toml(path: Path) -> Settings:
    """The settings of a file; what it does not say is as `Settings` has it.

    A command is never taken from a file, which may be a stranger's; nor is a template outside the file's folder.

    Raises
    ------
    FileFormatError, MissingFileError : faults of the file, told with its name.
    """
    if path.suffix.lower() != ".toml":
        raise ParameterError("", "SPACE.toml", "a file whose name ends in .toml", str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFileError(f"There is no file {path}.", value=str(path)) from None
    except OSError as error:
        raise StorageError(f"{path} cannot be read: {error.strerror}.", value=str(path)) from error
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path} is not TOML: {error}.", value=str(path)) from error
    return parsed(text, str(path), path.parent, path.stem)


def demo(name: str) -> Settings:
    """A space to try."""
    if name not in DEMOS:
        raise ParameterError("", "--demo", " or ".join(DEMOS), name)
    file = resources.files("credo.gallery").joinpath("demos", f"{name}.toml")
    return parsed(file.read_text(encoding="utf-8"), f"{name}.toml", None, name)


def parsed(text: str, where: str, folder: Path | None, title: str) -> Settings:
    """Settings of TOML text. folder : relative to which the file's paths are."""
    try:
        written = tomllib.loads(text)
        section = written.pop("gallery", {})
        space = Space.from_state(written)
        space.sample(1, np.random.default_rng(0))  # constraints that contradict each other are told here
        return _settings(space, section, folder, title).checked()
    except tomllib.TOMLDecodeError as error:
        raise FileFormatError(f"{where} is not TOML: {error}.", value=where) from error
    except ParameterError as error:
        raise FileFormatError(f"{where}: {error}", value=error.value) from error


def _settings(space: Space, section: Any, folder: Path | None, title: str) -> Settings:
    known = [field.name for field in dataclasses.fields(Settings) if field.name not in ("space", "command")]
    if not isinstance(section, Mapping):
        raise ParameterError("gallery", "section", "a table", section)
    for name in ("command", "render-command", "render_command"):
        if name in section:
            remedy = "A file may be a stranger's: give --render-command where you trust the program."
            raise ParameterError("gallery", name, "left out of the file", section[name], remedy)
    for name in section:
        _require(name in known, "section", f"of {', '.join(known)}", name)
    given: dict[str, Any] = {"title": title, **section}
    if "template" in given:
        given = {"renderer": "template", **given, "template": _inside(folder, "template", given["template"])}
    if "cache" in given:
        given["cache"] = _inside(folder, "cache", given["cache"])
    return Settings(space, **given)


def _inside(folder: Path | None, entry: str, name: Any) -> Path:
    """A path within the file's folder."""
    if not isinstance(name, str) or folder is None:
        raise ParameterError("gallery", entry, "a text", name)
    base = folder.resolve()
    found = (base / name).resolve()
    if not found.is_relative_to(base):
        raise ParameterError("gallery", entry, f"within the folder of the file ({base})", name)
    return found
