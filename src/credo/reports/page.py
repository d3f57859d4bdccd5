"""A report as one HTML page: no script, no network, its own pictures; it prints, and reads on a phone."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from credo.numerics.readable import aligned, count, number, percent, share, typeset
from credo.plots.chart import Figure
from credo.reports.belief import Belief
from credo.reports.build import Choice, Report
from credo.reports.calibration import Calibration
from credo.reports.decision import ExampleDecision
from credo.reports.markup import Markup, element, fragment
from credo.reports.noise import QUESTIONS, Noise
from credo.reports.reading import Reading
from credo.reports.shell import shell
from credo.reports.svg import svg
from credo.reports.uncertainty import Uncertainty

__all__ = ["to_html", "write_html"]

# Rows of a table that stay in view; the rest unfolds.
MOST_ROWS = 25


def to_html(report: Report) -> str:
    """The page, whole: some 100 kB."""
    sections = list(_sections(report))
    title = f"{report.target}: what {'was compared' if report.belief is None else 'is believed'}"
    return shell(
        title, [section for *_, section in sections], lead=_lead(report), facts=report.facts,
        links=[(anchor, name) for anchor, name, _ in sections], version=report.origin.version,
    )  # fmt: skip


def write_html(report: Report, path: Any) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    StorageError : the system refuses.
    """
    from credo.saving.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(to_html(report).encode("utf-8"))


def _lead(report: Report) -> str:
    parts = [
        f"{report.reading.data}: {report.target} predicted from {count(len(report.reading.columns) - 1, 'column')}."
    ]
    if report.calibration is not None:
        parts.append(report.calibration.verdict)
    if report.noise is not None and any(not check.slight for check in report.noise.checks.failed):
        parts.append("The noise model does not hold: see below before trusting the intervals.")
    return " ".join(parts)


def _sections(report: Report) -> Iterator[tuple[str, str, Markup]]:
    """(anchor, name, markup) of every section there is."""
    names = (f"c{i}" for i in itertools.count(1))
    story: list[tuple[str, str, Any, Any]] = [
        ("read", "What was read", report.reading, _reading),
        ("comparison", "Models compared", report.comparison, _comparison),
        ("belief", "What is believed", report.belief, partial(_belief, report=report)),
        ("calibration", "Do predictions come true?", report.calibration, _calibration),
        ("uncertainty", "Where doubt comes from", report.uncertainty, _uncertainty),
        ("noise", "Does the noise model hold?", report.noise, _noise),
        ("decision", "An example decision", report.decision, _decision),
    ]
    for anchor, name, part, show in story:
        if part is not None:
            yield anchor, name, _section(anchor, name, *show(part, names))
        elif anchor in report.absent:
            yield anchor, name, _section(anchor, name, element("p", f"Not shown: {report.absent[anchor]}"))
    yield "reproduce", "How to make this again", _section("reproduce", "How to make this again", *_origin(report))


def _section(anchor: str, name: str, *children: Any) -> Markup:
    return element(
        "section", element("h2", name, id=f"{anchor}-h"), *children, id=anchor, aria_labelledby=f"{anchor}-h"
    )


# -- pieces ----------------------------------------------------------------------------------------------------------


def _figure(figure: Figure, names: Iterator[str], caption: str | None = None) -> Markup:
    """A chart below its title; the caption is the chart's description unless another is given."""
    chart = figure.chart()
    said = element("figcaption", typeset(chart.description if caption is None else caption))
    return element("figure", element("h3", chart.title), svg(chart, next(names)), said)


def _charts(figures: Sequence[Figure], names: Iterator[str]) -> Markup:
    return element("div", *(_figure(figure, names) for figure in figures), class_="charts")


def _table(
    caption: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], left: int = 1, chosen: int = -1
) -> Markup:
    """The first `left` columns are text, the first of them names the row; the others are numbers."""

    def cell(tag: str, i: int, value: Any, **more: Any) -> Markup:
        return element(tag, typeset(str(value)), class_="n" if i >= left else None, **more)

    head = element("tr", *(cell("th", i, name, scope="col") for i, name in enumerate(columns)))
    body = [
        element(
            "tr", cell("th", 0, row[0], scope="row"), *(cell("td", i, v) for i, v in enumerate(row) if i),
            class_="chosen" if at == chosen else None,
        )
        for at, row in enumerate(rows)
    ]  # fmt: skip
    table = element("table", element("thead", head), element("tbody", *body), aria_label=caption)
    # A table wider than the screen scrolls by itself, by keyboard too; its caption stays.
    scroller = element("div", table, class_="scroll", tabindex="0", role="region", aria_label=f"Table: {caption}")
    return fragment(element("p", caption, class_="caption"), scroller)


def _folded(summary: str, *children: Any) -> Markup:
    return element("details", element("summary", summary), *children)


