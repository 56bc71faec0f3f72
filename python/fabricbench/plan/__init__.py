"""Test plans: what to run, with defaults, units and errors that name the line.

In the order in which a plan passes them: `shipped` finds the file, `document` (with `nodes`) reads its YAML
and the place of every field, `overrides` changes fields for one run, `model` says what each field may be
(with `fabric`, `topology`, `balancing`, `switch` and `transport` for its parts, `fields`, `flows` and
`forms` for its values, and `presets`), `validate` words what it refuses, `check` and `check_congestion`
look at the whole plan, `pins` finds the queue pairs that load balancing names, and `expand` writes the run
specs. `load` runs them in this order. `engine` is what all of them ask the compiled core.
"""
