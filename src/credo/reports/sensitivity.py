"""What an answer of a network hangs on, as one self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.numerics.readable import number, percent, typeset
from credo.plots.influences import MOST_ROWS, tornado
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, section, shell

if TYPE_CHECKING:
    from credo.models.network.analysis import Tornado

__all__ = ["sensitivity_html", "write_sensitivity_html"]

# Rows of the table: as many as are read.
_ROWS = 40
_CAPTION = "The numbers that move the answer most"


def sensitivity_html(influences: Tornado, network: str = "", picture: str | None = None) -> str:
    """The page: the tornado diagram, its numbers, and the network if there is a picture of it.

    network : its name ; picture : SVG of it, as ``network.picture(evidence).svg()``
    """
    figure = tornado(influences, MOST_ROWS)
    rows = [
        [each.name, *(number(v, 4) for v in (each.value, *each.at, each.low, each.high))] for each in influences[:_ROWS]
    ]
    head = ("number of a table", "is", "moved to", "and to", "answer then", "and then")
    table = element(
        "table", element("thead", element("tr", *(_cell("th", i, name, scope="col") for i, name in enumerate(head)))),
        element("tbody", *(
            element("tr", _cell("th", 0, row[0], scope="row"), *(_cell("td", 1, cell) for cell in row[1:]))
            for row in rows
        )),
        aria_label=_CAPTION,
    )  # fmt: skip
    scrolls = element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {_CAPTION}")
    note = (
        f"Each number of each table is moved by {percent(influences.share)}, one at a time, and the others of its row "
        "share the rest as they did."
    )
    parts: list[Any] = [pictured(figure, "c1"), element("p", typeset(note), class_="note"), scrolls]
    sections = [section("hangs", "What it hangs on", *parts)]
    if picture is not None:
        sections.append(section("network", "The network", element("div", Markup(picture))))
    facts = [("Answer", number(influences.answer, 4))] + ([("Network", network)] if network else [])
    return shell(f"What {influences.question} hangs on", sections, facts=facts)


def _cell(tag: str, column: int, text: str, **more: Any) -> Markup:
    """Words to the left, numbers to the right."""
    return element(tag, typeset(text) if column else text, class_="n" if column else None, **more)


def write_sensitivity_html(influences: Tornado, path: Any, network: str = "", picture: str | None = None) -> None:
    """Write the page to a file, whole or not at all."""
    from credo.saving.atomic import atomic_write

    page = sensitivity_html(influences, network, picture)
    with atomic_write(path) as file:
        file.write(page.encode("utf-8"))
