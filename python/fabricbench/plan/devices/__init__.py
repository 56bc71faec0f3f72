"""Configurations of real devices as fields of a plan: switches, cabling, hosts.

All share `json_text`, a JSON file with the lines of its keys, and `fragment`, the fields read from a file.
`sonic_tables` declares the tables of SONiC, `sonic_ports` reads them into a `sonic_port` for each port,
`sonic_rules` derives fields of a plan and `sonic_pools` its pools, and `sonic` combines them; `redis_dump`
reads dumps. `switch_config` reads the files that a plan names, `switch_values` fills the plan with values.
`containerlab` and `nccl_topology` read cabling and hosts; `read` detects the format of any of these files.
"""
