"""The page as markup: escaped, whole, accessible as far as markup tells, small."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import polars as pl
import pytest

from credo.plots.chart import Figure
from credo.plots.theme import ROLES
from credo.reports import Report, comparison_report, to_html, write_html
from credo.reports.markup import element, fragment
from credo.reports.style import style
from credo.reports.svg import svg
from tests.plots.samples import figures
from tests.reports.samples import classified, compared, made, numbers

EVIL = """<script>alert('1')</script>"onload="&amp;]]>`${x}`"""


class Outline(HTMLParser):
    """Tags with attributes, and that every one is closed."""

    VOID = frozenset({"meta", "br", "link", "hr"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def all(self, *names: str) -> list[dict[str, str | None]]:
        return [attrs for tag, attrs in self.tags if tag in names]


def reports() -> dict[str, Report]:
    return {
        "number": compared()[1],
        "average": compared(averaged=True)[1],
        "two classes": classified(2)[1],
        "three classes": classified(3)[1],
        "comparison": comparison_report(compared()[0]),
    }


@pytest.mark.parametrize("name", reports())
def test_the_page_is_whole(name: str) -> None:
    page = to_html(reports()[name])
    outline = Outline(page)
    assert len(page.encode()) < 400_000  # the bar is 1.5 MB
    assert not re.search(r"(https?:)?//(?!\*)|url\((?!#)|@import|<script|<img|<iframe|javascript:", page)
    assert page.startswith('<!DOCTYPE html>\n<html lang="en">')
    ids = [attrs["id"] for _, attrs in outline.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs in outline.all("a"):
        assert attrs["href"][1:] in ids
    for _, attrs in outline.tags:
        for key in ("aria-labelledby", "aria-describedby"):
            assert key not in attrs or set(attrs[key].split()) <= set(ids)


@pytest.mark.parametrize("name", reports())
def test_the_page_reads_without_eyes(name: str) -> None:
    """Landmarks, headings in order, tables with headers, charts with names; axe checks more where a browser is."""
    outline = Outline(to_html(reports()[name]))
    for landmark in ("header", "main", "footer", "nav", "h1"):
        assert len(outline.all(landmark)) == 1, landmark
    levels = [int(tag[1]) for tag, _ in outline.tags if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert all(attrs.get("scope") in ("col", "row") for attrs in outline.all("th"))
    assert all(attrs.get("role") == "img" and attrs.get("aria-labelledby") for attrs in outline.all("svg"))
    assert all(attrs.get("aria-label") for attrs in outline.all("table"))
    labels = [attrs["aria-label"] for _, attrs in outline.tags if attrs.get("role") == "region"]
    assert len(labels) == len(set(labels))


def test_text_of_the_user_stays_text() -> None:
    frame = numbers().rename({"size": EVIL, "price": "<b>price</b>", "kind": "$x$ \u202e"})
    frame = frame.with_columns(pl.Series("$x$ \u202e", ["<i>a</i>", "'b'", "c&"] * 53 + ["c&"]))
    _, found = made(frame, "<b>price</b>")
    page = to_html(found)
    assert "<script" not in page
    assert "<b>" not in page
    assert "<i>" not in page
    assert "&lt;script&gt;" in page
    attributes = {key for _, attrs in Outline(page).tags for key in attrs}
    assert "onload" not in attributes


def test_markup_is_escaped_by_construction() -> None:
    assert element("p", "<&>\"'") == "<p>&lt;&amp;&gt;&quot;&#x27;</p>"
    assert element("p", title='"><script>') == '<p title="&quot;&gt;&lt;script&gt;"></p>'
    assert fragment("a\x00b\x1b[31m", "\ud800") == "a\ufffdb\ufffd[31m?"
    assert element("p", hidden=True, id=None) == "<p hidden></p>"


@pytest.mark.parametrize("name", figures())
def test_every_figure_as_svg(name: str) -> None:
    """Well-formed, named, small, and in no more than the theme's colours."""
    figure: Figure = figures()[name]
    picture = svg(figure.chart(), "c1")
    root = ET.fromstring(picture)
    assert root[0].text == figure.chart().title
    assert root[1].text == figure.chart().description
    assert len(picture) < 200_000
    assert not re.search(r'(fill|stroke)="#|nan|inf"', picture)
    used = {c.split("-")[1] for c in re.findall(r'class="([fshtk]-\w+)', picture)}
    assert used <= set(ROLES)


def test_the_style_knows_every_role_and_both_themes() -> None:
    sheet = style()
    for role in ROLES:
        assert sheet.count(f"--{role}:") == 3  # light, dark, print
        assert f".t-{role}" in sheet
    assert sheet.count("{") == sheet.count("}")


def test_written_whole_or_not_at_all(tmp_path) -> None:
    write_html(compared()[1], tmp_path / "a.html")
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == to_html(compared()[1])
    with pytest.raises(OSError, match="Cannot write"):
        write_html(compared()[1], tmp_path / "no" / "a.html")
