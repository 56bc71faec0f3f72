"""Test plans: what to run, with defaults, units and errors that name the line.

In the order in which a plan passes them: `shipped` finds the file, `document` (with `nodes`) reads its YAML
and the place of every field, `overrides` changes fields for one run, `model` (with `topology` and `fields`)
says what each field may be, `validate` words what it refuses, `check` looks at the whole plan, and `expand`
writes the run specs. `load` runs them in this order. `engine` is what all of them ask the compiled core.
"""
