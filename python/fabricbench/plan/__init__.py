"""Test plans: reads, checks and expands them to run specs, with errors that name the line of the plan.

A run spec has the parameters of one trial (one run of one variant of a plan) for the backends.

In the order of loading: `document` finds and reads the file with the location of every field and applies
overrides, `model` declares the fields, `check` checks the whole plan, `expand` creates the run specs and
`estimates` compares their time and memory with the limits. `load` runs them in this order and returns a
`loaded_plan`.

Each section of a plan is a folder, with its fields, its checks and its conversion to the engine's run spec:
`fabric`, `transport`, `jobs`, `sweep`; `criteria` is one file. `fields` has the types of values. `devices`
converts files of real devices, `profile` measurements of hosts; `rate_scale` scales a run spec, `stored_plan`
loads a stored trial's plan. `server` has servers with GPUs, those of `servers/` or a file; `nccl` has NCCL's
choices on them. `engine` has the queries to the compiled core, `errors` the problems and `PlanError`,
`schema` a plan's JSON Schema.
"""
