"""`credo gallery SPACE.toml`: a web page that learns what somebody likes and finds it."""

from __future__ import annotations

import contextlib
import dataclasses
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import StorageOption, with_terminal
from credo.cli.terminal import Terminal
from credo.errors import ParameterError, StorageError

__all__ = ["gallery"]

# Where it listens unless told; taken, any free one.
PORT = 8765


SpaceArgument = Annotated[
    Path | None, typer.Argument(metavar="[SPACE.toml]", help="Parameters and ranges; may hold a [gallery] section.")
]
DemoOption = Annotated[str | None, typer.Option("--demo", metavar="NAME", help="smoke: a space to try, no file.")]
PortOption = Annotated[
    int | None, typer.Option("--port", min=0, max=65535, metavar="N", help=f"By default {PORT}; 0: any free one.")
]
BrowserOption = Annotated[bool, typer.Option("--browser/--no-browser", help="Whether to open the browser.")]
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Of the gallery in its storage; by default gallery.")
]
CardsOption = Annotated[
    int | None, typer.Option("--cards", min=2, max=9, metavar="N", help="Shown at once; by default 4.")
]
TemplateOption = Annotated[
    Path | None, typer.Option("--template", metavar="FILE", help="HTML or SVG of a point, with {{ x }} for values.")
]
CommandOption = Annotated[
    str | None,
    typer.Option(
        "--render-command", metavar="CMD",
        help="A program that draws a point: {x} is a value, {out} the file to write, {width}, {height} its size. "
        "Words as in a shell, yet none is run.",
    ),
]  # fmt: skip
TypeOption = Annotated[
    str | None, typer.Option("--render-type", metavar="TYPE", help="What it writes: png (the default), svg, mp4…")
]
HostOption = Annotated[
    str, typer.Option("--host", metavar="ADDRESS", help="Where to listen; other than this machine needs --token.")
]
TokenOption = Annotated[
    str | None,
    typer.Option("--token", metavar="TEXT", envvar="CREDO_GALLERY_TOKEN", help="What a browser must know to look."),
]
SeedOption = Annotated[int | None, typer.Option("--seed", min=0, metavar="N", help="Of a new gallery; by default 0.")]


@with_terminal
def gallery(
    context: typer.Context, terminal: Terminal, space: SpaceArgument = None, demo: DemoOption = None,
    port: PortOption = None, browser: BrowserOption = True, storage: StorageOption = None, name: NameOption = None,
    cards: CardsOption = None, template: TemplateOption = None, render_command: CommandOption = None,
    render_type: TypeOption = None, host: HostOption = "127.0.0.1", token: TokenOption = None,
    seed: SeedOption = None,
) -> None:  # fmt: skip
    """Serve a page that shows points, learns from choices what is liked, and proposes what to look at next.

    Everything is kept: the same command opens it again where it was left. Ctrl-C ends it.
    """
    from credo.gallery.gallery import Gallery
    from credo.gallery.guard import Policy
    from credo.gallery.renderers.making import renderer_of
    from credo.gallery.serving import address_of, checked, serve
    from credo.studies import open_storage

    checked(host, token)
    words = None if render_command is None else _words(render_command)
    settings = _settings(space, demo, cards, template, words, render_type)
    renderer, ending = renderer_of(settings), contextlib.ExitStack()
    ending.callback(renderer.close)
    try:
        from credo.gallery.server import application

        listening, port = _listening(host, port)
        place = open_storage(storage if storage is not None else _default_storage(space, demo))
        ending.callback(place.close)  # the file alone then holds all: it may be copied
        found = Gallery(
            settings.space, place, name=name or "gallery", seed=seed, cards=settings.cards, title=settings.title
        )
        policy = Policy(host, port, token)
        address = address_of(policy)
        told = _Told(terminal, found, address)
        with listening:
            serve(application(found, renderer, policy), listening, address, browser, told.ready)
    except KeyboardInterrupt:
        terminal.say("", "Closed; nothing is lost.")
    finally:
        ending.close()


class _Told:
    """What is said once the page can be looked at."""

    def __init__(self, terminal: Terminal, gallery: Any, address: str) -> None:
        self._terminal, self._gallery, self._address = terminal, gallery, address

    def ready(self) -> None:
        """On standard output, at once: whoever started it may wait for it."""
        name, where = self._gallery.name, self._gallery.storage.name
        self._terminal.document({"kind": "gallery", "address": self._address, "storage": where, "name": name})
        self._terminal.say(f"{self._gallery.title}: {self._address}", f"Kept in {where}. Ctrl-C ends it.")
        sys.stdout.flush()


def _words(command: str) -> tuple[str, ...]:
    """As a shell would split it, without one."""
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise ParameterError("", "--render-command", f"of words with paired quotes ({error})", command) from None
    if not words:
        raise ParameterError("", "--render-command", "a program and its arguments", command)
    return words


def _settings(
    space: Path | None, demo: str | None, cards: int | None, template: Path | None, command: tuple[str, ...] | None,
    type_: str | None,
) -> Any:  # fmt: skip
    from credo.gallery.settings import TYPES, from_toml
    from credo.gallery.settings import demo as demonstration

    if (space is None) == (demo is None):
        given = None if space is None else (str(space), demo)
        raise ParameterError(
            "", "--demo", "given, or else SPACE.toml, not both", given, "As in: credo gallery --demo smoke"
        )
    if template is not None and command is not None:
        raise ParameterError("", "--template", "left out with --render-command", str(template))
    if type_ is not None and type_ not in TYPES:
        raise ParameterError("", "--render-type", ", ".join(TYPES), type_)
    found = from_toml(space) if space is not None else demonstration(str(demo))
    stated: dict[str, Any] = {} if cards is None else {"cards": cards}
    if template is not None:
        stated |= {"renderer": "template", "template": template}
    if command is not None:
        stated |= {"renderer": "command", "command": command}
    if type_ is not None:
        stated["type"] = type_
    return dataclasses.replace(found, **stated).checked()


def _listening(host: str, port: int | None) -> tuple[Any, int]:
    from credo.gallery.serving import bound

    try:
        found = bound(host, PORT if port is None else port)
    except StorageError:
        if port is not None:
            raise
        found = bound(host, 0)  # another gallery is open
    return found, found.getsockname()[1]


def _default_storage(space: Path | None, demo: str | None) -> Path:
    """SPACE.db beside SPACE.toml; of a demonstration in the present folder."""
    return Path(f"{demo}.db") if space is None else space.with_suffix(".db")
