"""`credo topics` on a small folder of texts made from three vocabularies."""

import numpy as np
import pytest

import credo as cr

THEMES = (
    "ocean wave tide shore reef sail",
    "oven flour butter sugar yeast crust",
    "piano violin chord tempo opera aria",
)


@pytest.fixture
def texts(tmp_path):
    rng = np.random.default_rng(0)
    folder = tmp_path / "texts"
    folder.mkdir()
    for i in range(30):
        (folder / f"{i:02}.txt").write_text(" ".join(rng.choice(THEMES[i % 3].split(), 40)))
    return folder


def test_a_fit_writes_a_model_and_a_report(credo, texts, tmp_path):
    path = tmp_path / "topics.credo"
    done = credo("topics", texts, "-k", 3, "-o", path, "--json")
    assert done.code == 0, done.err
    found = [{word["word"] for word in topic["words"][:6]} for topic in done.json["topics"]]
    assert sorted(map(sorted, found)) == sorted(sorted(theme.split()) for theme in THEMES)
    assert done.json["documents"] == 30
    page = path.with_suffix(".html").read_text(encoding="utf-8")
    assert "The bound by iteration" in page
    assert "ocean" in page
    assert "<script" not in page
    assert cr.load(path).components_.shape == (3, 18)


def test_the_same_seed_gives_the_same_file(credo, texts, tmp_path):
    for name in ("a", "b"):
        assert (
            credo("topics", texts, "-k", 3, "--background", "-o", tmp_path / f"{name}.credo", "--no-report").code == 0
        )
    a, b = cr.load(tmp_path / "a.credo"), cr.load(tmp_path / "b.credo")
    np.testing.assert_array_equal(a.components_, b.components_)
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize("kind", ["plsa", "lda"])
def test_new_documents(credo, texts, tmp_path, kind):
    path, new = tmp_path / "topics.credo", tmp_path / "new.txt"
    assert credo("topics", texts, "-k", 3, "--model", kind, "-o", path, "-q").code == 0
    new.write_text("tide tide reef sail quasar\nflour oven yeast crust\nnothing known here\n")
    done = credo("topics", new, "--apply", path, "--json")
    assert done.code == 0, done.err
    first, second, third = done.json["documents"]
    assert first["topic"] != second["topic"]
    assert first["shares"][first["topic"] - 1] == max(first["shares"])
    assert max(first["shares"]) > 0.6
    assert sum(third["shares"]) == pytest.approx(1.0)
    assert "4 tokens are of words outside the vocabulary" in done.err
    rows = credo("topics", new, "--apply", path).out.splitlines()
    assert rows[0] == "document,topic,share_1,share_2,share_3"
    assert len(rows) == 4
    out = tmp_path / "shares.parquet"
    assert credo("topics", new, "--apply", path, "-o", out).code == 0
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["nowhere"], "no file or folder"),
        (["{texts}", "--model", "bert"], "--model"),
        (["{texts}", "--model", "lda", "--background"], "--background"),
        (["{texts}", "--apply", "{texts}/00.txt"], "not a Credo model"),
    ],
)
def test_failures_are_one_line(credo, texts, arguments, said):
    done = credo("topics", *(argument.format(texts=texts) for argument in arguments))
    assert done.code in (1, 2)
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1
