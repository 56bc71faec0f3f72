#!/usr/bin/env bash
# Resolves the Python dependencies again: newest versions, with hashes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
compile() {
    .venv/bin/uv pip compile pyproject.toml --quiet --extra server --extra hosts --extra lab --universal \
        --python-version 3.11 --generate-hashes --no-header --no-annotate --no-emit-index-url \
        --no-emit-find-links --upgrade "$@"
}
compile --group dev -o requirements-dev.lock
compile --group build -c requirements-dev.lock -o requirements.lock
