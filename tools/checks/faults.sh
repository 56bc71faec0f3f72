#!/usr/bin/env bash
# Fails every write, sync and rename of a run, with 500 kills, 1,000 flipped bits and 100 full disks; an hour.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
FABRICBENCH_FAULTS=0 FABRICBENCH_KILLS=500 FABRICBENCH_FLIPS=1000 FABRICBENCH_DISKS=100 \
    .venv/bin/pytest -s tests/store/test_faults.py tests/store/test_import_transaction.py
