#!/usr/bin/env bash
# Sends 1 GB over UDP sockets of this host with one packet in 100 lost, by go-back-N and by selective recovery.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
cargo build --quiet --release --locked -p fabricbench-endpoint
for recovery in go_back_n selective; do
    sed "s/go_back_n/$recovery/" crates/endpoint/testdata/gigabyte.json | target/release/fabricbench-loopback
done
