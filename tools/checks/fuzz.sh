#!/usr/bin/env bash
# Runs every fuzz target for some seconds: tools/checks/fuzz.sh [SECONDS]. Needs nightly Rust and cargo-fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
seconds=${1:-20}
cargo +nightly fuzz --version >/dev/null 2>&1 || {
    echo "error: cargo-fuzz with a nightly toolchain not found" >&2
    echo "hint: rustup toolchain install nightly && cargo install --locked cargo-fuzz" >&2
    exit 1
}
targets=$(cargo +nightly fuzz list)
[[ -n $targets ]] || { echo "error: no fuzz target found" >&2; exit 1; }
for target in $targets; do
    echo "fuzz $target for $seconds s"
    cargo +nightly fuzz run "$target" -- -max_total_time="$seconds" -print_final_stats=1
done
