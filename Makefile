# Everything runs in an environment of its own, .venv, made on first use; a second run installs nothing.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install -qq
MAKEFLAGS += --no-print-directory

# The first Python on the path that is new enough and can make environments.
USABLE := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python3.14 python; do \
	$$python -c '$(USABLE)' >/dev/null 2>&1 && echo $$python && break; done)

# The page's own JavaScript, CSS and HTML.
PAGE := --config .oxfmtrc.json "src/supertopic/explore/page/assets/*.*"
# Tests of kernels, which are run as plain Python too (tests/plain_python.py), each file in a process of its own.
KERNELS := $(addprefix tests/test_,$(addsuffix .py,kernels_e_step_mean kernels_e_step_words kernels_map_shares kernels_climb \
	kernels_gibbs kernels_gibbs_documents deviations mixture margin coefficients draws metrics_heldout collapsed facets htmm \
	first_topics supervised_gibbs))

# One process for each core; a file's tests stay together, in the order of tests/conftest.py; a process that dies ends the run.
SPREAD := -n auto --maxprocesses 8 --dist loadfile --no-loadscope-reorder --max-worker-restart 0
COUNTED = OMP_NUM_THREADS=1 NUMBA_CACHE_DIR=$(CURDIR)/$(VENV)/kernels COVERAGE_FILE=$(CURDIR)/$(VENV)/coverage/lines \
	$(BIN)/python -m coverage run -m pytest -q

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-fast warm lint format bench experiments coverage audit docs release-check test-oldest clean

help: ## Say what there is to make
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' Makefile

demo: $(VENV)/.core ## Fit, explain and evaluate a model on text that is already on this machine
	@$(BIN)/supertopic demo

test: $(VENV)/.test ## Check style, types, imports, and run the tests; fifteen minutes on two cores
	@$(MAKE) -j 2 lint warm  # compiling has the core that the checks leave
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q $(SPREAD) -m "not release"

test-all: $(VENV)/.test ## What is run before a release: all tests, the long ones too, and all mutants; hours
	@$(MAKE) -j 2 lint warm
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q $(SPREAD)
	@$(BIN)/python -m tests.mutants

test-fast: $(VENV)/.test ## Run the quick tests only, in under a minute
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest -q $(SPREAD) -m "not slow and not long and not release"

warm: $(VENV)/.test
	@$(BIN)/supertopic warm-up >/dev/null

lint: $(VENV)/.test ## Check style, types, imports and spelling only
	@$(BIN)/ruff check --quiet .
	@$(BIN)/ruff format --quiet --check . || { echo "make format puts the files named above in order" >&2; exit 1; }
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/codespell *.md docs paper src tests bench experiments
	@cat src/supertopic/explore/page/assets/*.js >$(VENV)/page.js  # one program: a file uses functions of the others
	@found=$$($(BIN)/oxlint --no-ignore --config .oxlintrc.json $(VENV)/page.js) || { echo "$$found" >&2; exit 1; }
	@$(BIN)/oxfmt --list-different $(PAGE) >&2 || { echo "make format puts the files named above in order" >&2; exit 1; }

format: $(VENV)/.test ## Put the source in order
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format .
	@$(BIN)/oxfmt --write $(PAGE)

bench: $(VENV)/.bench ## Compare speed and quality with other libraries
	@$(BIN)/python -m bench

experiments: $(VENV)/.bench ## The papers' tables and figures, all of them (hours; needs SUPERTOPIC_DATA)
	@$(BIN)/python -m experiments

coverage: $(VENV)/.test ## Lines and branches that tests reach, those of kernels with the JIT off (docs/trust.md has the figure)
	@rm -rf $(VENV)/coverage $(VENV)/kernels  # kernels are compiled anew, since parts of them are functions that write code
	@mkdir $(VENV)/coverage
	@$(COUNTED) -m "not slow and not data" $(SPREAD)
	@printf '%s\n' $(KERNELS) | NUMBA_DISABLE_JIT=1 xargs -n 1 -P 2 env $(COUNTED) -m "not slow and not data" -k "not scikit_learn" -W ignore::RuntimeWarning
	@$(BIN)/python -m coverage combine -q --data-file=$(VENV)/coverage/lines $(VENV)/coverage
	@$(BIN)/python -m coverage report --data-file=$(VENV)/coverage/lines

audit: $(VENV)/.test ## Known faults of the dependencies, and the habits of a scientific Python repository
	@$(BIN)/pip-audit --local --progress-spinner off
	@$(BIN)/repo-review .

docs: $(VENV)/.docs ## The site, in docs/_build: every block runs, links are checked, warnings are errors
	@OMP_NUM_THREADS=1 $(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build
	@echo "docs/_build/index.html, $$(du -sh docs/_build | cut -f1)"

release-check: $(VENV)/.release ## Build wheel and source archive, check them, and use the wheel in empty environments
	@$(BIN)/python -m tests.release_check $(PYTHONS)

test-oldest: $(VENV)/.test ## Test with the oldest dependencies that pyproject.toml allows
	@$(BIN)/python -m tests.oldest

clean: ## Remove the environment and all caches
	rm -rf $(VENV) dist build docs/_build .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/.made:
	@test -n "$(PYTHON)" && $(PYTHON) -c '$(USABLE)' || { \
		echo "supertopic needs Python 3.11 or newer with its venv module: put one on the path or set PYTHON=..." >&2; exit 1; }
	@echo "Making $(VENV) with $$($(PYTHON) --version)" >&2
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.core: pyproject.toml | $(VENV)/.made
	@echo "Installing supertopic into $(VENV)" >&2
	@$(PIP) --editable .
	@touch $@

$(VENV)/.test $(VENV)/.bench $(VENV)/.docs $(VENV)/.release: $(VENV)/.%: pyproject.toml | $(VENV)/.made
	@echo "Installing supertopic into $(VENV), with what make $* needs" >&2
	@$(PIP) --editable '.[$*]'
	@touch $@ $(VENV)/.core
