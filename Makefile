# Two commands do everything: make demo, make test.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
ARGS ?=
OPTIONS ?=

.PHONY: help demo test test-long check lint types layers bench wheel clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

demo: $(VENV)/.installed  ## an agent remembers, on a PostgreSQL that pip brings
	$(BIN)/pgmem demo $(ARGS)

test: $(VENV)/.installed  ## the tests
	$(BIN)/python -m pytest -n 2 --dist loadfile $(ARGS)

test-long: $(VENV)/.installed  ## the tests that take minutes
	$(BIN)/python -m pytest -m long $(ARGS)

test-managed: $(VENV)/.installed  ## the tests as a plain role behind PgBouncer, without AGE; needs root and debootstrap
	scripts/test-servers managed-17 $(OPTIONS) --pytest='$(ARGS)'

test-docker: $(VENV)/.installed  ## what docker/ installs and starts, in a root file system; needs root and debootstrap
	scripts/test-servers --compose

test-servers: $(VENV)/.installed  ## the tests against PostgreSQL 15 to 18 of distributions, and the table of the results
	scripts/test-servers embedded postgresql-15 postgresql-16 postgresql-17 postgresql-18 managed-17 --table --pytest='$(ARGS)'

check: lint types layers test  ## what CI runs

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/shellcheck docker/*.sh scripts/test-servers scripts/try-wheel .ci/run
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker/compose.yaml
	if [ -x $(BIN)/hadolint ]; then $(BIN)/hadolint --failure-threshold warning docker/Dockerfile; fi

types: $(VENV)/.installed
	$(BIN)/mypy

layers: $(VENV)/.installed
	$(BIN)/lint-imports

bench: $(VENV)/.installed  ## speed against the floor of this machine
	$(BIN)/pgmem bench speed $(ARGS)

wheel: $(VENV)/.installed  ## build the wheel and try it in an empty environment
	bash scripts/try-wheel

clean:  ## remove what make made
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
