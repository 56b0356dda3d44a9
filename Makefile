# A fresh machine needs only Python >= 3.11 and make: `make replay`, then `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ROOMS := controller policies runtime_hooks sim traces
# Nothing is compiled ahead: most of what is installed is never imported. The warning is about our folders' names.
PIP_INSTALL := PYTHONWARNINGS=ignore $(BIN)/pip install --quiet --disable-pip-version-check --no-compile
# Two workers by default; whole files stay together, as their fixtures are made once a file.
PYTEST_ARGS ?= -n 2 --dist loadfile

.PHONY: replay test lint typecheck unit wheel bench docs figures

replay: $(VENV)/.installed
	$(BIN)/sim replay traces/

# The cheap checks first; tests/engine runs last, in its own environment.
test: lint typecheck wheel unit test-engine

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The rooms sit at the top level but are installed as adaptive_depth.*; mypy sees them through links.
typecheck: $(VENV)/.installed-dev
	mkdir -p build/typing/adaptive_depth
	for item in $(ROOMS) $(wildcard controller/_root/*); do ln -sfn "$(CURDIR)/$$item" build/typing/adaptive_depth/; done
	MYPYPATH=build/typing $(BIN)/mypy $(foreach room,$(ROOMS),-p adaptive_depth.$(room))

unit: $(VENV)/.installed-dev
	$(BIN)/pytest --ignore=tests/engine $(PYTEST_ARGS)

# What a user gets: the wheel without the dev extras, in an environment of its own, run outside the repository.
WHEEL_VENV := build/wheel-venv
wheel: $(WHEEL_VENV)/.dependencies
	rm -rf build/lib build/wheel
	PYTHONWARNINGS=ignore $(WHEEL_VENV)/bin/pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir build/wheel .
	$(WHEEL_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps --force-reinstall build/wheel/*.whl
	cd $(WHEEL_VENV) && bin/adaptive-depth --version && bin/sim --help >/dev/null
	cd $(WHEEL_VENV) && bin/sim replay $(CURDIR)/traces/data/synthetic-1m/q35-cwe.trace.parquet --policy marginal >replay.txt
	grep exact $(WHEEL_VENV)/replay.txt >/dev/null

bench: $(VENV)/.installed
	$(BIN)/python benchmarks/replay_speed.py
	$(BIN)/python benchmarks/live_latency.py

figures: $(VENV)/.installed
	$(BIN)/python benchmarks/figures.py

# The table and the picture of the README, from one replay of the shipped traces.
docs: $(VENV)/.installed
	mkdir -p build
	$(BIN)/sim replay traces/ --json build/shipped.json >build/shipped.txt
	$(BIN)/python docs/make_table.py build/shipped.txt README.md
	$(BIN)/python docs/make_picture.py build/shipped.json docs/img

$(VENV)/.installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP_INSTALL) --editable '.[dev]'
	touch $@

$(WHEEL_VENV)/.dependencies: pyproject.toml $(VENV)/.installed
	$(PYTHON) -m venv --clear $(WHEEL_VENV)
	$(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["dependencies"], sep="\n")' >$(WHEEL_VENV)/needs.txt
	$(WHEEL_VENV)/bin/pip install --quiet --disable-pip-version-check --no-compile -r $(WHEEL_VENV)/needs.txt
	touch $@

-include tests/engine_env/engine.mk
