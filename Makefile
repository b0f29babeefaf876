# Two commands do all the set-up: `make demo` and `make test`.

# Any Python from 3.11 on; another one can be named: make demo PYTHON=/path/to/python3.12
PYTHON ?= $(shell for python in python3 python3.11 python3.12 python3.13 python3.14; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
# How many processes run the tests.
WORKERS ?= auto
# Peers to install for the benchmarks, besides scikit-learn: make bench PEERS="torch xGPR". Only if you ask for them:
# torch is large, and the licence of xGPR is for academic use.
PEERS ?=

VENV := .venv
BIN := $(VENV)/bin
# Quiet, but errors are shown.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test lint bench clean

help: ## show this list
	@echo "Usage: make <target>"
	@echo
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-8s %s\n", $$1, $$2 }'

demo: $(VENV)/.demo ## install the package and compare exact kernel and random features on real data
	@$(BIN)/bochner demo

test: lint ## install what the tests need and run lint, types, tests, doctests and the examples of the documents
	$(BIN)/python -m pytest -n $(WORKERS)

lint: $(VENV)/.dev ## check style, format and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.bench ## measure speed and quality against the peers that are installed
	@test -z "$(PEERS)" || $(PIP_INSTALL) $(PEERS)
	$(BIN)/python benchmarks/features.py
	$(BIN)/python benchmarks/kernels.py
	$(BIN)/python benchmarks/quality.py
	$(BIN)/python benchmarks/import_and_memory.py
	$(BIN)/python benchmarks/models.py
	$(BIN)/python benchmarks/exact.py
	$(BIN)/python benchmarks/learned_metric.py

clean: ## remove the environment, caches and results
	rm -rf $(VENV) build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache bochner-demo.png
	find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +

# The environment. Each stamp says that an install has succeeded; a change of pyproject.toml asks for it again. The
# package itself is installed as editable, so that what runs is always the source as it stands.
$(VENV)/.created:
	@test -n "$(PYTHON)" || { echo "bochner needs Python 3.11 or newer, and none was found as python3 or python3.1x."; \
		echo "Install one, or say where it is: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "bochner needs Python 3.11 or newer, and $(PYTHON) is not. Choose another one:"; \
		echo "  make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@$(PYTHON) -m venv --clear $(VENV) || { rm -rf $(VENV); \
		echo "'$(PYTHON) -m venv' cannot make an environment. On Debian and Ubuntu, install its package:"; \
		echo "  sudo apt install python3-venv"; \
		echo "or name a Python that has venv: make PYTHON=/path/to/python3.12 $(MAKECMDGOALS)"; exit 1; } >&2
	@touch $@

$(VENV)/.demo: $(VENV)/.created pyproject.toml
	@echo "Installing bochner into $(VENV) (a minute or two, once) ..."
	@$(PIP_INSTALL) -e '.[cli,plots]'
	@touch $@

$(VENV)/.dev: $(VENV)/.created pyproject.toml
	@echo "Installing bochner and its tools into $(VENV) (a minute or two, once) ..."
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@ $(VENV)/.demo

$(VENV)/.bench: $(VENV)/.created pyproject.toml
	@echo "Installing bochner into $(VENV) (a minute or two, once) ..."
	@$(PIP_INSTALL) -e '.[bench]'
	@touch $@
