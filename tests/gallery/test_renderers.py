"""How cards look: the user's template in a frame that reaches nothing; programs in a queue, never through a shell."""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path

import pytest

import credo as cr
from credo.errors import FileFormatError, MissingFileError, ParameterError
from credo.gallery.renderers.queue import MOST_WAITING, RenderQueue
from credo.gallery.renderers.template import HEAD
from credo.studies.commands.process import Process
from tests.gallery.conftest import Page

PYTHON = (sys.executable, "-I", "-S", "-c")
DRAW = "import sys, json; open(sys.argv[1], 'w').write(json.dumps(sys.argv[2:]))"


def card(page):
    return page.state["round"]["cards"][0]


def finished(client, url):
    """Ask as the page does, until it is made or is not."""
    for _ in range(400):
        answer = client.get(url)
        if answer.status_code != 202:
            return answer
        assert answer.json()["position"] >= 0
        time.sleep(0.02)
    raise AssertionError("it was never made")


# -- templates ---------------------------------------------------------------------------------------------------


@pytest.fixture
def drawn(tmp_path, opened):
    """`drawn(text)`: the answer for the first card, by a template of this text."""
    path = tmp_path / "card.html"

    def render(text):
        path.write_text(text, encoding="utf-8")
        page = Page(opened(renderer="template", template=path))
        shown = card(page)
        assert shown["render"]["kind"] == "template"
        return shown, page.client.get(shown["render"]["url"])

    return render


def test_values_of_a_template_are_escaped(drawn, gallery):
    shown, answer = drawn("<p>{{ kind }} {{ x }}</p><script>const p = {{ params | tojson }};</script>")
    assert str(shown["params"]["x"]) in answer.text
    found = answer.text.split("const p = ")[1].split(";</script>")[0]
    assert json.loads(found) == shown["params"]
    assert "<i>" not in answer.text


def test_a_template_has_a_frame_of_its_own(drawn):
    _, answer = drawn("<script>fetch('/export.json')</script>")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy  # so that default-src 'none' holds
    assert "default-src 'none'" in policy
    assert answer.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize(
    "text",
    [
        "{{ wrong }}", "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ 1 / 0 }}", "{{ x.foo.bar }}",
        "{{ x + 'a' }}",
        "{% for i in range(999999999) %}{% endfor %}", "{{ params.update({'a': 1}) }}", "{% include '/etc/passwd' %}",
    ],
)  # fmt: skip
def test_templates_that_cannot_be_filled(drawn, text):
    _, answer = drawn(text)
    assert answer.status_code == 400
    assert "cannot be filled" in answer.json()["detail"]


def test_templates_that_are_none(opened, tmp_path):
    path = tmp_path / "card.html"
    with pytest.raises(MissingFileError):
        opened(renderer="template", template=path)
    path.write_text("{% if %}", encoding="utf-8")
    with pytest.raises(FileFormatError, match="no template"):
        opened(renderer="template", template=path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileFormatError, match="UTF-8"):
        opened(renderer="template", template=path)
    with pytest.raises(ParameterError, match="template"):
        opened(renderer="template")


def test_a_template_may_be_written_while_the_page_is_open(opened, tmp_path):
    path = tmp_path / "card.html"
    path.write_text("<!DOCTYPE html>one", encoding="utf-8")
    page = Page(opened(renderer="template", template=path))
    url = card(page)["render"]["url"]
    assert page.client.get(url).text == "<!DOCTYPE html>one"
    path.write_text("<svg></svg>", encoding="utf-8")  # no whole document: it is made one, in which the drawing fits
    assert page.client.get(url).text == HEAD + "<svg></svg>"


# -- commands ----------------------------------------------------------------------------------------------------


def test_a_command_draws_small_first_and_is_remembered(opened, tmp_path):
    words = (*PYTHON, DRAW, "{out}", "{x}", "{kind}", "{width}x{height}", "{quality}")
    page = Page(opened(renderer="command", command=words, cache=tmp_path / "made"))
    shown = card(page)
    assert shown["render"] == {"kind": "image", "url": f"/render/{shown['id']}", "width": 640, "height": 480}
    url = shown["render"]["url"]
    small = finished(page.client, url)
    assert small.headers["content-type"] == "image/png"
    assert "sandbox" in small.headers["content-security-policy"]
    params = shown["params"]
    assert small.json() == [str(params["x"]), params["kind"], "160x120", "low"]
    assert finished(page.client, f"{url}?quality=high").json()[2:] == ["640x480", "high"]
    files = {path: path.stat().st_ino for path in (tmp_path / "made").iterdir()}
    assert len(files) == 2
    again = Page(opened(renderer="command", command=words, cache=tmp_path / "made"))
    assert again.client.get(url).json() == small.json()  # at once: it was made before
    assert {path: path.stat().st_ino for path in (tmp_path / "made").iterdir()} == files
    assert page.client.get(f"{url}?quality=best").status_code == 400
    assert page.client.get("/render/9999-0").status_code == 404


