"""`credo topics CORPUS -k 20`: what documents are about; with `--apply MODEL`, new documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from credo.cli.options import ReportOption, Seed, with_terminal
from credo.cli.terminal import Terminal

__all__ = ["topics"]

MODELS = ("plsa", "lda")


@with_terminal
def topics(
    context: typer.Context,
    corpus: Annotated[
        str,
        typer.Argument(
            metavar="CORPUS",
            help="A folder of texts, JSON lines, one text a line, or counts (LDA-C, UCI, Matrix Market).",
        ),
    ],
    terminal: Terminal,
    k: Annotated[int, typer.Option("--topics", "-k", min=1, metavar="K", help="How many topics.")] = 20,
    model: Annotated[str, typer.Option("--model", metavar="MODEL", help="plsa or lda.")] = "plsa",
    background: Annotated[
        bool, typer.Option("--background", help="Let the corpus's common words have a topic of their own (plsa).")
    ] = False,
    apply: Annotated[
        Path | None, typer.Option("--apply", metavar="FILE", help="Topics of these documents by a saved model.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Where to write the model; by default CORPUS's name with .credo. With --apply: the shares of topics, "
            "as .csv, .tsv, .parquet or .jsonl.",
        ),
    ] = None,
    field: Annotated[
        str | None, typer.Option("--field", metavar="NAME", help="Of JSON lines: where the text is.")
    ] = None,
    name_field: Annotated[
        str | None, typer.Option("--name-field", metavar="NAME", help="Of JSON lines: where the document's name is.")
    ] = None,
    stop_words: Annotated[
        str | None, typer.Option("--stop-words", metavar="LIST", help="english, or a file of words to leave out.")
    ] = None,
    min_df: Annotated[
        int, typer.Option("--min-documents", min=1, metavar="N", help="Words in fewer are left out.")
    ] = 2,
    max_df: Annotated[
        float, typer.Option("--max-share", min=0.0, max=1.0, metavar="SHARE", help="Words in more are left out.")
    ] = 0.5,
    format_: Annotated[
        str | None,
        typer.Option("--format", metavar="NAME", help="folder, jsonl, lines, ldac, uci or matrix-market."),
    ] = None,
    encoding: Annotated[str | None, typer.Option("--encoding", metavar="NAME", help="Such as utf-8, latin-1.")] = None,
    report: ReportOption = True,
    seed: Seed = 0,
) -> None:
    """Find topics in documents, tell their words, and write a model with a report beside it.

    With --apply MODEL: what share of each topic new documents have, by a model that this command wrote.
    """
    how = {"format": format_, "field": field, "name_field": name_field, "encoding": encoding}
    if apply is not None:
        _apply(apply, corpus, how, output, terminal)
        return
    words = {"stop_words": _stop_words(stop_words), "min_df": min_df, "max_df": max_df}
    _fit(corpus, k, model, background, {**how, **words}, output, report, seed, terminal)


def _fit(
    data: str, k: int, kind: str, background: bool, how: dict[str, Any], output: Path | None, report: bool, seed: int,
    terminal: Terminal,
) -> None:  # fmt: skip
    from credo.cli.fit import checked_output, default_output
    from credo.cli.text import bullets
    from credo.numerics.readable import count
    from credo.reports.topics import topic_report, write_topics_html
    from credo.saving import save
    from credo.tables.corpus import read_corpus

    estimator = _estimator(k, kind, background, seed)
    path = checked_output(output or default_output(data.rstrip("/")), data)
    with terminal.step(f"Reading {data}"):
        corpus = read_corpus(data, **how)
    with terminal.step(f"Fitting {k} topics"):
        estimator.fit(corpus)
    about = {
        "data": Path(data).name,
        "documents": len(corpus),
        "topics": k,
        "seed": seed,
        "stop_words": how["stop_words"],
    }
    with terminal.step(f"Writing {path}"):
        save(estimator, path, about=about)
    page = path.with_suffix(".html") if report else None
    found = topic_report(estimator, corpus, Path(data).name, warnings=terminal.warned, command=terminal.command)
    if page is not None:
        write_topics_html(found, page)
    terminal.document(_record(found, estimator, corpus, path, page, terminal))
    terminal.say(f"{data}: {count(len(corpus), 'document')}, {count(len(corpus.vocabulary), 'word')}, "
                 f"{corpus.n_tokens:,.0f} tokens.", *bullets(corpus.decisions))  # fmt: skip
    terminal.say(_cards(found))
    terminal.say(
        f"Wrote {path}{'' if page is None else f' and its report {page}'}.",
        "Try next:",
        f"  credo topics NEW --apply {path}",
    )


def _estimator(k: int, kind: str, background: bool, seed: int) -> Any:
    from credo.errors import ParameterError
    from credo.models.topics import PLSA, LatentDirichletAllocation

    if kind not in MODELS:
        raise ParameterError("", "--model", " or ".join(MODELS), kind)
    if kind == "lda":
        if background:
            raise ParameterError("", "--background", "left out with --model lda", True, "Use --model plsa.")
        return LatentDirichletAllocation(k, random_state=seed)
    # The light priors keep every word possible, so that new documents can be scored.
    return PLSA(k, background=background or None, doc_topic_prior=1.5, topic_word_prior=1.1, random_state=seed)


def _cards(found: Any) -> Any:
    from credo.cli.text import grid

    rows = [
        [
            str(card.topic),
            " ".join(word for word, _ in card.words),
            f"{100.0 * card.share:.1f} %",
            f"{card.coherence:.2f}",
        ]
        for card in found.cards
    ]
    return grid(["topic", "words", "share", "coherence"], rows, left=2)


def _record(
    found: Any, estimator: Any, corpus: Any, path: Path, page: Path | None, terminal: Terminal
) -> dict[str, Any]:
    return {
        "kind": "topics",
        "model": type(estimator).__name__,
        "documents": len(corpus),
        "words": len(corpus.vocabulary),
        "tokens": corpus.n_tokens,
        "bound_per_token": estimator.lower_bound_,
        "converged": estimator.converged_,
        "topics": [
            {
                "topic": card.topic, "share": card.share, "coherence": card.coherence,
                "words": [{"word": word, "probability": p} for word, p in card.words],
                "documents": [{"name": name, "share": share} for name, share in card.documents],
            }
            for card in found.cards
        ],
        "decisions": list(corpus.decisions),
        "warnings": list(terminal.warned),
        "output": str(path),
        "report": None if page is None else str(page),
    }  # fmt: skip


def _apply(path: Path, data: str, how: dict[str, Any], output: Path | None, terminal: Terminal) -> None:
    import polars as pl

    from credo.cli.rows import check_writable, print_rows, write_rows
    from credo.errors import FileFormatError, ModelWarning, warn
    from credo.models.topics.base import TopicEstimator
    from credo.saving import is_credo_file, load
    from credo.tables.corpus import read_corpus

    if output is not None:
        check_writable(output, (str(path), data))
    if path.is_file() and not is_credo_file(path):
        raise FileFormatError(
            f"{path} is not a Credo model.", value=str(path), remedy="credo topics CORPUS writes one."
        )
    model = load(path)
    if not isinstance(model, TopicEstimator):
        raise FileFormatError(f"{path} holds a {type(model).__name__}, not topics.", value=str(path))
    words = model.feature_names_in_
    with terminal.step(f"Reading {data}"):
        corpus = read_corpus(data, vocabulary=None if _holds_counts(data, how) else words, **how)
        if len(corpus.vocabulary) != len(words) or not (corpus.vocabulary == words).all():
            corpus = corpus.with_words(words)
    for said in corpus.decisions:
        if "tokens are of words" in said:
            warn(said, ModelWarning)
    shares = model.transform(corpus)
    frame = pl.DataFrame(
        {"document": corpus.names.tolist(), "topic": shares.argmax(axis=1) + 1}
        | {f"share_{z}": share for z, share in enumerate(shares.T, 1)}
    )
    if output is not None:
        rows = write_rows(iter([frame]), output)
        terminal.document({"documents": rows, "output": str(output)})
        terminal.say(f"Wrote {output}: {rows:,} documents.")
    elif terminal.json:
        terminal.document({"documents": [
            {"name": name, "topic": int(row.argmax()) + 1, "shares": row.tolist()}
            for name, row in zip(corpus.names.tolist(), shares, strict=True)
        ]})  # fmt: skip
    else:
        print_rows(iter([frame]))


def _holds_counts(data: str, how: dict[str, Any]) -> bool:
    from credo.tables.corpus import format_of

    return (how["format"] or format_of(data)) in ("ldac", "uci", "matrix-market")


def _stop_words(stated: str | None) -> Any:
    if stated is None or stated == "english":
        return stated
    from credo.tables.corpus_counts import words_of

    return words_of(Path(stated))
