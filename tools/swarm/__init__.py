"""Tests with random small scenarios, and laws that the record of every run must obey.

`generate` makes a plan from an integer; `scenario` runs it by the public Python interface and checks its
`record`, which has only tables, with `laws`; `differences` runs it with other options that must give the
same; `shrink` reduces a failing plan; `workers` isolate hangs and crashes. For the command line see
`python -m tools.swarm --help`.
"""
