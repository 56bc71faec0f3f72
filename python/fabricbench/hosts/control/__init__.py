"""The controller's side: the file of hosts, calls to agents, one run over all of them."""
