# The real SGLang on a CPU, for tests only: `make engine` builds its environment, `make test-engine` runs tests/engine.
ENGINE := build/engine-venv
ENGINE_PYTHON ?= $(shell command -v python3.11 || echo python3)
# A change of the pins or of the installer gives another name, and so a new environment; else this is instant.
ENGINE_KEY := $(shell cat tests/engine_env/pins.txt tests/engine_env/install.sh | sha256sum | cut -c1-16)

.PHONY: engine engine-models test-engine soak serve-demo

engine: $(ENGINE)/.project

engine-models: engine
	$(ENGINE)/bin/python -m engine_env.models build/engine-models

# TRITON_INTERPRET: the stock Triton kernels are the oracle of the index tests.
test-engine: engine
	TRITON_INTERPRET=1 $(ENGINE)/bin/python -m pytest tests/engine $(ENGINE_TEST_ARGS)

# Random traffic under random depths and windows, every token compared; SOAK_REQUESTS a configuration.
SOAK_REQUESTS ?= 300
soak: engine
	$(ENGINE)/bin/python -m engine_env.soak build/engine-models build/soak $(SOAK_REQUESTS)

# A small server with adaptive depth; it says how to use it. DEMO_SECONDS ends it by itself.
serve-demo: engine
	$(ENGINE)/bin/python -m engine_env.demo build/engine-models build/demo-log $(DEMO_SECONDS)

$(ENGINE)/.pins-$(ENGINE_KEY):
	tests/engine_env/install.sh $(ENGINE) $(ENGINE_PYTHON)
	touch $@

# The project itself, editable and without its dependencies, which the pins hold already.
$(ENGINE)/.project: $(ENGINE)/.pins-$(ENGINE_KEY) pyproject.toml
	$(ENGINE)/bin/pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@
