import gzip
import json
import re

import numpy as np
import pytest
import scipy.io
import scipy.sparse

from credo.errors import DataError, FileFormatError, ParameterError
from credo.tables.corpus import Corpus, format_of, read_corpus

TEXTS = ["Cats purr; cats sleep.", "Cats sleep", "Dogs bark, dogs sleep", ""]
WORDS = ["bark", "cats", "dogs", "purr", "sleep"]
COUNTS = np.array([[0, 2, 0, 1, 1], [0, 1, 0, 0, 1], [1, 0, 2, 0, 1], [0, 0, 0, 0, 0]])
ALL = {"min_df": 1, "max_df": 1.0}


def _same(corpus, rows=slice(None)):
    assert corpus.vocabulary.tolist() == WORDS
    np.testing.assert_array_equal(corpus.counts.toarray(), COUNTS[rows])


def test_json_lines(tmp_path):
    path = tmp_path / "pets.jsonl"
    path.write_text("\n".join(json.dumps({"id": f"d{i}", "text": text}) for i, text in enumerate(TEXTS)) + "\n")
    corpus = read_corpus(path, name_field="id", **ALL)
    _same(corpus)
    assert corpus.names.tolist() == ["d0", "d1", "d2", "d3"]
    zipped = tmp_path / "pets.jsonl.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    _same(read_corpus(zipped, **ALL, field="text"))


def test_a_folder_and_its_encodings(tmp_path):
    (tmp_path / "sub").mkdir()
    for i, text in enumerate(TEXTS):
        (tmp_path / ("sub" if i else ".") / f"{i}.txt").write_text(text)
    (tmp_path / "notes.md").write_text("not a document")
    corpus = read_corpus(tmp_path, **ALL)
    _same(corpus)
    assert corpus.names.tolist() == ["0.txt", "sub/1.txt", "sub/2.txt", "sub/3.txt"]
    (tmp_path / "sub" / "4.txt").write_bytes("crème brûlée à la carte".encode("latin-1"))
    again = read_corpus(tmp_path, **ALL)
    assert "crème" in again.vocabulary
    assert any("latin-1" in each or "1252" in each for each in again.decisions)
    with pytest.raises(FileFormatError, match=re.escape("4.txt")):
        read_corpus(tmp_path, encoding="utf-8", **ALL)


def test_one_text_a_line(tmp_path):
    path = tmp_path / "pets.txt"
    path.write_text("\n".join(TEXTS))
    _same(read_corpus(path, **ALL), slice(3))


def test_counts_in_every_format_are_the_same(tmp_path):
    sparse = scipy.sparse.csr_matrix(COUNTS)
    lines = [" ".join([str(row.nnz), *(f"{w}:{c}" for w, c in zip(row.indices, row.data))]) for row in sparse]
    (tmp_path / "pets.ldac").write_text("\n".join(lines) + "\n")
    (tmp_path / "pets.vocab.txt").write_text("\n".join(WORDS) + "\n")
    scipy.io.mmwrite(tmp_path / "pets.mtx", sparse)
    cells = sparse.tocoo()
    triples = [f"{d + 1} {w + 1} {c}" for d, w, c in zip(cells.row, cells.col, cells.data)]
    (tmp_path / "docword.pets.txt").write_text("\n".join(["4", "5", str(sparse.nnz), *triples]) + "\n")
    (tmp_path / "vocab.pets.txt").write_text("\n".join(WORDS) + "\n")
    for name, kind in (("pets.ldac", "ldac"), ("pets.mtx", "matrix-market"), ("docword.pets.txt", "uci")):
        assert format_of(tmp_path / name) == kind
        _same(read_corpus(tmp_path / name))
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
        _same(read_corpus(tmp_path / f"{name}.gz"))
    _same(read_corpus(sparse, vocabulary=WORDS))
    assert read_corpus(COUNTS).vocabulary[0] == "w0"


