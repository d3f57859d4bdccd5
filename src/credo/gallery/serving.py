"""The server runs, and the browser opens."""

from __future__ import annotations

import contextlib
import gc
import socket
import threading
import webbrowser
from collections.abc import Callable
from typing import Any

from credo.errors import MissingDependencyError, ParameterError, StorageError
from credo.gallery.guard import Policy, is_loopback

__all__ = ["address_of", "bound", "checked", "serve"]

_SHORTEST_TOKEN = 16


def checked(host: str, token: str | None) -> None:
    """Other addresses than this machine's need a token that cannot be guessed.

    Raises
    ------
    ParameterError
    """
    if token is None and not is_loopback(host):
        remedy = "Anybody who reaches that address could look and answer. As in: --token $(openssl rand -hex 16)"
        raise ParameterError("", "--token", f"given with --host {host}", None, remedy)
    if token is not None and (len(token) < _SHORTEST_TOKEN or not token.isascii() or not token.isprintable()):
        raise ParameterError("", "--token", f"{_SHORTEST_TOKEN} or more letters without accents", len(token))


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free.

    Raises
    ------
    StorageError : the address is taken, or not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        found.close()
        why = getattr(error, "strerror", None) or str(error)
        raise StorageError(
            f"{host}:{port} cannot be listened to: {why}.", value=port, remedy="Give another --port, or 0 for any."
        ) from error
    return found


def serve(app: Any, listening: socket.socket, address: str, browser: bool, ready: Callable[[], None]) -> None:
    """Answer until Ctrl-C or SIGTERM. address : what the browser opens; ready : called once it answers"""
    try:
        import uvicorn
    except ImportError:
        raise MissingDependencyError("uvicorn", "gallery", "The gallery") from None

    class Server(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            gc.freeze()  # else a full collection goes through half a million objects of libraries, in some round
            ready()
            if browser:  # in a thread: some browsers stay in the foreground
                threading.Thread(target=_open, args=(address,), name="credo-browser", daemon=True).start()

    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, lifespan="off", ws="none",
        timeout_graceful_shutdown=3, limit_concurrency=256, proxy_headers=False,
    )  # fmt: skip
    Server(config).run(sockets=[listening])


def _open(address: str) -> None:
    with contextlib.suppress(webbrowser.Error):
        webbrowser.open(address)


def address_of(policy: Policy) -> str:
    """What a browser on this machine opens."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(policy.host, policy.host)
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{policy.port}/{'' if policy.token is None else f'?token={policy.token}'}"
