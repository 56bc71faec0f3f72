"""The network of a plan: each part with its fields, its checks and how it becomes the engine's run spec.

`model` is the whole of it and `check` what concerns several parts. `topology` (with `custom` and `cables`) is
the graph, `link_layer` what its links are, `switch` (with `pfc`, `ecn` and `scheduled`) every switch,
`balancing` how switches choose among next hops (with `flows` and `pins`, which name queue pairs) and
`failures` what breaks. `graph_names` suggests names of links and switches.
"""
