"""The report of a study as one self-contained page: no script, no network; it prints, and reads on a phone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from credo.numerics.readable import count, number, percent, typeset
from credo.plots.chart import Figure
from credo.plots.slicing import shown_value
from credo.plots.studies import ImportancesFigure
from credo.reports.markup import Markup, element
from credo.reports.shell import pictured, reproduced, section, shell
from credo.reports.study import StudyReport, TrialRow

__all__ = ["study_html", "write_study_html"]


def study_html(report: StudyReport) -> str:
    """One self-contained page."""
    names = (f"c{i}" for i in itertools.count(1))
    sections = [made for part in _PARTS if (made := part(report, names)) is not None]
    code = report.code if report.command is None else f"{report.command}\n\n{report.code}"
    sections.append(reproduced(_origin(report), code, "proposals"))
    title = "What was found" if report.name == "study" else f"{report.name}: what was found"
    return shell(title, sections, lead=report.lead, facts=report.facts, to="the report")


def write_study_html(report: StudyReport, path: Any) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    StorageError : the system refuses.
    """
    from credo.saving.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(study_html(report).encode("utf-8"))


def _best(report: StudyReport, names: Iterator[str]) -> Markup | None:
    best = report.best
    if best is None:
        return None
    rows = [(name, shown_value(value, 6)) for name, value in best["params"].items()]
    parts = [element("p", typeset(f"Trial {best['trial']}: {best['reason']}."), class_="note")]
    if report.left is not None:
        parts.append(element("p", typeset(report.left.details), class_="note"))
    return section(
        "best", "What to take", _table("The recommended point", ("parameter", "value"), rows, left=2), *parts
    )


def _course(report: StudyReport, names: Iterator[str]) -> Markup | None:
    figures = [each for each in (report.front, report.growth, report.history) if each is not None]
    if not figures:
        return None
    return section("course", "How it went", _charts(figures, names))


