"""Tests with random small scenarios, and laws (invariants) that the record of every run must obey.

`generate` makes a plan from an integer; `scenario` runs it by the public Python interface and checks its
result tables (`record`) by `record_laws`; `differences` runs it with other options that must give the same;
`shrink` reduces a failing plan; `workers` isolate hangs and crashes. `python -m tools.swarm --help` shows the
command line.
"""
