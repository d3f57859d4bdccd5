"""The report of a topic model: cards that hold what the model says, and a page that is well formed and escaped."""

from html.parser import HTMLParser

import numpy as np
import pytest

from credo.models.topics import PLSA
from credo.reports.topics import topic_report, topics_html, write_topics_html
from credo.tables.corpus import Corpus


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    counts = np.array(
        [rng.multinomial(30, p) for p in np.repeat([[0.48, 0.48, 0.02, 0.02], [0.02, 0.02, 0.48, 0.48]], 10, 0)]
    )
    corpus = Corpus(counts, ["<b>sea</b>", "wave", "oven", "flour"], decisions=("2 words are left out.",))
    return PLSA(2, background=True, background_weight=0.1, random_state=0).fit(corpus), corpus


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.seen = [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "rect", "path"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag not in ("rect", "path"):
            assert self.open.pop() == tag


def test_cards_say_what_the_model_says(fitted):
    model, corpus = fitted
    report = topic_report(model, corpus, "texts", warnings=["careful"], command="credo topics texts")
    assert [card.share for card in report.cards] == sorted(model.topic_shares_, reverse=True)
    for card in report.cards:
        assert [word for word, _ in card.words[:2]] == list(model.top_words(2, by="relevance")[card.topic - 1])
        assert card.documents[0][1] == pytest.approx(model.transform(corpus)[:, card.topic - 1].max())
        assert [topic for topic, _ in card.near] == [3 - card.topic]
    assert ("background", "10 %") in report.facts
    np.testing.assert_allclose(report.bound.objective[-1], model.lower_bound_)


def test_the_page_is_well_formed_escaped_and_alone(fitted, tmp_path):
    report = topic_report(*fitted, "a & b", warnings=["careful"], command="credo topics 'a & b'")
    write_topics_html(report, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page == topics_html(report)
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert tags.seen.count("article") == 2
    assert "<b>sea</b>" not in page
    assert "&lt;b&gt;sea&lt;/b&gt;" in page
    assert "a &amp; b" in page
    assert "http" not in page
