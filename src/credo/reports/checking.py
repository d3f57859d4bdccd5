"""A check of a model as one self-contained page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from credo.numerics.readable import count, typeset
from credo.plots.chart import Figure
from credo.plots.model_checks import figures_by_part
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, section, shell

if TYPE_CHECKING:
    from credo.program.check import ModelCheck

__all__ = ["check_html", "write_check_html"]

#: part → the question it answers
QUESTIONS = {
    "prior": "Could the priors make these data?",
    "inference": "Is the inference right on average?",
    "posterior": "Does the fitted model make data like these?",
}


def check_html(found: ModelCheck, title: str = "Check of a model") -> str:
    """The page: what was found, then each part with its pictures. No script, no network."""
    figures = figures_by_part(found)
    sections = [_findings(found), *(_part(name, sentences, figures[name]) for name, sentences in found.parts())]
    facts = [("findings", str(len(found.findings)))]
    if found.simulations is not None:
        facts.append(("simulations", f"{found.simulations.n:,}"))
    if found.fitted is not None:
        facts.append(("inference", found.fitted.inference))
    return shell(title, sections, lead=found.verdict.rstrip(":") + ("" if found.ok else "."), facts=facts,
                 to="what was found")  # fmt: skip


def _findings(found: ModelCheck) -> Markup:
    items: list[Any] = [
        element("li", typeset(each.what), element("br"), element("span", typeset(each.remedy), class_="note"))
        for each in found.findings
    ]
    body = element("ul", *items) if items else element("p", found.verdict)
    return section("findings", f"What was found: {count(len(items), 'finding')}", body)


def _part(name: str, sentences: list[str], figures: list[Figure]) -> Markup:
    told = [element("p", typeset(sentence)) for sentence in sentences]
    return section(name, QUESTIONS[name], *told, *(pictured(f, f"{name}-{i}") for i, f in enumerate(figures)))


def write_check_html(found: ModelCheck, path: Any, title: str = "Check of a model") -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    StorageError : the system refuses.
    """
    from credo.saving.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(check_html(found, title).encode("utf-8"))