def _matters(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if not report.importances:
        return _why_not(report, "matters", "What matters", "importances")
    weak = min(each.found.explained for each in report.importances)
    parts: list[Any] = [_charts(report.importances, names)]
    if weak < WEAK:
        parts.append(element("div", element("p", _WEAK), class_="box warn"))
    tables = [_shares(each) for each in report.importances]
    return section("matters", "What matters", *parts, _fold("In numbers", *tables))


def _shares(figure: ImportancesFigure) -> Markup:
    found = figure.found
    rows = [
        (name, *(f"{100.0 * float(v):.1f} %" for v in values))
        for name, *values in zip(found.names, found.share, found.sd, found.total, found.total_sd)
    ]
    rows += [
        (" × ".join(p.names), f"{100.0 * p.share:.1f} %", f"{100.0 * p.sd:.1f} %", "", "") for p in found.pairs[:5]
    ]
    name = f"Shares of the variance{f' of {figure.outcome}' if figure.outcome else ''}"
    return _table(name, ("parameter", "alone", "± sd", "in all", "± sd"), rows)


# Variance explained below which shares are doubtful: noise, of which nothing can be explained, takes its part too.
WEAK = 0.3
_WEAK = (
    "The model behind these shares foretells little of trials that it was not given: unless that is noise, the shares "
    "are hardly more than guesses until more trials are told."
)


def _along(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if not report.slices:
        return _why_not(report, "along", "What is believed", "belief")
    lower = report.slices[0].lower_is_better
    two = len(report.directions) > 1
    better = "" if two else "Lower is better. " if lower else "Higher is better. "
    limits = "Constraints are not heeded here. " if report.is_constrained else ""
    said = (
        f"Along each parameter, the others as recommended: the line is the middle of belief, the band holds "
        f"{percent(report.slices[0].mass)} of it, the large dot is what is recommended, small ones are trials (whose "
        f"other parameters differ). {better}{limits}The scale is the same in all{' of an objective' if two else ''}."
    )
    parts: list[Any] = [element("p", said, class_="note"), _charts(report.slices, names)]
    if "more slices" in report.absent:
        parts.append(element("p", _sentence(report.absent["more slices"]), class_="note"))
    return section("along", "What is believed along each parameter", *parts)


def _set(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if report.parallel is None:
        return None
    return section("set", "How trials were set", pictured(report.parallel, next(names)))


def _trials(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if not report.table and not report.others:
        return None
    parts: list[Any] = []
    two = len(report.directions) > 1
    if report.table:
        what = "On the front" if two else "The best trials"
        parts.append(_listed(what, report, report.table, 10))
    if report.others:
        rest = report.n_trials - len(report.table) - len(report.others)
        more = f", and {rest:,} earlier ones not listed" if rest > 0 else ""
        other = "other trial" if report.table else "trial"
        name = f"{count(len(report.others), other)}, latest first{more}"
        parts.append(_fold(name, _listed("Other trials", report, report.others, len(report.others))))
    return section("trials", "Trials", *parts)


def _listed(caption: str, report: StudyReport, rows: Sequence[TrialRow], shown: int) -> Markup:
    """A table of trials; the rest of it unfolds."""
    outcomes = report.outcomes
    plain = all(row.kind == "told" for row in rows)
    columns = ("trial", *(() if plain else ("state",)), *outcomes, *report.names, "asked by")
    cells = [
        (
            str(row.id), *(() if plain else (row.kind,)),
            *((number(v, 6) for v in row.values) if row.values else [""] * len(outcomes)),
            *(shown_value(row.params[name]) if name in row.params else "off" for name in report.names), row.method,
        )
        for row in rows
    ]  # fmt: skip
    left = 1 if plain else 2
    chosen = next((i for i, row in enumerate(rows) if report.best and row.id == report.best["trial"]), -1)
    first = _table(caption, columns, cells[:shown], left=left, chosen=chosen)
    if len(cells) <= shown:
        return first
    return Markup(first + _fold(f"{len(cells) - shown} more", _table("More trials", columns, cells[shown:], left=left)))


def _failed(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if not report.failures:
        return None
    rows = [
        (reason, state, f"{n:,}", ", ".join(map(str, ids)) + (", …" if n > len(ids) else ""))
        for state, reason, n, ids in report.failures
    ]
    table = _table("Why trials have no value", ("reason", "state", "times", "trials"), rows, left=2)
    return section("failed", "What has no value, and why", table)


def _asked(report: StudyReport, names: Iterator[str]) -> Markup | None:
    if not report.sampler:
        return None
    return section("asked", "What was asked, and why", _list(report.sampler))


def _origin(report: StudyReport) -> list[str]:
    return [*report.changes, *(f"Note: {note}" for note in report.notes)]


_PARTS = (_best, _course, _matters, _along, _set, _trials, _failed, _asked)


# -- pieces --------------------------------------------------------------------------------------------------------


def _why_not(report: StudyReport, anchor: str, name: str, what: str) -> Markup | None:
    """A section that says why it is empty; none before any trial was told."""
    if what not in report.absent:
        return None
    return section(anchor, name, element("p", typeset(f"Not shown: {report.absent[what]}")))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _charts(figures: Sequence[Figure], names: Iterator[str]) -> Markup:
    return element("div", *(pictured(figure, next(names)) for figure in figures), class_="charts")


def _list(sentences: Sequence[str]) -> Markup:
    return element("ul", *(element("li", typeset(each)) for each in sentences))


def _fold(name: str, *children: Any) -> Markup:
    return element("details", element("summary", name), *children)


def _table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1, chosen: int = -1
) -> Markup:
    """The first `left` columns are text, the first of them names the row; the others are numbers. It scrolls by itself,
    by keyboard too."""

    def cell(tag: str, i: int, value: str, **more: Any) -> Markup:
        return element(tag, typeset(value), class_="n" if i >= left else None, **more)

    head = element("tr", *(cell("th", i, name, scope="col") for i, name in enumerate(columns)))
    body = [
        element("tr", cell("th", 0, row[0], scope="row"), *(cell("td", i, v) for i, v in enumerate(row) if i),
                class_="chosen" if at == chosen else None)
        for at, row in enumerate(rows)
    ]  # fmt: skip
    table = element("table", element("thead", head), element("tbody", *body), aria_label=caption)
    return element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")
