"""The command line: one file a command; they compute nothing.

`main`      the application, and what becomes of errors, warnings and interrupts
`fit`, `predict`, `show`, `compare`  the commands
`tune`, `tune_parts`, `tune_guesses`, `tune_runs`, `tune_results`  `credo tune`: options; space, command, study; what is
    known; trials; the end
`gallery`   `credo gallery`
`study`, `study_parts`  `credo study`: studies found again, trials as text and TOML
`options`   options that several commands share
`terminal`  what is said, and where: text or one JSON document, progress, warnings
`candidates`  what `selection.choosing` does, with progress and in the command line's words
`losses`    `--loss linear:over=1,under=9` → a loss
`rows`      predicted rows → CSV, Parquet, JSON lines, whole or not at all
`text`      numbers, lists and beliefs as terminal tables
"""
