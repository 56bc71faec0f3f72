"""Commands about real hosts, and labs of network namespaces: `agent`, `hosts`, `calibrate` and `lab`."""
