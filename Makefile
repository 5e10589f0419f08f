# greedygp: everything runs in .venv, which the targets make themselves.
# Needed on the machine: make and Python 3.11 or newer.
#
#   make demo PYTHON=python3.12      another interpreter
#   make test GREEDYGP_TORCH=1       test the torch backend, too
#   make test PYTEST_ARGS="-k kernels -n 0"
#   make test-everywhere SETTINGS="Haswell random-order"

PYTHON ?= python3
VENV ?= .venv
GREEDYGP_TORCH ?= 0
TORCH_REQUIREMENT ?= torch==2.13.0
PYTEST_ARGS ?=
PYTEST_WORKERS ?= 2
SETTINGS ?=
VERSIONS_ARGS ?=
MUTANTS_ARGS ?=
BENCH_ARGS ?=
SPHINXOPTS ?= -W --keep-going

# One name for the interpreter inside the environment, on every system.
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
STAMPS := $(VENV)/.stamps

# The workers of pytest share the cores; more BLAS threads than that only wait for each other.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow test-everywhere test-versions mutants lint format docs dist bench figure clean

help: ## show this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 17

demo: $(STAMPS)/cli ## train on data that come with scikit-learn; results in demo-output/
	$(PY) examples/demo.py

test: $(STAMPS)/test $(STAMPS)/torch-$(GREEDYGP_TORCH) ## run the test suite, without the slow tests
	$(ONE_THREAD) $(PY) -m pytest -n $(PYTEST_WORKERS) --dist worksteal $(PYTEST_ARGS)

test-slow: $(STAMPS)/test $(STAMPS)/torch-$(GREEDYGP_TORCH) ## run the slow tests, and the command line in processes of its own
	$(ONE_THREAD) $(PY) -m pytest -n $(PYTEST_WORKERS) --dist worksteal -m slow $(PYTEST_ARGS)
	$(ONE_THREAD) GREEDYGP_REAL_PROGRAM=1 $(PY) -m pytest -n $(PYTEST_WORKERS) --dist worksteal tests/cli $(PYTEST_ARGS)

test-everywhere: $(STAMPS)/test ## run the suite as other CPUs, thread counts, test orders and Pythons would
	$(PY) tools/everywhere.py --workers $(PYTEST_WORKERS) --pytest="$(PYTEST_ARGS)" $(SETTINGS)

test-versions: ## run the suite with the lowest and other versions of what it needs
	$(PYTHON) tools/versions.py --workers $(PYTEST_WORKERS) --pytest="$(PYTEST_ARGS)" $(VERSIONS_ARGS) $(SETTINGS)

mutants: $(STAMPS)/test ## break the numerical core on purpose; list what no test notices
	$(PY) tools/mutants.py $(MUTANTS_ARGS)

lint: $(STAMPS)/lint ## ruff (lint and format), mypy, and the layers (who may import whom)
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(BIN)/lint-imports --no-cache --no-logo

format: $(STAMPS)/lint ## let ruff repair and format the files
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .

docs: $(STAMPS)/docs ## build the documentation into docs/_build/html
	$(PY) -m sphinx -b html $(SPHINXOPTS) docs docs/_build/html
	@echo "open docs/_build/html/index.html"

dist: $(STAMPS)/test ## build wheel and source distribution into dist/, and check them
	rm -rf dist
	$(PY) -m hatchling build
	$(PY) -m twine check --strict dist/*

figure: $(STAMPS)/docs $(STAMPS)/cli ## draw the pictures of the README again
	$(PY) docs/make_readme_figure.py
	$(PY) docs/make_report_picture.py

bench: $(STAMPS)/bench ## run the speed benchmark (the suites: see CONTRIBUTING.md)
	$(PY) -m benchmarks.speed_selection $(BENCH_ARGS)

clean: ## remove the environment and everything that was built
	rm -rf $(VENV) .venv-everywhere .venv-versions .mutants build dist demo-output docs/_build docs/auto_examples docs/generated \
	    docs/sg_execution_times.rst .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage htmlcov
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# ---------------------------------------------------------------- environment
# A stamp is made again when pyproject.toml changes, so a second call costs nothing.

$(STAMPS)/venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "greedygp needs Python 3.11 or newer; try: make PYTHON=/path/to/python3.12"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
	    { echo "could not make $(VENV): on Debian and Ubuntu, install the package python3-venv"; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/base: $(STAMPS)/venv pyproject.toml
	$(PIP) --editable .
	@touch $@

$(STAMPS)/cli $(STAMPS)/test $(STAMPS)/lint $(STAMPS)/docs $(STAMPS)/bench: $(STAMPS)/%: $(STAMPS)/base
	$(PIP) --editable '.[$*]'
	@touch $@

# torch is optional and large: installed only when asked for, and its tests are skipped without it.
$(STAMPS)/torch-0: $(STAMPS)/base
	@touch $@

$(STAMPS)/torch-1: $(STAMPS)/base
	@if $(PIP) '$(TORCH_REQUIREMENT)'; then \
	    touch $@; \
	else \
	    echo "NOTE: $(TORCH_REQUIREMENT) could not be installed; the torch tests will be skipped."; \
	fi
