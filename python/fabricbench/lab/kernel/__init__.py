"""Linux kernel features that a lab uses: namespaces, ports, queues, BPF marks, priorities, counters."""