def test_words_are_those_of_a_vectoriser(tmp_path):
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [f"the {'sun ' * (i % 3)}moon don't well-known x1 {i}" for i in range(6)]
    path = tmp_path / "sky.txt"
    path.write_text("\n".join(texts))
    pattern = r"(?u)\b\w\w+\b"
    vectoriser = CountVectorizer(token_pattern=pattern, min_df=2, max_df=0.9, stop_words=["well"])
    want = vectoriser.fit_transform(texts)
    corpus = read_corpus(path, pattern=pattern, min_df=2, max_df=0.9, stop_words=["well"])
    assert corpus.vocabulary.tolist() == vectoriser.get_feature_names_out().tolist()
    np.testing.assert_array_equal(corpus.counts.toarray(), want.toarray())
    letters = read_corpus(path, **ALL, stop_words="english")
    assert letters.vocabulary.tolist() == ["don't", "moon", "sun", "well-known"]


def test_rare_and_common_words_are_left_out_and_said(tmp_path):
    path = tmp_path / "pets.txt"
    path.write_text("\n".join(TEXTS[:3]))
    corpus = read_corpus(path, max_df=0.7)
    assert corpus.vocabulary.tolist() == ["cats"]
    assert any("sleep" in each for each in corpus.decisions)
    with pytest.raises(DataError, match="none of 5 words"):
        read_corpus(path, min_df=3, max_df=0.5)


def test_new_documents_in_the_words_of_old_ones(tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("Purr dogs purr whales")
    corpus = read_corpus(path, vocabulary=WORDS)
    assert corpus.vocabulary.tolist() == WORDS
    np.testing.assert_array_equal(corpus.counts.toarray(), [[0, 0, 1, 2, 0]])
    assert corpus.decisions == ("1 tokens are of words outside the vocabulary.",)
    moved = Corpus([[1, 2, 3]], ["sleep", "whales", "bark"]).with_words(WORDS)
    np.testing.assert_array_equal(moved.counts.toarray(), [[3, 0, 0, 0, 1]])
    assert "2 tokens" in moved.decisions[-1]


def test_some_of_the_documents():
    corpus = Corpus(COUNTS, WORDS)
    assert len(corpus[:2]) == 2
    assert corpus[[2, 0]].names.tolist() == ["3", "1"]
    assert corpus[np.array([True, False, False, True])].names.tolist() == ["1", "4"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"text": "a"}\nnot json\n', "line 2 is not a JSON object"),
        ('{"a": "x", "b": "y"}\n', "which field is the text"),
        ('{"text": "a"}\n{"words": "a"}\n', "line 2 has no field 'text'"),
        ('{"text": "a"}\n{"text": 5}\n', "line 2: field 'text' holds no text"),
        ("2 0:1 1:2\n3 0:1\n", "line 2, is not"),
        ("2 0:1 -1:2\n1 0:1\n", "line 1, is not"),
        ("2\n3\n4\n1 1 1\n", "promises 4 triples and holds 1"),
        ("2\n3\n1\n1 9 1\n", "names word 9 of 3"),
        ("2\n3\n1\n1 x 1\n", "triples"),
        ("%%MatrixMarket garbage\n", "not a Matrix Market file"),
        ("", "empty"),
        ("\n\n", "no documents"),
    ],
)
def test_files_that_cannot_be_read_are_refused_by_line(tmp_path, content, said):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises((DataError, FileFormatError), match=said):
        read_corpus(path, **ALL)


def test_no_file_no_documents_no_format(tmp_path):
    with pytest.raises(DataError, match="no file or folder"):
        read_corpus(tmp_path / "nowhere")
    with pytest.raises(DataError, match="no documents"):
        read_corpus(tmp_path)
    with pytest.raises(ParameterError, match="format"):
        read_corpus(tmp_path, format="pdf")
    with pytest.raises(ParameterError, match="source"):
        read_corpus(5)


@pytest.mark.parametrize("stated", [{"min_df": 0}, {"max_df": 1.5}, {"pattern": "("}, {"stop_words": "martian"}])
def test_options_are_refused_by_name(tmp_path, stated):
    (tmp_path / "a.txt").write_text("a b")
    with pytest.raises(ParameterError, match=next(iter(stated))):
        read_corpus(tmp_path, **stated)


def test_a_corpus_checks_its_names():
    with pytest.raises(DataError, match="vocabulary must have one entry for each of 5"):
        Corpus(COUNTS, ["a"])
    with pytest.raises(DataError, match="'a' twice"):
        Corpus([[1, 2]], ["a", "a"])
    with pytest.raises(DataError, match="names"):
        Corpus(COUNTS, WORDS, ["only one"])
    with pytest.raises(DataError, match="numbers"):
        Corpus(np.array([["x"]]))
