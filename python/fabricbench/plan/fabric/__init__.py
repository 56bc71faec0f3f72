"""The network of a plan: each part with its fields, its checks and its conversion to the engine's run spec.

`model` combines the parts and `check` checks several parts together. `topology` (with `custom` and `cables`)
is the graph, `link_layer` Ethernet or InfiniBand, `addresses` IPv4 and MAC, `nic` the adapters, `switch`
(with `pfc`, `ecn`, `colours`, `pools` and `scheduled`) the switches, `balancing` the choice of next hops
(with `flows` and `pins`, which name queue pairs), and `failures` the failures of links and switches.
`graph_names` suggests names of links and switches.
"""
