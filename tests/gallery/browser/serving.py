"""A gallery in a process of its own, so that it can be killed: `python -m tests.gallery.browser.serving DB PORT WHAT`.

The command line is tested elsewhere; here the storage and the port must be known beforehand.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]
# Importing the package takes a second or two; beyond this the server hangs, however busy the machine is.
PATIENCE = 120.0


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A gallery over a storage: `with Server(path) as server: server.address`.

    what : "smoke", the demo, "film", videos made by a command, or "drawing", a template
    """

    def __init__(self, storage: Path, what: str = "smoke") -> None:
        self.storage, self.port, self.what = storage, free_port(), what
        self.address = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Return once it answers."""
        words = [sys.executable, "-m", "tests.gallery.browser.serving", str(self.storage), str(self.port), self.what]
        self._process = subprocess.Popen(words, cwd=ROOT, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("The gallery did not start.")
            time.sleep(0.1)

    def kill(self) -> None:
        """At once, as a power cut does."""
        assert self._process is not None
        self._process.send_signal(signal.SIGKILL)
        self._process.wait()

    def _answers(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        with contextlib.closing(connection), contextlib.suppress(OSError):
            connection.request("GET", "/favicon.ico")
            return connection.getresponse().status == 200
        return False

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


def films() -> Any:
    """Videos made by a command one after the other, some of which never end."""
    import credo as cr
    from credo.gallery.settings import Settings

    words = (sys.executable, str(Path(__file__).with_name("film.py")), "{out}", "{hue}", "{width}", "{height}")
    space = cr.Space(hue=cr.Real(0.0, 1.0), slow=cr.Boolean())
    return Settings(
        space, "Films", renderer="command", command=(*words, "{slow}"), type="webm", width=320, height=240, timeout=3.0
    ).checked()


def drawings(folder: Path) -> Any:
    """A drawing taller than its frame, if nothing fitted it in."""
    import credo as cr
    from credo.gallery.settings import Settings

    template = folder / "drawing.html"
    template.write_text('<svg viewBox="-1 -1 2 2"><circle r="{{ radius }}"/></svg>', encoding="utf-8")
    space = cr.Space(radius=cr.Real(0.2, 1.0))
    return Settings(space, "Drawings", renderer="template", template=template, width=640, height=400).checked()


def main(storage: str, port: int, what: str) -> None:
    """Serve until killed."""
    import uvicorn

    from credo.gallery.gallery import Gallery
    from credo.gallery.guard import Policy
    from credo.gallery.renderers.making import renderer_of
    from credo.gallery.server import application
    from credo.gallery.settings import demo
    from credo.studies import open_storage

    settings = {"film": films, "drawing": lambda: drawings(Path(storage).parent), "smoke": lambda: demo("smoke")}[
        what
    ]()
    gallery = Gallery(settings.space, open_storage(storage), seed=1, cards=settings.cards, title=settings.title)
    app = application(gallery, renderer_of(settings), Policy(port=port))
    uvicorn.run(app, port=port, log_level="warning", lifespan="off", ws="none")


if __name__ == "__main__":
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
