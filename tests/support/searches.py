"""A plan with a search, and what tests compare what it finds with."""

from __future__ import annotations

BURST = """
fabricbench: 1
name: burst
fabric:
  topology: {kind: single-switch, hosts: 8}
  switch: {buffer: 1MB}
transport: {recovery: none}
jobs:
  - {name: burst, ranks: "0-2", collective: incast, data_size: 1MB}
sweep: {jobs.burst.ranks: ["0-2", "0-4", "0-7"]}
search: {field: jobs.burst.data_size, from: 16KB, to: 8MB, resolution: 4KB, steps: 20}
criteria:
  - {metric: frames_lost, max: 0}
"""
"""The largest burst without loss, of each of 2, 4 and 7 senders."""
SMALL = (
    BURST.replace("from: 16KB, to: 8MB", "from: 64KB, to: 1MB")
    .replace('["0-2", "0-4", "0-7"]', '["0-4", "0-7"]')
    .replace("resolution: 4KB", "resolution: 32KB")
)
"""The same in steps of which every one can be tried."""
SMALL_VALUES = [f"{size}KB" for size in range(64, 1025, 32)]