def _list(sentences: Sequence[str]) -> Markup:
    return element("ul", *(element("li", typeset(sentence)) for sentence in sentences))


def _box(good: bool, *children: Any) -> Markup:
    return element("div", *(element("p", typeset(child)) for child in children), class_="box" if good else "box warn")


# -- sections --------------------------------------------------------------------------------------------------------


def _reading(part: Reading, names: Iterator[str]) -> list[Any]:
    used = (
        f"{count(part.rows, 'row')} of {part.rows_read:,} are used."
        if part.rows < part.rows_read
        else f"{count(part.rows, 'row')} are used."
    )
    rows = [(c.name, c.type, c.role, f"{c.missing:,}" if c.missing else "") for c in part.columns]
    caption = "Columns, and what they became"
    table = _table(caption, ("column", "read as", "used as", "missing"), rows[:MOST_ROWS], left=3)
    parts: list[Any] = [element("p", f"{part.data}: {used}"), table]
    if len(rows) > MOST_ROWS:
        rest = _table(f"{caption}, the rest", ("column", "read as", "used as", "missing"), rows[MOST_ROWS:], left=3)
        parts.append(_folded(f"{len(rows) - MOST_ROWS} more columns", rest))
    if part.warnings:
        parts.append(_box(False, *part.warnings))
    if part.decisions:
        few = _list(part.decisions)
        said = "What was decided about the table"
        parts.append(
            fragment(element("h3", said), few)
            if len(part.decisions) <= 6
            else _folded(f"{said} ({len(part.decisions)})", few)
        )
    return parts


def _comparison(part: Choice, names: Iterator[str]) -> list[Any]:
    record = part.record
    best, chosen = record["best"], record["chosen"]
    if part.averaged:
        said = "All candidates predict together, each with the weight that was best on rows held out."
    elif chosen == best:
        said = f"{chosen} predicts rows it has not seen best, and is kept."
    else:
        said = (
            f"{best} predicts unseen rows best; {chosen} is the simplest within one standard error of it, and is kept."
        )
    scored = f"{record['n_scored']:,} rows, {record['scheme']}"
    rows = []
    for row in record["models"]:
        score, error = _pair(row["score"], row["standard_error"])
        difference = "" if row["name"] == best else " ± ".join(_pair(row["difference"], row["difference_error"]))
        evidence = "" if row["log_evidence"] is None else f"{row['log_evidence']:,.1f}"
        rows.append((row["name"], f"{score} ± {error}", difference, evidence, number(row["complexity"])))
    at = -1 if part.averaged else next(i for i, row in enumerate(record["models"]) if row["name"] == chosen)
    columns = ("model", "log score", "against the best", "log evidence", "complexity")
    parts: list[Any] = [
        element("p", said),
        _figure(part.figure, names, "Mean difference of the log score, row by row. Filled: the model that is kept."),
        _table(f"Log score per row held out ({scored}); nats, larger is better", columns, rows, chosen=at),
    ]  # fmt: skip
    left_out = [f"{name} failed: {why}" for name, why in record["failed"].items()]
    left_out += [f"{name} was not tried: {why}" for name, why in record["skipped"].items()]
    return [*parts, _list(left_out)] if left_out else parts


def _pair(value: float | None, error: float | None) -> tuple[str, str]:
    first, second = aligned([value, error], error)
    return typeset(first), second


def _belief(part: Belief, names: Iterator[str], report: Report) -> list[Any]:
    parts: list[Any] = [element("p", f"Model {part.model}, inference: {part.inference}.", *_certificate(part))]
    if part.weights:
        rows = [(name, f"{weight:.3f}") for name, weight in part.weights.items()]
        parts.append(_table("Weights of the models that predict together", ("model", "weight"), rows))
    for told in report.process:
        parts.append(
            element("p", typeset(told)) if isinstance(told, str)
            else _table("Hyperparameters of the process", told.columns, told.rows)
        )  # fmt: skip
    if report.noise_law is not None:
        parts.append(element("p", f"Outcomes scatter about the prediction {report.noise_law}."))
    if part.forest is not None:
        step = (
            "A step is two standard deviations of a column, or all of it for a 0/1 column, so that coefficients in "
            "different units can be compared. Hollow marks: the interval holds zero."
        )
        parts.append(_figure(part.forest, names, step))
    if part.coefficients:
        table = _coefficients(part)
        few = len(part.coefficients) <= MOST_ROWS
        parts += [table if few else _folded(f"All {len(part.coefficients)} coefficients", table)]
    if not part.coefficients and not part.weights and not report.process:
        parts.append(element("p", "It has no coefficients: it predicts every row alike."))
    return [*parts, *([_box(False, *part.advice)] if part.advice else [])]


