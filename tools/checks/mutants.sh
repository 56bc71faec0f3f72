#!/usr/bin/env bash
# Finds changes of the code that no test notices: tools/checks/mutants.sh [OPTIONS of tools/mutants.py].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo mutants --version >/dev/null 2>&1 || {
    echo "error: cargo-mutants not found" >&2
    echo "hint: cargo install --locked cargo-mutants@27.1.0" >&2
    exit 1
}
.venv/bin/uv run --quiet --no-project --python .venv/bin/python --with cosmic-ray==8.7.0 \
    python tools/mutants.py "$@"
