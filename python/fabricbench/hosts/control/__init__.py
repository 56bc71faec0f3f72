"""The controller's side: the hosts file, calls to agents, and a run over all of them."""
