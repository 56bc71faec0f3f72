"""Converts configurations of real devices (switches, cabling, hosts) to fields of a plan.

All share `json_text`, a JSON file with the lines of its keys, and `fragment`, the fields read from a file.
`sonic_config` converts configurations of SONiC: `tables` declares the tables, `config_db` reads them into a
`port` for each port, `rules` derives fields and `pools` the pools, and `conversion` combines them;
`redis_dump` reads dumps. `switch_config` reads the files that a plan names, `switch_values` fills the plan.
`containerlab`, `nccl_topology` and `nccl_graphs` read cabling and hosts; `read` detects the format of any of
these files. `nccl_hardware` reads the parts of a host for NCCL's rules.
"""
