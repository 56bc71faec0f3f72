"""Configurations of real devices as fields of a plan: switches, cabling, hosts.

`json_text` and `fragment` are what all share: a file that knows its lines, and what came of it.
`sonic_tables` declares the tables of SONiC, `sonic_ports` reads them into one `sonic_port` after the other,
`sonic_rules` says which field of a plan comes of what, `sonic_pools` which pools, and `sonic` does it;
`switch_config` reads the files that a plan names, and `switch_values` gives it their values.
`containerlab` and `nccl_topology` read cabling and hosts; `read` takes any file for what it is.
"""
