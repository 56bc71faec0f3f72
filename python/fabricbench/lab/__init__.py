"""Builds labs: a plan's fabric as network namespaces on one Linux machine, for traffic of real endpoints.

The modules, in the order of their use:

1. `blueprint`: nodes, ports, shaped links and routes of a run spec, with `routing` and `omissions` (parts of
   the plan that a lab does not have). It creates nothing and needs no privileges;
2. `state`: the folder of a lab, which records everything before it is created, so that it can be removed;
3. `build`, with the modules of `kernel`: namespaces (`namespaces`), links, routes and queues (`ports`), marks
   and losses (`marking`, over `bpf` and `btf`);
4. `kernel.counters` reads the ports, `agents` runs a command in the namespace of each host, and `endpoints`
   runs an agent of fabricbench on each host and writes the hosts file for the controller;
5. `removal` removes the lab in any state.

At scale N, the fabric's clock runs N times slower: rates are divided by N, bytes (buffers, thresholds) are
unchanged, so all times are N times as long.
"""
