"""A swarm of random small scenarios, and laws that the record of every run has to keep.

`generate` makes a plan of an integer; `scenario` runs it by the public Python interface and holds its
`record`, tables alone, to `laws`; `differences` runs it in other ways that have to give the same; `shrink`
makes a plan that fails small; `workers` keep hangs and crashes to themselves. `python -m tools.swarm --help`
tells the rest.
"""
