#!/usr/bin/env bash
# Builds an image with the wheel of `make wheel`: tools/release/image.sh [NAME] [OPTIONS of the builder].
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
name=${1:-fabricbench}
builder=$(command -v podman || command -v buildah || command -v docker) || {
    echo "error: no podman, buildah or docker found" >&2
    exit 1
}
"$builder" build --tag "$name" --file Containerfile "${@:2}" .
