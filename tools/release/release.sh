#!/usr/bin/env bash
# Builds a release into dist/: wheel, sources, and notes from the changelog. Needs `make build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
rm -rf dist && mkdir dist
version=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml | head -1)
awk -v version="$version" '$1 == "##" { inside = $2 == version; next } inside' CHANGELOG.md >dist/NOTES.md
grep -q . dist/NOTES.md || {
    rm -r dist
    echo "error: CHANGELOG.md has no section \"## $version\"" >&2
    exit 1
}
.venv/bin/maturin build --quiet --release --sdist --out dist
