"""The network of a plan: each part with its fields, its checks and its conversion to the engine's run spec.

`model` combines the parts and `check` checks several parts together. `topology` (with `custom_topology` and
`cables`) is the graph, `link_layer` Ethernet or InfiniBand, `addresses` IPv4 and MAC, `nic` the adapters,
`switches` the switches, `load_balancing` the choice of next hops (with `traffic_filters` and `pins`, which
name queue pairs), and `failures` the failures of links and switches. `name_hints` suggests names of links
and switches.
"""
