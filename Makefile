# `make demo` shows Credo at work, `make test` checks it; `make help` lists the rest.
# The virtual environment .venv is made when first needed (tools/venv). PYTHON=... chooses the interpreter.

BIN := .venv/bin
DEMO := examples/data
# Two workers, one a core; each loads every library, so that more cost memory.
WORKERS ?= 2
export PYTHON
# Compiled files are kept: every process of the suite would compile Credo and the tests anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
# Targets share .venv: `make -j` must not run two installs at once.
.NOTPARALLEL:
.PHONY: help demo test lint format types layers docs browser serve bench calibrate reference venv clean

help:           ## list the targets
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo:           ## fit a real table, say what is believed, predict new rows
	@tools/venv run
	@mkdir -p .demo
	@echo '$$ credo fit $(DEMO)/penguins.csv --target body_mass_g -o .demo/penguins.credo'
	@$(BIN)/credo fit $(DEMO)/penguins.csv --target body_mass_g -o .demo/penguins.credo
	@echo
	@echo '$$ credo predict .demo/penguins.credo $(DEMO)/penguins_new.csv --interval 0.9'
	@$(BIN)/credo predict .demo/penguins.credo $(DEMO)/penguins_new.csv --interval 0.9
	@echo
	@echo 'Those ten birds were never shown to the model; what they weighed is in $(DEMO)/SOURCES.md.'
	@echo 'Try next:'
	@echo '  $(BIN)/credo show .demo/penguins.credo                what the model believes'
	@echo '  $(BIN)/credo fit YOUR.csv --target COLUMN -o MODEL    the same on a table of yours'
	@echo '  $(BIN)/credo --help                                   everything else'

test:           ## the test suite: tests/, and every example in a docstring
	@tools/venv test
	$(BIN)/python -m pytest -n $(WORKERS)

lint:           ## ruff: rules and format
	@tools/venv dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format:         ## let ruff mend what it can
	@tools/venv dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

types:          ## pyright
	@tools/venv dev
	$(BIN)/pyright

layers:         ## import-linter: a folder imports only from folders above it
	@tools/venv dev
	$(BIN)/lint-imports

docs:           ## build the site into site/, warnings are errors
	@tools/venv dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

browser:        ## reports and the site (after make docs) in Chromium: accessibility, widths, light and dark
	@tools/venv test
	tools/browser $(BIN)/python -m pytest -rs tests/reports/test_browser.py tests/docs/test_site_browser.py \
	  tests/gallery/browser

serve:          ## the site, rebuilt as you write
	@tools/venv dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

bench:          ## Credo and its peers side by side, into benchmarks/RESULTS.md; CASE=name for one, PEERS=python
	@tools/venv run
	$(BIN)/python -m pip install --quiet -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks $(CASE) $(if $(PEERS),--peers $(PEERS))

calibrate:      ## long statistical runs, into tests/CALIBRATION.md; SHORT=1 for the quick version
	@tools/venv test
	$(BIN)/python -m pytest -n $(WORKERS) -m slow tests \
	  $(if $(SHORT),,--long --results tests/CALIBRATION.md)

reference:      ## checks against reference data: make reference DATA=../shared/data, into tests/REFERENCE.md
	@test -d "$(DATA)" || { echo 'Say where the reference data are: make reference DATA=../shared/data' >&2; exit 2; }
	@tools/venv test
	CREDO_REFERENCE_DATA="$(abspath $(DATA))" $(BIN)/python -m pytest -n $(WORKERS) tests/reference \
	  --results tests/REFERENCE.md

venv:           ## everything a developer needs
	@tools/venv dev

clean:          ## remove what the other targets made, .venv included
	rm -rf .venv .demo site .pytest_cache .ruff_cache .import_linter_cache .hypothesis
