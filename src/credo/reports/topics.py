"""The report of a topic model: a card for every topic, how the bound rose, what was read. Data first, a page second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from credo.numerics.readable import number
from credo.plots.chart import Chart, Line, axis
from credo.reports.markup import Markup, element, fragment
from credo.reports.shell import pictured, reproduced, section, shell

__all__ = ["BoundFigure", "TopicCard", "TopicReport", "topic_report", "topics_html", "write_topics_html"]

# What a card holds without scrolling.
WORDS, DOCUMENTS, NEIGHBOURS = 12, 3, 2


@dataclass(frozen=True)
class BoundFigure:
    """The objective a token after every step, in nats."""

    objective: np.ndarray

    def chart(self) -> Chart:
        steps = np.arange(self.objective.size, dtype=np.float64)
        # The first steps rise so much that the rest would look flat.
        low = float(np.quantile(self.objective, 0.05))
        return Chart(
            "The bound by iteration",
            f"It rose to {self.objective[-1]:.4f} nats a token in {self.objective.size - 1} steps; EM never lowers it.",
            axis("step", steps),
            axis("bound a token", self.objective[self.objective >= low]),
            (Line(steps, np.where(self.objective >= low, self.objective, np.nan)),),
        )


@dataclass(frozen=True)
class TopicCard:
    """One topic, by its number from 1: column `topic` − 1 of `transform`.

    share : of the corpus's tokens
    words : (word, p(w | z)), most relevant first; documents : (name, p(z | d)) that have most of it
    near : (topic, Jensen–Shannon divergence), nearest first ; coherence : mean NPMI of its top words
    """

    topic: int
    share: float
    coherence: float
    words: tuple[tuple[str, float], ...]
    documents: tuple[tuple[str, float], ...]
    near: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class TopicReport:
    """facts : (name, value) for the head ; decisions, warnings : sentences ; command : that made it, or None"""

    data: str
    facts: tuple[tuple[str, str], ...]
    cards: tuple[TopicCard, ...]
    bound: BoundFigure
    decisions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    command: str | None = None


def topic_report(
    model: Any, corpus: Any, data: str, *, warnings: Sequence[str] = (), command: str | None = None
) -> TopicReport:
    """The report of a fitted `PLSA` or `LatentDirichletAllocation` on the `Corpus` it was fitted to.

    Cost: one folding in of the corpus.
    """
    shares, near = model.transform(corpus), model.nearest_topics(NEIGHBOURS)
    words = model.top_words(WORDS, by="relevance", feature_names=corpus.vocabulary)
    coherence = model.coherence(corpus)
    cards = []
    for z in np.argsort(-model.topic_shares_, kind="stable").tolist():
        most = np.argsort(-shares[:, z], kind="stable")[:DOCUMENTS]
        cards.append(
            TopicCard(
                z + 1, float(model.topic_shares_[z]), float(coherence[z]),
                tuple(zip(words.words[z], words.probabilities[z], strict=True)),
                tuple((str(corpus.names[d]), float(shares[d, z])) for d in most),
                tuple((int(t) + 1, float(x)) for t, x in zip(near.indices[z], near.distances[z], strict=True)),
            )
        )  # fmt: skip
    tokens = corpus.n_tokens
    facts = [
        ("model", type(model).__name__), ("documents", f"{len(corpus):,}"),
        ("words", f"{len(corpus.vocabulary):,}"), ("tokens", f"{tokens:,.0f}"), ("topics", str(len(cards))),
        ("steps", f"{model.n_iter_}{'' if model.converged_ else ', not converged'}"),
        ("coherence (NPMI)", number(float(np.mean(coherence)), 2)),
    ]  # fmt: skip
    if getattr(model, "background_", None) is not None:
        facts.append(("background", f"{100.0 * model.background_weight_:.0f} %"))
    bound = BoundFigure(np.asarray(model.result_.objective) / tokens)
    return TopicReport(data, tuple(facts), tuple(cards), bound, tuple(corpus.decisions), tuple(warnings), command)


def topics_html(report: TopicReport) -> str:
    """One self-contained page: no script, no network."""
    title = f"Topics of {report.data}"
    origin = reproduced(report.decisions, report.command, "topics")
    return shell(title, [_topics(report), _fit(report), origin], facts=report.facts, to="the topics")


def write_topics_html(report: TopicReport, path: Any) -> None:
    """Write the page to a file, whole or not at all.

    Raises
    ------
    StorageError : the system refuses.
    """
    from credo.saving.atomic import atomic_write

    with atomic_write(path) as file:
        file.write(topics_html(report).encode("utf-8"))


def _topics(report: TopicReport) -> Markup:
    said = (
        "Largest first. Words are in the order of relevance (common in the topic, and its own); the strokes are "
        "proportional to p(word | topic)."
    )
    cards = element("div", *map(_card, report.cards), class_="charts")
    return section("topics", "Topics", element("p", said, class_="note"), cards)


def _card(card: TopicCard) -> Markup:
    most = max((p for _, p in card.words), default=1.0)
    rows = [
        element("tr", element("th", word, scope="row"), element("td", _stroke(p / most)),
                element("td", f"{p:.4f}", class_="n"))
        for word, p in card.words
    ]  # fmt: skip
    notes = [f"coherence {card.coherence:.2f}"]
    if card.near:
        notes.append("near topic " + ", ".join(str(topic) for topic, _ in card.near))
    documents = "; ".join(f"{name} ({100.0 * share:.0f} %)" for name, share in card.documents)
    return element(
        "article", element("h3", f"Topic {card.topic}: {100.0 * card.share:.1f} % of tokens"),
        element("table", element("tbody", *rows), aria_label=f"Words of topic {card.topic}"),
        element("p", fragment(", ".join(notes), ". Documents with most of it: ", documents, "."), class_="note"),
    )  # fmt: skip


def _stroke(share: float) -> Markup:
    bar = element("rect", x="0", y="2", width=f"{max(1.0, 100.0 * share):.0f}", height="8", class_="f-primary")
    return element("svg", bar, viewBox="0 0 100 12", width="100", height="12", aria_hidden="true")


def _fit(report: TopicReport) -> Markup:
    parts: list[Any] = [pictured(report.bound, "c1")]
    if report.warnings:
        parts.append(element("div", *(element("p", each) for each in report.warnings), class_="box warn"))
    return section("fit", "How the fit went", *parts)
