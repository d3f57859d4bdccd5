"""Chromium driven over a pipe (its DevTools protocol), for the browser tests and the pictures of the documentation.

`installed()` says where Chromium is, `Browser` runs one, `Tab` is a page at one width and colour scheme. The command
line of Chromium cannot do this: its windows are 500 pixels wide at least, and a telephone is 390. Nothing but the
standard library, and no request leaves the machine.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import functools
import http.server
import json
import os
import select
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

#: device → (width, height, pixels a point): a small laptop, and the telephone that most designers check against
DEVICES = {"desktop": (1280, 900, 1), "phone": (390, 844, 2)}
SCHEMES = ("light", "dark")

# Starting takes a second or two; beyond this the browser hangs, however busy the machine is.
PATIENCE = 120.0


def installed() -> str | None:
    """The path of Chromium (or Chrome), if there is one."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Browser:
    """One headless Chromium with a profile of its own: `with Browser() as browser: browser.open(url, ...)`."""

    def __enter__(self) -> Browser:
        path = installed()
        if path is None:
            raise FileNotFoundError("No chromium on the PATH; tools/browser installs it where it can.")
        self._profile = tempfile.mkdtemp(prefix="credo-browser-")
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # Chromium listens on descriptor 3 and answers on 4. Copies far above them cannot be overwritten by the moves.
        moves, spare = [], []
        for end, place in ((theirs_in, 3), (theirs_out, 4)):
            high = fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
            moves.append((os.POSIX_SPAWN_DUP2, high, place))
            spare += [end, high]
        quiet = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
        self._process = os.posix_spawn(path, [path, *_flags(self._profile)], os.environ, file_actions=[*quiet, *moves])
        for end in spare:
            os.close(end)
        self._count, self._unread = 0, b""
        self._events: list[dict[str, Any]] = []
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, RuntimeError):
            self.call("Browser.close")
        deadline = time.monotonic() + 10
        while os.waitpid(self._process, os.WNOHANG) == (0, 0):
            if time.monotonic() > deadline:
                os.kill(self._process, signal.SIGKILL)
            time.sleep(0.02)
        os.close(self._to)
        os.close(self._from)
        shutil.rmtree(self._profile, ignore_errors=True)

    def open(self, url: str, device: str, scheme: str) -> Tab:
        """A tab that shows `url` as `device` does, loaded whole."""
        return Tab(self, url, device, scheme)

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """One command of the protocol and its answer."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        answer = self._until(lambda m: m.get("id") == self._count)
        if "error" in answer:
            raise RuntimeError(f"Chromium refuses {method}: {answer['error']['message']}")
        return answer["result"]

    def wait_for(self, event: str, session: str, **params: Any) -> None:
        """Return once the event has happened with these parameters among its own, which may be already."""

        def wanted(message: dict[str, Any]) -> bool:
            same = message.get("method") == event and message.get("sessionId") == session
            return same and params.items() <= {k: message["params"].get(k) for k in params}.items()

        if not any(map(wanted, self._events)):
            self._until(wanted)

    def forget(self, session: str) -> None:
        """Drop the events of a session that is over."""
        self._events = [event for event in self._events if event.get("sessionId") != session]

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while True:
            message = self._read(deadline)
            if wanted(message):
                return message
            self._events.append(message)

    def _read(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            if not select.select([self._from], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise RuntimeError(f"Chromium did not answer within {PATIENCE:.0f} s.")
            chunk = os.read(self._from, 1 << 20)
            if not chunk:
                raise RuntimeError("Chromium ended unexpectedly.")
            self._unread += chunk
        first, _, self._unread = self._unread.partition(b"\0")
        return json.loads(first)


class Tab:
    """One page in one browser: run scripts in it, photograph it, close it (`with browser.open(...) as tab`)."""

    def __init__(self, browser: Browser, url: str, device: str, scheme: str) -> None:
        self._browser = browser
        # A context is a profile within the profile: what an earlier page stored (its palette) is not seen.
        self._context = browser.call("Target.createBrowserContext")["browserContextId"]
        target = browser.call("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.width, self._height, self._scale = DEVICES[device]
        self._resize(self._height)
        media = [
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"},
        ]
        self._call("Emulation.setEmulatedMedia", features=media)
        self._call("Page.enable")
        self._call("Page.setLifecycleEventsEnabled", enabled=True)
        started = self._call("Page.navigate", url=url)
        if "errorText" in started:
            raise RuntimeError(f"Chromium cannot open {url}: {started['errorText']}")
        browser.wait_for("Page.lifecycleEvent", self._session, name="load", loaderId=started["loaderId"])
        # Scripts that run at load may still be drawing: two frames later they have drawn.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)
        self._browser.forget(self._session)

    def run(self, script: str) -> Any:
        """The value (waited for, if a promise) of a JavaScript expression."""
        done = self._call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"The page's script failed: {done['exceptionDetails']}")
        return done["result"].get("value")

    def photograph(self, path: Path, most: int) -> None:
        """A PNG of the page from its top, as tall as it is but for `most` points at most."""
        tall = min(most, self.run("document.documentElement.scrollHeight"))
        self._resize(tall)
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
        path.write_bytes(base64.b64decode(self._call("Page.captureScreenshot", format="png")["data"]))
        self._resize(self._height)

    def _resize(self, height: int) -> None:
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=self.width, height=height, deviceScaleFactor=self._scale, mobile=self.width < 500,
        )  # fmt: skip

    def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **params)


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The folder on a port of this machine, as a web server would show it: the address, without a final slash."""

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _flags(profile: str) -> list[str]:
    return [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
        "--no-first-run", "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
        "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
