"""The frame of a self-contained page: head, header with facts, sections, footer; no script, no network."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from credo._version import __version__
from credo.numerics.readable import typeset
from credo.plots.chart import Figure
from credo.reports.markup import Markup, element
from credo.reports.style import style
from credo.reports.svg import svg

__all__ = ["shell", "section", "pictured", "reproduced"]


def shell(
    title: str, sections: Sequence[Markup], *, lead: str = "", facts: Sequence[tuple[str, str]] = (),
    to: str = "the report", links: Sequence[tuple[str, str]] = (), version: str = __version__,
) -> str:  # fmt: skip
    """The page. lead : one sentence below the title ; facts : (name, value) ; to : where the first link leads ; links :
    (anchor, name) of the sections, if they are to be listed ; version : of Credo that made it"""
    head = element(
        "head", element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="generator", content=f"Credo {version}"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title), element("style", Markup(style())),
    )  # fmt: skip
    said = [element("p", typeset(lead), class_="lead")] if lead else []
    listed = [element("li", element("a", name, href=f"#{anchor}")) for anchor, name in links]
    nav = [element("nav", element("ol", *listed), aria_label="Sections")] if listed else []
    shown = [element("div", element("dt", name), element("dd", typeset(value))) for name, value in facts]
    body = element(
        "body", element("a", f"Skip to {to}", href="#main", class_="skip"),
        element("header", element("h1", title), *said, element("dl", *shown, class_="facts"), *nav),
        element("main", *sections, id="main"),
        element("footer", element("p", f"Made by Credo {version}. The page holds everything it shows.")),
    )  # fmt: skip
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def section(anchor: str, name: str, *children: Any) -> Markup:
    heading = element("h2", name, id=f"{anchor}-h")
    return element("section", heading, *children, id=anchor, aria_labelledby=f"{anchor}-h")


def pictured(figure: Figure, name: str) -> Markup:
    """A figure with its title and description; `name` must be unique on the page."""
    chart = figure.chart()
    caption = element("figcaption", typeset(chart.description))
    return element("figure", element("h3", chart.title), svg(chart, name), caption)


def reproduced(decisions: Sequence[str], command: str | None, same: str) -> Markup:
    """What was read, and how to make this again. same : what the same seed gives"""
    parts: list[Any] = []
    if decisions:
        parts.append(element("ul", *(element("li", typeset(each)) for each in decisions)))
    if command:
        parts.append(element("pre", command, tabindex="0", aria_label="Command that made this"))
    note = f"The same version, data, seed and command give the same {same}."
    return section("origin", "What was read, and how to make this again", *parts, element("p", note, class_="note"))
