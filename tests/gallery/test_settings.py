"""SPACE.toml with its [gallery] section; what a stranger's file may not do."""

from __future__ import annotations

import pytest

from credo.errors import FileFormatError, MissingFileError, ParameterError
from credo.gallery.settings import demo, from_toml

SPACE = "[parameters]\nx = {low = 0.0, high = 1.0}\n"


@pytest.fixture
def read(tmp_path):
    def of(text):
        (tmp_path / "space.toml").write_text(text, encoding="utf-8")
        return from_toml(tmp_path / "space.toml")

    return of


def test_a_space_alone(read):
    found = read(SPACE)
    assert (found.title, found.cards, found.renderer, found.space.names) == ("space", 4, "table", ("x",))
    assert read("x = {low = 0.0, high = 1.0}").space.names == ("x",)
    assert read("[gallery]\ntitle = 'T'\n[x]\nlow = 0.0\nhigh = 1.0").title == "T"


def test_a_section(read, tmp_path):
    found = read('[gallery]\ncards = 6\nwidth = 300\ntemplate = "a.html"\ncache = "made"\n' + SPACE)
    assert (found.cards, found.width, found.renderer) == (6, 300, "template")
    assert found.template == tmp_path.resolve() / "a.html"
    assert found.cache == tmp_path.resolve() / "made"


@pytest.mark.parametrize(
    ("section", "said"),
    [
        ("cards = 1", "gallery.cards"), ("cards = true", "gallery.cards"), ("cards = 2.0", "gallery.cards"),
        ('renderer = "flash"', "gallery.renderer"), ("colour = 1", "gallery.section"), ('title = ""', "gallery.title"),
        ("title = 3", "gallery.title"), ("timeout = 0", "gallery.timeout"), ("width = 1e3", "gallery.width"),
        ("timeout = nan", "gallery.timeout"), ('type = "exe"', "gallery.type"), ("jobs = 0", "gallery.jobs"),
        ('template = "../a.html"', "within the folder"), ('template = "/etc/passwd"', "within the folder"),
        ('cache = "../.."', "within the folder"), ("template = 3", "a text"), ('renderer = "template"', "template"),
        ('template = "../a.html"', "gallery.template"), ("cache = 3", "gallery.cache"),
        ('render-command = "rm"', "stranger"),
        ('command = ["rm", "-rf", "/"]', "stranger"), ('renderer = "command"', "--render-command"),
        ("space = 1", "gallery.section"), ('type = ["png"]', "gallery.type"), ("low = 0.0", "gallery.low"),
    ],
)  # fmt: skip
def test_sections_that_are_none(read, section, said):
    with pytest.raises(FileFormatError, match=r"space\.toml") as error:
        read(f"[gallery]\n{section}\n{SPACE}")
    assert said in str(error.value)


def test_a_link_out_of_the_folder(read, tmp_path):
    (tmp_path / "a.html").symlink_to("/etc/passwd")
    with pytest.raises(FileFormatError, match="within the folder"):
        read('[gallery]\ntemplate = "a.html"\n' + SPACE)


def test_files_that_are_none(read, tmp_path):
    for text in ("[parameters", "", "gallery = 3\n" + SPACE, "[parameters]\nx = {low = 2.0, high = 1.0}\n"):
        with pytest.raises(FileFormatError, match=r"space\.toml"):
            read(text)
    with pytest.raises(MissingFileError):
        from_toml(tmp_path / "none.toml")
    with pytest.raises(ParameterError, match=r"\.toml"):
        from_toml(tmp_path / "space.csv")


def test_demonstrations():
    found = demo("smoke")
    assert (found.renderer, found.title) == ("smoke", "Smoke")
    assert 6 <= len(found.space.names) <= 12
    with pytest.raises(ParameterError, match="--demo"):
        demo("../smoke")
