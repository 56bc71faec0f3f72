#!/usr/bin/env bash
# Counts the lines that tests reach, into target/coverage. Needs cargo-llvm-cov and `make build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo llvm-cov --version >/dev/null 2>&1 || {
    echo "error: cargo-llvm-cov not found" >&2
    echo "hint: rustup component add llvm-tools && cargo install --locked cargo-llvm-cov" >&2
    exit 1
}
cargo llvm-cov --quiet --workspace --locked --html --output-dir target/coverage/rust
cargo llvm-cov report --summary-only
.venv/bin/coverage erase
PYTHONPATH=python .venv/bin/coverage run -m pytest -q
.venv/bin/coverage combine --quiet
.venv/bin/coverage html --quiet
.venv/bin/coverage report
