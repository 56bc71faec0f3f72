#!/usr/bin/env bash
# Installs each package of dist/ (`tools/release/release.sh`, or `make wheel`) into an empty environment, runs a
# plan with it and asks its server for a page. With podman, buildah or docker, the image too.
set -Eeuo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
repository=$PWD
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'echo "FAILED: line $LINENO of tools/release/try_packages.sh" >&2' ERR

# Wait for a server to write its address, and fetch its page: fetch_page LOG PROCESS
fetch_page() {
    local address
    for _ in {1..300}; do
        address=$(grep -so 'http://[^ ]*' "$1" | head -1) && break
        kill -0 "$2" 2>/dev/null || { cat "$1" >&2 && return 1; }
        sleep 0.2
    done
    python3 -c 'import sys, urllib.request as r; assert b"<div id=\"root\"" in r.urlopen(sys.argv[1]).read()' "$address"
}

try_package() {
    local package=$1 environment
    environment=$(mktemp -d "$folder/XXXX")
    python3 -m venv "$environment/venv"
    "$environment/venv/bin/pip" install --quiet --disable-pip-version-check "$package[server]"
    cd "$environment"
    local fabricbench=(env -i "HOME=$environment" PATH=/usr/bin:/bin "$environment/venv/bin/fabricbench")
    "${fabricbench[@]}" run jct-alltoall --quick >run.txt
    "${fabricbench[@]}" report latest -o report.html
    "${fabricbench[@]}" serve --port 0 2>serve.txt &
    local server=$!
    local served=0
    fetch_page serve.txt "$server" || served=1
    kill "$server" 2>/dev/null && wait "$server" || true
    ((served == 0))
    cd "$repository"
    echo "$(basename "$package"): installs, runs a plan, writes a report and serves pages"
}

try_image() {
    local builder=$1
    tools/release/image.sh fabricbench:try
    "$builder" run --rm fabricbench:try run jct-alltoall --quick >/dev/null
    echo "image: built, runs a plan"
}

shopt -s nullglob
packages=(dist/fabricbench-*.whl dist/fabricbench-*.tar.gz)
((${#packages[@]})) || {
    echo "error: dist/ has no package; run make wheel or tools/release/release.sh first" >&2
    exit 1
}
for package in "${packages[@]}"; do
    try_package "$repository/$package"
done
if builder=$(command -v podman || command -v docker) && "$builder" info >/dev/null 2>&1; then
    try_image "$builder"
else
    echo "image: not tried, there is no podman and no docker that runs"
fi
