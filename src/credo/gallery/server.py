"""The web application: requests → `Gallery`, `view`, renderers."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from credo._version import __version__
from credo.errors import CredoError, MissingDependencyError, ParameterError, StorageError
from credo.gallery import templating
from credo.gallery.fold import Card
from credo.gallery.gallery import Gallery
from credo.gallery.guard import Guard, Policy, TooLarge, csrf_of
from credo.gallery.renderers import template as template_renderer
from credo.gallery.renderers.command import POLICY as MADE_POLICY
from credo.gallery.renderers.command import CommandRenderer
from credo.gallery.renderers.making import Renderer
from credo.gallery.renderers.template import TemplateRenderer
from credo.gallery.view import card_view, map_view, slice_view, state_view

try:
    from fastapi import FastAPI, Request
    from fastapi.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
    from starlette.concurrency import run_in_threadpool
    from starlette.staticfiles import StaticFiles
except ImportError:
    raise MissingDependencyError("fastapi", "gallery", "The gallery") from None

__all__ = ["application"]

Sent = Mapping[str, Any]

#: POST /api/NAME → what it does to the gallery, for a person, with what was sent
CHANGES: dict[str, Callable[[Gallery, str, Sent], object]] = {
    "answer": lambda gallery, person, sent: gallery.answer(person, sent),
    "undo": lambda gallery, person, sent: gallery.undo(person),
    "redo": lambda gallery, person, sent: gallery.redo(person),
    "dial": lambda gallery, person, sent: gallery.dial(person, sent.get("dial")),
    "narrow": lambda gallery, person, sent: gallery.narrow(person, sent),
    "near": lambda gallery, person, sent: gallery.near(person, sent.get("card")),
    "start": lambda gallery, person, sent: gallery.start(person, sent.get("cards")),
    "pin": lambda gallery, person, sent: gallery.pin(person, sent.get("card"), sent.get("pinned", True)),
    "favourite": lambda gallery, person, sent: gallery.favour(person, sent.get("card"), sent.get("favourite", True)),
}


def application(gallery: Gallery, renderer: Renderer, policy: Policy) -> Any:
    """The ASGI application, guarded. The gallery and the renderer are the caller's to close."""
    app = FastAPI(
        title=gallery.title,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.site = _Site(gallery, renderer, policy)
    app.mount("/static", StaticFiles(packages=[("credo.gallery", "static")]), name="static")
    for path, handler in _PAGES.items():
        app.add_api_route(path, handler, methods=["GET"], response_model=None)
    app.add_api_route("/api/person", _person, methods=["POST"], response_model=None)
    app.add_api_route("/api/{what}", _change, methods=["POST"], response_model=None)
    app.add_exception_handler(CredoError, _explained)
    app.add_exception_handler(TooLarge, _too_large)
    app.add_exception_handler(404, _not_found)
    return Guard(app, policy)


class _Site:
    """What all handlers share."""

    def __init__(self, gallery: Gallery, renderer: Renderer, policy: Policy) -> None:
        self.gallery, self.renderer, self.policy = gallery, renderer, policy
        self.templates = templating.own()
        self.favicon = resources.files("credo.gallery").joinpath("static", "icon.svg")

    @property
    def cookie(self) -> str:
        """Of the person."""
        return f"{self.policy.cookie}_person"

    def person(self, request: Request) -> str:
        """Who is meant: by the tab's own word, by the browser's cookie, or the first who joined."""
        self.gallery.refresh()
        known = {person.id for person in self.gallery.people}
        for given in (request.headers.get("x-session"), request.cookies.get(self.cookie)):
            if given in known:
                return given
        return self.gallery.first()

    def state(self, person: str) -> dict[str, Any]:
        """See `state_view`."""
        return state_view(self.gallery, person, self.renderer)

    def card(self, id_: str | None) -> Card | None:
        """None where none is named."""
        return None if id_ is None else self.gallery.card(id_)

    def remember(self, response: Response, person: str, request: Request) -> Response:
        """The browser's next request is of this person."""
        secure = request.url.scheme == "https"
        response.set_cookie(self.cookie, person, max_age=31536000, httponly=True, samesite="lax", secure=secure)
        return response


def _site(request: Request) -> _Site:
    return request.app.state.site


# -- pages -----------------------------------------------------------------------------------------------------------


def _page(request: Request) -> Response:
    site = _site(request)
    return _rendered(request, site.person(request))


def _permalink(request: Request, session: str) -> Response:
    site = _site(request)
    site.gallery.refresh()
    site.gallery.person(session)
    return site.remember(_rendered(request, session), session, request)


def _rendered(request: Request, person: str) -> Response:
    site = _site(request)
    state = site.state(person)
    context = {
        "state": state, "session": person, "title": site.gallery.title, "version": __version__,
        "nonce": request.state.nonce, "csrf": csrf_of(request.state.browser),
    }  # fmt: skip
    return HTMLResponse(site.templates.get_template("page.html").render(context))


def _report(request: Request) -> Response:
    from credo.gallery.report import session_report  # half a second to import, for a page that few ask for

    site = _site(request)
    page = session_report(site.gallery, site.person(request), site.renderer)
    hashes = [hashlib.sha256(style.encode()).digest() for style in re.findall(r"<style>(.*?)</style>", page, re.DOTALL)]
    styles = " ".join(f"'sha256-{base64.b64encode(each).decode()}'" for each in hashes)
    policy = f"default-src 'none'; style-src {styles}; img-src data:; base-uri 'none'; form-action 'none'"
    return HTMLResponse(page, headers={"content-security-policy": policy})


# -- data ------------------------------------------------------------------------------------------------------------


def _state(request: Request) -> Response:
    site = _site(request)
    return JSONResponse(site.state(site.person(request)))


async def _change(request: Request, what: str) -> Response:
    site = _site(request)
    change = CHANGES.get(what)
    if change is None:
        return JSONResponse({"detail": f"There is no /api/{what}."}, 404)
    sent = await _body(request)

    def done() -> dict[str, Any]:
        person = site.person(request)
        change(site.gallery, person, sent)
        return site.state(person)

    return JSONResponse(await run_in_threadpool(done))


async def _person(request: Request) -> Response:
    """Somebody new by name, or somebody known by id."""
    site, sent = _site(request), await _body(request)

    def changed() -> tuple[str, dict[str, Any]]:
        site.gallery.refresh()
        id_ = site.gallery.join(sent.get("name")) if sent.get("id") is None else str(sent["id"])
        return site.gallery.person(id_).id, site.state(id_)

    person, state = await run_in_threadpool(changed)
    return site.remember(JSONResponse(state), person, request)


async def _body(request: Request) -> dict[str, Any]:
    try:
        sent = await request.json()
    except (ValueError, RecursionError):
        sent = None
    if not isinstance(sent, dict):
        raise ParameterError("request", "body", "a JSON object", sent)
    return sent


def _slice(request: Request, name: str, at: str | None = None) -> Response:
    site = _site(request)
    return JSONResponse(slice_view(site.gallery, site.person(request), name, site.card(at)))


def _map(request: Request, a: str, b: str, at: str | None = None) -> Response:
    site = _site(request)
    return JSONResponse(map_view(site.gallery, site.person(request), a, b, site.card(at)))


def _card(request: Request, card: str) -> Response:
    site = _site(request)
    return JSONResponse(card_view(site.gallery.card(card), site.renderer))


def _export_json(request: Request, card: str | None = None) -> Response:
    from credo.gallery.summary import best_json

    site = _site(request)
    found = best_json(site.gallery, site.person(request), site.renderer, site.card(card))
    return JSONResponse(found, headers={"content-disposition": 'attachment; filename="best.json"'})


def _export_toml(request: Request, card: str | None = None) -> Response:
    from credo.gallery.summary import best_toml

    site = _site(request)
    text = best_toml(site.gallery, site.person(request), site.renderer, site.card(card))
    headers = {"content-disposition": 'attachment; filename="best.toml"'}
    return Response(text, media_type="application/toml", headers=headers)


# -- pictures --------------------------------------------------------------------------------------------------------


def _render(request: Request, card: str, quality: str = "low", again: bool = False) -> Response:
    site = _site(request)
    site.gallery.refresh()
    found, renderer = site.gallery.card(card), site.renderer
    if isinstance(renderer, TemplateRenderer):
        headers = {"content-security-policy": template_renderer.POLICY}
        return HTMLResponse(renderer.page(found), headers=headers)
    if not isinstance(renderer, CommandRenderer):
        return JSONResponse({"detail": "The page draws these cards itself."}, 404)
    made = renderer.made(found, quality, again)
    if made.path is not None:
        headers = {"content-security-policy": MADE_POLICY, "cache-control": "private, max-age=86400"}
        return FileResponse(made.path, media_type=renderer.media, headers=headers)
    if made.failure is not None:
        return JSONResponse({"detail": f"It could not be made: {made.failure}."}, 502)
    if made.full:
        return JSONResponse({"detail": "Too much is waiting to be made."}, 429, {"retry-after": "2"})
    return JSONResponse({"position": made.position}, 202, {"retry-after": "1"})


def _icon(request: Request) -> Response:
    icon = _site(request).favicon
    return Response(icon.read_bytes() if icon.is_file() else b"", media_type="image/svg+xml")


_PAGES: dict[str, Callable[..., Any]] = {
    "/": _page,
    "/s/{session}": _permalink,
    "/report": _report,
    "/favicon.ico": _icon,
    "/api/state": _state,
    "/api/slice": _slice,
    "/api/map": _map,
    "/api/card/{card}": _card,
    "/export.json": _export_json,
    "/export.toml": _export_toml,
    "/render/{card}": _render,
}

# -- what goes wrong -------------------------------------------------------------------------------------------------


async def _explained(request: Request, error: Any) -> Response:
    unknown = isinstance(error, ParameterError) and error.parameter in ("card", "person", "round")
    status = 503 if isinstance(error, StorageError) else 404 if unknown and request.method == "GET" else 400
    return JSONResponse({"detail": str(error)}, status)


async def _too_large(request: Request, error: Any) -> Response:
    return JSONResponse({"detail": "That is more than a page sends."}, 413)


async def _not_found(request: Request, error: Any) -> Response:
    return PlainTextResponse("There is no such page.", 404)