def _certificate(part: Belief) -> list[str]:
    said = ", ".join(
        f"{name.replace('_', ' ')} {number(value)}"
        for name, value in part.certificate.items()
        # a quadrature that settled to rounding certifies itself
        if isinstance(value, (int, float)) and name != "quadrature_error"
    )
    return [typeset(f" Certificate: {said}.")] if said else []


def _coefficients(part: Belief) -> Markup:
    outcomes = len({c.outcome for c in part.coefficients}) > 1
    rows = []
    for c in part.coefficients:
        mean, sd, low, high = (typeset(v) for v in aligned([c.mean, c.sd, c.lower, c.upper], c.sd))
        name = f"{c.outcome}: {c.name}" if outcomes else c.name
        rows.append((name, mean, sd, f"{low} … {high}", share(c.prob_positive)))
    columns = ("coefficient", "mean", "sd", f"{percent(part.mass)} interval", "P(> 0)")
    return _table(part.about, columns, rows)


def _calibration(part: Calibration, names: Iterator[str]) -> list[Any]:
    rows = [(score.name, score.meaning, score.value) for score in part.scores]
    return [
        _box(part.good, part.verdict),
        element("p", f"Every row is predicted by a fit to other rows: {part.scheme}.", class_="note"),
        _charts(part.figures, names), _table("On rows held out", ("score", "what it is", "value"), rows, left=2),
    ]  # fmt: skip


def _uncertainty(part: Uncertainty, names: Iterator[str]) -> list[Any]:
    parts: list[Any] = [
        _box(True, part.verdict),
        element(
            "p", "Along each of the main columns, the others as in the most typical row "
            f"(row {part.row + 1:,} of those looked at). ",
            "Wide band: 90 % of new outcomes. Inner band: 90 % for their mean, which is what more rows would narrow."
            if part.measure == "variance" else "Entropy is counted in nats: 0 is certainty.",
            class_="note",
        ),
    ]  # fmt: skip
    for along in part.columns:
        parts.append(element("h3", along.column))
        parts.append(element("p", typeset(along.advice)))
        drawn = [_bare(along.prediction, names), _bare(along.share, names, "What more data would remove.")]
        parts.append(element("div", *drawn, class_="charts"))
    return parts


def _bare(figure: Figure, names: Iterator[str], caption: str | None = None) -> Markup:
    """A chart without its title, below a heading that says the same."""
    chart = figure.chart()
    return element("figure", svg(chart, next(names)), element("figcaption", typeset(caption or chart.description)))


def _noise(part: Noise, names: Iterator[str]) -> list[Any]:
    items = []
    for check in part.checks.checks:
        word, kind = (
            ("holds", "good") if check.holds else ("a little off", "weak") if check.slight else ("fails", "bad")
        )
        found = _sentence(f"at most, {check.message}" if check.holds else check.message)
        p = share(check.p_value)
        found += f" p {p[0]} {p[1:]}" if p[0] in "<>" else f" p = {p}"
        items.append(
            _check(check.name, element("span", word, class_=f"verdict {kind}"), found, part.remedies.get(check.name))
        )
    items += [_check(name, "not tested", _sentence(why)) for name, why in part.checks.untested.items()]
    parts: list[Any] = [_box(part.checks.holds, part.verdict), element("ul", *items, class_="checks")]
    return [*parts, _charts(part.figures, names)] if part.figures else parts


def _check(name: str, verdict: Any, found: str, remedy: str | None = None) -> Markup:
    question = element("p", element("strong", QUESTIONS[name]), " ", verdict)
    return element("li", question, element("p", typeset(found), class_="muted"), remedy and element("p", remedy))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def _decision(part: ExampleDecision, names: Iterator[str]) -> list[Any]:
    parts: list[Any] = [element("p", sentence) for sentence in part.story]
    parts.append(_figure(part.figure, names))
    if part.cells:
        parts.append(_table("Three rows: a low, a middle and a high prediction", part.columns, part.cells))
    return [
        *parts,
        element("p", "For rows of your own:"),
        _code(f"credo predict MODEL NEW.csv {part.option}", "Command that decides"),
    ]


def _code(text: str, label: str) -> Markup:
    # Long lines scroll; a keyboard must reach them.
    return element("pre", element("code", text), tabindex="0", role="region", aria_label=label)


def _origin(report: Report) -> list[Any]:
    origin = report.origin
    rows = [
        ("Credo", origin.version),
        ("data", origin.data),
        ("seed", "none" if origin.seed is None else str(origin.seed)),
    ]
    parts: list[Any] = [_table("Where this comes from", ("what", "which"), rows, left=2)]
    if origin.command:
        parts.append(_code(origin.command, "Command that made this"))
    return [*parts, element("p", "The same version, data, seed and command give the same numbers.", class_="note")]
