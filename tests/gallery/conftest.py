"""A gallery, its application and a browser that knows its token, without a socket."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from fastapi.testclient import TestClient

import credo as cr
from credo.gallery import tastes
from credo.gallery.gallery import Gallery
from credo.gallery.guard import Policy
from credo.gallery.renderers.making import renderer_of
from credo.gallery.server import application
from credo.gallery.settings import Settings
from credo.studies import MemoryStorage
from tests.gallery import quick_tastes

SPACE = {
    "x": cr.Real(0.0, 1.0), "rate": cr.Real(0.01, 10.0, log=True), "n": cr.Integer(1, 9),
    "kind": cr.Choice(["a", "b", "<i>c</i>"]), "fast": cr.Boolean(), "unit": cr.Constant("cm"),
}  # fmt: skip


class Page:
    """What the page's script does: it reads the token off the page, and sends it with every change."""

    def __init__(self, client: TestClient, path: str = "/") -> None:
        self.client = client
        self.html = client.get(path).text
        self.csrf = re.findall(r'name="?csrf-token"? content="(\w+)"', self.html)[0]
        self.headers = {"X-CSRF-Token": self.csrf}

    def get(self, path: str, status: int = 200) -> Any:
        answer = self.client.get(path)
        assert answer.status_code == status, answer.text
        return answer.json()

    def post(self, what: str, status: int = 200, **sent: Any) -> Any:
        answer = self.client.post(f"/api/{what}", json=sent, headers=self.headers)
        assert answer.status_code == status, answer.text
        return answer.json()

    @property
    def state(self) -> dict[str, Any]:
        return self.get("/api/state")

    def answer(self, kind: str = "best", **sent: Any) -> dict[str, Any]:
        """By default the first card is best."""
        shown = self.state["round"]
        if kind == "best":
            sent = {"chosen": shown["cards"][0]["id"], **sent}
        return self.post("answer", round=shown["id"], kind=kind, **sent)


@pytest.fixture(autouse=True)
def quick(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beliefs that cost nothing, but in tests that ask for `believed`; tests/design/tastes look at what is believed."""
    if "believed" not in request.fixturenames:
        for name in ("believe_taste", "propose_round", "slice", "map2"):
            monkeypatch.setattr(tastes.tastes, name, getattr(quick_tastes, name))


@pytest.fixture
def believed() -> None:
    """A test that asks for this believes by `design.tastes`."""


@pytest.fixture
def space() -> cr.Space:
    return cr.Space(SPACE)


@pytest.fixture
def gallery(space: cr.Space) -> Gallery:
    return Gallery(space, MemoryStorage(), seed=1, title="Things & <more>")


@pytest.fixture
def opened(gallery: Gallery) -> Iterator[Callable[..., TestClient]]:
    """`opened(policy, renderer="template", …)`: another browser at the same gallery."""
    renderers = []

    def start(policy: Policy | None = None, base: str = "http://127.0.0.1:8765", **settings: Any) -> TestClient:
        renderer = renderer_of(replace(Settings(gallery.space, "t"), **settings).checked())
        renderers.append(renderer)
        app = application(gallery, renderer, policy or Policy())
        return TestClient(app, base_url=base, follow_redirects=False, raise_server_exceptions=False)

    yield start
    for renderer in renderers:
        renderer.close()


@pytest.fixture
def page(opened: Callable[..., TestClient]) -> Page:
    return Page(opened())
