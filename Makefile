# Daily commands. Each works in a virtual environment of its own, `.venv`.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: help install test test-all test-rust check format site fuzz sanitize ci

help: ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

install: ## virtual environment with Jeton, its extras and the tools
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet '.[test,lint,bench]'

test: ## Python tests, the default selection: about five minutes
	$(BIN)/pip install --quiet .
	$(BIN)/python -m pytest -q -n auto

test-all: ## all Python and Rust tests
	$(BIN)/pip install --quiet .
	JETON_TESTS=all $(BIN)/python -m pytest -q -n auto
	$(MAKE) test-rust

test-rust: ## Rust tests
	cargo test --workspace --locked --quiet

check: ## formatting, lints, types, stubs, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python tools/check_layers.py
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest jeton._core
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings

format: ## format Python and Rust
	$(BIN)/ruff format .
	cargo fmt --all

site: ## documentation site, in target/site/site
	$(BIN)/pip install --quiet '.[docs]'
	$(BIN)/python tools/build_site.py

fuzz: ## ten minutes of every fuzz target
	$(BIN)/python tools/fuzz.py --minutes 10

sanitize: ## Rust tests under AddressSanitizer, and models under loom
	$(PYTHON) tools/sanitize.py address
	$(PYTHON) tools/sanitize.py loom

ci: ## all that a change must pass, in a fresh environment
	.ci/run
