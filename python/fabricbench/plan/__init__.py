"""Test plans: what to run, with defaults, units and errors that name the line.

In the order in which a plan passes them: `document` finds and reads the file with the place of every field
and changes fields for one run, `model` says what each field may be, `check` looks at the whole plan, `expand`
writes the run specs and `cost` compares what they are estimated to take with what there is. `load` runs them
in this order and gives a plan as in `loaded`.

Each section of a plan is a folder, with its fields, its checks and how it becomes the engine's run spec:
`fabric`, `transport`, `jobs`, `sweep`; `criteria` is one file. `fields` has the values that fields may have.
`engine` is what all of them ask the compiled core, `errors` what they say, `schema` a plan's JSON Schema.
"""
