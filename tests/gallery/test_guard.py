"""Who may look and change, and how much: nothing from another site, another machine, or too much at once."""

from __future__ import annotations

import re

import pytest

from credo.errors import ParameterError
from credo.gallery.guard import BURST, LARGEST_BODY, Guard, Policy
from credo.gallery.serving import address_of, checked
from tests.gallery.conftest import Page

TOKEN = "correct-horse-battery"
OUTSIDE = Policy(host="0.0.0.0", token=TOKEN)


# -- headers -----------------------------------------------------------------------------------------------------


def test_pages_may_do_nothing_inline_and_reach_nothing(page):
    first, second = (page.client.get("/") for _ in range(2))
    policy = first.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert "frame-ancestors 'none'" in policy
    nonces = [re.findall(r"'nonce-([\w-]+)'", answer.headers["content-security-policy"]) for answer in (first, second)]
    assert len(set(nonces[0])) == 1
    assert nonces[0] != nonces[1]
    for answer in (first, page.client.get("/api/state"), page.client.get("/static/app.js"), page.client.get("/no")):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_everything_is_escaped(page):
    assert "<more>" not in page.html
    assert "<i>c" not in page.html
    page.post("person", name="<script>x</script>")
    html = page.client.get("/").text
    assert "<script>x" not in html
    assert "<script>x" not in page.client.get("/report").text


def test_no_page_of_the_framework_is_there(page):
    for path in ("/docs", "/redoc", "/openapi.json", "/api", "/api/nothing"):
        assert page.client.get(path).status_code in (404, 405)
    assert page.post("nothing", 404)["detail"]


# -- forged changes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"X-CSRF-Token": ""}, 403),
        ({"X-CSRF-Token": "0" * 64}, 403),
        ({"X-CSRF-Token": "ä"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
        ({"Cookie": "credo_gallery_8765_browser=" + "0" * 32}, 403),
        ({"Cookie": ""}, 403),
    ],
)
def test_what_does_not_come_from_the_page_changes_nothing(page, gallery, headers, status):
    before = gallery.refresh().sequence
    sent = {**page.headers, "Content-Type": "application/json", **headers}
    encoded = {name: value.encode("latin-1") for name, value in sent.items()}
    answer = page.client.post("/api/dial", content=b'{"dial": 1.0}', headers=encoded)
    assert answer.status_code == status
    assert gallery.refresh().sequence == before
    assert page.post("dial", dial=1.0)["dial"] == 1.0  # the page itself may


def test_the_pages_own_origin_is_believed(page):
    headers = {**page.headers, "Origin": "http://127.0.0.1:8765", "Sec-Fetch-Site": "same-origin"}
    assert page.client.post("/api/undo", json={}, headers=headers).status_code == 200


def test_another_method_is_a_change(page):
    for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        assert page.client.request(method, "/api/state").status_code in (403, 415)


def test_a_page_is_still_good_after_the_server_was_restarted(opened, page):
    again = opened()  # another application, the browser's cookies
    again.cookies = page.client.cookies
    assert again.post("/api/undo", json={}, headers=page.headers).status_code == 200


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b'"a"', b"null", b"\xff", b"[" * 20000, b'{"dial": NaN}'])
def test_bodies_that_are_none(page, body):
    headers = {**page.headers, "Content-Type": "application/json"}
    answer = page.client.post("/api/dial", content=body, headers=headers)
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_too_much(page):
    headers = {**page.headers, "Content-Type": "application/json"}
    pieces = (b" " * 1000 for _ in range(1 + LARGEST_BODY // 1000))
    for content in (b" " * (LARGEST_BODY + 1), pieces):
        answer = page.client.post("/api/dial", content=content, headers=headers)
        assert answer.status_code == 413


def test_too_fast():
    now = [0.0]
    guard = Guard(None, Policy(), clock=lambda: now[0])
    assert [guard._wait("a") for _ in range(int(BURST))] == [0.0] * int(BURST)
    assert 0.0 < guard._wait("a") < 1.0
    assert guard._wait("b") == 0.0
    now[0] += 1.0
    assert guard._wait("a") == 0.0


def test_too_fast_is_said(opened, monkeypatch):
    monkeypatch.setattr("credo.gallery.guard.BURST", 3.0)
    monkeypatch.setattr("credo.gallery.guard.A_SECOND", 1e-6)
    client = opened()
    answers = [client.get("/favicon.ico") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert int(answers[-1].headers["retry-after"]) >= 1


# -- other names, other machines ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8765", "127.0.0.1.evil.example", "", "a b", "192.168.0.7"]
)
def test_another_name_for_this_machine_is_refused(page, host):
    for path in ("/", "/api/state", "/static/app.js"):
        assert page.client.get(path, headers={"Host": host}).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost:8765", "[::1]:8765", "LOCALHOST", "127.0.0.2"])
def test_names_of_this_machine(page, host):
    assert page.client.get("/api/state", headers={"Host": host}).status_code == 200


def test_without_the_token_nothing_is_shown(opened):
    client = opened(OUTSIDE, base="http://192.168.0.7:8765")
    for path in ("/", "/api/state", "/static/app.js", "/export.json", "/s/x", "/?token=wrong", "/?token="):
        answer = client.get(path)
        assert answer.status_code == 401
        assert answer.headers.get("set-cookie") is None
    assert client.get("/api/state", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert client.get("/api/state", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert client.get("/api/state", headers={"Cookie": f"credo_gallery_8765_token={TOKEN}"}).status_code == 401


def test_with_the_token_once_the_browser_is_remembered(opened):
    client = opened(OUTSIDE, base="http://192.168.0.7:8765")
    answer = client.get(f"/?token={TOKEN}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")  # the address no longer shows it
    cookie = answer.headers["set-cookie"]
    assert TOKEN not in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert Page(client).answer()["answers"] == 1
    link = f"/s/{Page(client).state['session']}"
    assert client.get(f"{link}?token={TOKEN}").headers["location"] == link
    for other in ("//evil.example", "/s//evil.example", "/s/..%2f"):
        assert "location" not in client.get(f"http://192.168.0.7:8765{other}?token={TOKEN}").headers
    forged = client.post("/api/undo?token=" + TOKEN, json={}, headers={"Authorization": f"Bearer {TOKEN}"})
    assert forged.status_code == 403


def test_addresses():
    checked("127.0.0.1", None)
    checked("::1", None)
    checked("0.0.0.0", TOKEN)
    for host, token in [
        ("0.0.0.0", None),
        ("192.168.0.7", None),
        ("example.org", None),
        ("", None),
        ("0.0.0.0", "short"),
    ]:
        with pytest.raises(ParameterError, match="--token"):
            checked(host, token)
    assert address_of(Policy("::", 80, TOKEN)) == f"http://[::1]:80/?token={TOKEN}"
    assert address_of(Policy()) == "http://127.0.0.1:8765/"


# -- files -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd",
        "/static/..%5cserver.py", "/render/..%2f..%2fserver.py", "/render/%2e%2e", "/s/..%2f..", "/static/",
        "/static/smoke", "/static/%00", "/api/card/..%2fx",
    ],
)  # fmt: skip
def test_no_file_but_the_pages_own(page, path):
    answer = page.client.get(path)
    assert answer.status_code in (404, 400)
    assert "import" not in answer.text
    assert "root:" not in answer.text