def test_values_never_meet_a_shell(tmp_path):
    evil = "$(touch gone); `touch gone` && touch gone | > gone ' \" \\ {out} ../../x"
    from credo.gallery.fold import Card
    from credo.gallery.renderers.command import CommandRenderer
    from credo.gallery.settings import Settings

    space = cr.Space(word=cr.Choice([evil, "-rf"]), n=cr.Integer(1, 2))
    settings = Settings(space, "t", renderer="command", command=(*PYTHON, DRAW, "{out}", "{word}", "--w={word}"))
    renderer = CommandRenderer(settings.checked())
    try:
        for word in (evil, "-rf"):
            shown = Card("1-0", {"word": word, "n": 1}, 0.0, 1.0, "")
            while (made := renderer.made(shown, "low")).position is not None:
                time.sleep(0.02)
            assert made.path is not None, made
            assert json.loads(made.path.read_text()) == [word, f"--w={word}"]
        assert not Path("gone").exists()
    finally:
        renderer.close()


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import sys; sys.exit('no <ink>')", "exit code 1: 'no <ink>'"),
        ("pass", "left no file"),
        ("import sys; open(sys.argv[1], 'w')", "holds 0 bytes"),
        ("import sys, os; os.symlink('/etc/passwd', sys.argv[1])", "left no file"),
        ("import time; time.sleep(60)", "longer than 0.5 s"),
    ],
)
def test_commands_that_fail_are_told_and_not_run_again_and_again(opened, code, said):
    page = Page(opened(renderer="command", command=(*PYTHON, code, "{out}"), timeout=0.5))
    url = card(page)["render"]["url"]
    answer = finished(page.client, url)
    assert answer.status_code == 502
    assert said in answer.json()["detail"]
    assert page.client.get(url).status_code == 502
    assert page.client.get(f"{url}?again=true").status_code == 202


def test_a_program_that_is_not_there(opened):
    page = Page(opened(renderer="command", command=("/no/such/program", "{out}")))
    assert "cannot be run" in finished(page.client, card(page)["render"]["url"]).json()["detail"]


@pytest.mark.parametrize(
    ("command", "said"),
    [(("draw",), "{out}"), (("draw", "{out}", "{z}"), "{z}"), (("draw", "{out"), "twice"), ((), "command")],
)
def test_commands_that_are_none(opened, command, said):
    with pytest.raises(ParameterError) as error:
        opened(renderer="command", command=command)
    assert said in str(error.value)


def test_a_parameter_may_not_be_called_as_a_place():
    from credo.gallery.renderers.command import CommandRenderer
    from credo.gallery.settings import Settings

    with pytest.raises(ParameterError, match="width"):
        CommandRenderer(Settings(cr.Space(width=cr.Real(0, 1)), "t", command=("a", "{out}")))


def test_the_queue_is_bounded_and_takes_small_pictures_first(tmp_path):
    log, gate = tmp_path / "log", tmp_path / "gate"
    code = (
        "import sys, os, time\nwhile not os.path.exists(sys.argv[3]): time.sleep(0.01)\n"
        "open(sys.argv[1], 'w').write('x'); open(sys.argv[4], 'a').write(sys.argv[2] + ' ')"
    )
    waiting = RenderQueue(tmp_path / "made", jobs=1, timeout=30.0)

    def ask(key, rank):
        out = tmp_path / f"{key}.out"
        return waiting.made(key, "png", rank, [*PYTHON, code, str(out), key, str(gate), str(log)], out)

    try:
        ask("first", 1)
        while waiting._waiting.qsize():  # until it runs
            time.sleep(0.01)
        for key, rank in (("high", 1), ("low", 0), ("later", 0)):
            assert ask(key, rank).position is not None
        assert ask("low", 0).position is not None  # it waits already
        full = [ask(f"more{i}", 2).full for i in range(MOST_WAITING)]
        assert full == [False] * (MOST_WAITING - 3) + [True] * 3
        gate.write_text("")
        for _ in range(500):
            if log.exists() and len(log.read_text().split()) >= 4:
                break
            time.sleep(0.02)
        assert log.read_text().split()[:4] == ["first", "later", "low", "high"]
    finally:
        waiting.close()


def test_closing_ends_what_runs(tmp_path):
    waiting = RenderQueue(tmp_path / "made", jobs=2, timeout=60.0)
    code = "import sys, time; open(sys.argv[1] + '.pid', 'w').write('x'); time.sleep(60)"
    for key in ("a", "b"):
        waiting.made(key, "png", 0, [*PYTHON, code, str(tmp_path / key)], tmp_path / key)
    while not all((tmp_path / f"{key}.pid").exists() for key in ("a", "b")):
        time.sleep(0.01)
    begin = time.monotonic()
    waiting.close()
    assert time.monotonic() - begin < 10.0
    assert not [each for each in threading.enumerate() if each in waiting._workers]


def test_closing_ends_what_is_just_beginning(tmp_path, monkeypatch):
    begun, go_on = threading.Event(), threading.Event()

    class Slow(Process):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            begun.set()
            go_on.wait(10.0)

    monkeypatch.setattr("credo.gallery.renderers.queue.Process", Slow)
    waiting = RenderQueue(tmp_path / "made", jobs=1, timeout=60.0)
    waiting.made("a", "png", 0, [*PYTHON, "import time; time.sleep(60)"], tmp_path / "a")
    assert begun.wait(10.0)
    threading.Timer(0.2, go_on.set).start()  # by then `close` has looked for what runs
    waiting.close()
    assert not waiting._workers[0].is_alive()
