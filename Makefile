# A fresh machine needs only Python >= 3.11 and make: `make replay`, then `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := controller policies runtime_hooks sim traces

.PHONY: replay test lint typecheck bench

replay: $(VENV)/.installed
	$(BIN)/sim replay traces/

test: lint typecheck
	$(BIN)/pytest $(PYTEST_ARGS)

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The rooms sit at the top level but are installed as adaptive_depth.*; mypy sees them through links.
typecheck: $(VENV)/.installed-dev
	mkdir -p build/typing/adaptive_depth
	for item in $(ROOMS) $(wildcard controller/_root/*); do ln -sfn "$(CURDIR)/$$item" build/typing/adaptive_depth/; done
	MYPYPATH=build/typing $(BIN)/mypy $(foreach room,$(ROOMS),-p adaptive_depth.$(room))

bench: $(VENV)/.installed
	set -e; for script in $(sort $(wildcard benchmarks/*.py)); do echo "== $$script"; $(BIN)/python $$script; done

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

-include tests/engine_env/engine.mk
