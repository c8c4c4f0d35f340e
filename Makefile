# The two main targets are make demo and make test.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
ARGS ?=
OPTIONS ?=
# Other projects' own tests: a folder `upstream` in a folder beside this one, unless it is named.
export PGMEM_UPSTREAM ?= $(abspath $(firstword $(wildcard ../*/upstream)))

# The others are of an install, of a server, or of no database.
THROUGH_A_FRONT = tests/docs/test_examples.py $(addprefix tests/, features/cards core/cli concurrency core/engines core/extraction features/feed features/editor \
  core/hygiene features/importers features/integrations core/mcp core/model core/moving core/recall \
  core/search security core/sql features/stores core/telemetry core/temporal core/tenancy features/ui \
  features/vault)

.PHONY: help demo docs calls test test-changed test-long test-security test-front test-managed test-docker test-faults test-servers test-floors lock check lint types layers generated bench wheel clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 14

$(VENV)/.demo: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test]'
	@touch $@

demo: $(VENV)/.demo  ## run the demo on the PostgreSQL that pip installs
	$(BIN)/pgmem demo $(ARGS)

# What Python may not keep, every worker of every run compiles again, the asserts of the tests too.
test: export PYTHONDONTWRITEBYTECODE =
test: $(VENV)/.installed  ## run the tests
	$(BIN)/python -m pytest -n 3 --dist worksteal $(ARGS)

test-changed: $(VENV)/.installed  ## run the tests of what has changed since the merge base with main
	$(BIN)/python scripts/test-changed -- $(ARGS)

test-long: $(VENV)/.installed  ## run the tests that take minutes
	PGMEM_TEST_ALL=1 $(BIN)/python -m pytest -m long $(ARGS)
	PGMEM_TEST_ALL=1 PGMEM_TRUTHS=200 $(BIN)/python -m pytest $$(grep -rl --include=*.py 'import amount$$' tests) tests/features/feed/test_one_truth.py $(ARGS)
	PGMEM_HISTORIES=5000 $(BIN)/python -m pytest tests/core/model

test-security: $(VENV)/.installed  ## run the attacks that must fail
	$(BIN)/python -m pytest tests/security $(ARGS)

test-front: $(VENV)/.installed  ## all tests that use a store, through a front with one cell; needs PL/Proxy and PgBouncer
	$(BIN)/python -m pytest --front 1 -n 2 $(THROUGH_A_FRONT) $(ARGS)

test-managed: $(VENV)/.installed  ## the tests as a plain role behind PgBouncer, without AGE; needs root and debootstrap
	scripts/test-servers managed-17 $(OPTIONS) --pytest='$(ARGS)'

test-floors: $(VENV)/.installed  ## the tests of the main paths with the lowest version of each dependency
	scripts/test-floors $(ARGS)

lock: $(VENV)/.installed  ## renew docker/constraints.txt and docs/reference/licences.md
	scripts/lock
	$(BIN)/python scripts/licences

test-docker: $(VENV)/.installed  ## build the images, and test the services of docker/ as containers; needs a Docker engine
	$(BIN)/python -m pytest -m docker -n 0 tests/docker/test_compose.py tests/docker/test_cells.py tests/docker/test_versions.py $(ARGS)

test-faults: $(VENV)/.installed  ## break the containers and their network while agents save; needs a Docker engine and root
	$(BIN)/python -m pytest -m docker -n 0 tests/docker/test_faults.py tests/docker/test_cell_faults.py $(ARGS)

test-servers: $(VENV)/.installed  ## run the tests against PostgreSQL 15 to 18 of distributions, and print a table of the results
	scripts/test-servers embedded postgresql-15 postgresql-16 postgresql-17 postgresql-18 managed-17 --table --pytest='$(ARGS)'

check: lint types layers generated test  ## run what CI runs

lint: $(VENV)/.installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/python scripts/check-words
	$(BIN)/shellcheck $(filter-out %.ini %.txt %.yaml docker/Dockerfile docker/kubernetes docker/secrets,$(wildcard docker/*)) scripts/test-servers scripts/try-wheel .ci/run
	$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec docker/compose.yaml
	if [ -x $(BIN)/hadolint ]; then $(BIN)/hadolint --failure-threshold warning docker/Dockerfile; fi

generated: $(VENV)/.installed
	$(BIN)/python scripts/generate --check

types: $(VENV)/.installed
	$(BIN)/mypy

layers: $(VENV)/.installed
	$(BIN)/lint-imports

docs: $(VENV)/.installed  ## build the site of the documentation, with the reference, in build/site; a dead link is an error
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python scripts/generate --reference
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

bench: $(VENV)/.installed  ## measure speed against the floor of this machine
	$(BIN)/python -m benchmarks speed $(ARGS)

calls: $(VENV)/.installed  ## count the functions that six verbs run; fail where there are 3 % more than recorded
	$(BIN)/python -m benchmarks calls $(ARGS)

wheel: $(VENV)/.installed  ## build the wheel and try it in an empty environment
	bash scripts/try-wheel

clean:  ## remove the files that make created
	rm -rf $(VENV) dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
