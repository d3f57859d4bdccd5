"""`credo gallery` as a process: it answers, is killed, and nothing is lost; commands that are none make nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any

import pytest

from credo.cli import main as command_line
from credo.cli.gallery import gallery as command

RUN = """
import sys
from credo.cli import main
from credo.cli.gallery import gallery
if gallery not in [each.callback for each in main.app.registered_commands]:
    main.app.command()(gallery)
main.run()
"""
SPACE = "[parameters]\nx = {low = -2.0, high = 4.0}\ny = {low = 0, high = 3}\n"
TOKEN = "correct-horse-battery"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("space.toml").write_text(SPACE, encoding="utf-8")


class Browser:
    """What a browser keeps."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))

    def get(self, path: str) -> str:
        return self._opener.open(self.address + path, timeout=20).read().decode()

    @property
    def state(self) -> dict[str, Any]:
        return json.loads(self.get("/api/state"))

    def post(self, what: str, **sent: Any) -> dict[str, Any]:
        csrf = re.findall(r'csrf-token"? content="(\w+)"', self.get("/"))[0]
        headers = {"X-CSRF-Token": csrf, "Content-Type": "application/json", "Origin": self.address}
        request = urllib.request.Request(f"{self.address}/api/{what}", json.dumps(sent).encode(), headers)
        return json.loads(self._opener.open(request, timeout=20).read())


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[Any, str]]]:
    """`serve(arguments…)`: the process, and the address that it told."""
    running = []

    def start(*arguments: str) -> tuple[Any, str]:
        words = [sys.executable, "-c", RUN, "gallery", *arguments, "--no-browser", "--json"]
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        running.append(process)
        told = ""
        while not told.endswith("}\n"):
            line = process.stdout.readline()
            assert line, process.stderr.read()
            told += line
        return process, json.loads(told)["address"].rstrip("/")

    yield start
    for process in running:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_killed_and_started_again(serve):
    process, address = serve("space.toml", "--seed", "3", "--port", "0")
    browser = Browser(address)
    state = browser.state
    browser.post("favourite", card=state["round"]["cards"][1]["id"])
    state = browser.post("answer", round=state["round"]["id"], kind="best", chosen=state["round"]["cards"][1]["id"])
    port = address.rpartition(":")[2]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process, address = serve("space.toml", "--port", port)
    assert browser.state == state
    assert browser.post("undo")["answers"] == 0
    assert Path("space.db").exists()
    assert not Path("space.html").exists()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert (process.returncode, err) == (0, "")
    assert not Path("space.db-wal").exists()  # the file alone holds all


@pytest.mark.slow
def test_a_demonstration_with_a_token(serve):
    process, address = serve("--demo", "smoke", "--port", "0", "--token", TOKEN, "--storage", "a b.db")
    plain, query = address.split("/?")
    browser = Browser(plain)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        browser.get("/api/state")
    assert "Smoke" in browser.get("/?" + query)
    assert browser.state["round"]["cards"][0]["render"]["kind"] == "smoke"
    assert Path("a b.db").exists()
    process.terminate()
    assert process.wait(timeout=20) == 143
    assert not Path("a b.db-wal").exists()


@pytest.fixture
def credo(capsys, monkeypatch):
    monkeypatch.setattr(command_line.app, "registered_commands", [*command_line.app.registered_commands])
    if command not in [each.callback for each in command_line.app.registered_commands]:
        command_line.app.command()(command)

    def run(*arguments):
        code = command_line.main(["gallery", *arguments, "--no-browser"])
        return code, capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "--demo must be given, or else SPACE.toml"),
        (["space.toml", "--demo", "smoke"], 2, "--demo"),
        (["--demo", "fire"], 2, "--demo must be smoke"),
        (["space.toml", "--cards", "1"], 2, "--cards"),
        (["space.toml", "--host", "0.0.0.0"], 2, "--token must be given with --host 0.0.0.0"),
        (["space.toml", "--token", "short"], 2, "16 or more"),
        (["space.toml", "--port", "70000"], 2, "--port"),
        (["space.toml", "--render-command", "a 'b"], 2, "paired quotes"),
        (["space.toml", "--render-command", ""], 2, "--render-command"),
        (["space.toml", "--render-command", "draw {x}"], 2, "{out}"),
        (["space.toml", "--render-command", "draw {z} {out}"], 2, "{z}"),
        (["space.toml", "--render-type", "exe"], 2, "--render-type"),
        (["space.toml", "--template", "a.html", "--render-command", "draw {out}"], 2, "--template"),
        (["space.toml", "--template", "a.html"], 1, "no file a.html"),
        (["other.toml"], 1, "no file other.toml"),
        (["space.db"], 1, ".toml"),
        (["space.toml", "--host", "no.such.host.invalid", "--token", TOKEN], 1, "cannot be listened to"),
        (["space.toml", "--storage", "no/such/a.db"], 1, "no folder"),
    ],
)
def test_commands_that_are_none(credo, arguments, code, said):
    found, told = credo(*arguments)
    assert (found, said in told) == (code, True), told
    assert told.splitlines()[-1].startswith("error: ")
    assert sorted(path.name for path in Path().iterdir()) == ["space.toml"]  # nothing was made


def test_a_port_that_is_taken(credo):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found, told = credo("space.toml", "--port", str(taken.getsockname()[1]))
    assert found == 1
    assert "--port" in told


def test_another_space_in_the_same_storage(credo):
    import credo as cr
    from credo.gallery.gallery import Gallery

    Gallery(cr.Space(x=cr.Real(0, 1)), cr.studies.open_storage("space.db"))
    found, told = credo("space.toml", "--port", "0")
    assert found == 1
    assert "--name NEW" in told
