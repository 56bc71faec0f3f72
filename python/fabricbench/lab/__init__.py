"""A plan's fabric on one Linux machine, out of network namespaces, for real endpoints to run through.

In the order in which a lab is made:

1. `blueprint`: nodes, ports, shaped links and routes of a run spec; `routing` and `omissions` (what of the
   plan a lab does not have) belong to it. Nothing is made yet, no privilege is needed;
2. `state`: the folder of a lab, which names everything before it is made, so that it can be removed;
3. `build`: namespaces (`namespaces`), links, routes and queues (`ports`), marks and losses (`marking`, over
   `bpf` and `btf`);
4. `counters` reads the ports, `agents` runs a command in the namespace of each host, and `endpoints` an agent
   of fabricbench, with the file of hosts by which a controller finds them;
5. `removal` takes everything away, whatever became of the lab.

A lab at scale N has the fabric's clock slowed down by N: rates are divided by N, bytes (buffers, thresholds)
stay as they are, so that every time is N times as long.
"""
