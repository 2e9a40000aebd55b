# Commands of this repository. Each makes the environment that it needs, and may be repeated.
PYTHON ?= python3
# The environment of the checks; `make check VENV=.venv` uses another.
VENV ?= .venv-test
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
ENVIRONMENT := $(PYTHON) tools/environment.py

.PHONY: help demo test test-all test-rust check site page sanitize ci install format fuzz

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

demo: ## the first minute: ids of a text, then a tokenizer trained and shown; in .venv-demo
	$(ENVIRONMENT) .venv-demo
	.venv-demo/$(SCRIPTS)/jeton encode "hello"
	.venv-demo/$(SCRIPTS)/jeton demo

test: ## Python tests, the default selection: about five minutes; in .venv-test
	$(ENVIRONMENT) $(VENV) test
	$(BIN)/python -m pytest -q -n auto

test-all: export JETON_TESTS = all
test-all: test ## all Python tests: about fifteen minutes

check: ## formatting, lints, types, stubs, layers, names of files in documentation, Rust's documentation
	$(ENVIRONMENT) $(VENV) test lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_layers.py
	$(BIN)/python tools/check_paths.py
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest jeton._core
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --document-private-items --locked --quiet

site: ## documentation site, in target/site/site
	$(ENVIRONMENT) $(VENV) docs
	$(BIN)/python tools/build_site.py

page: ## playground without a server, in target/playground
	$(ENVIRONMENT) $(VENV) test
	$(BIN)/python tools/build_page.py $(PAGE_OPTIONS) target/playground

test-rust: ## Rust tests
	cargo test --workspace --locked --quiet

sanitize: ## Rust tests under AddressSanitizer, and models under loom
	$(PYTHON) tools/sanitize.py address
	$(PYTHON) tools/sanitize.py loom

ci: ## all that a change must pass, in a fresh environment
	rm -rf $(VENV)
	$(MAKE) page PAGE_OPTIONS=--if-possible
	$(MAKE) test-all
	$(MAKE) check
	$(MAKE) site
	$(MAKE) test-rust
	$(MAKE) sanitize

install: ## the environment of a developer, .venv, with all extras and tools
	$(ENVIRONMENT) .venv test lint bench docs

format: ## format Python and Rust
	$(ENVIRONMENT) $(VENV) test lint
	$(BIN)/ruff format .
	cargo fmt --all

fuzz: ## ten minutes of every fuzz target
	$(ENVIRONMENT) $(VENV) test
	$(BIN)/python tools/fuzz.py --minutes 10
