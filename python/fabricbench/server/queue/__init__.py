"""Queue of runs in the server process: scheduler, events, Ray cluster, and the hosts that runs may use."""
